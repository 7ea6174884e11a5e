package sse

import (
	"bytes"
	"slices"
	"unicode/utf8"
)

// A block is the lines with fields since the last blank line. Where its data stands
// is kept as positions from its first byte, as its bytes may move until it ends.
type block struct {
	isOpen bool
	item   Item // what its fields say so far

	dataFields         int    // how many data fields there are
	dataStart, dataEnd int    // where the value of the first one stands
	moreData           []byte // LF and value of each further one; scratch space

	fieldNames []string // of its fields

	// What the block before had, to be shared if this one has the same: most
	// streams repeat one form.
	lastFieldNames []string
	lastEventName  string
}

// begin begins a block at a line and an offset.
func (b *block) begin(line, offset int) {
	b.isOpen, b.item = true, Item{Line: line, Offset: offset}
	b.dataFields, b.moreData, b.fieldNames = 0, b.moreData[:0], b.fieldNames[:0]
}

// addField takes one line, which stands at at in the block.
func (b *block) addField(line []byte, at int) {
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
	if len(b.fieldNames) == cap(b.fieldNames) { // append alone would grow in smaller steps, and copy more
		b.fieldNames = slices.Grow(b.fieldNames, len(b.fieldNames)+8)
	}
	b.fieldNames = append(b.fieldNames, b.internName(name))
	switch string(name) { // neither this nor the comparisons below copy
	case "data":
		b.addData(value, at+len(line)-len(value))
	case "event":
		b.item.Event = b.eventName(value)
	case "id":
		if bytes.IndexByte(value, 0) < 0 {
			b.item.ID, b.item.HasID = string(value), true
		}
	case "retry":
		if isDigits(value) {
			b.item.Retry = string(value)
		}
	}
}

// internName is a field's name, without a copy for those that the standard knows and for
// those that stood at this place in the block before.
func (b *block) internName(internName []byte) string {
	switch string(internName) {
	case "data":
		return "data"
	case "id":
		return "id"
	case "event":
		return "event"
	case "retry":
		return "retry"
	}
	if n := len(b.fieldNames); n < len(b.lastFieldNames) && b.lastFieldNames[n] == string(internName) {
		return b.lastFieldNames[n]
	}
	return string(internName)
}

func (b *block) eventName(value []byte) string {
	if b.lastEventName != string(value) {
		b.lastEventName = string(value)
	}
	return b.lastEventName
}

// addData takes a data field's value, which stands at at in the block.
func (b *block) addData(value []byte, at int) {
	if b.dataFields++; b.dataFields == 1 {
		b.dataStart, b.dataEnd = at, at+len(value)
		return
	}
	b.moreData = append(append(b.moreData, '\n'), value...)
}

// end ends the block, whose bytes are raw.
func (b *block) end(raw []byte) Item {
	item := b.item
	item.Raw = raw
	switch b.dataFields {
	case 0:
		item.Kind = Block
	case 1:
		item.Data = raw[b.dataStart:b.dataEnd:b.dataEnd]
	default:
		item.Data = slices.Concat(raw[b.dataStart:b.dataEnd], b.moreData)
	}
	if !slices.Equal(b.fieldNames, b.lastFieldNames) {
		b.lastFieldNames = slices.Clone(b.fieldNames)
	}
	item.Fields = b.lastFieldNames
	b.isOpen = false
	// One unusual event is no reason to hold on to much.
	if cap(b.moreData) > maxScratch {
		b.moreData = nil
	}
	if cap(b.fieldNames) > maxScratch/16 {
		b.fieldNames, b.lastFieldNames = nil, nil
	}
	if len(b.lastEventName) > maxScratch {
		b.lastEventName = ""
	}
	return item
}

// maxScratch is how much memory, in bytes, is kept from one block for the next.
const maxScratch = 64 << 10

// isDigits says whether value is ASCII digits, at least one.
func isDigits(value []byte) bool {
	for _, c := range value {
		if c < '0' || c > '9' {
			return false
		}
	}
	return len(value) > 0
}
