package dialect

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/streamassay/streamassay/spec"
)

// TemplateOperation returns the operation to which requests of the given template, such as "prompt"
// or "cancel", are sent (see [Dialect.Templates]). The second result is false if the dialect does
// not have the template.
func (d *Dialect) TemplateOperation(template string) (*Operation, bool) {
	for _, o := range d.operations {
		if has(o.templates, template) {
			return o, true
		}
	}
	return nil, false
}

// InfoTemplates returns the names of the templates of the operations that return information about
// the server itself, in the order of the operations. Such an operation has neither parameters nor a
// request body, and its response is not a stream.
func (d *Dialect) InfoTemplates() (all []string) {
	for _, o := range d.operations {
		if o.bodylessTemplate != "" && len(o.bodies) == 0 && len(o.parameters) == 0 && !o.IsStream {
			all = append(all, o.bodylessTemplate)
		}
	}
	return all
}

// Templates returns the names of the templates of o, sorted. A template is a request for o with
// placeholders. If requests for o have a body, each named example of the body in the document is a
// template with that name. If they have no body, there is only one template, which the document
// names by the extension x-says.
func (o *Operation) Templates() []string { return slices.Sorted(maps.Keys(o.templates)) }

// Templates returns the names of all templates of the dialect, such as "prompt" or "cancel", each
// once, sorted. A template is a request with placeholders, for one operation; see
// [Operation.Templates] and [Dialect.BuildRequest].
func (d *Dialect) Templates() (all []string) {
	for _, o := range d.operations {
		all = append(all, o.Templates()...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// BuildRequest returns the request that a template describes, with the slots of e filled in. The
// request has no credentials, and does not repeat earlier messages of its thread. BuildRequest
// returns an error if the dialect does not have the template.
func (d *Dialect) BuildRequest(template string, e spec.Event) (spec.Request, error) {
	return d.BuildRequestAfter(nil, template, e)
}

// BuildRequestAfter is like [Dialect.BuildRequest], for a request that follows the messages of h in
// its thread. The messages of h take the place of {{history}} in the template.
func (d *Dialect) BuildRequestAfter(h MessageHistory, template string, e spec.Event) (spec.Request, error) {
	o, ok := d.TemplateOperation(template)
	if !ok {
		return spec.Request{}, fmt.Errorf("%s has no template %q", d.Name, template)
	}
	r := spec.Request{Method: o.method, Target: o.path, Header: spec.Header{
		{Name: "Accept", Value: cmp.Or(o.successMediaType, "*/*")},
		// Without the header, any content coding would be acceptable (RFC 9110 section 12.5.3).
		{Name: "Accept-Encoding", Value: "identity"},
	}}
	if body := o.templates[template]; body != nil {
		filled, _ := d.fillTemplate(body, &e, h)
		media := o.bodies[0].mediaType
		if form, ok := filled.(map[string]any); ok && media == formMediaType {
			r.Body, media = encodeForm(withFiles(form))
		} else {
			r.Body = []byte(compactJSON(filled))
		}
		r.Header = r.Header.With("Content-Type", media)
	}
	for _, p := range o.parameters {
		if p.slot != "" {
			if v := *slotField(&e, p.slot); v != "" {
				r = p.set(r, &v)
			}
		}
	}
	return r, nil
}

// fillTemplate returns a copy of a template, or of a value inside one, in which the placeholders
// are replaced with the settings of d, the slots of e and the messages of h. If ok is false, the
// caller must omit the value from the request (see fillString).
func (d *Dialect) fillTemplate(template any, e *spec.Event, h MessageHistory) (v any, ok bool) {
	switch t := template.(type) {
	case string:
		return fillString(d.fillSettings(t), e)
	case map[string]any:
		out := map[string]any{}
		for k, member := range t {
			if v, ok := d.fillTemplate(member, e, h); ok {
				out[k] = v
			}
		}
		return out, true
	case []any:
		out := []any{}
		for _, member := range t {
			if member == historyPlaceholder {
				for _, message := range h {
					if v, err := decode([]byte(message)); err == nil {
						out = append(out, v)
					}
				}
			} else if v, ok := d.fillTemplate(member, e, h); ok {
				out = append(out, v)
			}
		}
		return out, true
	}
	return template, true
}

// fillPlaceholders returns text with each placeholder {{NAME}} replaced with the value that lookup
// returns for NAME. The placeholder remains if the second result of lookup is false. Placeholders
// inside the values are not replaced.
func fillPlaceholders(text string, lookup func(name string) (string, bool)) string {
	var b strings.Builder
	for {
		i := strings.Index(text, "{{")
		if i < 0 {
			return b.String() + text
		}
		b.WriteString(text[:i])
		name, after, closed := strings.Cut(text[i+2:], "}}")
		if value, ok := lookup(name); ok && closed {
			b.WriteString(value)
			text = after
		} else { // the next placeholder may begin at the second brace
			b.WriteString("{")
			text = text[i+1:]
		}
	}
}

// fillString returns t, a string of a template, with each {{slot}} replaced with the value of that
// slot in e. If t consists of a single placeholder, the slot may have a modifier:
//   - {{slot?}}: ok is false if the slot is empty
//   - {{slot*}}: the result is the value of the slot, decoded as JSON (see decode)
//   - {{slot#}}: the result is the value of the slot as an int
//
// If ok is false, the caller must omit the string from the request. ok is also false if the
// modifier is "*" and the value is not valid JSON, or if it is "#" and the value is not an integer.
func fillString(t string, e *spec.Event) (v any, ok bool) {
	name, opened := strings.CutPrefix(t, "{{")
	name, closed := strings.CutSuffix(name, "}}")
	if !opened || !closed || strings.Contains(name, "}}") { // not one placeholder alone
		return fillPlaceholders(t, func(slot string) (string, bool) {
			if slotFields[slot] == nil {
				return "", false
			}
			return *slotField(e, slot), true
		}), true
	}
	modifier := strings.TrimLeft(name, "abcdefghijklmnopqrstuvwxyz")
	slot := strings.TrimSuffix(name, modifier)
	if slotFields[slot] == nil {
		return t, true
	}
	text := *slotField(e, slot)
	switch modifier {
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

// CompleteRequests completes the requests of t that have a body but no method, because nothing but
// the body was recorded. Such a request becomes a request of the template "prompt" with the same
// body. If the document requires credentials, the completed request has the Authorization field
// "REDACTED". CompleteRequests does nothing if the dialect has no template "prompt".
func (d *Dialect) CompleteRequests(t *spec.Trace) {
	for i := range t.Exchanges {
		r := &t.Exchanges[i].Request
		if r.Method != "" || len(r.Body) == 0 {
			continue
		}
		prompt, err := d.BuildRequest("prompt", spec.Event{})
		if err != nil {
			continue
		}
		if d.RequiresCredentials() {
			prompt.Header = prompt.Header.With("Authorization", "REDACTED")
		}
		prompt.Body, prompt.Principal = r.Body, r.Principal
		*r = prompt
	}
}
