package rules

import (
	"strings"

	"github.com/streamassay/streamassay/spec"
)

// An answer is what a run said to a prompt, put together from its events.
type answer struct {
	ask       spec.Event // the request that opened the run
	before    string     // the prompt before it in the same conversation
	preceded  bool       // there is one
	others    bool       // other conversations were led before
	said      []*speech  // messages, in the order in which they began
	calls     []*toolUse
	interrupt []spec.Event
	failure   spec.Event // the event that says the run failed
	ended     bool
	closed    spec.Event
}

// A speech is one message, or one stretch of reasoning.
type speech struct {
	id        string
	reasoning bool
	text      strings.Builder
	deltas    map[string]bool // slots that came in pieces
	others    []spec.Event    // contents that are not text
}

// A toolUse is one call of a tool and what came of it.
type toolUse struct {
	id, name, args string
	result         string
	answered       bool
	at             spec.Event
}

// text is everything the assistant said, reasoning aside.
func (a *answer) text() string {
	var b strings.Builder
	for _, s := range a.said {
		if !s.reasoning {
			b.WriteString(s.text.String())
		}
	}
	return b.String()
}

// texts are the messages with any text in them.
func (a *answer) texts() (all []string) {
	for _, s := range a.said {
		if !s.reasoning && s.text.Len() > 0 {
			all = append(all, s.text.String())
		}
	}
	return all
}

func (a *answer) reasoning() (text string) {
	for _, s := range a.said {
		if s.reasoning {
			text += s.text.String()
		}
	}
	return text
}

// named says that the dialect tells messages apart.
func (a *answer) named() bool {
	for _, s := range a.said {
		if s.id != "" {
			return true
		}
	}
	return false
}

func (a *answer) hear(e spec.Event) {
	switch e.Kind {
	case spec.MessageStart, spec.MessageProgress, spec.ReasoningStart:
		a.speech(e)
	case spec.MessageDelta, spec.ReasoningDelta:
		s := a.speech(e)
		s.deltas[e.Index] = true
		s.text.WriteString(e.Text)
	case spec.ContentPart, spec.ContentEnd:
		a.content(a.speech(e), e)
	case spec.MessageEnd, spec.ReasoningEnd:
		a.end(e)
	case spec.ToolStart, spec.ToolDelta, spec.ToolCall, spec.ToolResult:
		a.tool(e)
	case spec.Interrupt:
		a.interrupt = append(a.interrupt, e)
	case spec.RunError, spec.RunRefused:
		a.failure, a.ended = e, true
	case spec.RunEnd, spec.Done:
		a.ended = true
	}
}

// speech is the message that e belongs to.
func (a *answer) speech(e spec.Event) *speech {
	for _, s := range a.said {
		if s.id == e.Message {
			return s
		}
	}
	s := &speech{id: e.Message, reasoning: e.Kind.Thing() == "reasoning", deltas: map[string]bool{}}
	a.said = append(a.said, s)
	return s
}

// content takes a whole content: text that did not come in pieces, or what is not
// text.
func (a *answer) content(s *speech, e spec.Event) {
	switch {
	case e.Type != "" && e.Type != "text":
		s.others = append(s.others, e)
	case e.Kind == spec.ContentEnd && !s.deltas[e.Index]:
		s.deltas[e.Index] = true
		s.text.WriteString(e.Text)
	}
}

// end takes what the end of a message repeats, as far as it was not told before.
func (a *answer) end(e spec.Event) {
	var s *speech
	for _, part := range e.Parts {
		part.Message = e.Message
		switch {
		case part.Kind == spec.ToolCall || part.Kind == spec.ToolResult:
			a.tool(part)
		case part.Type != "" && part.Type != "text":
			if s = a.speech(e); len(s.others) == 0 {
				s.others = append(s.others, part)
			}
		case part.Text != "":
			if s = a.speech(e); len(s.deltas) == 0 {
				s.text.WriteString(part.Text)
			}
		}
	}
}

func (a *answer) tool(e spec.Event) {
	use := a.use(e)
	switch e.Kind {
	case spec.ToolStart:
		use.name = e.Name
	case spec.ToolDelta:
		use.args += e.Text
	case spec.ToolCall:
		use.name, use.args = e.Name, e.Text
	case spec.ToolResult:
		use.result, use.answered = e.Text, true
	}
}

// use is the call that e belongs to: by its id, or, where ids are not told, by
// order.
func (a *answer) use(e spec.Event) *toolUse {
	for _, u := range a.calls {
		if u.id != "" && u.id == e.Call {
			return u
		}
		anonymous := u.id == "" || e.Call == ""
		switch {
		case !anonymous:
		case e.Kind == spec.ToolResult && !u.answered:
			return u
		case e.Kind == spec.ToolCall && u.at.Message == e.Message:
			return u
		}
	}
	u := &toolUse{id: e.Call, at: e}
	a.calls = append(a.calls, u)
	return u
}

// answers lets a rule about content judge each answer of a scripted target, when
// the conversation is over. The run may be asked for and told by different
// requests; one that was canceled owes nobody an answer.
func answers(judge func(p *spec.Pass, a *answer)) watch {
	return func(p *spec.Pass) func(spec.Event) {
		history := map[string][]string{} // thread → its prompts
		opened := map[string]*answer{}   // run → what it was asked
		canceled := map[string]bool{}
		var given []*answer
		var ask spec.Event
		var now *answer
		return func(e spec.Event) {
			switch {
			case e.Kind == spec.Asked:
				ask, now = e, nil
				if e.Scripted && e.Whole() && len(e.Parts) > 0 {
					now = open(e, history)
					opened[run(e)] = now
				}
			case e.Kind == spec.Answered:
				canceled[run(ask)] = canceled[run(ask)] || ask.Name == "cancel" && e.HTTP/100 == 2
				if a := opened[run(ask)]; now == nil && a != nil && ask.Streams() && ask.Whole() && ask.Cursor == "" {
					now = &answer{ask: a.ask, before: a.before, preceded: a.preceded, others: a.others}
				}
				if now == nil || !e.Streams() || e.HTTP != 200 {
					now = nil
				}
			case e.Kind == "":
				for _, a := range given {
					if a.ask.Run == "" || !canceled[run(a.ask)] {
						judge(p, a)
					}
				}
			case now == nil:
			case e.Frame():
				now.hear(e)
			case e.Kind == spec.Closed:
				if (whole(e) || broke(e)) && ask.Limit == "" {
					now.closed = e
					given = append(given, now)
				}
				now = nil
			}
		}
	}
}

// open notes what a run is asked, and what was asked before it.
func open(ask spec.Event, history map[string][]string) *answer {
	a := &answer{ask: ask, others: len(history) > 0 && len(history[ask.Thread]) == 0}
	earlier := history[ask.Thread]
	for _, part := range ask.Parts {
		if part.Kind == spec.AskUser {
			earlier = append(earlier, part.Text)
		}
	}
	prompt, ok := ask.Prompt()
	if n := len(earlier); ok && n > 1 {
		a.before, a.preceded = earlier[n-2], true
	} else if !ok && n > 0 {
		a.before, a.preceded = earlier[n-1], true
	}
	if ok {
		history[ask.Thread] = append(history[ask.Thread], prompt)
	}
	return a
}
