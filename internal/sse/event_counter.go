package sse

// An EventCounter counts the events and comments of a stream without decoding them. It serves to
// enforce a limit at little cost. An event is a block of lines that ends with a blank line. Each
// comment line counts as well. The zero value is ready to use.
type EventCounter struct {
	N            int  // number of complete events and comments
	lineHasBytes bool // the current line is not empty
	isComment    bool // the current line is a comment
	inBlock      bool // a block of lines is open
	afterCR      bool // the last byte was a CR
}

// Add counts the events and comments that piece, the next part of the stream, completes. It stops
// as soon as c.N exceeds limit. It returns the number of bytes that it examined, which is
// len(piece) unless it stopped early.
func (c *EventCounter) Add(piece []byte, limit int) int {
	for i, b := range piece {
		switch {
		case b == '\n' && c.afterCR: // second byte of CR LF
		case b == '\n' || b == '\r':
			if c.endLine(); c.N > limit {
				return i + 1
			}
		case !c.lineHasBytes:
			c.lineHasBytes, c.isComment = true, b == ':'
		}
		c.afterCR = b == '\r'
	}
	return len(piece)
}

// endLine updates the counter at the end of a line. If the line completes a comment or an event, it
// increments c.N.
func (c *EventCounter) endLine() {
	switch {
	case c.isComment:
		c.N++
	case c.lineHasBytes:
		c.inBlock = true
	case c.inBlock:
		c.inBlock = false
		c.N++
	}
	c.lineHasBytes, c.isComment = false, false
}
