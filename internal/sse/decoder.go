// Package sse turns the bytes of a text/event-stream (WHATWG HTML section 9.2)
// into what they hold, and back. It is made for a judge: nothing is thrown away,
// and everything says where it stood. It knows neither HTTP nor what events say.
package sse

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"unicode/utf8"
)

// DefaultLimit is the most bytes that one event may have, unless somebody says
// otherwise.
const DefaultLimit = 16 << 20

// ErrTooLarge says that an event, or a line, went over the limit. What came after
// it was not read.
var ErrTooLarge = errors.New("the event is too large")

// An ItemKind says what an item is.
type ItemKind int

// The kinds of item.
const (
	Event   ItemKind = iota // what the standard dispatches: a block of lines with data
	Comment                 // one comment line
	Block                   // a block without data, which the standard does not dispatch
)

// An Item is something that stands in a stream. A comment inside an event is told
// before the event: items come in the order in which they are complete.
type Item struct {
	Kind ItemKind

	Event       string // the event field's value, "" if there is none
	Data        []byte // the data lines, joined by LF
	ID          string // the id field's value
	HasID       bool   // there is one, and it counts (it holds no NUL)
	LastEventID string // the standard's last event ID after this item
	Retry       string // the retry field's value, if it is all digits (milliseconds)
	Fields      []string
	Text        string // of a comment: what follows the colon

	Raw          []byte // its lines as they came, without the blank one or the line end of a comment
	Line         int    // of its first line, from 1
	Offset       int    // likewise in bytes, from 0; a byte order mark counts
	End          int    // the offset after what completed it; of a CRLF, after the CR
	Incomplete   bool   // the stream ended before it did
	InvalidUTF8  bool
	hasData      bool
	dataIsShared bool // Data aliases the input: copy before joining more
}

// A Decoder reads one stream. It holds no more than one event and what was fed
// last.
type Decoder struct {
	limit  int
	buf    []byte // what was fed and is not complete
	off    int    // the offset of its first byte
	line   int    // lines ended so far
	start  int    // in buf: where the line under way begins
	scan   int    // in buf: how far it was searched for its end
	block  int    // in buf: where the block under way begins, -1 if none does
	item   Item   // the block under way
	lastID string
	begun  bool // the byte order mark was dealt with
	skipLF bool // the last line ended with a CR: a LF now belongs to it
	err    error
}

// NewDecoder makes a decoder of a stream whose events may have so many bytes; 0 is
// [DefaultLimit].
func NewDecoder(limit int) *Decoder {
	if limit <= 0 {
		limit = DefaultLimit
	}
	return &Decoder{limit: limit, block: -1}
}

// Err is ErrTooLarge, with where and how much, once the limit was passed.
func (d *Decoder) Err() error { return d.err }

// Feed yields the items that p completes. How a stream is cut into pieces changes
// nothing about them. Where an item lies in p whole it aliases p; the decoder never
// writes to p, nor to what it has yielded.
func (d *Decoder) Feed(p []byte) iter.Seq[Item] {
	return func(yield func(Item) bool) {
		if d.err != nil || len(p) == 0 {
			return
		}
		if len(d.buf) == 0 {
			d.buf = p[:len(p):len(p)]
		} else {
			d.buf = append(d.buf, p...)
		}
		more := d.mark()
		for more {
			more = d.next(yield)
		}
		d.keep()
	}
}

// mark deals with a byte order mark at the start; false is that more must come
// before anybody can tell.
func (d *Decoder) mark() bool {
	const bom = "\ufeff"
	if d.begun {
		return true
	}
	if len(d.buf) < len(bom) && string(d.buf) == bom[:len(d.buf)] {
		return false
	}
	d.begun = true
	if bytes.HasPrefix(d.buf, []byte(bom)) {
		d.start, d.scan = len(bom), len(bom)
	}
	return true
}

// next reads one line; false is that there is none, or that nobody wants more.
func (d *Decoder) next(yield func(Item) bool) bool {
	if d.skipLF && d.start < len(d.buf) {
		if d.skipLF = false; d.buf[d.start] == '\n' {
			d.start++
			d.scan = max(d.scan, d.start)
		}
	}
	end := d.lineEnd()
	first := d.start
	if d.block >= 0 {
		first = d.block
	}
	if size := end - first; end < 0 && len(d.buf)-first > d.limit || size > d.limit {
		d.err = fmt.Errorf("%w: more than %d bytes at line %d", ErrTooLarge, d.limit, d.line+1)
		return false
	}
	if end < 0 {
		d.scan = len(d.buf)
		return false
	}
	text := d.buf[d.start:end]
	at := d.start
	d.line++
	d.skipLF = d.buf[end] == '\r'
	d.start, d.scan = end+1, end+1
	return d.take(text, at, yield)
}

// lineEnd is where the line under way ends, -1 if that has not come.
func (d *Decoder) lineEnd() int {
	rest := d.buf[d.scan:]
	lf := bytes.IndexByte(rest, '\n')
	if lf >= 0 {
		rest = rest[:lf]
	}
	if cr := bytes.IndexByte(rest, '\r'); cr >= 0 {
		return d.scan + cr
	}
	if lf < 0 {
		return -1
	}
	return d.scan + lf
}

// take reads one line, which began at at.
func (d *Decoder) take(text []byte, at int, yield func(Item) bool) bool {
	switch {
	case len(text) == 0:
		return d.dispatch(at, yield)
	case text[0] == ':':
		return yield(Item{
			Kind: Comment, Text: string(text[1:]), Raw: text[:len(text):len(text)], LastEventID: d.lastID,
			Line: d.line, Offset: d.off + at, End: d.off + d.start, InvalidUTF8: !utf8.Valid(text),
		})
	}
	if d.block < 0 {
		d.block = at
		d.item = Item{Line: d.line, Offset: d.off + at}
	}
	d.item.field(text)
	return true
}

// dispatch ends the block under way; the blank line began at at.
func (d *Decoder) dispatch(at int, yield func(Item) bool) bool {
	if d.block < 0 {
		return true
	}
	it := d.item
	if it.HasID {
		d.lastID = it.ID
	}
	if it.Kind = Event; !it.hasData {
		it.Kind = Block
	}
	it.LastEventID = d.lastID
	it.Raw = d.buf[d.block:at:at]
	it.End = d.off + d.start
	it.InvalidUTF8 = !utf8.Valid(it.Raw)
	d.block, d.item = -1, Item{}
	return yield(it)
}

// field takes one line with a field.
func (it *Item) field(text []byte) {
	name, value, _ := bytes.Cut(text, []byte(":"))
	if len(value) > 0 && value[0] == ' ' {
		value = value[1:]
	}
	switch string(name) { // the compiler makes no copies of these
	case "data":
		it.Fields = append(it.Fields, "data")
		it.data(value)
	case "id":
		it.Fields = append(it.Fields, "id")
		if bytes.IndexByte(value, 0) < 0 {
			it.ID, it.HasID = string(value), true
		}
	case "event":
		it.Fields = append(it.Fields, "event")
		it.Event = string(value)
	case "retry":
		it.Fields = append(it.Fields, "retry")
		if digits(value) {
			it.Retry = string(value)
		}
	default:
		it.Fields = append(it.Fields, string(name))
	}
}

func (it *Item) data(value []byte) {
	switch {
	case !it.hasData:
		it.Data, it.hasData, it.dataIsShared = value[:len(value):len(value)], true, true
	default:
		if it.dataIsShared {
			it.Data = append(make([]byte, 0, 2*len(it.Data)+len(value)), it.Data...)
			it.dataIsShared = false
		}
		it.Data = append(append(it.Data, '\n'), value...)
	}
}

func digits(value []byte) bool {
	for _, c := range value {
		if c < '0' || c > '9' {
			return false
		}
	}
	return len(value) > 0
}

// keep holds on to what is not complete, in memory of its own.
func (d *Decoder) keep() {
	if d.err != nil {
		d.buf = nil
		return
	}
	first := d.start
	if d.block >= 0 {
		first = d.block
	}
	if first == 0 && cap(d.buf) > len(d.buf) {
		return // it is ours already
	}
	// Data of the block under way may alias the input, which is the caller's.
	if d.item.dataIsShared {
		d.item.Data = bytes.Clone(d.item.Data)
		d.item.dataIsShared = false
	}
	rest := d.buf[first:]
	d.buf = append(make([]byte, 0, len(rest)+min(len(rest), d.limit)+64), rest...)
	d.off += first
	d.start -= first
	d.scan -= first
	if d.block >= 0 {
		d.block = 0
	}
	if len(rest) == 0 {
		d.buf = nil
	}
}

// Close ends the stream. It returns what stood after the last blank line: the
// standard discards it, a judge wants to see it.
func (d *Decoder) Close() (rest Item, ok bool) {
	first := d.start
	if d.block >= 0 {
		first = d.block
	}
	if d.err != nil || first >= len(d.buf) {
		return Item{}, false
	}
	it := d.item
	if d.block < 0 {
		it = Item{Line: d.line + 1, Offset: d.off + first}
	}
	if tail := d.buf[d.start:]; len(tail) > 0 && tail[0] != ':' {
		it.field(tail)
	}
	it.Raw = d.buf[first:len(d.buf):len(d.buf)]
	it.End = d.off + len(d.buf)
	it.Incomplete, it.LastEventID, it.InvalidUTF8 = true, d.lastID, !utf8.Valid(it.Raw)
	if it.Kind = Event; !it.hasData {
		it.Kind = Block
	}
	d.buf, d.start, d.scan, d.block = nil, 0, 0, -1
	return it, len(it.Raw) > 0
}
