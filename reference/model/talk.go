package model

import (
	"cmp"
	"slices"
	"strings"

	"github.com/streamassay/streamassay/reference/state"
	"github.com/streamassay/streamassay/spec"
)

// The roles of what is said.
const (
	roleSystem    = "system"
	roleUser      = "user"
	roleAssistant = "assistant"
	roleTool      = "tool"
)

// Words are what somebody says in a conversation.
type words struct {
	role, text        string
	images            []string     // a user's, their addresses
	calls             []state.Call // an assistant's
	call              string       // which one a tool answers
	name              string       // of the tool
	thinking, thought string       // an assistant's reasoning, and the member that it came in
}

// conversation is what the model is asked to go on with.
func (r *run) conversation() ([]words, error) {
	system := []string{r.System}
	var now []words
	users, repeats := 0, false
	for _, part := range r.turn.Parts {
		w := words{text: part.Text}
		switch part.Kind {
		case spec.InputSystem:
			system = append(system, part.Text)
			continue
		case spec.InputUser:
			w.role, w.images = roleUser, images(part)
			users++
		case spec.InputResume:
			w.role = roleUser
		case spec.InputAssistant:
			w.role, repeats = roleAssistant, true
			if part.Call != "" && part.Name != "" {
				w.calls = []state.Call{{ID: part.Call, Name: part.Name, Arguments: "{}"}}
			}
		case spec.InputToolResult:
			w.role, w.call, w.name = roleTool, part.Call, part.Name
		default:
			continue
		}
		now = append(now, w)
	}
	before, err := r.before()
	if err != nil {
		return nil, err
	}
	known := callsOf(before)
	if repeats || users > 1 {
		before = nil
	}
	said := settle(append(before, now...), known)
	system = slices.DeleteFunc(append(system, r.shown()), func(s string) bool { return strings.TrimSpace(s) == "" })
	if len(system) > 0 {
		said = slices.Insert(said, 0, words{role: roleSystem, text: strings.Join(system, "\n\n")})
	}
	return said, nil
}

// images are those of a user's message that a server can be told of.
func images(user spec.Event) (all []string) {
	for _, part := range user.Parts {
		scheme, _, _ := strings.Cut(part.Text, ":")
		if part.Kind == spec.InputImage && slices.Contains([]string{"http", "https", "data"}, strings.ToLower(scheme)) {
			all = append(all, part.Text)
		}
	}
	return all
}

// before is what was said before the request.
func (r *run) before() (said []words, err error) {
	if r.turn.Earlier == nil {
		return nil, nil
	}
	earlier, err := r.turn.Earlier(r.ctx)
	if err != nil {
		return nil, cmp.Or(r.ctx.Err(), error(errHistory))
	}
	for _, m := range earlier {
		said = append(said, words{role: m.Role, text: m.Text, calls: m.Calls, call: m.Call, name: m.Name})
	}
	return said, nil
}

func callsOf(said []words) map[string]state.Call {
	known := map[string]state.Call{}
	for _, w := range said {
		for _, c := range w.calls {
			known[c.ID] = c
		}
	}
	return known
}

// shown tells the model of tools that the user has, where nobody could answer a call
// of one.
func (r *run) shown() string {
	if len(r.turn.Offers) > 0 {
		return ""
	}
	var b strings.Builder
	for _, part := range r.turn.Parts {
		if part.Kind == spec.InputTool && part.Name != "" {
			b.WriteString("\n- " + part.Name)
			if part.Description != "" {
				b.WriteString(": " + part.Description)
			}
		}
	}
	if b.Len() == 0 {
		return ""
	}
	return "The user's application has these tools. They cannot be called here:" + b.String()
}

// A talk is a conversation in the order that models' servers insist on: a call has a
// result, at once; a result has a call.
type talk struct {
	said  []words
	known map[string]state.Call // that are remembered
	open  []string              // calls without a result yet, of the last assistant's words
	group int                   // where those words are
}

// settle brings a conversation into that order. Runs that were stopped, and histories
// that are not kept for ever or repeated by half, leave it in another. known are
// calls that are remembered.
func settle(said []words, known map[string]state.Call) []words {
	t := &talk{known: known, group: -1}
	for _, w := range said {
		switch w.role {
		case roleTool:
			t.result(w)
		case roleAssistant:
			t.assistant(w)
		default:
			t.close()
			t.said = append(t.said, w)
		}
	}
	t.close()
	return t.said
}

// close answers the calls that nobody else has.
func (t *talk) close() {
	for _, id := range t.open {
		t.said = append(t.said, words{role: roleTool, call: id, text: "error: there is no result"})
	}
	t.open, t.group = nil, -1
}

// assistant takes what an assistant said. What it said in one go is one message.
func (t *talk) assistant(w words) {
	t.close()
	if w.text == "" && len(w.calls) == 0 {
		return
	}
	w.calls = slices.Clone(w.calls)
	for i, c := range w.calls {
		if whole, ok := t.known[c.ID]; ok {
			w.calls[i] = whole
		}
		t.open = append(t.open, c.ID)
	}
	if n := len(t.said); n > 0 && t.said[n-1].role == roleAssistant && len(t.said[n-1].calls) == 0 {
		last := &t.said[n-1]
		last.text = strings.Trim(last.text+"\n\n"+w.text, "\n")
		last.calls = w.calls
	} else {
		t.said = append(t.said, w)
	}
	t.group = len(t.said) - 1
}

// result takes what a tool gave. A call that is only remembered is put before it;
// without one, the result is told by the user.
func (t *talk) result(w words) {
	i := slices.Index(t.open, w.call)
	c, remembered := t.known[w.call]
	switch {
	case i >= 0:
		t.open = slices.Delete(t.open, i, i+1)
	case !remembered || t.answered(w.call):
		t.close()
		w = words{role: roleUser, text: "A tool (" + cmp.Or(w.name, "unknown") + ") gave: " + w.text}
	case t.group < 0:
		t.assistant(words{role: roleAssistant, calls: []state.Call{c}})
		t.open = nil
	default:
		t.said[t.group].calls = append(t.said[t.group].calls, c)
	}
	t.said = append(t.said, w)
}

// answered says that a call has a result.
func (t *talk) answered(call string) bool {
	return slices.ContainsFunc(t.said, func(w words) bool { return w.role == roleTool && w.call == call })
}
