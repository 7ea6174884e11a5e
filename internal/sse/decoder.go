package sse

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"slices"
	"unicode/utf8"
)

// DefaultMaxEvent is the most bytes that one event may have, unless somebody says
// otherwise.
const DefaultMaxEvent = 16 << 20

// ErrTooLarge says that an event, or a comment, went over the limit. What came
// after it was not read.
var ErrTooLarge = errors.New("the event is too large")

// byteOrderMark is the one byte order mark that may precede a stream.
const byteOrderMark = "\ufeff"

// minJoinBytes is how much of what is fed is looked at first, in bytes, to end an
// event that an earlier piece began.
const minJoinBytes = 512

// A Decoder reads one stream. What it holds between two pieces is the event under
// way, and so a small multiple of the limit: of an event of long lines about two
// times, of one of very many short lines, each of which has a name in Fields, some
// twenty times.
type Decoder struct {
	limit int

	// The window: what is being read, which is the caller's while Feed runs and the
	// decoder's own in between. The positions below are in it.
	buf        []byte
	owned      bool // the window is the decoder's
	start      int  // where the line under way begins
	scan       int  // how far that line was searched for its end
	nextLF     int  // no LF stands from scan to here; the next one is here, or none is in the window
	blockStart int  // where the block under way begins, if there is one

	offset     int    // the offset of the window in the stream
	line       int    // how many lines have ended
	bomChecked bool   // the byte order mark was dealt with
	skipLF     bool   // the last line ended with a CR: a LF now belongs to it
	lastID     string // the last event ID
	paused     bool   // the caller broke off: the window may hold whole items
	closed     bool
	err        error

	block block // the block under way
}

// NewDecoder makes a decoder of a stream in which one event, from its first line to
// its last line's end, may have limit bytes, and likewise one comment; 0 is
// [DefaultLimit].
func NewDecoder(limit int) *Decoder {
	if limit <= 0 {
		limit = DefaultMaxEvent
	}
	return &Decoder{limit: limit}
}

// Err is ErrTooLarge, with the limit and the lines, once an event went over it.
func (d *Decoder) Err() error { return d.err }

// Items reads a whole body: its items, the incomplete rest if there is one, and at
// last the error if an event went over the limit. It copies nothing but what stands
// in several lines.
func Items(body []byte, limit int) iter.Seq2[Item, error] {
	return func(yield func(Item, error) bool) {
		d := NewDecoder(limit)
		for item := range d.Feed(body) {
			if !yield(item, nil) {
				return
			}
		}
		if rest, ok := d.Close(); ok {
			yield(rest, nil)
		} else if d.err != nil {
			yield(Item{}, d.err)
		}
	}
}

// Feed yields the items that p completes, each as soon as it can be known. How a
// stream is cut into pieces changes nothing about them. An item that lies in p whole
// aliases p and copies nothing; the others alias memory of the decoder that is not
// written again. p itself may be used again as soon as no item of it is needed.
//
// The bytes are read when the sequence is ranged over, which may be done once. Who
// breaks off loses nothing: the next Feed goes on there, also that of nil. After an
// error and after Close nothing is yielded any more.
func (d *Decoder) Feed(p []byte) iter.Seq[Item] {
	return func(yield func(Item) bool) {
		more := d.err == nil && !d.closed
		if more && d.paused {
			more = d.decodeLines(yield)
		}
		for more && len(p) > 0 {
			if d.discard(d.pendingStart()); len(d.buf) > 0 {
				p, more = d.decodeHeld(p, yield)
				continue
			}
			d.buf, d.owned, p = p[:len(p):len(p)], false, nil
			more = d.decodeLines(yield)
		}
		d.retain(p)
	}
}

// decodeHeld reads on with so much of p as may end the block under way, and gives back
// what was not looked at. Only that much is copied: a large body is not, though its
// first event came in two pieces.
func (d *Decoder) decodeHeld(p []byte, yield func(Item) bool) (rest []byte, more bool) {
	held := len(d.buf)
	n := min(len(p), max(held, minJoinBytes))
	d.buf = append(d.buf, p[:n]...)
	more = d.decodeLines(yield)
	if begin := d.pendingStart(); more && begin >= held { // what is left lies in p: read on there
		d.discard(begin)
		d.buf, d.owned = p[begin-held:len(p):len(p)], false
		return nil, d.decodeLines(yield)
	}
	return p[n:], more
}

// pendingStart is where what is not complete begins in the window.
func (d *Decoder) pendingStart() int {
	if d.block.isOpen {
		return d.blockStart
	}
	return d.start
}

// discard forgets the first n bytes of the window, which are complete.
func (d *Decoder) discard(n int) {
	d.buf = d.buf[n:]
	d.offset, d.start, d.scan = d.offset+n, d.start-n, d.scan-n
	if d.block.isOpen {
		d.blockStart -= n
	}
}

// retain makes what is not complete the decoder's own, as the caller may use its
// memory again; p is what was not looked at.
func (d *Decoder) retain(p []byte) {
	if d.err != nil || d.closed {
		d.buf = nil
		return
	}
	d.discard(d.pendingStart())
	switch {
	case len(d.buf)+len(p) == 0:
		d.buf = nil
	case !d.owned:
		d.buf = slices.Concat(d.buf, p)
	default:
		d.buf = append(d.buf, p...)
	}
	d.owned = true
}

// decodeLines takes the window line by line. It is false if there is an error or if the
// caller broke off.
func (d *Decoder) decodeLines(yield func(Item) bool) bool {
	d.nextLF, d.paused = -1, false // the window may have grown
	if !d.skipByteOrderMark() {
		return true
	}
	for {
		if d.skipLF && d.start < len(d.buf) {
			if d.skipLF = false; d.buf[d.start] == '\n' {
				d.start++
				d.scan = max(d.scan, d.start)
			}
		}
		end := d.lineEnd()
		if !d.checkLimit(end) {
			return false
		}
		if end < 0 {
			return true
		}
		at := d.start
		d.line++
		d.skipLF = d.buf[end] == '\r'
		d.start, d.scan = end+1, end+1
		if !d.decodeLine(at, end, yield) {
			d.paused = true
			return false
		}
	}
}

// skipByteOrderMark deals with a byte order mark at the start of the stream; false is that more
// must come before anybody can tell.
func (d *Decoder) skipByteOrderMark() bool {
	if d.bomChecked {
		return true
	}
	if len(d.buf) < len(byteOrderMark) && string(d.buf) == byteOrderMark[:len(d.buf)] {
		return false
	}
	d.bomChecked = true
	if bytes.HasPrefix(d.buf, []byte(byteOrderMark)) {
		d.start, d.scan = len(byteOrderMark), len(byteOrderMark)
	}
	return true
}

// lineEnd is where the line under way ends, -1 if that has not come. Every byte is
// looked at once for a LF and once for a CR, also in a stream that has only one of
// the two.
func (d *Decoder) lineEnd() int {
	if d.nextLF < d.scan {
		if d.nextLF = bytes.IndexByte(d.buf[d.scan:], '\n'); d.nextLF >= 0 {
			d.nextLF += d.scan
		} else {
			d.nextLF = len(d.buf)
		}
	}
	if cr := bytes.IndexByte(d.buf[d.scan:d.nextLF], '\r'); cr >= 0 {
		return d.scan + cr
	}
	if d.nextLF < len(d.buf) {
		return d.nextLF
	}
	d.scan = len(d.buf)
	return -1
}

// checkLimit holds what is under way, with its line up to end (-1: all that has come of
// it), against the limit.
func (d *Decoder) checkLimit(end int) bool {
	if end < 0 {
		end = len(d.buf)
	}
	if end-d.pendingStart() <= d.limit {
		return true
	}
	began := d.line + 1
	if d.block.isOpen {
		began = d.block.item.Line
	}
	d.err = fmt.Errorf("%w: with line %d it goes over the limit of %d bytes (it began in line %d)", ErrTooLarge, d.line+1, d.limit, began)
	return false
}

// decodeLine takes the line from at to end. It is false if the caller broke off.
func (d *Decoder) decodeLine(at, end int, yield func(Item) bool) bool {
	line := d.buf[at:end:end]
	switch {
	case len(line) == 0:
		if !d.block.isOpen {
			return true
		}
		item := d.endBlock(at)
		item.End = d.offset + d.start
		return yield(item)
	case line[0] == ':':
		return yield(Item{
			Kind: Comment, Text: string(line[1:]), Raw: line, LastEventID: d.lastID,
			Line: d.line, Offset: d.offset + at, End: d.offset + d.start, InvalidUTF8: !utf8.Valid(line),
		})
	}
	if !d.block.isOpen {
		d.blockStart = at
		d.block.begin(d.line, d.offset+at)
	}
	d.block.addField(line, at-d.blockStart)
	return true
}

// endBlock ends the block under way, the last of whose lines ends at end.
func (d *Decoder) endBlock(end int) Item {
	item := d.block.end(d.buf[d.blockStart:end:end])
	if item.HasID {
		d.lastID = item.ID
	}
	item.LastEventID = d.lastID
	return item
}
