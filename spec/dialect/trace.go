package dialect

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"maps"
	"mime"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/streamassay/streamassay/internal/sse"
	"github.com/streamassay/streamassay/spec"
)

// MaxEvent is how large one event of a stream may be before reading it is given
// up, in bytes, unless a Reader says otherwise.
const MaxEvent = sse.DefaultMaxEvent

// Events tells a conversation, from the first request to the last end.
func (d *Dialect) Events(t spec.Trace) iter.Seq[spec.Event] {
	return d.Tell(t.All(), Known{t.Scripted, t.StreamLimit}, MaxEvent)
}

// Tell is Events for exchanges that arrive one by one. Requests are marked with what
// is known of the target; limit is the most bytes that one event of a stream may have.
func (d *Dialect) Tell(exchanges iter.Seq[spec.Exchange], known Known, limit int) iter.Seq[spec.Event] {
	return func(yield func(spec.Event) bool) {
		n := 0
		for x := range exchanges {
			x.Response = Decoded(x.Response)
			ask := d.Hear(x.Request)
			ask.Scripted, ask.StreamLimit = known.Scripted, known.Streams
			teller := teller{d: d, x: &x, ask: ask, op: d.asked(x), limit: limit, blocks: map[string]string{}}
			for e := range teller.tell() {
				e.Exchange, e.Operation, e.Principal = n, ask.Operation, ask.Principal
				e.At = x.At + teller.arrival(e)
				if !yield(e) {
					return
				}
			}
			n++
		}
	}
}

// Known is what is known of a target beforehand; see [spec.Trace].
type Known struct {
	Scripted bool
	Streams  int
}

// asked is the operation of an exchange; of one whose request nobody wrote down,
// the first that streams.
func (d *Dialect) asked(x spec.Exchange) *Operation {
	if x.Request.Method != "" {
		return d.Operation(x.Request)
	}
	for _, o := range d.operations {
		if o.Streams {
			return o
		}
	}
	return nil
}

// A teller tells one exchange.
type teller struct {
	d      *Dialect
	x      *spec.Exchange
	ask    spec.Event
	op     *Operation
	limit  int
	blocks map[string]string // message id → the thing that it was opened as, where not "message"
	nth    int
	reads  int // the arrival that the last event was found in
}

func (t *teller) tell() iter.Seq[spec.Event] {
	return func(yield func(spec.Event) bool) {
		r := t.x.Response
		head := spec.Event{Kind: spec.HTTPResponse, Frame: -1, StatusCode: r.Status, MediaType: r.Header.MediaType(), Header: r.Header}
		if r.Status == 0 {
			head.Err = r.End
		}
		if !yield(t.ask) || !yield(head) {
			return
		}
		end := spec.Event{Kind: spec.BodyEnd, Frame: -1, Offset: len(r.Body), Err: r.End}
		switch {
		case isLink(t.x.Request) && r.Status/100 == 2:
			fetched := spec.Event{Kind: spec.AttachmentContent, Frame: -1, Line: 1, Raw: r.Body, StatusCode: r.Status, MediaType: head.MediaType, Type: head.MediaType, Text: string(r.Body)}
			if !yield(fetched) {
				return
			}
		case t.op == nil: // another protocol's business
		case head.IsStream() && r.Status/100 == 2:
			for e := range t.frames() {
				end.Line = e.Line
				if !yield(e) {
					return
				}
			}
		case len(r.Body) > 0:
			if !yield(t.reply()) {
				return
			}
		}
		yield(end)
	}
}

// frames are the events of a stream.
func (t *teller) frames() iter.Seq[spec.Event] {
	return func(yield func(spec.Event) bool) {
		dec := sse.NewDecoder(t.limit)
		for item := range dec.Feed(t.x.Response.Body) {
			if item.Kind == sse.Block { // fields, but nothing that the standard dispatches
				continue
			}
			if !yield(t.frame(item)) {
				return
			}
		}
		if err := dec.Err(); err != nil {
			yield(spec.Event{Kind: spec.Undecodable, Frame: t.nth, Err: err, Flaws: []spec.Flaw{{Kind: spec.FlawTooLarge, Detail: err.Error()}}})
			return
		}
		if rest, ok := dec.Close(); ok {
			// A client that left has cut this off itself.
			if errors.Is(t.x.Response.End, spec.ErrClientLeft) {
				return
			}
			yield(spec.Event{
				Kind: spec.Incomplete, Frame: t.nth, Line: rest.Line, Offset: rest.Offset, Raw: rest.Raw, Fields: rest.Fields,
				Flaws: []spec.Flaw{{Kind: spec.FlawUnterminated, Detail: "no blank line follows"}},
			})
		}
	}
}

func (t *teller) frame(item sse.Item) spec.Event {
	e := spec.Event{Frame: t.nth, Line: item.Line, Offset: item.Offset, Raw: item.Raw, Fields: item.Fields}
	if item.InvalidUTF8 {
		e.Flaws = append(e.Flaws, spec.Flaw{Kind: spec.FlawUTF8, Detail: "not valid UTF-8"})
	}
	if item.Kind == sse.Comment {
		e.Kind, e.Text = spec.Comment, item.Text
		return e
	}
	t.nth++
	e.Cursor = item.ID
	if t.op.sentinel != "" && strings.TrimSpace(string(item.Data)) == t.op.sentinel {
		e.Kind, e.WireName = spec.Done, t.op.sentinel
		return e
	}
	t.d.readFrame(t.op, &e, item.Data)
	t.rename(&e)
	return e
}

// readFrame says what the data of a frame means.
func (d *Dialect) readFrame(o *Operation, e *spec.Event, data []byte) {
	if len(o.frames) == 0 {
		e.Kind, e.Err = spec.Undecodable, fmt.Errorf("%s was answered with an event stream: expected %s", o.Name, cmp.Or(o.answer, "none"))
		return
	}
	if len(e.Flaws) > 0 { // not UTF-8, and so not JSON
		e.Kind, e.Err = spec.Undecodable, errors.New(theEvent+" is "+e.Flaws[0].Detail)
		return
	}
	v, err := decode(data)
	if err != nil {
		e.Kind, e.Err = spec.Undecodable, fmt.Errorf("%s is %w", theEvent, err)
		e.Flaws = append(e.Flaws, spec.Flaw{Kind: spec.FlawJSON, Detail: err.Error()})
		return
	}
	if kindOf(v) != "object" {
		e.Kind, e.Err = spec.Undecodable, errors.New(breach{got: v, want: "expected an object"}.text(theEvent))
		e.Flaws = append(e.Flaws, spec.Flaw{Kind: spec.FlawJSON, Detail: e.Err.Error()})
		return
	}
	w := choose(o.frames, v)
	if w == nil {
		e.Kind, e.Err = spec.Undecodable, errors.New(unrecognised(o.frames, v).text(theEvent))
		return
	}
	cursor := e.Cursor
	e.WireName = o.label(w, v)
	w.hear(d.source, e, v)
	if cursor != "" {
		e.Cursor = cursor
	}
}

// rename gives the frames of a block the name that the block was opened with: a
// delta of a message of reasoning is a delta of reasoning.
func (t *teller) rename(e *spec.Event) {
	thing, phase := e.Kind.Subject(), e.Kind.Phase()
	switch {
	case thing != "message" && thing != "reasoning" || e.Message == "":
	case phase == "start" || phase == "progress":
		if thing == "reasoning" {
			t.blocks[e.Message] = thing
		}
	case t.blocks[e.Message] != "":
		e.Kind = spec.Kind(t.blocks[e.Message] + "." + phase)
	}
}

// reply says what a body that is no stream means.
func (t *teller) reply() spec.Event {
	r := t.x.Response
	e := spec.Event{Kind: spec.Undecodable, Frame: -1, Line: 1, Raw: r.Body, StatusCode: r.Status, MediaType: r.Header.MediaType()}
	if !utf8.Valid(r.Body) && isUTF8(r.Header) {
		e.Flaws = append(e.Flaws, spec.Flaw{Kind: spec.FlawUTF8, Detail: "not valid UTF-8"})
	}
	if len(r.Body) > t.limit {
		e.Err = fmt.Errorf("the body is of more than %d bytes", t.limit)
		e.Flaws = append(e.Flaws, spec.Flaw{Kind: spec.FlawTooLarge, Detail: e.Err.Error()})
		return e
	}
	doc, documented := t.op.reply(r.Status)
	if !documented || !isJSON(e.MediaType) || !isJSON(doc.media) {
		e.Kind = spec.Unrecognized
		return e
	}
	v, err := decode(r.Body)
	if err != nil {
		e.Err = err
		e.Flaws = append(e.Flaws, spec.Flaw{Kind: spec.FlawJSON, Detail: err.Error()})
		return e
	}
	if w := choose(doc.words, v); w != nil {
		w.hear(t.d.source, &e, v)
	} else {
		e.Kind = spec.Unrecognized
	}
	return e
}

func isJSON(media string) bool { return media == jsonMedia || strings.HasSuffix(media, "+json") }

// isUTF8 says that a body has to be UTF-8: it is JSON, or says so. Any other text may
// be in whatever charset (RFC 9110 section 8.3.2).
func isUTF8(h spec.Header) bool {
	_, params, _ := mime.ParseMediaType(h.Get("Content-Type"))
	return isJSON(h.MediaType()) || strings.EqualFold(params["charset"], "utf-8")
}

// arrival is when the last byte of e was there, since the request.
func (t *teller) arrival(e spec.Event) time.Duration {
	reads := t.x.Response.Arrivals
	if len(reads) == 0 || e.Kind == spec.HTTPRequest || e.Kind == spec.HTTPResponse {
		return 0
	}
	end := e.Offset + len(e.Raw)
	if e.Kind == spec.BodyEnd {
		return reads[len(reads)-1].At
	}
	for t.reads < len(reads)-1 && reads[t.reads].End < end {
		t.reads++
	}
	return reads[t.reads].At
}

// Phrases lists what a client can say in this dialect.
func (d *Dialect) Phrases() []string {
	set := map[string]bool{}
	for _, o := range d.operations {
		for name := range o.phrases {
			set[name] = true
		}
		if o.says != "" {
			set[o.says] = true
		}
	}
	return slices.Sorted(maps.Keys(set))
}
