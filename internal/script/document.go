package script

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"

	"github.com/streamassay/streamassay/internal/printable"
	"github.com/streamassay/streamassay/internal/textfile"
	"github.com/streamassay/streamassay/internal/yamltree"
)

// The limits of a script file. They bound the time and memory needed to parse the file.
const (
	maxFileSize = 1 << 20 // bytes
	maxDepth    = 32      // levels of nesting
	maxMembers  = 1000    // members of one object
	maxNodes    = 300_000 // values, counting each expansion of an alias
)

// A filePosition is a line and a column of a file, both starting at 1; columns count code points.
// The zero value stands for an unknown position.
type filePosition struct{ line, column int }

// positionOf returns the position of n, or the zero value if it is unknown. The position of an
// object in block style is that of its first key.
func positionOf(n ast.Node) filePosition {
	for range maxDepth {
		m, ok := n.(*ast.MappingNode)
		if !ok || m.IsFlowStyle || len(m.Values) == 0 {
			break
		}
		n = m.Values[0].Key
	}
	if tk := n.GetToken(); tk != nil && tk.Position != nil {
		return filePosition{tk.Position.Line, tk.Position.Column}
	}
	return filePosition{}
}

// A positionError is an error at a position in a file.
type positionError struct {
	filePosition
	text string
}

// Error returns the message without the position.
func (e *positionError) Error() string { return e.text }

// errorAt returns a *positionError with the position of n. The message is formatted as by
// [fmt.Sprintf].
func errorAt(n ast.Node, format string, args ...any) error {
	return &positionError{positionOf(n), fmt.Sprintf(format, args...)}
}

// parseYAML parses data, the content of a file. It returns the root node, and the value of that
// node as encoding/json would decode it, except that integers are of type int64. If the file has no
// content, all results are nil. If data is not valid YAML, exceeds a limit or uses a feature that
// scripts do not support, parseYAML returns a *positionError.
//
// The returned tree has no anchors or aliases. In place of each alias is the node to which it
// refers, so the same node may occur in several places.
func parseYAML(data []byte) (root ast.Node, value any, err error) {
	if len(data) > maxFileSize {
		message := fmt.Sprintf("the file is too large: %d bytes, at most %d are allowed", len(data), maxFileSize)
		return nil, nil, &positionError{text: message}
	}
	data, problem := textfile.Decode(data)
	if problem != nil {
		return nil, nil, &positionError{filePosition{problem.Line, problem.Column}, problem.Message}
	}
	defer func() { // the YAML parser panics on some invalid files
		if r := recover(); r != nil {
			root, value, err = nil, nil, &positionError{text: "invalid YAML"}
		}
	}()
	tokens := lexer.Tokenize(string(data))
	if err := checkTokens(tokens); err != nil {
		return nil, nil, err
	}
	file, err := parser.Parse(tokens, 0)
	if err != nil {
		return nil, nil, yamlError(err)
	}
	for _, doc := range file.Docs {
		switch {
		case doc.Body == nil:
		case root != nil:
			return nil, nil, errorAt(doc.Body,
				"more than one YAML document: put the rules into one list, or into separate files")
		default:
			root = doc.Body
		}
	}
	if root == nil {
		return nil, nil, nil
	}
	r := aliasResolver{anchors: map[string]*resolvedNode{}}
	n, err := r.resolve(root, 0)
	if err != nil {
		return nil, nil, err
	}
	return n.node, n.value, nil
}

// yamlError converts err, an error from the YAML parser, to a *positionError with the same
// position, which may be unknown. The text contains at most 200 bytes of the message of err.
func yamlError(err error) error {
	var where yaml.Error
	if errors.As(err, &where) {
		e := &positionError{text: "invalid YAML: " + truncate(yamltree.ErrorText(where), 200)}
		if tk := where.GetToken(); tk != nil && tk.Position != nil {
			e.filePosition = filePosition{tk.Position.Line, tk.Position.Column}
		}
		return e
	}
	first, _, _ := strings.Cut(err.Error(), "\n")
	return &positionError{text: "invalid YAML: " + truncate(first, 200)}
}

// A resolvedNode is a node in which each alias has been replaced with the node to which it refers.
type resolvedNode struct {
	node  ast.Node
	value any // the decoded value, as returned by parseYAML
	size  int // number of values and keys in the node, including itself; 32 bytes of a scalar count as one more
}

// An aliasResolver replaces the aliases in the tree of a file with the nodes to which they refer.
type aliasResolver struct {
	// anchors maps the name of each anchor before the current node to its resolved value. The
	// value is nil if the current node is inside the anchored node.
	anchors map[string]*resolvedNode
}

// resolve replaces all aliases in the node n with the nodes to which they refer, and returns the
// result. It modifies n. The argument depth is the number of levels between the root and n. resolve
// returns a *positionError if n exceeds a limit, has an alias without a preceding anchor, or uses a
// feature that scripts do not support.
func (r *aliasResolver) resolve(n ast.Node, depth int) (*resolvedNode, error) {
	if depth > maxDepth {
		return nil, errorAt(n, "nested deeper than %d levels", maxDepth)
	}
	out := &resolvedNode{node: n, size: 1}
	var err error
	switch n := n.(type) {
	case *ast.MappingNode:
		err = r.resolveMembers(n, out, depth)
	case *ast.SequenceNode:
		list := make([]any, len(n.Values))
		for i, v := range n.Values {
			item, err := r.resolve(v, depth+1)
			if err != nil {
				return nil, err
			}
			n.Values[i], list[i] = item.node, item.value
			out.size += item.size
		}
		out.value = list
	case *ast.AnchorNode:
		name := n.Name.GetToken().Value
		r.anchors[name] = nil
		if out, err = r.resolve(n.Value, depth+1); err != nil {
			return nil, err
		}
		r.anchors[name] = out
	case *ast.AliasNode:
		name := n.Value.GetToken().Value
		if out = r.anchors[name]; out == nil {
			return nil, errorAt(n, "alias without a preceding anchor &%s", truncate(name, 40))
		}
	case *ast.TagNode:
		err = errorAt(n, "tags are not supported: remove %s", n.GetToken().Value)
	default:
		out.value, err = scalarValue(n)
		out.size += len(scalarText(n)) / 32
	}
	if err == nil && out.size > maxNodes {
		err = errorAt(n, "the script is too large: at most %d values are allowed, counting each use of an alias", maxNodes)
	}
	return out, err
}

// resolveMembers replaces the aliases in the members of the object n. It sets out.value to the
// value of n, and adds the size of the members to out.size. The argument depth is the number of
// levels between the root and n. resolveMembers returns a *positionError if a member cannot be
// resolved, a key is not supported or occurs twice, or the object has too many members.
func (r *aliasResolver) resolveMembers(n *ast.MappingNode, out *resolvedNode, depth int) error {
	object := map[string]any{}
	for _, m := range n.Values {
		if m.Key.IsMergeKey() {
			return errorAt(m.Key, "merge keys (<<) are not supported: repeat the members")
		}
		if _, err := scalarValue(m.Key); err != nil {
			return err
		}
		key := scalarText(m.Key)
		if _, duplicate := object[key]; duplicate {
			return errorAt(m.Key, "duplicate key %s", key)
		}
		if len(object) == maxMembers {
			return errorAt(m.Key, "an object has at most %d members", maxMembers)
		}
		value, err := r.resolve(m.Value, depth+1)
		if err != nil {
			return err
		}
		m.Value, object[key] = value.node, value.value
		out.size += value.size + 1
	}
	out.value = object
	return nil
}

// scalarValue returns the value of the scalar n: nil for null, a bool, a string, an int64 for an
// integer, or a float64 for any other number. It returns a *positionError if scripts do not support
// the value, such as an integer above math.MaxInt64.
func scalarValue(n ast.Node) (any, error) {
	switch n := n.(type) {
	case *ast.NullNode:
		return nil, nil
	case *ast.BoolNode:
		return n.Value, nil
	case *ast.FloatNode:
		return n.Value, nil
	case *ast.StringNode, *ast.LiteralNode:
		return scalarText(n), nil
	case *ast.IntegerNode:
		switch v := n.Value.(type) {
		case int64:
			return v, nil
		case uint64:
			if v <= math.MaxInt64 {
				return int64(v), nil
			}
		}
		return nil, errorAt(n, "number %s is too large: put it in quotes", truncate(n.GetToken().Value, 40))
	}
	return nil, errorAt(n, "unsupported value %s", truncate(strconv.Quote(n.GetToken().Value), 40))
}

// scalarText returns the text of the scalar n. For a string, this is its value. For any other
// scalar, it is the notation in the file, such as "1.50".
func scalarText(n ast.Node) string {
	switch n := n.(type) {
	case *ast.StringNode:
		return n.Value
	case *ast.LiteralNode:
		return n.Value.Value
	}
	return n.GetToken().Value
}

// member returns the member of n with the given key, or nil if n is not an object or has no such
// member.
func member(n ast.Node, key string) *ast.MappingValueNode {
	for _, m := range yamltree.Fields(n) {
		if scalarText(m.Key) == key {
			return m
		}
	}
	return nil
}

// lookup returns the node at a location in n. The location consists of the keys of members and the
// indexes of items, counted from 0. If there is no such node, lookup returns the node at the
// longest existing prefix of the location.
func lookup(n ast.Node, location ...string) ast.Node {
	found, _, _ := yamltree.Find(n, location...)
	return found
}

// describe returns a description of n for messages, such as "a list", "an object with text and
// wait" or "null". The description of a string is its value in quotes, and that of any other scalar
// is its notation in the file. Long values are truncated.
func describe(n ast.Node) string {
	switch n := n.(type) {
	case *ast.SequenceNode:
		if len(n.Values) == 0 {
			return "an empty list"
		}
		return "a list"
	case *ast.MappingNode:
		if len(n.Values) == 0 {
			return "an empty object"
		}
		var names []string
		for _, m := range n.Values[:min(len(n.Values), 5)] {
			names = append(names, truncate(scalarText(m.Key), 20))
		}
		return "an object with " + joinNames(names)
	case *ast.NullNode:
		return "null"
	case *ast.StringNode, *ast.LiteralNode:
		return quoteTruncated(scalarText(n))
	}
	return truncate(scalarText(n), 40)
}

// quoteTruncated returns text as a quoted Go string. If text is longer than 60 bytes, only its
// beginning is quoted, with an ellipsis at the end.
func quoteTruncated(text string) string { return strconv.Quote(truncate(text, 60)) }

// truncate returns text if it has at most maxLen bytes. Otherwise, it returns at most maxLen bytes
// from the beginning of text, without a partial code point, followed by an ellipsis.
func truncate(text string, maxLen int) string {
	if shown := printable.Prefix(text, maxLen); len(shown) < len(text) {
		return shown + "…"
	}
	return text
}

// joinNames returns the names as one string, such as "a, b and c". It returns "" if there are no
// names.
func joinNames(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " and " + names[last]
}
