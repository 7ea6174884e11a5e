package sse

import (
	"bytes"
	"slices"
	"unicode/utf8"
)

// A block collects the field lines of an event since the last blank line. Positions are offsets
// from the first byte of the block, because its bytes may be copied to other memory before it ends.
type block struct {
	isOpen bool // the block has begun and has not ended
	item   Item // item of the lines so far

	dataFields         int    // number of data fields
	dataStart, dataEnd int    // offsets of the value of the first data field
	moreData           []byte // LF and value of each further data field

	fieldNames []string // names of all fields in order

	// Strings of the previous block, to be used again if this block has the same ones.
	lastFieldNames []string
	lastEventName  string
}

// begin starts a new block. The arguments are the number of its first line and the byte offset of
// that line in the stream.
func (b *block) begin(line, offset int) {
	b.isOpen, b.item = true, Item{Line: line, Offset: offset}
	b.dataFields, b.moreData, b.fieldNames = 0, b.moreData[:0], b.fieldNames[:0]
}

// addField adds one field line, without its line end, to the block. The argument at is the offset
// of the line from the start of the block.
func (b *block) addField(line []byte, at int) {
	if !b.item.InvalidUTF8 && !utf8.Valid(line) {
		b.item.InvalidUTF8 = true
	}
	name, value := splitField(line)
	if len(b.fieldNames) == cap(b.fieldNames) { // grow faster than append does
		b.fieldNames = slices.Grow(b.fieldNames, len(b.fieldNames)+8)
	}
	b.fieldNames = append(b.fieldNames, b.internName(name))
	switch string(name) { // neither this nor the cases below allocate
	case "data":
		if b.dataFields++; b.dataFields > 1 {
			b.moreData = append(append(b.moreData, '\n'), value...)
			break
		}
		b.dataEnd = at + len(line)
		b.dataStart = b.dataEnd - len(value)
	case "event":
		if b.lastEventName != string(value) { // otherwise, the same string is used again
			b.lastEventName = string(value)
		}
		b.item.Event = b.lastEventName
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

// internName returns name, the name of the field that is about to be added, as a string. It does
// not allocate if name is one of the field names that the standard defines, or if the previous
// block has the same name at the same position.
func (b *block) internName(name []byte) string {
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
	if n := len(b.fieldNames); n < len(b.lastFieldNames) && b.lastFieldNames[n] == string(name) {
		return b.lastFieldNames[n]
	}
	return string(name)
}

// end ends the block and returns it as an item. The argument raw holds the bytes of the block
// without the blank line; the item shares its memory. The caller must set the fields LastEventID,
// End and EndsWithCR of the item.
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
	// Do not let a single large event pin much memory.
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

// maxScratch is the maximum number of bytes of a buffer that is kept for the next block. Larger
// buffers are released, so that one large event does not occupy memory for the rest of the stream.
const maxScratch = 64 << 10

// isDigits reports whether value consists of ASCII digits only and is not empty.
func isDigits(value []byte) bool {
	for _, c := range value {
		if c < '0' || c > '9' {
			return false
		}
	}
	return len(value) > 0
}
