package script

import (
	"fmt"

	"github.com/goccy/go-yaml/token"
)

// A survey looks at the tokens of a file before they are parsed: the parser takes time that
// grows with the square of how deep values nest, and of how many stand in one.
type survey struct {
	line, marks int   // so many marks that open something are in the line
	flows       []int // members of the objects in braces that are open; -1: it is a list
	blocks      map[int]int
	deepest     int // the largest column in blocks
	empty       int // entries of lists without a value
}

// readable refuses what would take for ever to parse.
func readable(tokens token.Tokens) error {
	s := survey{blocks: map[int]int{}}
	for i, tk := range tokens {
		if tk.Position.Line != s.line {
			s.line, s.marks = tk.Position.Line, 0
		}
		var before *token.Token
		if i > 0 {
			before = tokens[i-1]
		}
		if why := s.see(tk, before); why != "" {
			return &flaw{tk.Position.Line, tk.Position.Column, why}
		}
	}
	return nil
}

func (s *survey) see(tk, before *token.Token) string {
	members := 0
	switch tk.Type {
	case token.SequenceStartType:
		s.flows = append(s.flows, -1)
	case token.MappingStartType:
		s.flows = append(s.flows, 0)
	case token.SequenceEndType, token.MappingEndType:
		s.flows = s.flows[:max(len(s.flows)-1, 0)]
	case token.SequenceEntryType:
		s.leave(tk.Position.Column)
		if s.marks++; before != nil && before.Type == token.SequenceEntryType && before.Position.Line != tk.Position.Line {
			s.empty++
		}
	case token.AnchorType, token.TagType, token.MappingKeyType:
		s.marks++
	case token.MappingValueType:
		members = s.member(tk, before)
	}
	switch {
	case len(s.flows) > mostDepth, len(s.flows) == 0 && s.marks > mostDepth, tk.Position.IndentLevel > 2*mostDepth:
		return fmt.Sprintf("this is nested deeper than %d", mostDepth)
	case members > mostMembers:
		return fmt.Sprintf("an object has %d members at most", mostMembers)
	case s.empty > mostMembers:
		return fmt.Sprintf("more than %d entries of lists have no value", mostMembers)
	}
	return ""
}

// member counts the members of the object that a colon belongs to.
func (s *survey) member(tk, before *token.Token) int {
	if n := len(s.flows); n > 0 {
		if s.flows[n-1] >= 0 {
			s.flows[n-1]++
		}
		return s.flows[n-1]
	}
	column := tk.Position.Column
	if before != nil {
		column = before.Position.Column
	}
	s.leave(column)
	s.blocks[column]++
	s.deepest = max(s.deepest, column)
	return s.blocks[column]
}

// leave forgets the objects further to the right: they are closed.
func (s *survey) leave(column int) {
	if s.deepest <= column {
		return
	}
	s.deepest = 0
	for c := range s.blocks {
		if c > column {
			delete(s.blocks, c)
		} else {
			s.deepest = max(s.deepest, c)
		}
	}
}
