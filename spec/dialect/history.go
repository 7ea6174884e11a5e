package dialect

import (
	"slices"

	"github.com/streamassay/streamassay/spec"
)

// A MessageHistory holds the messages of a thread so far, oldest first. Each message is compact
// JSON, in the form in which requests repeat it.
type MessageHistory []string

// historyPlaceholder is an item of a list in a template. In a request, the messages of the
// [MessageHistory] take its place.
const historyPlaceholder = "{{history}}"

// RepeatsHistory reports whether requests for the operation of r repeat the messages of their
// thread. This is the case if a template of the operation has the placeholder {{history}}.
func (d *Dialect) RepeatsHistory(r spec.Request) bool {
	o := d.Operation(r)
	return o != nil && o.historyMember() != ""
}

// historyMember returns the name of the member of the body in which requests repeat the history. In
// a template, this member is a list with the historyPlaceholder. The result is "" if there is none.
func (o *Operation) historyMember() string {
	isPlaceholder := func(item any) bool { return item == historyPlaceholder }
	for _, template := range o.Templates() {
		body, _ := o.templates[template].(map[string]any)
		for name, member := range body {
			if list, _ := member.([]any); slices.ContainsFunc(list, isPlaceholder) {
				return name
			}
		}
	}
	return ""
}

// AppendRequest appends the messages of the request r that h lacks to h, and returns the result. It
// compares messages as compact JSON; if a message occurs more often in r than in h, it appends the
// additional ones. AppendRequest returns h unchanged if requests for the operation of r do not
// repeat the history, or if the body of r is not valid JSON. Like the built-in function append, it
// may write to the free capacity of h.
func (d *Dialect) AppendRequest(h MessageHistory, r spec.Request) MessageHistory {
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

// EncodeMessages returns messages, given as events, in the form in which a request for the same
// operation as r sends the earlier messages of its thread again. The kinds of the events must be
// those of messages in requests, such as [spec.InputAssistant]. EncodeMessages leaves out an event
// if the document does not allow its kind there. It returns nil if requests for that operation do
// not contain earlier messages.
func (d *Dialect) EncodeMessages(r spec.Request, events []spec.Event) (h MessageHistory) {
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
