package sse

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"slices"
	"unicode/utf8"
)

// DefaultMaxEvent is the default maximum size of one event, in bytes.
const DefaultMaxEvent = 16 << 20

// ErrTooLarge means that an event or a comment exceeds the limit of the decoder. After this error,
// nothing more is decoded.
var ErrTooLarge = errors.New("the event is too large")

// byteOrderMark is a character that is ignored at the beginning of a stream.
const byteOrderMark = "\ufeff"

// minJoinBytes is the minimum number of bytes that decodeHeld takes from a new piece to complete an
// item that began in an earlier piece. It takes fewer bytes only if the piece is shorter. With a
// smaller minimum, decodeHeld would need more attempts to complete the item.
const minJoinBytes = 512

// A Decoder decodes one stream. Between calls of Feed, it holds only the event that is not yet
// complete. Its memory is at most about twice the limit if lines are long, and about twenty times
// the limit if there are very many short lines, because the names of all fields are kept in
// Item.Fields. A Decoder must not be used concurrently.
type Decoder struct {
	limit     int  // maximum number of bytes of one event or comment
	jsonLines bool // each line that is not empty is an event; see NewLineDecoder

	// buf is the part of the stream that is being decoded. While Feed runs, it may be in the
	// caller's memory; otherwise it is in the decoder's own. The positions below are offsets
	// in buf.
	buf        []byte
	owned      bool // buf is in the decoder's memory
	start      int  // start of the current line
	scan       int  // position up to which buf was searched for the end of the current line
	nextLF     int  // position of the first LF from scan on, or len(buf)
	blockStart int  // start of the current block, if one is open

	offset     int    // offset of buf in the stream
	line       int    // number of complete lines
	bomChecked bool   // a byte order mark was skipped or is absent
	skipLF     bool   // the last line ended with CR, so an LF that follows belongs to it
	lastID     string // the last event ID
	paused     bool   // the caller stopped iterating, so buf may hold complete items
	closed     bool   // Close was called
	err        error  // the error that Err returns

	block block // the current block
}

// NewDecoder returns a decoder that allows at most limit bytes for a comment and for an event. The
// size of an event is counted from the start of its first line to the end of its last line. If
// limit is 0 or negative, [DefaultMaxEvent] applies.
func NewDecoder(limit int) *Decoder {
	if limit <= 0 {
		limit = DefaultMaxEvent
	}
	return &Decoder{limit: limit}
}

// NewLineDecoder returns a decoder for a stream of JSON lines, also known as newline-delimited JSON
// or NDJSON: each line that is not empty is an item of kind Event, whose Data is the line. The
// argument limit is the maximum size of a line in bytes, as in [NewDecoder].
func NewLineDecoder(limit int) *Decoder {
	d := NewDecoder(limit)
	d.jsonLines = true
	return d
}

// Err returns an error that wraps [ErrTooLarge] if an event or comment exceeded the limit, and nil
// otherwise. The error states the limit, the line in which the event began and the line in which it
// exceeded the limit.
func (d *Decoder) Err() error { return d.err }

// Items returns an iterator over the items of a complete body: all complete items, and then the
// incomplete item at the end of the body, if there is one. The argument limit has the same meaning
// as in [NewDecoder]. If an item exceeds it, the last pair is a zero Item and an error that wraps
// [ErrTooLarge]. In all other pairs, the error is nil. The fields Raw and Data of items alias body,
// except the Data of events with several data lines.
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

// Feed returns an iterator over the items that p, the next piece of the stream, completes. The
// iterator yields each item as soon as it is complete. The items do not depend on how the stream is
// divided into pieces. An item that lies entirely in p may share its memory. Other items have
// memory that the decoder does not write again. After the iteration, the caller may reuse p, unless
// it still needs the items.
//
// The bytes are decoded during the iteration, which may be done only once. If the iteration is
// stopped early, the next call to Feed, whose argument may be nil, returns the remaining items
// first. If decoding fails, the iteration ends, and Err returns the error. After that, or after a
// call to Close, the iterator yields no items.
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

// decodeHeld decodes the incomplete item in d.buf together with its continuation in p. It appends
// only a part of p to d.buf, so that a large p is not copied as a whole. If that part completes the
// item, decodeHeld also decodes the remaining bytes of p, without copying them. The result rest is
// the part of p that must still be decoded. The result more is false if decoding must stop.
func (d *Decoder) decodeHeld(p []byte, yield func(Item) bool) (rest []byte, more bool) {
	held := len(d.buf)
	n := min(len(p), max(held, minJoinBytes))
	d.buf = append(d.buf, p[:n]...)
	more = d.decodeLines(yield)
	if begin := d.pendingStart(); more && begin >= held { // the pending part lies in p: continue there
		d.discard(begin)
		d.buf, d.owned = p[begin-held:len(p):len(p)], false
		return nil, d.decodeLines(yield)
	}
	return p[n:], more
}

// pendingStart returns the position in d.buf of the first byte that does not belong to a complete
// item.
func (d *Decoder) pendingStart() int {
	if d.block.isOpen {
		return d.blockStart
	}
	return d.start
}

// discard removes the first n bytes of d.buf, which belong to complete items, and adjusts the
// positions. It does not adjust d.nextLF, because decodeLines determines it again.
func (d *Decoder) discard(n int) {
	d.buf = d.buf[n:]
	d.offset, d.start, d.scan = d.offset+n, d.start-n, d.scan-n
	if d.block.isOpen {
		d.blockStart -= n
	}
}

// retain copies the bytes that belong to no complete item to memory of the decoder, because the
// caller of Feed may reuse its memory. These bytes are the end of d.buf, followed by p. After an
// error or a call to Close, retain releases d.buf instead.
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

// decodeLines decodes the complete lines of d.buf and calls yield with the items that they
// complete. It returns false if decoding must stop: d.err or d.paused is then set.
func (d *Decoder) decodeLines(yield func(Item) bool) bool {
	d.nextLF, d.paused = -1, false // d.buf may have grown
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

// skipByteOrderMark skips the byte order mark at the start of the stream, if there is one, and
// returns true. It returns false if d.buf is too short to decide whether there is one.
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

// lineEnd returns the position in d.buf of the end of the current line, or -1 if the line is
// incomplete. It searches each byte only once for LF and once for CR, even if the stream contains
// only one of the two.
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

// checkLimit reports whether the current item, up to the position end in d.buf, is within the
// limit. If it is not, checkLimit sets d.err. If end is -1, the item extends to the end of d.buf.
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
	d.err = fmt.Errorf("%w: it exceeds %d bytes in line %d (it began in line %d)", ErrTooLarge, d.limit, d.line+1, began)
	return false
}

// decodeLine decodes the line d.buf[at:end] and, if the line completes an item, calls yield with
// that item. It returns the result of yield, or true if it did not call yield.
func (d *Decoder) decodeLine(at, end int, yield func(Item) bool) bool {
	line := d.buf[at:end:end]
	switch {
	case d.jsonLines && len(line) > 0:
		return yield(Item{
			Data: line, Raw: line, Line: d.line, Offset: d.offset + at, End: d.offset + d.start, InvalidUTF8: !utf8.Valid(line),
		})
	case len(line) == 0:
		if !d.block.isOpen {
			return true
		}
		item := d.endBlock(at)
		item.End, item.EndsWithCR = d.offset+d.start, d.skipLF
		return yield(item)
	case line[0] == ':':
		return yield(Item{
			Kind: Comment, Text: string(line[1:]), Raw: line, LastEventID: d.lastID,
			Line: d.line, Offset: d.offset + at, End: d.offset + d.start, EndsWithCR: d.skipLF, InvalidUTF8: !utf8.Valid(line),
		})
	}
	if !d.block.isOpen {
		d.blockStart = at
		d.block.begin(d.line, d.offset+at)
	}
	d.block.addField(line, at-d.blockStart)
	return true
}

// endBlock ends the current block, which extends to the position end in d.buf, and returns it as an
// item. If the block has an id, it becomes the last event ID. The caller must set the fields End
// and EndsWithCR of the item.
func (d *Decoder) endBlock(end int) Item {
	item := d.block.end(d.buf[d.blockStart:end:end])
	if item.HasID {
		d.lastID = item.ID
	}
	item.LastEventID = d.lastID
	return item
}
