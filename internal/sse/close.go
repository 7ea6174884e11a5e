package sse

import "unicode/utf8"

// Close ends the stream. If the stream ended within an item, Close returns that incomplete item and
// true. A last line without a line end belongs to the item. An id in the item does not become the
// last event ID. Clients must discard such an item, but it may be evidence for checks. In all other
// cases, and after an error, Close returns a zero Item and false.
//
// If the caller has stopped an iteration of [Decoder.Feed] early, the complete items that were not
// yielded are dropped.
func (d *Decoder) Close() (rest Item, ok bool) {
	if d.paused {
		d.decodeLines(func(Item) bool { return true })
	}
	if ok = d.err == nil && !d.closed && d.pendingStart() < len(d.buf); ok {
		rest = d.incompleteItem()
	}
	d.closed, d.buf = true, nil
	return rest, ok
}

// incompleteItem returns an Item, with Incomplete set, for the bytes at the end of d.buf that
// belong to no complete item.
func (d *Decoder) incompleteItem() (item Item) {
	tail := d.buf[d.start:len(d.buf):len(d.buf)]
	comment := len(tail) > 0 && tail[0] == ':'
	invalid := !utf8.Valid(trimPartialRune(tail))
	switch {
	case d.jsonLines:
		item = Item{Data: tail, Raw: tail, Line: d.line + 1, Offset: d.offset + d.start}
	case comment && !d.block.isOpen:
		item = Item{Kind: Comment, Text: string(tail[1:]), Raw: tail, Line: d.line + 1, Offset: d.offset + d.start}
	default:
		if !d.block.isOpen {
			d.blockStart = d.start
			d.block.begin(d.line+1, d.offset+d.start)
		}
		invalid = invalid || d.block.item.InvalidUTF8
		if len(tail) > 0 && !comment {
			d.block.addField(tail, d.start-d.blockStart)
		}
		item = d.block.end(d.buf[d.blockStart:len(d.buf):len(d.buf)])
	}
	item.Incomplete, item.InvalidUTF8 = true, invalid
	item.LastEventID, item.End = d.lastID, d.offset+len(d.buf)
	return item
}

// trimPartialRune returns text without the incomplete UTF-8 sequence at its end, if there is one.
// That sequence does not count as invalid UTF-8, because the stream was cut off there.
func trimPartialRune(text []byte) []byte {
	for i := len(text) - 1; i >= max(0, len(text)-utf8.UTFMax); i-- {
		if utf8.RuneStart(text[i]) {
			if !utf8.FullRune(text[i:]) {
				return text[:i]
			}
			break
		}
	}
	return text
}
