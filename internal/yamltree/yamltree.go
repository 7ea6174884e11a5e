// Package yamltree finds values in parsed YAML, and the lines on which they begin. It skips anchors
// and tags, but does not follow aliases. It also words errors of the parser.
package yamltree

import (
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
)

// unexpectedValue is the message for a value in a place where YAML allows none.
const unexpectedValue = `unexpected value (wrong indentation, or a text with ": " that needs quotes)`

// messages replaces messages of the YAML package, or parts of them, with plainer ones. The YAML
// package has two messages for a tab at the beginning of a line; the first entry replaces one of
// them with the other.
var messages = strings.NewReplacer(
	"found character '\t' that cannot start any token", "found a tab character where an indentation space is expected",
	"sequence end token ']' not found", "missing ]",
	"mapping value is not allowed in this context", unexpectedValue, "value is not allowed in this context", unexpectedValue,
	"sequence was used where mapping is expected", "got a list, want a mapping",
	"string was used where mapping is expected", "got a string, want a mapping",
	"string was used where sequence is expected", "got a string, want a list",
	"mapping was used where sequence is expected", "got a mapping, want a list",
)

// ErrorText returns the message of err, an error of the YAML package, without the position and in
// plainer words.
func ErrorText(err yaml.Error) string { return messages.Replace(err.GetMessage()) }

// Content returns the value of n without its YAML anchors and tags, which package ast represents as
// nodes around the value. If n has none, Content returns n itself.
func Content(n ast.Node) ast.Node {
	for {
		switch wrapper := n.(type) {
		case *ast.AnchorNode:
			n = wrapper.Value
		case *ast.TagNode:
			n = wrapper.Value
		default:
			return n
		}
	}
}

// Fields returns the fields of n in the order in which they are written, or nil if n is not a
// mapping.
func Fields(n ast.Node) []*ast.MappingValueNode {
	switch n := Content(n).(type) {
	case *ast.MappingNode:
		return n.Values
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{n}
	}
	return nil
}

// Key returns the key of a field. If the key is a quoted string, the result has no quotes.
func Key(field *ast.MappingValueNode) string { return field.Key.GetToken().Value }

// Line returns the line on which n begins, starting at 1. For a mapping, that is the line of its
// first key. Line returns 1 if n is nil.
func Line(n ast.Node) int {
	n = Content(n)
	if fields := Fields(n); len(fields) > 0 {
		n = fields[0].Key
	}
	if n == nil || n.GetToken() == nil {
		return 1
	}
	return n.GetToken().Position.Line
}

// Find returns the node at the end of path, which begins at n. The elements of path are keys of
// mappings and decimal indexes of sequences, counted from 0. If the path does not exist, Find
// returns the last existing node on it.
//
// The result line is the line of the found node, counted from 1; for the value of a field, it is
// the line of the key. The result steps is the number of elements of path that were found.
func Find(n ast.Node, path ...string) (found ast.Node, line, steps int) {
	line = Line(n)
	for _, step := range path {
		next, at := child(n, step)
		if next == nil {
			break
		}
		n, line, steps = next, at, steps+1
	}
	return n, line, steps
}

// child returns the value of the field of n whose key is step, and the line of that key. If n is a
// sequence, it returns the item with the index step, and the line of that item. If there is no such
// field or item, it returns nil and 0.
func child(n ast.Node, step string) (ast.Node, int) {
	if list, ok := Content(n).(*ast.SequenceNode); ok {
		if i, err := strconv.Atoi(step); err == nil && i >= 0 && i < len(list.Values) {
			return list.Values[i], Line(list.Values[i])
		}
	}
	for _, field := range Fields(n) {
		if Key(field) == step {
			return field.Value, Line(field.Key)
		}
	}
	return nil, 0
}
