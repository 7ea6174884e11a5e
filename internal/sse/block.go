package sse

import (
	"bytes"
	"slices"
	"unicode/utf8"
)

// A block is the lines with fields since the last blank line. Where its data stands
// is kept as positions from its first byte, as its bytes may move until it ends.
type block struct {
	open bool
	item Item // what its fields say so far

	lines    int    // how many data fields there are
	from, to int    // where the value of the first one stands
	more     []byte // LF and value of each further one; scratch space

	names []string // of its fields

	// What the block before had, to be shared if this one has the same: most
	// streams repeat one form.
	fields []string
	event  string
}

// begin begins a block at a line and an offset.
func (b *block) begin(line, offset int) {
	b.open, b.item = true, Item{Line: line, Offset: offset}
	b.lines, b.more, b.names = 0, b.more[:0], b.names[:0]
}

// field takes one line, which stands at at in the block.
func (b *block) field(line []byte, at int) {
	if !b.item.InvalidUTF8 && !utf8.Valid(line) {
		b.item.InvalidUTF8 = true
	}
	colon := bytes.IndexByte(line, ':')
	name, value := line, line[len(line):]
	if colon >= 0 {
		name, value = line[:colon], line[colon+1:]
	}
	if len(value) > 0 && value[0] == ' ' {
		value = value[1:]
	}
	if len(b.names) == cap(b.names) { // append alone would grow in smaller steps, and copy more
		b.names = slices.Grow(b.names, len(b.names)+8)
	}
	b.names = append(b.names, b.name(name))
	switch string(name) { // neither this nor the comparisons below copy
	case "data":
		b.data(value, at+len(line)-len(value))
	case "event":
		b.item.Event = b.eventName(value)
	case "id":
		if bytes.IndexByte(value, 0) < 0 {
			b.item.ID, b.item.HasID = string(value), true
		}
	case "retry":
		if digits(value) {
			b.item.Retry = string(value)
		}
	}
}

// name is a field's name, without a copy for those that the standard knows and for
// those that stood at this place in the block before.
func (b *block) name(name []byte) string {
	switch string(name) {
	case "data":
		return "data"
	case "id":
		return "id"
	case "event":
		return "event"
	case "retry":
		return "retry"
	}
	if n := len(b.names); n < len(b.fields) && b.fields[n] == string(name) {
		return b.fields[n]
	}
	return string(name)
}

func (b *block) eventName(value []byte) string {
	if b.event != string(value) {
		b.event = string(value)
	}
	return b.event
}

// data takes a data field's value, which stands at at in the block.
func (b *block) data(value []byte, at int) {
	if b.lines++; b.lines == 1 {
		b.from, b.to = at, at+len(value)
		return
	}
	b.more = append(append(b.more, '\n'), value...)
}

// end ends the block, whose bytes are raw.
func (b *block) end(raw []byte) Item {
	item := b.item
	item.Raw = raw
	switch b.lines {
	case 0:
		item.Kind = Block
	case 1:
		item.Data = raw[b.from:b.to:b.to]
	default:
		item.Data = slices.Concat(raw[b.from:b.to], b.more)
	}
	if !slices.Equal(b.names, b.fields) {
		b.fields = slices.Clone(b.names)
	}
	item.Fields = b.fields
	b.open = false
	// One unusual event is no reason to hold on to much.
	if cap(b.more) > maxScratch {
		b.more = nil
	}
	if cap(b.names) > maxScratch/16 {
		b.names, b.fields = nil, nil
	}
	if len(b.event) > maxScratch {
		b.event = ""
	}
	return item
}

// maxScratch is how much memory, in bytes, is kept from one block for the next.
const maxScratch = 64 << 10

// digits says whether value is ASCII digits, at least one.
func digits(value []byte) bool {
	for _, c := range value {
		if c < '0' || c > '9' {
			return false
		}
	}
	return len(value) > 0
}
