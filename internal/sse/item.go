// Package sse turns the bytes of a text/event-stream (WHATWG HTML section 9.2)
// into what they hold, and back. It is made for a judge: nothing is thrown away,
// and everything says where it stood. It knows neither HTTP nor what events say,
// and it does not reconnect.
package sse

// An ItemKind says what an item is.
type ItemKind int

// The kinds of item.
const (
	Event   ItemKind = iota // a block of lines with data: what the standard dispatches
	Comment                 // one comment line
	Block                   // a block without data, which the standard does not dispatch
)

// An Item is something that stands in a stream: a block of fields up to the blank
// line that ends it, or a comment line. A comment does not end the block that it
// stands in, and it is told before that block: items come in the order in which
// they are complete. Blank lines that end nothing are no items; the offsets show
// where they were.
//
// An item is shared with the decoder, and perhaps with what was fed: it is to be
// read, not to be written.
type Item struct {
	Kind ItemKind

	Event       string   // the event field's value, "" if there is none; the last one counts
	Data        []byte   // the data fields' values joined by LF; never nil in an Event, nil in the others
	ID          string   // the id field's value; the last one without NUL counts
	HasID       bool     // there is such an id field, perhaps an empty one
	LastEventID string   // the standard's last event ID once this item is complete: what a client would reconnect with
	Retry       string   // the retry field's value in milliseconds as spelled, if it is one or more ASCII digits; the last one counts
	Fields      []string // the names of the fields in their order and spelling, unknown ones too
	Text        string   // of a Comment: all that follows the colon, a space too

	Raw         []byte // the lines as they came, with comments inside; without the blank line, and without a comment's own line end
	Line        int    // of the first line, from 1
	Offset      int    // of the first byte, from 0; a byte order mark before it counts
	End         int    // the offset after the byte that completed the item; see below
	Incomplete  bool   // the stream ended before the item did
	InvalidUTF8 bool   // a line of it is not UTF-8 (a comment inside a block says so itself); Data keeps the bytes
}

// An item is complete as soon as the blank line, or the comment, ends: with a LF,
// or with a CR even if a LF comes after it that belongs to the same line end. Who
// waited for that LF would tell a live event late, or not at all. So End is after
// the LF, but where the line ends with CR LF it is after the CR, however the
// stream was cut into pieces.
