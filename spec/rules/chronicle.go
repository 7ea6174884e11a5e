package rules

import (
	"fmt"
	"slices"
	"time"

	"github.com/streamassay/streamassay/spec"
)

// settled is how long after the end of a run its history may be incomplete, and how
// long which conversation is the latest may be in doubt.
const settled = 5 * time.Second

// A chronicle is what a conversation shows of the runs that were asked for, and of
// what the server has kept of them.
type chronicle struct {
	keep  func(spec.Event) *spec.Event
	runs  []*record
	reads []*reading

	attentive bool             // what is said is wanted as well
	tellings  map[string]*tale // run → how it was told
	touched   map[string]bool  // threads that something else was done to before the first run; "" is any
	ask       spec.Event       // the exchange that is being told
	read      *reading         // it asks for a history
	tale      *tale            // it tells a run
	words     *answer          // it tells it from the start
}

// A record is one run that was accepted.
type record struct {
	ask, accepted spec.Event
	again         bool // it was asked for more than once: by which words nobody can say
	tale
}

// A tale is how a run was told.
type tale struct {
	end     spec.Event // the first event that ended it; of no kind: nobody heard one
	results int        // of tools
	words   *answer    // nil if it was not heard from its start to its end
}

// A reading is one history that was asked for, and what came.
type reading struct {
	ask, answer, body, closed spec.Event
}

// histories lets a rule judge the chronicle when the conversation is over.
func histories(judge func(p *spec.Pass, c *chronicle)) watch {
	return func(p *spec.Pass) func(spec.Event) { return chronicles(p, judge, false) }
}

// attentive is histories for a rule about what was said.
func attentive(judge func(p *spec.Pass, c *chronicle)) watch {
	return func(p *spec.Pass) func(spec.Event) { return chronicles(p, judge, true) }
}

func chronicles(p *spec.Pass, judge func(p *spec.Pass, c *chronicle), attentive bool) func(spec.Event) {
	c, hear := spec.SharedState(p, fmt.Sprintf("chronicle, attentive: %v", attentive), func() (*chronicle, func(spec.Event)) {
		c := &chronicle{attentive: attentive, keep: keeper(p), tellings: map[string]*tale{}, touched: map[string]bool{}}
		return c, func(e spec.Event) {
			if e.Kind != "" {
				c.hear(e)
				return
			}
			for _, r := range c.runs {
				if told := c.tellings[run(r.ask)]; told != nil {
					r.tale = *told
				}
			}
		}
	})
	return func(e spec.Event) {
		if hear(e); e.Kind == "" {
			judge(p, c)
		}
	}
}

func (c *chronicle) hear(e spec.Event) {
	if e.Kind == spec.HTTPResponse {
		c.touch(e.StatusCode)
	}
	switch {
	case e.Kind == spec.HTTPRequest:
		c.ask, c.read, c.tale, c.words = e, nil, nil, nil
		if e.Name == "history" && e.Valid() {
			c.read = &reading{ask: e}
			c.reads = append(c.reads, c.read)
		}
	case c.read != nil:
		c.read.hear(e)
	case e.Kind == spec.RunAccepted:
		c.accept(e)
	case e.Kind == spec.HTTPResponse && e.IsStream() && e.StatusCode/100 == 2 && c.ask.Valid() && c.ask.Run != "":
		c.listen()
	case c.tale != nil && e.IsFrame() && (e.Run == "" || e.Run == c.ask.Run):
		c.tell(e)
	}
}

// touch notes that something was done to a thread before a run without fault was accepted
// for it: by a request of another kind, by one with a fault that was let pass, or by one
// that failed nobody knows where.
func (c *chronicle) touch(status int) {
	_, prompt := c.ask.Prompt()
	failed := status == 0 || status/100 == 5
	before := slices.ContainsFunc(c.runs, func(r *record) bool { return r.ask.Thread == c.ask.Thread })
	switch {
	case c.read != nil || before || status/100 != 2 && !failed:
	case prompt && c.ask.Valid() && !failed: // the run itself
	case c.ask.Thread == "" && c.ask.Valid():
	default: // "" is any thread: that of a request that cannot be read
		c.touched[c.ask.Thread] = true
	}
}

func (r *reading) hear(e spec.Event) {
	switch e.Kind {
	case spec.HTTPResponse:
		r.answer = e
	case spec.BodyEnd:
		r.closed = e
	default:
		r.body = e
	}
}

func (c *chronicle) accept(e spec.Event) {
	if !c.ask.Valid() || c.ask.Run == "" || c.ask.Thread == "" {
		return
	}
	for _, r := range c.runs {
		if run(r.ask) == run(c.ask) {
			r.again = true
			return
		}
	}
	c.runs = append(c.runs, &record{ask: c.ask, accepted: e})
}

func (c *chronicle) listen() {
	if c.tale = c.tellings[run(c.ask)]; c.tale == nil {
		c.tale = &tale{}
		c.tellings[run(c.ask)] = c.tale
	}
	if c.attentive && c.ask.Cursor == "" && c.tale.words == nil {
		c.words = &answer{ask: c.ask, keep: c.keep}
	}
}

func (c *chronicle) tell(e spec.Event) {
	if e.Kind == spec.ToolResult && c.tale.end.Kind == "" {
		c.tale.results++
	}
	if c.words != nil {
		c.words.hear(e)
	}
	if !terminal(e) {
		return
	}
	if c.words != nil {
		c.tale.words, c.words = c.words, nil
	}
	if c.tale.end.Kind == "" || e.At < c.tale.end.At {
		c.tale.end = e
	}
}

// who is what a request says of who asks. A client that says nothing of it is always
// the same.
func who(ask spec.Event) string {
	return ask.Header.Get("Authorization") + "\x00" + ask.Header.Get("Cookie")
}

// page is the history that came, if one did.
func (r *reading) page() (spec.Event, bool) {
	return r.body, r.answer.StatusCode/100 == 2 && r.body.Kind == spec.History
}

// unknown says that the server knows nothing of the thread that was asked for.
func (r *reading) unknown() bool { return r.answer.StatusCode == 404 || r.answer.StatusCode == 410 }

// latest is the page of the latest day of a thread, if that came of r.
func (r *reading) latest(thread string) (spec.Event, bool) {
	page, ok := r.page()
	return page, ok && r.ask.Day == "" && page.Thread == thread
}

// partsOf are the messages of a kind on a page.
func partsOf(page spec.Event, k spec.Kind) (all []spec.Event) {
	for _, part := range page.Parts {
		if part.Kind == k {
			all = append(all, part)
		}
	}
	return all
}

// ended says that a run had ended well, so long before at.
func (r *record) ended(at, before time.Duration) bool {
	return !r.again && r.end.Kind == spec.RunEnd && r.end.At+before <= at
}

// served says that some history was told in the conversation: there is such a thing.
func (c *chronicle) served() bool {
	for _, r := range c.reads {
		if _, ok := r.page(); ok {
			return true
		}
	}
	return false
}
