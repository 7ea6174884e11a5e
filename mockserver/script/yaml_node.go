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

// What a file may have at most.
const (
	maxFileSize = 1 << 20
	maxDepth    = 32
	maxMembers  = 1000
	maxNodes    = 300_000 // with everything that an alias repeats
)

// A yamlNode is a value of a script, and where it stands.
type yamlNode struct {
	line, column int
	kind         nodeKind
	text         string // of a scalar, as it was written
	value        any    // of a scalar: nil, bool, int64, float64 or string
	items        []*yamlNode
	members      []yamlMember
	size         int // values in all, long texts for several
}

// A yamlMember is one of an object.
type yamlMember struct {
	key     string
	keyNode *yamlNode // the key itself
	value   *yamlNode
}

// A nodeKind is what a node is.
type nodeKind int

// The forms.
const (
	scalarNode nodeKind = iota
	listNode
	objectNode
)

func (n *yamlNode) get(key string) *yamlNode {
	for _, m := range n.members {
		if m.key == key {
			return m.value
		}
	}
	return nil
}

// decode is a node as decoders give it.
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

// describe says what a node is, for the reader of a problem.
func (n *yamlNode) describe() string {
	switch {
	case n.kind == listNode:
		return "a list"
	case n.kind == objectNode:
		return "an object"
	case n.value == nil:
		return "nothing"
	}
	if text, ok := n.value.(string); ok {
		return "the text " + quoteTruncated(text)
	}
	return truncate(n.text, 40)
}

// A positionError is what is wrong at a place of a file.
type positionError struct {
	line, column int
	text         string
}

func (f *positionError) Error() string { return f.text }

// parseYAML reads a file into nodes. nil is a file that says nothing.
func parseYAML(data []byte) (root *yamlNode, err error) {
	if len(data) > maxFileSize {
		return nil, &positionError{text: fmt.Sprintf("it has %d bytes, and a script has %d at most", len(data), maxFileSize)}
	}
	if !utf8.Valid(data) {
		line, column := invalidUTF8Position(data)
		return nil, &positionError{line, column, "this is not UTF-8"}
	}
	defer func() { // what the reader of YAML cannot stand is no script
		if r := recover(); r != nil {
			root, err = nil, &positionError{text: "this cannot be read as YAML"}
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
			return nil, &positionError{at.line, at.column, "a file holds one document: put the rules into one list, or into files of their own"}
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

// yamlError is what the reader of YAML says.
func yamlError(err error) error {
	var where yaml.Error
	if errors.As(err, &where) {
		f := &positionError{text: "this is no YAML: " + truncate(where.GetMessage(), 200)}
		if tk := where.GetToken(); tk != nil && tk.Position != nil {
			f.line, f.column = tk.Position.Line, tk.Position.Column
		}
		return f
	}
	first, _, _ := strings.Cut(err.Error(), "\n")
	return &positionError{text: "this is no YAML: " + truncate(first, 200)}
}

// newYAMLNode is where a node of the reader stands.
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

// A yamlConverter turns what the reader gives into nodes.
type yamlConverter struct {
	anchors    map[string]*yamlNode
	inProgress map[string]bool // anchors that are being read
}

func (n *yamlNode) errorf(format string, args ...any) error {
	return &positionError{n.line, n.column, fmt.Sprintf(format, args...)}
}

func (t *yamlConverter) convert(from ast.Node, depth int) (n *yamlNode, err error) {
	if from == nil {
		return &yamlNode{size: 1, text: "null"}, nil
	}
	n = newYAMLNode(from)
	if depth > maxDepth {
		return nil, n.errorf("this is nested deeper than %d", maxDepth)
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
		return nil, n.errorf("a script has no tags: leave out %s", from.GetToken().Value)
	default:
		err = n.readScalar(from)
	}
	if err == nil && n.size > maxNodes {
		err = n.errorf("a script is this large at most: %d values, what aliases repeat included", maxNodes)
	}
	return n, err
}

// resolveAlias is what an anchor stands for, at the place of the alias.
func (t *yamlConverter) resolveAlias(n *yamlNode, from *ast.AliasNode) (*yamlNode, error) {
	name := from.Value.GetToken().Value
	known := t.anchors[name]
	if known == nil || t.inProgress[name] {
		return nil, n.errorf("there is no anchor &%s before this", truncate(name, 40))
	}
	again := *known
	again.line, again.column = n.line, n.column
	return &again, nil
}

func (t *yamlConverter) addMember(n *yamlNode, v *ast.MappingValueNode, depth int) error {
	key := newYAMLNode(v.Key)
	if _, merges := v.Key.(*ast.MergeKeyNode); merges {
		return key.errorf("<< is not read here: say the members again")
	}
	if err := key.readScalar(v.Key); err != nil {
		return err
	}
	name := key.text
	if text, ok := key.value.(string); ok {
		name = text
	}
	if len(n.members) == maxMembers {
		return key.errorf("an object has %d members at most", maxMembers)
	}
	if n.get(name) != nil {
		return key.errorf("%s is there twice", name)
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

// readScalar reads what is neither a list nor an object.
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
				return n.errorf("%s is too large a number: put it into quotes", n.text)
			}
			n.value = int64(v)
		}
	default:
		return n.errorf("%s is not read here", truncate(strconv.Quote(n.text), 40))
	}
	return nil
}

// quoteTruncated shows a text; of much, the beginning.
func quoteTruncated(text string) string { return strconv.Quote(truncate(text, 60)) }

// truncate is the beginning of a text.
func truncate(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most] + "…"
}
