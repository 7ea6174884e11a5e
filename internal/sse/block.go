package sse

import (
	"bytes"
	"slices"
	"unicode/utf8"
)

// A block collects the field lines since the last blank line. The position of its data is
// relative to the first byte of the block, since the block may move in memory until it ends.
type block struct {
	isOpen bool
	item   Item // the item so far

	dataFields         int    // number of data fields
	dataStart, dataEnd int    // position of the first one's value
	moreData           []byte // LF and value of each further one

	fieldNames []string // names of all fields

	// Strings of the previous block, which are shared if they recur, as in most streams.
	lastFieldNames []string
	lastEventName  string
}

// begin starts a block at a line and byte offset of the stream.
func (b *block) begin(line, offset int) {
	b.isOpen, b.item = true, Item{Line: line, Offset: offset}
	b.dataFields, b.moreData, b.fieldNames = 0, b.moreData[:0], b.fieldNames[:0]
}

// addField adds one line. at is its position in the block.
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
	if len(b.fieldNames) == cap(b.fieldNames) { // grow faster than append does
		b.fieldNames = slices.Grow(b.fieldNames, len(b.fieldNames)+8)
	}
	b.fieldNames = append(b.fieldNames, b.internName(name))
	switch string(name) { // neither this nor the cases below allocate
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

// internName returns the name of a field. It does not allocate for the standard's names and
// for the name at the same position of the previous block.
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

// eventName returns value as a string, shared with the previous block if it is the same.
func (b *block) eventName(value []byte) string {
	if b.lastEventName != string(value) {
		b.lastEventName = string(value)
	}
	return b.lastEventName
}

// addData adds the value of a data field. at is its position in the block.
func (b *block) addData(value []byte, at int) {
	if b.dataFields++; b.dataFields == 1 {
		b.dataStart, b.dataEnd = at, at+len(value)
		return
	}
	b.moreData = append(append(b.moreData, '\n'), value...)
}

// end ends the block and returns its item. raw holds the bytes of the block.
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

// maxScratch is the maximum amount of memory that is kept for the next block, in bytes.
const maxScratch = 64 << 10

// isDigits reports whether value consists of ASCII digits and is not empty.
func isDigits(value []byte) bool {
	for _, c := range value {
		if c < '0' || c > '9' {
			return false
		}
	}
	return len(value) > 0
}
