package dialect

import (
	"slices"

	"github.com/streamassay/streamassay/spec"
)

// A History is the messages of a thread so far, oldest first, each as compact JSON in the form in
// which requests repeat it.
type History []string

// historyPlaceholder is the item of a list in a template that stands for the messages of a
// [History].
const historyPlaceholder = "{{history}}"

// historyMember returns the name of the member of a template that is a list with the placeholder
// for a history. It returns "" if there is none.
func historyMember(template any) string {
	body, _ := template.(map[string]any)
	for name, member := range body {
		if list, _ := member.([]any); slices.Contains(scalarStrings(list), historyPlaceholder) {
			return name
		}
	}
	return ""
}

// scalarStrings returns those items of a list that are strings.
func scalarStrings(list []any) (all []string) {
	for _, item := range list {
		if text, ok := item.(string); ok {
			all = append(all, text)
		}
	}
	return all
}

// fillHistory replaces the placeholder in the named member of body, a decoded request body, with the
// messages of h. It modifies body in place. If member is "", it does nothing.
func fillHistory(body any, member string, h History) {
	if object, _ := body.(map[string]any); member != "" {
		var list []any
		for _, item := range object[member].([]any) {
			if item != historyPlaceholder {
				list = append(list, item)
				continue
			}
			for _, message := range h {
				if v, err := decode([]byte(message)); err == nil {
					list = append(list, v)
				}
			}
		}
		object[member] = append([]any{}, list...)
	}
}

// RepeatsHistory reports whether requests like r repeat the messages of their thread: a template of
// their operation has the placeholder {{history}}.
func (d *Dialect) RepeatsHistory(r spec.Request) bool {
	o := d.Operation(r)
	return o != nil && o.historyMember() != ""
}

// historyMember returns the member of request bodies that repeats the history, or "".
func (o *Operation) historyMember() string {
	for _, name := range o.Templates() {
		if member := historyMember(o.templates[name]); member != "" {
			return member
		}
	}
	return ""
}

// AppendRequest returns h with those messages of the request r at its end that h does not contain.
// Messages that r repeats stay as they are.
func (d *Dialect) AppendRequest(h History, r spec.Request) History {
	o := d.Operation(r)
	v, err := decode(r.Body)
	if o == nil || err != nil || o.historyMember() == "" {
		return h
	}
	list, _ := valueAt(v, []string{o.historyMember()}).([]any)
	for _, item := range list {
		if text := compactJSON(item); !slices.Contains(h, text) {
			h = append(h, text)
		}
	}
	return h
}

// EncodeMessages returns the messages of events that have the kinds of parts of requests, such as
// [spec.InputAssistant], in the form in which requests like r repeat them. Events for which the
// document has no form are left out.
func (d *Dialect) EncodeMessages(r spec.Request, events []spec.Event) (h History) {
	o := d.Operation(r)
	if o == nil {
		return nil
	}
	for _, w := range o.requestVariants {
		for _, site := range w.parts {
			if !slices.Equal(site.path, []string{o.historyMember()}) {
				continue
			}
			for i := range events {
				if item := variantFor(site.variants, events[i].Kind, &events[i]); item != nil {
					h = append(h, string(item.appendJSON(nil, &events[i])))
				}
			}
			return h
		}
	}
	return nil
}
