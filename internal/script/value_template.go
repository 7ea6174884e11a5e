package script

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// UnmarshalYAML implements the NodeUnmarshalerContext interface of goccy/go-yaml. The schema of
// scripts guarantees that n is a scalar. A number or a boolean is converted to its text in the
// file. UnmarshalYAML compiles a text with template actions, and adds it to the templates of the
// decoder. If the template is invalid, UnmarshalYAML adds an error to the problems of the decoder.
// The returned error is always nil.
func (w *textTemplate) UnmarshalYAML(ctx context.Context, n ast.Node) (err error) {
	d := decoderOf(ctx)
	if *w, err = compileTemplate(scalarText(n)); err != nil {
		d.errorf(n, "%s: invalid template: %v", nameOf(n), err)
	}
	if w.node = n; w.tmpl != nil {
		d.templates = append(d.templates, *w)
	}
	return nil
}

// A valueTemplate is a value in a script, such as the arguments of a tool call, that may contain
// templates. A string is rendered as its text, without quotes, so it can hold plain text or encoded
// JSON. Any other value is rendered as JSON.
type valueTemplate struct {
	text  *textTemplate // the value, if it is a string
	parts []valuePart   // the JSON of any other value
}

// A valuePart is a part of a JSON text: literal JSON, or a template whose result is encoded as a
// JSON string.
type valuePart struct {
	literal  string
	template *textTemplate // nil for a literal
}

// compileValue returns the value of the node n with its templates compiled. It adds an error to
// d.problems for each invalid template and each value that JSON cannot represent.
func (d *decoder) compileValue(n ast.Node) *valueTemplate {
	v := &valueTemplate{}
	if n.Type() == ast.StringType || n.Type() == ast.LiteralType {
		v.text = &textTemplate{}
		d.decode(n, v.text)
		return v
	}
	var b bytes.Buffer
	d.writeJSON(&b, n, v)
	v.parts = append(v.parts, valuePart{literal: b.String()})
	return v
}

// writeJSON appends the value of n to b as compact JSON, with the members of objects in source
// order. At each string with template actions, it moves the content of b to v.parts and adds the
// template to v.parts. Afterwards, the caller must move the rest of b to v.parts. writeJSON adds an
// error to d.problems for each invalid template and each value that JSON cannot represent.
func (d *decoder) writeJSON(b *bytes.Buffer, n ast.Node, v *valueTemplate) {
	switch n := n.(type) {
	case *ast.SequenceNode:
		b.WriteByte('[')
		for i, item := range n.Values {
			if i > 0 {
				b.WriteByte(',')
			}
			d.writeJSON(b, item, v)
		}
		b.WriteByte(']')
		return
	case *ast.MappingNode:
		b.WriteByte('{')
		for i, m := range n.Values {
			if i > 0 {
				b.WriteByte(',')
			}
			key, _ := encodeJSON(scalarText(m.Key)) // encoding a string cannot fail
			b.WriteString(key + ":")
			d.writeJSON(b, m.Value, v)
		}
		b.WriteByte('}')
		return
	}
	value, _ := scalarValue(n) // parseYAML has refused unsupported values
	if text, ok := value.(string); ok && strings.Contains(text, "{{") {
		var w textTemplate
		d.decode(n, &w)
		v.parts = append(v.parts, valuePart{literal: b.String()}, valuePart{template: &w})
		b.Reset()
		return
	}
	text, err := encodeJSON(value)
	if err != nil {
		d.errorf(n, "%s: invalid value: %v", nameOf(n), err)
	}
	b.WriteString(text)
}

// render executes the templates of v with the given data. The result is the text of a string,
// without quotes, or compact JSON for any other value. If v is nil, the script has no value, and
// the result is "{}". render returns an error if a template fails or the result is too long.
func (v *valueTemplate) render(data *templateData) (string, error) {
	switch {
	case v == nil:
		return "{}", nil
	case v.text != nil:
		return v.text.render(data)
	case len(v.parts) == 1:
		return v.parts[0].literal, nil
	}
	var b strings.Builder
	counted := 0 // bytes that the text templates have subtracted from data.remaining
	for _, part := range v.parts {
		text := part.literal
		if part.template != nil {
			rendered, err := part.template.render(data)
			if err != nil {
				return "", err
			}
			counted += len(rendered)
			text, _ = encodeJSON(rendered) // encoding a string cannot fail
		}
		b.WriteString(text)
	}
	if data.remaining -= b.Len() - counted; b.Len() > maxTextSize || data.remaining < 0 {
		return "", errTooLong
	}
	return b.String(), nil
}

// renderJSON is like render, but its result is always JSON: a string that is not itself valid JSON
// is encoded as a JSON string. v must not be nil.
func (v *valueTemplate) renderJSON(data *templateData) (string, error) {
	text, err := v.render(data)
	if err != nil || v.text == nil || json.Valid([]byte(text)) {
		return text, err
	}
	return encodeJSON(text)
}

// encodeJSON returns v as compact JSON, without escaping <, > and &. It returns an error if v
// cannot be encoded.
func encodeJSON(v any) (string, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return "", fmt.Errorf("cannot be encoded as JSON: %w", err)
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}
