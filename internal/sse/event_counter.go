package sse

// An EventCounter counts the events and comments of a stream without decoding them, to enforce a
// limit cheaply. An event is a block of lines up to a blank line; each comment line counts too. The
// zero value is ready to use.
type EventCounter struct {
	N            int  // number of complete events and comments
	lineHasBytes bool // the current line is not empty
	isComment    bool // the current line is a comment
	inBlock      bool // a block of lines is open
	afterCR      bool // the last byte was a CR
}

// Add counts the events and comments that the next piece of the stream completes. It stops as soon
// as c.N exceeds limit. It returns the number of bytes that it examined, which is len(piece) unless
// it stopped.
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

// endLine counts the comment or event that the end of the current line completes, if any.
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
