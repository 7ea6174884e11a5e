package sse_test

import (
	"slices"
	"strings"

	"github.com/streamassay/streamassay/internal/sse"
)

// A stream is one case of the corpus: lines without line ends, to which the tests add various line
// ends, and the items that WHATWG HTML section 9.2.6 requires for these lines. The items were
// written by hand.
type stream struct {
	name  string
	lines []string // each ends with a line end
	tail  string   // what stands after the last line end
	bom   marking
	want  []want
}

// A marking states whether the renderings of a stream have a byte order mark.
type marking int

const (
	withAndWithout marking = iota
	onlyWith
	onlyWithout
)

// A want is one expected item. The positions of its bytes follow from the numbers of its lines,
// which start at 1; a tail counts as a line.
type want struct {
	kind       sse.ItemKind
	from, to   int
	event      string
	data       string
	id         string
	hasID      bool
	last       string // the last event ID
	retry      string
	fields     string // names, separated by commas
	text       string
	incomplete bool
	invalid    bool
}

// A rendering is a stream with certain line ends, with or without a byte order mark: its bytes, and
// the items that are expected of a decoder.
type rendering struct {
	name  string
	body  []byte
	items []sse.Item
}

// A span holds the offsets of one line of a rendering. The text of the line ends before end, and
// its line end before next. A decoder knows at the offset done that the line is complete.
type span struct{ begin, end, done, next int }

// terminators lists the sequences of line ends with which streams are rendered; each sequence is
// repeated. The standard has three line ends. The "mixed" sequences have all of them and begin with
// a different one each.
var terminators = []struct {
	name string
	ends []string
}{
	{"LF", []string{"\n"}},
	{"CR", []string{"\r"}},
	{"CRLF", []string{"\r\n"}},
	{"mixed from LF", []string{"\n", "\r", "\r\n"}},
	{"mixed from CR", []string{"\r", "\r\n", "\n"}},
	{"mixed from CRLF", []string{"\r\n", "\n", "\r"}},
}

const mark = "\xef\xbb\xbf"

// renderings returns the stream with all sequences of line ends, each with and without a byte order
// mark as far as the marking of the stream permits.
func (s stream) renderings() []rendering {
	var all []rendering
	for _, t := range terminators {
		if s.bom != onlyWith {
			all = append(all, s.render(t.name, t.ends, ""))
		}
		if s.bom != onlyWithout {
			all = append(all, s.render(t.name+" with BOM", t.ends, mark))
		}
	}
	return all
}

func (s stream) render(name string, ends []string, prefix string) rendering {
	body, spans := []byte(prefix), []span{}
	before := ""
	for i, line := range s.lines {
		end := ends[i%len(ends)]
		if before == "\r" && line == "" && end == "\n" {
			end = "\r\n" // CR and then LF would be one line end, not two
		}
		at := len(body)
		body = append(append(body, line...), end...)
		spans = append(spans, span{at, at + len(line), at + len(line) + 1, len(body)})
		before = end
	}
	if s.tail != "" {
		at := len(body)
		body = append(body, s.tail...)
		spans = append(spans, span{at, len(body), len(body), len(body)})
	}
	r := rendering{name: s.name + ", " + name, body: body}
	for _, w := range s.want {
		r.items = append(r.items, w.item(body, spans))
	}
	return r
}

// item returns the expected item. body is the rendering, and spans are those of its lines.
func (w want) item(body []byte, spans []span) sse.Item {
	item := sse.Item{
		Kind: w.kind, Event: w.event, ID: w.id, HasID: w.hasID, LastEventID: w.last, Retry: w.retry,
		Text: w.text, Line: w.from, Offset: spans[w.from-1].begin, Incomplete: w.incomplete, InvalidUTF8: w.invalid,
	}
	if w.fields != "" {
		item.Fields = strings.Split(w.fields, ",")
	}
	if w.kind == sse.Event {
		item.Data = []byte(w.data)
	}
	last := spans[w.to-1]
	switch {
	case w.incomplete:
		item.Raw, item.End = body[item.Offset:], len(body)
	case w.kind == sse.Comment:
		item.Raw, item.End = body[item.Offset:last.end], last.done
	default: // the blank line after it completes it
		item.Raw, item.End = body[item.Offset:last.next], spans[w.to].done
	}
	return item
}

// same reports whether two items are equal. It compares field by field, as a comparison by
// reflection would take most of the time of all tests together.
func same(a, b sse.Item) bool {
	return a.Kind == b.Kind && a.Event == b.Event && string(a.Data) == string(b.Data) &&
		(a.Data == nil) == (b.Data == nil) && a.ID == b.ID && a.HasID == b.HasID &&
		a.LastEventID == b.LastEventID && a.Retry == b.Retry && slices.Equal(a.Fields, b.Fields) &&
		a.Text == b.Text && string(a.Raw) == string(b.Raw) && a.Line == b.Line && a.Offset == b.Offset &&
		a.End == b.End && a.Incomplete == b.Incomplete && a.InvalidUTF8 == b.InvalidUTF8
}

// decode decodes a stream that comes in pieces. It returns all items, including an incomplete one
// at the end, and the error of the decoder.
func decode(limit int, pieces ...[]byte) ([]sse.Item, error) {
	d := sse.NewDecoder(limit)
	var items []sse.Item
	for _, piece := range pieces {
		for item := range d.Feed(piece) {
			items = append(items, item)
		}
	}
	if rest, ok := d.Close(); ok {
		items = append(items, rest)
	}
	return items, d.Err()
}

// bytewise returns each byte of body as a piece of its own.
func bytewise(body []byte) [][]byte { return slices.Collect(slices.Chunk(body, 1)) }

// corpus returns all streams of the corpus.
func corpus() []stream {
	return slices.Concat(dataStreams, fieldStreams, idStreams, shapeStreams, endStreams, byteStreams)
}
