package script

import (
	"maps"
	"slices"
	"time"

	"github.com/streamassay/streamassay/internal/near"
	"github.com/streamassay/streamassay/spec"
)

// What a reply may have at most.
const (
	mostSteps = 10_000
	mostTools = 100
)

// A step is one thing that a reply does.
type step struct {
	at    *node
	word  string    // what the script calls it
	kind  spec.Kind // what a dialect must have a word for to say it; "" is none
	text  words     // what is said; of an image, its address
	code  words     // of an error
	calls []call    // all open at once
	data  value     // of an interrupt
	inner []step    // of a message
	wait  time.Duration
}

// A call is one of a tool. A call without a result is left to the client.
type call struct {
	name      words
	arguments value
	result    *value
}

// steps are the words of a reply.
func (r *reader) steps(n *node) (all []step) {
	if n.form == scalar && n.value != nil { // one text is the commonest reply
		return []step{{at: n, word: "text", kind: spec.MessageDelta, text: r.words(n, "reply")}}
	}
	r.each(n, "reply", func(i int, n *node) {
		if i == mostSteps {
			r.wrong(n, "a reply has %d steps at most", mostSteps)
		}
		if i >= mostSteps {
			return
		}
		if s, ok := r.step(n, r.does()); ok {
			all = append(all, s)
		}
	})
	r.sensible(all)
	return all
}

// A doing reads what a step does.
type doing func(n *node, s *step)

// does are the words of replies.
func (r *reader) does() map[string]doing {
	return map[string]doing{
		"text":      func(n *node, s *step) { s.kind, s.text = spec.MessageDelta, r.words(n, "text") },
		"reasoning": func(n *node, s *step) { s.kind, s.text = spec.ReasoningStart, r.words(n, "reasoning") },
		"image":     func(n *node, s *step) { s.kind, s.text = spec.ContentEnd, r.words(n, "image") },
		"wait":      func(n *node, s *step) { s.wait = r.duration(n, "wait") },
		"raw":       r.raw,
		"error":     r.fails,
		"interrupt": func(n *node, s *step) { s.kind, s.data = spec.Interrupt, r.value(n) },
		"message":   r.message,
		"tool": func(n *node, s *step) {
			s.kind, s.calls = spec.ToolStart, []call{r.call(n, "tool", resultWanted)}
		},
		"tools": r.tools,
		"client-tool": func(n *node, s *step) {
			s.kind, s.calls = spec.ToolStart, []call{r.call(n, "client-tool", resultUnheard)}
		},
	}
}

// step reads one step: an object of one word.
func (r *reader) step(n *node, known map[string]doing) (s step, ok bool) {
	names := slices.Sorted(maps.Keys(known))
	if n.form != object || len(n.members) != 1 {
		r.wrong(n, "a step is an object of one of %s; this is %s", join(names), n.count())
		return s, false
	}
	m := n.members[0]
	do := known[m.key]
	if do == nil {
		r.wrong(m.at, "there is no step %s%s", quoted(m.key), near.Suggest(m.key, names))
		return s, false
	}
	s = step{at: m.at, word: m.key}
	do(m.value, &s)
	return s, true
}

// count says what a node is; of an object, what it has.
func (n *node) count() string {
	if n.form != object || len(n.members) == 0 {
		return n.is()
	}
	var names []string
	for _, m := range n.members[:min(len(n.members), 5)] {
		names = append(names, cut(m.key, 20))
	}
	return "an object of " + join(names)
}

// raw reads a frame that is spelled already: its lines, or an object that is its data.
func (r *reader) raw(n *node, s *step) {
	s.kind = spec.Undecodable
	if n.form == scalar {
		s.text = r.words(n, "raw")
		return
	}
	s.data = r.value(n)
}

func (r *reader) fails(n *node, s *step) {
	s.kind = spec.RunError
	if n.form != object {
		s.text = r.words(n, "error")
		return
	}
	r.object(n, "error", members{
		"text": func(n *node) { s.text = r.words(n, "error: text") },
		"code": func(n *node) { s.code = r.words(n, "error: code") },
	})
}

// message reads what stands together in one message. An error in it leaves it open.
func (r *reader) message(n *node, s *step) {
	s.kind = spec.MessageDelta
	all := r.does()
	within := map[string]doing{"text": all["text"], "image": all["image"], "wait": all["wait"], "error": all["error"]}
	r.each(n, "message", func(i int, n *node) {
		if inner, ok := r.step(n, within); ok && i < mostSteps {
			s.inner = append(s.inner, inner)
		}
	})
	if n.form == list && len(n.items) == 0 {
		r.wrong(n, "message is empty: name what it says")
	}
	r.sensible(s.inner)
}

// Whether a call has a result.
type resultRule int

const (
	resultWanted  resultRule = iota // the server runs the tool
	resultUnheard                   // the client does
)

func (r *reader) tools(n *node, s *step) {
	s.kind = spec.ToolStart
	r.each(n, "tools", func(i int, n *node) {
		if i == mostTools {
			r.wrong(n, "a step has %d calls at most", mostTools)
		}
		if i < mostTools {
			s.calls = append(s.calls, r.call(n, "tools", resultWanted))
		}
	})
	if n.form == list && len(n.items) == 0 {
		r.wrong(n, "tools is empty: name the calls")
	}
}

func (r *reader) call(n *node, what string, rule resultRule) (c call) {
	r.object(n, what, members{
		"name":      func(n *node) { c.name = r.words(n, what+": name") },
		"arguments": func(n *node) { c.arguments = r.value(n) },
		"result": func(n *node) {
			if rule == resultUnheard {
				r.wrong(n, "client-tool has no result: its client brings it in the next request; write a rule with tool-result for that, or tool for a tool of the server")
			}
			v := r.value(n)
			c.result = &v
		},
	})
	switch {
	case n.form != object:
	case n.get("name") == nil:
		r.wrong(n, "%s has no name", what)
	case c.name.text == "":
		r.wrong(n.get("name"), "%s: name is empty", what)
	}
	if rule == resultWanted && n.form == object && n.get("result") == nil {
		r.wrong(n, "%s %s has no result: say what it gives, or write client-tool for a tool of the client", what, quoted(c.name.text))
	}
	if c.arguments.at == nil {
		c.arguments = value{at: n, empty: true}
	}
	return c
}

// sensible says which orders of steps are impossible.
func (r *reader) sensible(all []step) {
	over := ""
	for _, s := range all {
		switch {
		case over == "error":
			r.wrong(s.at, "%s comes after error, which ends the run: put it before, or leave it out", s.word)
			return
		case over == "interrupt" && s.word != "raw" && s.word != "wait":
			r.wrong(s.at, "%s comes after interrupt, which hands over to the client: answer its resume with a rule of its own", s.word)
			return
		case over == "client-tool" && s.word != "raw" && s.word != "wait" && s.word != "client-tool":
			r.wrong(s.at, "%s comes after client-tool, whose result the server does not have yet: answer it with a rule that has tool-result", s.word)
			return
		}
		if n := len(s.inner); n > 0 && s.inner[n-1].word == "error" {
			over = "error"
		}
		if s.word == "error" || s.word == "interrupt" || s.word == "client-tool" {
			over = s.word
		}
	}
}
