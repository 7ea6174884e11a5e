// Package sse decodes and encodes event streams (WHATWG HTML section 9.2). The decoder is made
// for judging servers: it drops nothing and reports positions. The package does not depend
// on HTTP, does not interpret the data of events and does not reconnect.
package sse

// An ItemKind is the type of an [Item].
type ItemKind int

// The kinds of items of a stream.
const (
	Event   ItemKind = iota // a block of lines with data, which clients dispatch
	Comment                 // one comment line
	Block                   // a block without data, which clients do not dispatch
)

// An Item is one element of a stream: a block of fields that ends with a blank line, or a comment
// line. Blank lines that end no block are not items. Items are in the order in which they are
// completed. A comment within a block does not end the block, so its item precedes the item of the
// block.
//
// A block is complete at the end of its blank line, and a comment at the end of its line. If that
// line ends with CR LF, the item is already complete after the CR, so that a live event does not
// have to wait for the LF. End is then the offset after the CR, however the stream was divided into
// pieces.
//
// Items share memory with the decoder and with the pieces given to Feed. They must not be modified.
type Item struct {
	Kind ItemKind

	Event       string   // value of the last event field, or ""
	Data        []byte   // values of the data fields joined by LF; nil unless Kind is Event
	ID          string   // value of the last id field whose value contains no NUL
	HasID       bool     // there is such an id field, perhaps empty
	LastEventID string   // last event ID after this item, with which a client would reconnect
	Retry       string   // value of the last retry field that is a number, in milliseconds and as received
	Fields      []string // names of all fields in order, as received
	Text        string   // everything after the colon of a Comment

	// Raw holds the lines as received, comments included, without the blank line of a
	// block and without the line end of a comment.
	Raw         []byte
	Line        int  // number of the first line, starting at 1
	Offset      int  // offset of the first byte, starting at 0; a byte order mark counts
	End         int  // offset after the byte that completed the item
	EndsWithCR  bool // the line that completed the item ends with CR or CR LF
	Incomplete  bool // the stream ended before the item did
	InvalidUTF8 bool // a line is not UTF-8 (not counting comments in a block); Data keeps the bytes
}
