package dialect

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/streamassay/streamassay/spec"
)

// Phrase finds the operation that can say phrase: "prompt", "listen", "cancel".
func (d *Dialect) Phrase(phrase string) (*Operation, bool) {
	i := slices.IndexFunc(d.operations, func(o *Operation) bool {
		_, ok := o.phrases[phrase]
		return ok || o.says == phrase
	})
	if i < 0 {
		return nil, false
	}
	return d.operations[i], true
}

// Phrases lists what can be said with o.
func (o *Operation) Phrases() (all []string) {
	for name := range o.phrases {
		all = append(all, name)
	}
	if o.says != "" {
		all = append(all, o.says)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Say makes the request that says phrase, with e's slots filled in.
func (d *Dialect) Say(phrase string, e spec.Event) (spec.Request, error) {
	o, ok := d.Phrase(phrase)
	if !ok {
		return spec.Request{}, fmt.Errorf("%s has no phrase %q", d.Name, phrase)
	}
	r := spec.Request{Method: o.method, Target: o.path, Header: spec.Header{
		{Name: "Accept", Value: cmp.Or(o.answer, "*/*")},
		{Name: "Accept-Encoding", Value: "identity"}, // without it every coding would be welcome (RFC 9110 section 12.5.3)
	}}
	if template, ok := o.phrases[phrase]; ok {
		filled, _ := fill(template, &e)
		media := o.bodies[0].media
		if form, ok := filled.(map[string]any); ok && media == formMedia {
			r.Body, media = encodeForm(filed(form))
		} else {
			r.Body = []byte(compact(filled))
		}
		r.Header = r.Header.With("Content-Type", media)
	}
	for _, p := range o.parameters {
		if p.slot != "" {
			if v := *slotOf(&e, p.slot); v != "" {
				r = p.set(r, &v)
			}
		}
	}
	return r, nil
}

// fill puts e's slots into a phrase; ok is false for what is left out.
func fill(template any, e *spec.Event) (v any, ok bool) {
	switch t := template.(type) {
	case string:
		return fillText(t, e)
	case map[string]any:
		out := map[string]any{}
		for k, member := range t {
			if v, ok := fill(member, e); ok {
				out[k] = v
			}
		}
		return out, true
	case []any:
		out := []any{}
		for _, member := range t {
			if v, ok := fill(member, e); ok {
				out = append(out, v)
			}
		}
		return out, true
	}
	return template, true
}

func fillText(t string, e *spec.Event) (any, bool) {
	name, whole := strings.CutPrefix(t, "{{")
	name, closed := strings.CutSuffix(name, "}}")
	if !whole || !closed {
		for slot := range slots {
			t = strings.ReplaceAll(t, "{{"+slot+"}}", *slotOf(e, slot))
		}
		return t, true
	}
	how := strings.TrimLeft(name, "abcdefghijklmnopqrstuvwxyz")
	slot := strings.TrimSuffix(name, how)
	if slots[slot] == nil {
		return t, true
	}
	text := *slotOf(e, slot)
	switch how {
	case "?":
		return text, text != ""
	case "*":
		v, err := decode([]byte(text))
		return v, err == nil
	case "#":
		n, err := strconv.Atoi(text)
		return n, err == nil
	}
	return text, true
}

// Complete fills in the requests of a recording of which only the body is known: it was sent
// where prompts are, with the header fields of a prompt and with credentials if the document
// wants any.
func (d *Dialect) Complete(t *spec.Trace) {
	for i := range t.Exchanges {
		r := &t.Exchanges[i].Request
		if r.Method != "" || len(r.Body) == 0 {
			continue
		}
		prompt, err := d.Say("prompt", spec.Event{})
		if err != nil {
			continue
		}
		if d.Secured() {
			prompt.Header = prompt.Header.With("Authorization", "REDACTED")
		}
		prompt.Body, prompt.Principal = r.Body, r.Principal
		*r = prompt
	}
}
