package sse

// A EventCounter counts the events and comments of a stream, at little cost: blocks of lines up
// to their blank lines, and comment lines. It does not take them apart. The zero EventCounter is
// at the start of a stream.
type EventCounter struct {
	N            int  // how many are complete
	lineHasBytes bool // the line under way has bytes
	isComment    bool // it is a comment
	inBlock      bool // a block of lines is under way
	afterCR      bool // the last byte was a CR
}

// Add counts on in the next piece of the stream, until there are more than limit. It
// returns how many bytes of the piece it has looked at.
func (c *EventCounter) Add(piece []byte, limit int) int {
	for i, b := range piece {
		switch {
		case b == '\n' && c.afterCR: // the second half of a line's end
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
