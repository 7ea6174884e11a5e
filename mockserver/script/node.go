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
	mostFile    = 1 << 20
	mostDepth   = 32
	mostMembers = 1000
	mostNodes   = 300_000 // with everything that an alias repeats
)

// A node is a value of a script, and where it stands.
type node struct {
	line, column int
	form         form
	text         string // of a scalar, as it was written
	value        any    // of a scalar: nil, bool, int64, float64 or string
	items        []*node
	members      []member
	size         int // values in all, long texts for several
}

// A member is one of an object.
type member struct {
	key   string
	at    *node // the key itself
	value *node
}

// A form is what a node is.
type form int

// The forms.
const (
	scalar form = iota
	list
	object
)

func (n *node) get(key string) *node {
	for _, m := range n.members {
		if m.key == key {
			return m.value
		}
	}
	return nil
}

// plain is a node as decoders give it.
func (n *node) plain() any {
	switch n.form {
	case list:
		all := make([]any, 0, len(n.items))
		for _, item := range n.items {
			all = append(all, item.plain())
		}
		return all
	case object:
		all := map[string]any{}
		for _, m := range n.members {
			all[m.key] = m.value.plain()
		}
		return all
	}
	return n.value
}

// is says what a node is, for the reader of a problem.
func (n *node) is() string {
	switch {
	case n.form == list:
		return "a list"
	case n.form == object:
		return "an object"
	case n.value == nil:
		return "nothing"
	}
	if text, ok := n.value.(string); ok {
		return "the text " + quoted(text)
	}
	return cut(n.text, 40)
}

// A flaw is what is wrong at a place of a file.
type flaw struct {
	line, column int
	text         string
}

func (f *flaw) Error() string { return f.text }

// outline reads a file into nodes. nil is a file that says nothing.
func outline(data []byte) (root *node, err error) {
	if len(data) > mostFile {
		return nil, &flaw{text: fmt.Sprintf("it has %d bytes, and a script has %d at most", len(data), mostFile)}
	}
	if !utf8.Valid(data) {
		line, column := badUTF8(data)
		return nil, &flaw{line, column, "this is not UTF-8"}
	}
	defer func() { // what the reader of YAML cannot stand is no script
		if r := recover(); r != nil {
			root, err = nil, &flaw{text: "this cannot be read as YAML"}
		}
	}()
	tokens := lexer.Tokenize(string(data))
	if err := readable(tokens); err != nil {
		return nil, err
	}
	file, err := parser.Parse(tokens, 0)
	if err != nil {
		return nil, broken(err)
	}
	var body ast.Node
	for _, doc := range file.Docs {
		switch {
		case doc.Body == nil:
		case body != nil:
			at := place(doc.Body)
			return nil, &flaw{at.line, at.column, "a file holds one document: put the rules into one list, or into files of their own"}
		default:
			body = doc.Body
		}
	}
	if body == nil {
		return nil, nil
	}
	t := tree{anchors: map[string]*node{}, open: map[string]bool{}}
	return t.read(body, 0)
}

func badUTF8(data []byte) (line, column int) {
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

// broken is what the reader of YAML says.
func broken(err error) error {
	var where yaml.Error
	if errors.As(err, &where) {
		f := &flaw{text: "this is no YAML: " + cut(where.GetMessage(), 200)}
		if tk := where.GetToken(); tk != nil && tk.Position != nil {
			f.line, f.column = tk.Position.Line, tk.Position.Column
		}
		return f
	}
	first, _, _ := strings.Cut(err.Error(), "\n")
	return &flaw{text: "this is no YAML: " + cut(first, 200)}
}

// place is where a node of the reader stands.
func place(n ast.Node) *node {
	for range mostDepth {
		m, ok := n.(*ast.MappingNode)
		if !ok || m.IsFlowStyle || len(m.Values) == 0 {
			break
		}
		n = m.Values[0].Key
	}
	if v, ok := n.(*ast.MappingValueNode); ok && !v.IsFlowStyle {
		n = v.Key
	}
	at := &node{size: 1}
	if tk := n.GetToken(); tk != nil && tk.Position != nil {
		at.line, at.column = tk.Position.Line, tk.Position.Column
	}
	return at
}

// A tree turns what the reader gives into nodes.
type tree struct {
	anchors map[string]*node
	open    map[string]bool // anchors that are being read
}

func (n *node) flaw(format string, args ...any) error {
	return &flaw{n.line, n.column, fmt.Sprintf(format, args...)}
}

func (t *tree) read(from ast.Node, depth int) (n *node, err error) {
	if from == nil {
		return &node{size: 1, text: "null"}, nil
	}
	n = place(from)
	if depth > mostDepth {
		return nil, n.flaw("this is nested deeper than %d", mostDepth)
	}
	switch from := from.(type) {
	case *ast.MappingNode:
		n.form = object
		for _, v := range from.Values {
			if err := t.member(n, v, depth); err != nil {
				return nil, err
			}
		}
	case *ast.MappingValueNode:
		n.form = object
		err = t.member(n, from, depth)
	case *ast.SequenceNode:
		n.form = list
		for _, v := range from.Values {
			item, err := t.read(v, depth+1)
			if err != nil {
				return nil, err
			}
			n.items = append(n.items, item)
			n.size += item.size
		}
	case *ast.AnchorNode:
		name := from.Name.GetToken().Value
		t.open[name] = true
		if n, err = t.read(from.Value, depth+1); err == nil {
			t.anchors[name] = n
		}
		delete(t.open, name)
	case *ast.AliasNode:
		return t.alias(n, from)
	case *ast.TagNode:
		return nil, n.flaw("a script has no tags: leave out %s", from.GetToken().Value)
	default:
		err = n.scalar(from)
	}
	if err == nil && n.size > mostNodes {
		err = n.flaw("a script is this large at most: %d values, what aliases repeat included", mostNodes)
	}
	return n, err
}

// alias is what an anchor stands for, at the place of the alias.
func (t *tree) alias(n *node, from *ast.AliasNode) (*node, error) {
	name := from.Value.GetToken().Value
	known := t.anchors[name]
	if known == nil || t.open[name] {
		return nil, n.flaw("there is no anchor &%s before this", cut(name, 40))
	}
	again := *known
	again.line, again.column = n.line, n.column
	return &again, nil
}

func (t *tree) member(n *node, v *ast.MappingValueNode, depth int) error {
	key := place(v.Key)
	if _, merges := v.Key.(*ast.MergeKeyNode); merges {
		return key.flaw("<< is not read here: say the members again")
	}
	if err := key.scalar(v.Key); err != nil {
		return err
	}
	name := key.text
	if text, ok := key.value.(string); ok {
		name = text
	}
	if len(n.members) == mostMembers {
		return key.flaw("an object has %d members at most", mostMembers)
	}
	if n.get(name) != nil {
		return key.flaw("%s is there twice", name)
	}
	value, err := t.read(v.Value, depth+1)
	if err != nil {
		return err
	}
	if v.Value == nil || value.line == 0 {
		value.line, value.column = key.line, key.column
	}
	n.members = append(n.members, member{name, key, value})
	n.size += value.size + 1
	return nil
}

// scalar reads what is neither a list nor an object.
func (n *node) scalar(from ast.Node) error {
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
				return n.flaw("%s is too large a number: put it into quotes", n.text)
			}
			n.value = int64(v)
		}
	default:
		return n.flaw("%s is not read here", cut(strconv.Quote(n.text), 40))
	}
	return nil
}

// quoted shows a text; of much, the beginning.
func quoted(text string) string { return strconv.Quote(cut(text, 60)) }

// cut is the beginning of a text.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most] + "…"
}
