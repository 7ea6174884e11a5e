package script

import (
	"fmt"

	"github.com/goccy/go-yaml/token"
)

// A tokenLimits looks at the tokens of a file before they are parsed: the parser takes time that
// grows with the square of how deep values nest, and of how many stand in one.
type tokenLimits struct {
	line, lineOpeners int   // so many marks that open something are in the line
	flowMembers       []int // members of the objects in braces that are open; -1: it is a list
	blockMembers      map[int]int
	maxColumn         int // the largest column in blocks
	emptyEntries      int // entries of lists without a value
}

// checkTokens refuses what would take for ever to parse.
func checkTokens(tokens token.Tokens) error {
	s := tokenLimits{blockMembers: map[int]int{}}
	for i, tk := range tokens {
		if tk.Position.Line != s.line {
			s.line, s.lineOpeners = tk.Position.Line, 0
		}
		var before *token.Token
		if i > 0 {
			before = tokens[i-1]
		}
		if why := s.check(tk, before); why != "" {
			return &positionError{tk.Position.Line, tk.Position.Column, why}
		}
	}
	return nil
}

func (s *tokenLimits) check(tk, before *token.Token) string {
	members := 0
	switch tk.Type {
	case token.SequenceStartType:
		s.flowMembers = append(s.flowMembers, -1)
	case token.MappingStartType:
		s.flowMembers = append(s.flowMembers, 0)
	case token.SequenceEndType, token.MappingEndType:
		s.flowMembers = s.flowMembers[:max(len(s.flowMembers)-1, 0)]
	case token.SequenceEntryType:
		s.closeBlocks(tk.Position.Column)
		if s.lineOpeners++; before != nil && before.Type == token.SequenceEntryType && before.Position.Line != tk.Position.Line {
			s.emptyEntries++
		}
	case token.AnchorType, token.TagType, token.MappingKeyType:
		s.lineOpeners++
	case token.MappingValueType:
		members = s.countMember(tk, before)
	}
	switch {
	case len(s.flowMembers) > maxDepth, len(s.flowMembers) == 0 && s.lineOpeners > maxDepth, tk.Position.IndentLevel > 2*maxDepth:
		return fmt.Sprintf("this is nested deeper than %d", maxDepth)
	case members > maxMembers:
		return fmt.Sprintf("an object has %d members at most", maxMembers)
	case s.emptyEntries > maxMembers:
		return fmt.Sprintf("more than %d entries of lists have no value", maxMembers)
	}
	return ""
}

// countMember counts the members of the object that a colon belongs to.
func (s *tokenLimits) countMember(tk, before *token.Token) int {
	if n := len(s.flowMembers); n > 0 {
		if s.flowMembers[n-1] >= 0 {
			s.flowMembers[n-1]++
		}
		return s.flowMembers[n-1]
	}
	column := tk.Position.Column
	if before != nil {
		column = before.Position.Column
	}
	s.closeBlocks(column)
	s.blockMembers[column]++
	s.maxColumn = max(s.maxColumn, column)
	return s.blockMembers[column]
}

// closeBlocks forgets the objects further to the right: they are closed.
func (s *tokenLimits) closeBlocks(column int) {
	if s.maxColumn <= column {
		return
	}
	s.maxColumn = 0
	for c := range s.blockMembers {
		if c > column {
			delete(s.blockMembers, c)
		} else {
			s.maxColumn = max(s.maxColumn, c)
		}
	}
}
