package script

import (
	"fmt"

	"github.com/goccy/go-yaml/token"
)

// A yamlComplexityLimiter counts, in the tokens of a file, the levels of nesting, the members of
// objects, and the list entries without a value. The YAML parser takes quadratic time for these, so
// a file that exceeds a limit is rejected before it is parsed.
type yamlComplexityLimiter struct {
	line, lineOpeners int         // the current line, and the number of tokens in it that open a level
	flowMembers       []int       // for each open brace, the number of members so far; -1 for an open bracket
	blockMembers      map[int]int // number of members of each open block object, by its column
	maxColumn         int         // the largest key of blockMembers
	emptyEntries      int         // number of list entries without a value
}

// checkTokens returns a *positionError for the first token of a file that exceeds a limit of
// yamlComplexityLimiter, or nil if no token does.
func checkTokens(tokens token.Tokens) error {
	s := yamlComplexityLimiter{blockMembers: map[int]int{}}
	for i, tk := range tokens {
		if tk.Position.Line != s.line {
			s.line, s.lineOpeners = tk.Position.Line, 0
		}
		var before *token.Token
		if i > 0 {
			before = tokens[i-1]
		}
		if why := s.check(tk, before); why != "" {
			return &positionError{filePosition{tk.Position.Line, tk.Position.Column}, why}
		}
	}
	return nil
}

// check updates the counters of s for the token tk. It returns a message if a limit is exceeded,
// and otherwise "". The argument before is the preceding token, or nil if tk is the first token.
func (s *yamlComplexityLimiter) check(tk, before *token.Token) string {
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
		s.lineOpeners++
		if before != nil && before.Type == token.SequenceEntryType && before.Position.Line != tk.Position.Line {
			s.emptyEntries++
		}
	case token.AnchorType, token.TagType, token.MappingKeyType:
		s.lineOpeners++
	case token.MappingValueType:
		members = s.countMember(tk, before)
	}
	switch {
	case len(s.flowMembers) > maxDepth, len(s.flowMembers) == 0 && s.lineOpeners > maxDepth,
		tk.Position.IndentLevel > 2*maxDepth:
		return fmt.Sprintf("nested deeper than %d levels", maxDepth)
	case members > maxMembers:
		return fmt.Sprintf("an object has at most %d members", maxMembers)
	case s.emptyEntries > maxMembers:
		return fmt.Sprintf("more than %d list entries have no value", maxMembers)
	}
	return ""
}

// countMember counts a member of an object, and returns the number of members of that object up to
// and including this one. The argument tk is the colon of the member, and before is the token
// before the colon. A member directly within brackets, as in [a: 1], is not counted; for such a
// member, the result is -1.
func (s *yamlComplexityLimiter) countMember(tk, before *token.Token) int {
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

// closeBlocks drops the counters of the block-style objects that end before a token at the given
// column. These are the objects that begin to the right of that column.
func (s *yamlComplexityLimiter) closeBlocks(column int) {
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
