package script

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// A value is JSON that a script spells in YAML, with templates in its texts. A text by
// itself is taken as it is: results are often plain, and arguments JSON already.
type value struct {
	at    *node
	text  words           // of a text by itself
	texts map[*node]words // the templates in it
	fixed string          // of what has none
	empty bool            // nothing was said
}

// value reads one, and compiles its templates.
func (r *reader) value(n *node) value {
	v := value{at: n}
	if _, ok := n.value.(string); ok && n.form == scalar {
		v.text = r.words(n, "this text")
		return v
	}
	r.leaves(n, &v)
	if v.texts != nil {
		return v
	}
	var b bytes.Buffer
	if err := v.spell(&b, n, nil); err != nil {
		r.wrong(n, "this cannot be said in JSON: %v", err)
	}
	v.fixed = b.String()
	return v
}

// leaves compiles the texts of a value.
func (r *reader) leaves(n *node, v *value) {
	for _, item := range n.items {
		r.leaves(item, v)
	}
	for _, m := range n.members {
		r.leaves(m.value, v)
	}
	if text, ok := n.value.(string); ok && strings.Contains(text, "{{") {
		if v.texts == nil {
			v.texts = map[*node]words{}
		}
		v.texts[n] = r.words(n, "this text")
	}
}

// say is the value for a request: a text as it is, anything else as compact JSON.
func (v *value) say(to *view) (string, error) {
	switch {
	case v.empty:
		return "{}", nil
	case v.at.form == scalar && v.fixed == "":
		return v.text.say(to)
	case v.texts == nil:
		return v.fixed, nil
	}
	var b bytes.Buffer
	if err := v.spell(&b, v.at, to); err != nil {
		return "", err
	}
	if to.room -= b.Len(); b.Len() > mostText || to.room < 0 {
		return "", errLong
	}
	return b.String(), nil
}

// json is the value as JSON, whatever it is.
func (v *value) json(to *view) (string, error) {
	text, err := v.say(to)
	if err != nil || v.at.form != scalar || v.fixed != "" || json.Valid([]byte(text)) {
		return text, err
	}
	return asJSON(text)
}

// spell writes a node as compact JSON, its members in the order of the script.
func (v *value) spell(b *bytes.Buffer, n *node, to *view) error {
	switch n.form {
	case list:
		b.WriteByte('[')
		for i, item := range n.items {
			if i > 0 {
				b.WriteByte(',')
			}
			if err := v.spell(b, item, to); err != nil {
				return err
			}
		}
		b.WriteByte(']')
		return nil
	case object:
		b.WriteByte('{')
		for i, m := range n.members {
			if i > 0 {
				b.WriteByte(',')
			}
			name, _ := asJSON(m.key) // a string is always encoded
			b.WriteString(name + ":")
			if err := v.spell(b, m.value, to); err != nil {
				return err
			}
		}
		b.WriteByte('}')
		return nil
	}
	of := n.value
	if w, ok := v.texts[n]; ok && to != nil {
		text, err := w.say(to)
		if err != nil {
			return err
		}
		of = text
	}
	text, err := asJSON(of)
	b.WriteString(text)
	return err
}

// asJSON is a value as compact JSON.
func asJSON(v any) (string, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return "", fmt.Errorf("no JSON: %w", err)
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}
