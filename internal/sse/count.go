package sse

// A Count counts the events and comments of a stream, at little cost: blocks of lines up
// to their blank lines, and comment lines. It does not take them apart. The zero Count is
// at the start of a stream.
type Count struct {
	N       int  // how many are complete
	inLine  bool // the line under way has bytes
	comment bool // it is a comment
	block   bool // a block of lines is under way
	cr      bool // the last byte was a CR
}

// Add counts on in the next piece of the stream, until there are more than limit. It
// returns how many bytes of the piece it has looked at.
func (c *Count) Add(piece []byte, limit int) int {
	for i, b := range piece {
		switch {
		case b == '\n' && c.cr: // the second half of a line's end
		case b == '\n' || b == '\r':
			if c.endLine(); c.N > limit {
				return i + 1
			}
		case !c.inLine:
			c.inLine, c.comment = true, b == ':'
		}
		c.cr = b == '\r'
	}
	return len(piece)
}

func (c *Count) endLine() {
	switch {
	case c.comment:
		c.N++
	case c.inLine:
		c.block = true
	case c.block:
		c.block = false
		c.N++
	}
	c.inLine, c.comment = false, false
}
