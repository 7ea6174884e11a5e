package script

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
)

// The limits of a script file, which bound the time and the memory to parse it.
const (
	maxFileSize = 1 << 20 // bytes
	maxDepth    = 32      // levels of nesting
	maxMembers  = 1000    // members of one object
	maxNodes    = 300_000 // values, counting each expansion of an alias
)

// A yamlNode is a value in a script file, with its position.
type yamlNode struct {
	line, column int
	kind         nodeKind
	text         string // a scalar as written
	value        any    // a scalar's value: nil, bool, int64, float64 or string
	items        []*yamlNode
	members      []yamlMember
	size         int // number of values it contains; long texts count more than once
}

// A yamlMember is a member of an object in a script file: its key and its value.
type yamlMember struct {
	key     string
	keyNode *yamlNode // the key with its position
	value   *yamlNode
}

// A nodeKind is the kind of a node: scalar, list or object.
type nodeKind int

// The kinds of nodes: a single value, a list, or an object with members.
const (
	scalarNode nodeKind = iota
	listNode
	objectNode
)

// get returns the value of the member with the given key, or nil if the node has no such member.
func (n *yamlNode) get(key string) *yamlNode {
	for _, m := range n.members {
		if m.key == key {
			return m.value
		}
	}
	return nil
}

// decode returns the value of the node as maps, slices and scalars, in the way in which
// encoding/json decodes a value, except that integers are of type int64.
func (n *yamlNode) decode() any {
	switch n.kind {
	case listNode:
		all := make([]any, 0, len(n.items))
		for _, item := range n.items {
			all = append(all, item.decode())
		}
		return all
	case objectNode:
		all := map[string]any{}
		for _, m := range n.members {
			all[m.key] = m.value.decode()
		}
		return all
	}
	return n.value
}

// describe returns a short description of a node for messages: "a list", "an object", "null" or the
// scalar itself.
func (n *yamlNode) describe() string {
	switch {
	case n.kind == listNode:
		return "a list"
	case n.kind == objectNode:
		return "an object"
	case n.value == nil:
		return "null"
	}
	if text, ok := n.value.(string); ok {
		return quoteTruncated(text)
	}
	return truncate(n.text, 40)
}

// A positionError is an error at a position in a file. The line is 0 if the position is unknown.
type positionError struct {
	line, column int
	text         string
}

// Error returns the message without the position.
func (f *positionError) Error() string { return f.text }

// parseYAML returns the root node of a file, or nil if the file has no content. All errors are of
// type *positionError.
func parseYAML(data []byte) (root *yamlNode, err error) {
	if len(data) > maxFileSize {
		message := fmt.Sprintf("the file is too large: %d bytes, at most %d are allowed", len(data), maxFileSize)
		return nil, &positionError{text: message}
	}
	if !utf8.Valid(data) {
		line, column := invalidUTF8Position(data)
		return nil, &positionError{line, column, "invalid UTF-8"}
	}
	defer func() { // the YAML parser panics on some invalid files
		if r := recover(); r != nil {
			root, err = nil, &positionError{text: "invalid YAML"}
		}
	}()
	tokens := lexer.Tokenize(string(data))
	if err := checkTokens(tokens); err != nil {
		return nil, err
	}
	file, err := parser.Parse(tokens, 0)
	if err != nil {
		return nil, yamlError(err)
	}
	var body ast.Node
	for _, doc := range file.Docs {
		switch {
		case doc.Body == nil:
		case body != nil:
			at := newYAMLNode(doc.Body)
			return nil, &positionError{at.line, at.column,
				"more than one YAML document: put the rules into one list, or into separate files"}
		default:
			body = doc.Body
		}
	}
	if body == nil {
		return nil, nil
	}
	t := yamlConverter{anchors: map[string]*yamlNode{}, inProgress: map[string]bool{}}
	return t.convert(body, 0)
}

// invalidUTF8Position returns the line and the column, both starting at 1, of the first byte in
// data that is not valid UTF-8.
func invalidUTF8Position(data []byte) (line, column int) {
	line, column = 1, 1
	for len(data) > 0 {
		r, size := utf8.DecodeRune(data)
		if r == utf8.RuneError && size == 1 {
			break
		}
		column++
		if r == '\n' {
			line, column = line+1, 1
		}
		data = data[size:]
	}
	return line, column
}

// yamlError converts an error of the YAML parser to a *positionError. The result has a position if
// the parser reports one.
func yamlError(err error) error {
	var where yaml.Error
	if errors.As(err, &where) {
		f := &positionError{text: "invalid YAML: " + truncate(where.GetMessage(), 200)}
		if tk := where.GetToken(); tk != nil && tk.Position != nil {
			f.line, f.column = tk.Position.Line, tk.Position.Column
		}
		return f
	}
	first, _, _ := strings.Cut(err.Error(), "\n")
	return &positionError{text: "invalid YAML: " + truncate(first, 200)}
}

// newYAMLNode returns a node with the position of n, a node of the YAML parser, and no value. The
// position of a block object is that of its first key.
func newYAMLNode(n ast.Node) *yamlNode {
	for range maxDepth {
		m, ok := n.(*ast.MappingNode)
		if !ok || m.IsFlowStyle || len(m.Values) == 0 {
			break
		}
		n = m.Values[0].Key
	}
	if v, ok := n.(*ast.MappingValueNode); ok && !v.IsFlowStyle {
		n = v.Key
	}
	at := &yamlNode{size: 1}
	if tk := n.GetToken(); tk != nil && tk.Position != nil {
		at.line, at.column = tk.Position.Line, tk.Position.Column
	}
	return at
}

// A yamlConverter converts the syntax tree of the YAML parser to yamlNodes and resolves aliases.
type yamlConverter struct {
	anchors    map[string]*yamlNode
	inProgress map[string]bool // anchors whose value is being converted
}

// errorf returns a *positionError at the position of the node.
func (n *yamlNode) errorf(format string, args ...any) error {
	return &positionError{n.line, n.column, fmt.Sprintf(format, args...)}
}

// convert converts a node of the YAML parser, the parameter from, to a yamlNode. The node is depth
// levels below the root. It returns an error if the node exceeds a limit or uses a feature that
// scripts do not support.
func (t *yamlConverter) convert(from ast.Node, depth int) (n *yamlNode, err error) {
	if from == nil {
		return &yamlNode{size: 1, text: "null"}, nil
	}
	n = newYAMLNode(from)
	if depth > maxDepth {
		return nil, n.errorf("nested deeper than %d levels", maxDepth)
	}
	switch from := from.(type) {
	case *ast.MappingNode:
		n.kind = objectNode
		for _, v := range from.Values {
			if err := t.addMember(n, v, depth); err != nil {
				return nil, err
			}
		}
	case *ast.MappingValueNode:
		n.kind = objectNode
		err = t.addMember(n, from, depth)
	case *ast.SequenceNode:
		n.kind = listNode
		for _, v := range from.Values {
			item, err := t.convert(v, depth+1)
			if err != nil {
				return nil, err
			}
			n.items = append(n.items, item)
			n.size += item.size
		}
	case *ast.AnchorNode:
		name := from.Name.GetToken().Value
		t.inProgress[name] = true
		if n, err = t.convert(from.Value, depth+1); err == nil {
			t.anchors[name] = n
		}
		delete(t.inProgress, name)
	case *ast.AliasNode:
		return t.resolveAlias(n, from)
	case *ast.TagNode:
		return nil, n.errorf("tags are not supported: remove %s", from.GetToken().Value)
	default:
		err = n.readScalar(from)
	}
	if err == nil && n.size > maxNodes {
		err = n.errorf("the script is too large: at most %d values are allowed, counting each use of an alias", maxNodes)
	}
	return n, err
}

// resolveAlias returns a copy of the value to which an alias refers. The position of the copy is
// that of n, the node of the alias. It returns an error if no anchor of that name precedes the
// alias.
func (t *yamlConverter) resolveAlias(n *yamlNode, from *ast.AliasNode) (*yamlNode, error) {
	name := from.Value.GetToken().Value
	known := t.anchors[name]
	if known == nil || t.inProgress[name] {
		return nil, n.errorf("alias without a preceding anchor &%s", truncate(name, 40))
	}
	again := *known
	again.line, again.column = n.line, n.column
	return &again, nil
}

// addMember converts v, a member of an object that is depth levels below the root, and adds it to
// n, the node of that object. It returns an error if the member cannot be converted, its key is a
// duplicate, or the object has too many members.
func (t *yamlConverter) addMember(n *yamlNode, v *ast.MappingValueNode, depth int) error {
	key := newYAMLNode(v.Key)
	if _, merges := v.Key.(*ast.MergeKeyNode); merges {
		return key.errorf("merge keys (<<) are not supported: repeat the members")
	}
	if err := key.readScalar(v.Key); err != nil {
		return err
	}
	name := key.text
	if text, ok := key.value.(string); ok {
		name = text
	}
	if len(n.members) == maxMembers {
		return key.errorf("an object has at most %d members", maxMembers)
	}
	if n.get(name) != nil {
		return key.errorf("duplicate key %s", name)
	}
	value, err := t.convert(v.Value, depth+1)
	if err != nil {
		return err
	}
	if v.Value == nil || value.line == 0 {
		value.line, value.column = key.line, key.column
	}
	n.members = append(n.members, yamlMember{name, key, value})
	n.size += value.size + 1
	return nil
}

// readScalar sets the text and the value of n to those of a scalar of the YAML parser, which is the
// parameter from. It returns an error if scripts do not support the scalar.
func (n *yamlNode) readScalar(from ast.Node) error {
	n.text = from.GetToken().Value
	defer func() { n.size += len(n.text) / 32 }()
	switch from := from.(type) {
	case *ast.NullNode:
	case *ast.BoolNode:
		n.value = from.Value
	case *ast.StringNode:
		n.value, n.text = from.Value, from.Value
	case *ast.LiteralNode:
		n.value, n.text = from.Value.Value, from.Value.Value
	case *ast.FloatNode:
		n.value = from.Value
	case *ast.IntegerNode:
		switch v := from.Value.(type) {
		case int64:
			n.value = v
		case uint64:
			if v > math.MaxInt64 {
				return n.errorf("number %s is too large: put it in quotes", n.text)
			}
			n.value = int64(v)
		}
	default:
		return n.errorf("unsupported value %s", truncate(strconv.Quote(n.text), 40))
	}
	return nil
}

// quoteTruncated returns a text in quotes. If the text is longer than 60 bytes, only the beginning
// is shown, followed by an ellipsis.
func quoteTruncated(text string) string { return strconv.Quote(truncate(text, 60)) }

// truncate returns text if it has at most maxLen bytes. Otherwise it returns at most the first
// maxLen bytes, which end with a complete code point, followed by an ellipsis.
func truncate(text string, maxLen int) string {
	if len(text) <= maxLen {
		return text
	}
	for maxLen > 0 && !utf8.RuneStart(text[maxLen]) {
		maxLen--
	}
	return text[:maxLen] + "…"
}
