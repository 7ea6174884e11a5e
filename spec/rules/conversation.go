package rules

import (
	"fmt"
	"slices"
	"time"

	"github.com/streamassay/streamassay/spec"
)

// historySettleTime is how long after the end of a run its history may be incomplete, and how
// long which conversation is the latest may be in doubt.
const historySettleTime = 5 * time.Second

// A conversation is what a conversation shows of the runs that were asked for, and of
// what the server has kept of them.
type conversation struct {
	keep             func(spec.Event) *spec.Event
	runs             []*acceptedRun
	historyExchanges []*historyExchange

	keepsContent   bool                  // what is said is wanted as well
	streams        map[string]*runStream // run → how it was told
	touchedThreads map[string]bool       // threads that something else was done to before the first run; "" is any
	request        spec.Event            // the exchange that is being told
	historyRead    *historyExchange      // it asks for a history
	stream         *runStream            // it tells a run
	content        *assembledRun         // it tells it from the start
}

// A acceptedRun is one run that was accepted.
type acceptedRun struct {
	request, acceptance spec.Event
	requestedAgain      bool // it was asked for more than once: by which words nobody can say
	runStream
}

// A runStream is how a run was told.
type runStream struct {
	end         spec.Event    // the first event that ended it; of no kind: nobody heard one
	toolResults int           // of tools
	content     *assembledRun // nil if it was not heard from its start to its end
}

// A historyExchange is one history that was asked for, and what came.
type historyExchange struct {
	request, response, body, bodyEnd spec.Event
}

// atConversationEnd lets a rule judge the chronicle when the conversation is over.
func atConversationEnd(judge func(p *spec.Pass, c *conversation)) watchFunc {
	return func(p *spec.Pass) func(spec.Event) { return watchConversation(p, judge, false) }
}

// atConversationEndWithContent is histories for a rule about what was said.
func atConversationEndWithContent(judge func(p *spec.Pass, c *conversation)) watchFunc {
	return func(p *spec.Pass) func(spec.Event) { return watchConversation(p, judge, true) }
}

func watchConversation(p *spec.Pass, judge func(p *spec.Pass, c *conversation), keepsContent bool) func(spec.Event) {
	c, observe := spec.SharedState(p, fmt.Sprintf("chronicle, attentive: %v", keepsContent), func() (*conversation, func(spec.Event)) {
		c := &conversation{keepsContent: keepsContent, keep: keeper(p), streams: map[string]*runStream{}, touchedThreads: map[string]bool{}}
		return c, func(e spec.Event) {
			if e.Kind != "" {
				c.observe(e)
				return
			}
			for _, r := range c.runs {
				if stream := c.streams[runKey(r.request)]; stream != nil {
					r.runStream = *stream
				}
			}
		}
	})
	return func(e spec.Event) {
		if observe(e); e.Kind == "" {
			judge(p, c)
		}
	}
}

func (c *conversation) observe(e spec.Event) {
	if e.Kind == spec.HTTPResponse {
		c.markTouched(e.StatusCode)
	}
	switch {
	case e.Kind == spec.HTTPRequest:
		c.request, c.historyRead, c.stream, c.content = e, nil, nil, nil
		if e.Name == "history" && e.Valid() {
			c.historyRead = &historyExchange{request: e}
			c.historyExchanges = append(c.historyExchanges, c.historyRead)
		}
	case c.historyRead != nil:
		c.historyRead.observe(e)
	case e.Kind == spec.RunAccepted:
		c.addRun(e)
	case e.Kind == spec.HTTPResponse && e.IsStream() && e.StatusCode/100 == 2 && c.request.Valid() && c.request.Run != "":
		c.openStream()
	case c.stream != nil && e.IsFrame() && (e.Run == "" || e.Run == c.request.Run):
		c.observeFrame(e)
	}
}

// markTouched notes that something was done to a thread before a run without fault was accepted
// for it: by a request of another kind, by one with a fault that was let pass, or by one
// that failed nobody knows where.
func (c *conversation) markTouched(status int) {
	_, prompt := c.request.Prompt()
	failed := status == 0 || status/100 == 5
	before := slices.ContainsFunc(c.runs, func(r *acceptedRun) bool { return r.request.Thread == c.request.Thread })
	switch {
	case c.historyRead != nil || before || status/100 != 2 && !failed:
	case prompt && c.request.Valid() && !failed: // the run itself
	case c.request.Thread == "" && c.request.Valid():
	default: // "" is any thread: that of a request that cannot be read
		c.touchedThreads[c.request.Thread] = true
	}
}

func (r *historyExchange) observe(e spec.Event) {
	switch e.Kind {
	case spec.HTTPResponse:
		r.response = e
	case spec.BodyEnd:
		r.bodyEnd = e
	default:
		r.body = e
	}
}

func (c *conversation) addRun(e spec.Event) {
	if !c.request.Valid() || c.request.Run == "" || c.request.Thread == "" {
		return
	}
	for _, r := range c.runs {
		if runKey(r.request) == runKey(c.request) {
			r.requestedAgain = true
			return
		}
	}
	c.runs = append(c.runs, &acceptedRun{request: c.request, acceptance: e})
}

func (c *conversation) openStream() {
	if c.stream = c.streams[runKey(c.request)]; c.stream == nil {
		c.stream = &runStream{}
		c.streams[runKey(c.request)] = c.stream
	}
	if c.keepsContent && c.request.Cursor == "" && c.stream.content == nil {
		c.content = &assembledRun{request: c.request, keep: c.keep}
	}
}

func (c *conversation) observeFrame(e spec.Event) {
	if e.Kind == spec.ToolResult && c.stream.end.Kind == "" {
		c.stream.toolResults++
	}
	if c.content != nil {
		c.content.observe(e)
	}
	if !isTerminal(e) {
		return
	}
	if c.content != nil {
		c.stream.content, c.content = c.content, nil
	}
	if c.stream.end.Kind == "" || e.At < c.stream.end.At {
		c.stream.end = e
	}
}

// credentialKey is what a request says of who asks. A client that says nothing of it is always
// the same.
func credentialKey(request spec.Event) string {
	return request.Header.Get("Authorization") + "\x00" + request.Header.Get("Cookie")
}

// page is the history that came, if one did.
func (r *historyExchange) page() (spec.Event, bool) {
	return r.body, r.response.StatusCode/100 == 2 && r.body.Kind == spec.History
}

// isThreadUnknown says that the server knows nothing of the thread that was asked for.
func (r *historyExchange) isThreadUnknown() bool {
	return r.response.StatusCode == 404 || r.response.StatusCode == 410
}

// latestPage is the page of the latest day of a thread, if that came of r.
func (r *historyExchange) latestPage(thread string) (spec.Event, bool) {
	page, ok := r.page()
	return page, ok && r.request.Day == "" && page.Thread == thread
}

// partsOfKind are the messages of a kind on a page.
func partsOfKind(page spec.Event, k spec.Kind) (all []spec.Event) {
	for _, part := range page.Parts {
		if part.Kind == k {
			all = append(all, part)
		}
	}
	return all
}

// endedBefore says that a run had ended well, so long before at.
func (r *acceptedRun) endedBefore(at, margin time.Duration) bool {
	return !r.requestedAgain && r.end.Kind == spec.RunEnd && r.end.At+margin <= at
}

// hasServedHistory says that some history was told in the conversation: there is such a thing.
func (c *conversation) hasServedHistory() bool {
	for _, r := range c.historyExchanges {
		if _, ok := r.page(); ok {
			return true
		}
	}
	return false
}
