package dialect

import (
	"slices"

	"github.com/streamassay/streamassay/spec"
)

// A History holds the messages of a thread so far, oldest first. Each message is compact JSON, in
// the form in which requests repeat it.
type History []string

// historyPlaceholder is a string that stands for the messages of a [History] when it is an item of
// a list in a template.
const historyPlaceholder = "{{history}}"

// historyMember returns the name of the top-level member of a template that is a list with the
// placeholder for a history. It returns "" if there is none. The template is a decoded JSON value.
func historyMember(template any) string {
	body, _ := template.(map[string]any)
	for name, member := range body {
		if list, _ := member.([]any); slices.Contains(scalarStrings(list), historyPlaceholder) {
			return name
		}
	}
	return ""
}

// scalarStrings returns the items of list that are strings, in order.
func scalarStrings(list []any) (all []string) {
	for _, item := range list {
		if text, ok := item.(string); ok {
			all = append(all, text)
		}
	}
	return all
}

// fillHistory replaces historyPlaceholder with the messages of h in the list that is the value of
// the given member of body. Each message becomes an item of the list. The argument body is a
// decoded request body, which fillHistory modifies. If member is "", fillHistory does nothing.
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

// RepeatsHistory reports whether requests for the operation of r repeat the messages of their
// thread. This is the case if a template of the operation has the placeholder {{history}}.
func (d *Dialect) RepeatsHistory(r spec.Request) bool {
	o := d.Operation(r)
	return o != nil && o.historyMember() != ""
}

// historyMember returns the name of the member of request bodies that repeats the history, or "" if
// there is none.
func (o *Operation) historyMember() string {
	for _, name := range o.Templates() {
		if member := historyMember(o.templates[name]); member != "" {
			return member
		}
	}
	return ""
}

// AppendRequest appends to h those messages of the request r that h does not contain, and returns
// the result. Messages are the same if their compact JSON is equal. If a message occurs more often
// in r than in h, the additional ones are appended. AppendRequest returns h if requests for the
// operation of r do not repeat the history, or if the body of r is not valid JSON. Like the
// built-in function append, it may store the messages in the free capacity of h.
func (d *Dialect) AppendRequest(h History, r spec.Request) History {
	o := d.Operation(r)
	v, err := decode(r.Body)
	if o == nil || err != nil || o.historyMember() == "" {
		return h
	}
	list, _ := valueAt(v, []string{o.historyMember()}).([]any)
	known := slices.Clone(h)
	for _, item := range list {
		text := compactJSON(item)
		if i := slices.Index(known, text); i >= 0 {
			known = slices.Delete(known, i, i+1) // a second message that is equal is a new one
			continue
		}
		h = append(h, text)
	}
	return h
}

// EncodeMessages returns the messages in events in the form in which requests for the operation of
// r repeat them. The kinds of the events must be those that messages have in requests, such as
// [spec.InputAssistant]. An event that the document does not allow among the repeated messages is
// left out. The result is nil if requests for that operation do not repeat messages.
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
