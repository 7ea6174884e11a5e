package rules

import (
	"strconv"
	"strings"
	"time"

	"github.com/streamassay/streamassay/spec"
)

// An answer is what a run said to a prompt, put together from its events.
type answer struct {
	ask       spec.Event    // the request that opened the run
	told      spec.Event    // the request whose stream tells it
	before    string        // what the user said before it in the same conversation
	preceded  bool          // there is such a thing
	perhaps   []string      // what else may have been said before it
	answers   string        // the prompt that a result or a resume belongs to
	others    bool          // other conversations were led before
	waiting   bool          // the conversation was waiting for a resume or a tool's result, and this is none
	busy      bool          // the end of the run before it had not been heard
	ended     bool          // its end was heard
	delivered bool          // and it was a good one
	over      time.Duration // when
	refused   bool          // a refusal came in place of a run
	at        placer
	said      []*speech // messages, in the order in which they began
	messages  map[string]*speech
	calls     []*toolUse
	index     useIndex
	interrupt []spec.Event
	failure   spec.Event // the event that says the run failed
	closed    spec.Event
	keep      func(spec.Event) *spec.Event
}

// A speech is one message, or one stretch of reasoning.
type speech struct {
	id        string
	reasoning bool
	text      strings.Builder
	deltas    map[string]bool // slots that came in pieces
	others    []spec.Event    // contents that are not text
	repeated  int             // how much of the text messages without pieces have repeated
}

// A toolUse is one call of a tool and what came of it.
type toolUse struct {
	id, name string
	pieces   strings.Builder // of the arguments
	result   string
	answered bool
	at       *spec.Event // the call
	told     slot        // where its result stands
}

func (u *toolUse) args() string { return u.pieces.String() }

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

func (a *answer) reasoning() string {
	var b strings.Builder
	for _, s := range a.said {
		if s.reasoning {
			b.WriteString(s.text.String())
		}
	}
	return b.String()
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
	a.refused = a.refused || e.Kind == spec.RunRefused && a.failure.Kind == "" && e.Frame == 0
	switch e = a.at.place(e); e.Kind {
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
		a.failure = e
	}
}

// known is the message of an id, if anything was heard of it.
func (a *answer) known(id string) *speech { return a.messages[id] }

// speech is the message that e belongs to.
func (a *answer) speech(e spec.Event) *speech {
	if s := a.known(e.Message); s != nil {
		return s
	}
	s := &speech{id: e.Message, reasoning: e.Kind.Subject() == "reasoning", deltas: map[string]bool{}}
	if a.messages == nil {
		a.messages = map[string]*speech{}
	}
	a.said, a.messages[e.Message] = append(a.said, s), s
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
	for i, part := range e.Parts {
		part = standing(part, e)
		part.Index = strconv.Itoa(i) // contents are repeated in order
		switch {
		case part.Kind == spec.ToolCall || part.Kind == spec.ToolResult:
			a.tool(part)
		case part.Type != "" && part.Type != "text":
			if s := a.speech(e); len(s.others) == 0 {
				s.others = append(s.others, part)
			}
		case part.Text != "" && !a.repeats(e, part.Text):
			if s := a.speech(e); len(s.deltas) == 0 {
				s.text.WriteString(part.Text)
			}
		}
	}
}

// repeats says that a message of which nothing else was heard repeats what pieces that
// name no message have said.
func (a *answer) repeats(end spec.Event, text string) bool {
	nameless := a.known("")
	if nameless == nil || end.Message == "" || a.known(end.Message) != nil {
		return false
	}
	again := strings.HasPrefix(nameless.text.String()[nameless.repeated:], text)
	if again {
		nameless.repeated += len(text)
	}
	return again
}

func (a *answer) tool(e spec.Event) {
	use := a.use(e)
	switch e.Kind {
	case spec.ToolStart:
		use.name = e.Name
	case spec.ToolDelta:
		use.pieces.WriteString(e.Text)
	case spec.ToolCall:
		use.name = e.Name
		use.pieces.Reset()
		use.pieces.WriteString(e.Text)
	case spec.ToolResult:
		use.result, use.answered, use.told = e.Text, true, placeOf(e)
		a.index.answered(use)
	}
}
