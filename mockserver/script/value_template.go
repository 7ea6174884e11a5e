package script

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// A valueTemplate is a value of a script, such as the arguments of a tool call, that is sent as
// JSON and may contain templates. A value that is a string is sent without quotes: results are
// often plain text, and arguments may already be encoded.
type valueTemplate struct {
	node      *yamlNode
	text      textTemplate               // the text, if the value is a string
	templates map[*yamlNode]textTemplate // the templates of an object or a list
	static    string                     // the JSON of a value without templates
	empty     bool                       // the script has no value
}

// parseValue returns the value of n, which may be of any kind, with its templates compiled. Errors
// are added to the problems of the file.
func (r *scriptParser) parseValue(n *yamlNode) valueTemplate {
	v := valueTemplate{node: n}
	if _, ok := n.value.(string); ok && n.kind == scalarNode {
		v.text = r.parseTemplate(n, "text")
		return v
	}
	r.compileTexts(n, &v)
	if v.templates != nil {
		return v
	}
	var b bytes.Buffer
	if err := v.writeJSON(&b, n, nil); err != nil {
		r.errorf(n, "invalid value: %v", err)
	}
	v.static = b.String()
	return v
}

// compileTexts compiles the templates in the strings of n and of all nodes below it, and stores
// them in v.
func (r *scriptParser) compileTexts(n *yamlNode, v *valueTemplate) {
	for _, item := range n.items {
		r.compileTexts(item, v)
	}
	for _, m := range n.members {
		r.compileTexts(m.value, v)
	}
	if text, ok := n.value.(string); ok && strings.Contains(text, "{{") {
		if v.templates == nil {
			v.templates = map[*yamlNode]textTemplate{}
		}
		v.templates[n] = r.parseTemplate(n, "text")
	}
}

// render executes the templates of the value on the data in the parameter to. It returns a string
// without quotes, any other value as compact JSON, and {} for a value that the script leaves out.
// It returns an error if a template fails or the result is too long.
func (v *valueTemplate) render(to *templateData) (string, error) {
	switch {
	case v.empty:
		return "{}", nil
	case v.node.kind == scalarNode && v.static == "":
		return v.text.render(to)
	case v.templates == nil:
		return v.static, nil
	}
	var b bytes.Buffer
	if err := v.writeJSON(&b, v.node, to); err != nil {
		return "", err
	}
	if to.remaining -= b.Len(); b.Len() > maxTextSize || to.remaining < 0 {
		return "", errTooLong
	}
	return b.String(), nil
}

// renderJSON is like render, but always returns JSON. It encodes a string as JSON unless the string
// is itself valid JSON.
func (v *valueTemplate) renderJSON(to *templateData) (string, error) {
	text, err := v.render(to)
	if err != nil || v.node.kind != scalarNode || v.static != "" || json.Valid([]byte(text)) {
		return text, err
	}
	return encodeJSON(text)
}

// writeJSON appends node n to b as compact JSON, with members in source order. It executes the
// templates of the node on the data in the parameter to; if that is nil, it writes the templates
// unchanged. It returns an error if a template fails or a value cannot be encoded.
func (v *valueTemplate) writeJSON(b *bytes.Buffer, n *yamlNode, to *templateData) error {
	switch n.kind {
	case listNode:
		b.WriteByte('[')
		for i, item := range n.items {
			if i > 0 {
				b.WriteByte(',')
			}
			if err := v.writeJSON(b, item, to); err != nil {
				return err
			}
		}
		b.WriteByte(']')
		return nil
	case objectNode:
		b.WriteByte('{')
		for i, m := range n.members {
			if i > 0 {
				b.WriteByte(',')
			}
			name, _ := encodeJSON(m.key) // encoding a string cannot fail
			b.WriteString(name + ":")
			if err := v.writeJSON(b, m.value, to); err != nil {
				return err
			}
		}
		b.WriteByte('}')
		return nil
	}
	of := n.value
	if w, ok := v.templates[n]; ok && to != nil {
		text, err := w.render(to)
		if err != nil {
			return err
		}
		of = text
	}
	text, err := encodeJSON(of)
	b.WriteString(text)
	return err
}

// encodeJSON returns a value as compact JSON, without escaping the characters <, > and &. It
// returns an error if JSON cannot represent the value.
func encodeJSON(v any) (string, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return "", fmt.Errorf("cannot be encoded as JSON: %w", err)
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}
