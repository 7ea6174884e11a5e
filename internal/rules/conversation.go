package rules

import (
	"slices"
	"time"

	"github.com/streamassay/streamassay/spec"
)

// historySettleTime is how long after the end of a run the history of its thread may be incomplete.
// It is also how long the server may take to return the thread of a new run as the latest thread.
const historySettleTime = 5 * time.Second

// A conversation collects from all exchanges of a scenario what checks of histories and of accepted
// runs need: the runs that replies accepted, the events of all streams of these runs, and the
// requests for histories. Unlike a [threadTracker], it is used with every target, not only with
// scripted ones, and combines the streams of a run.
type conversation struct {
	exchanges        *exchangeAccount
	keep             func(spec.Event) *spec.Event
	runs             []*acceptedRun
	historyExchanges []*exchange

	streams map[string]*runStream // by run key
	// changedOtherwise are the threads that a request which started no known run may have changed; ""
	// is any thread.
	changedOtherwise map[string]bool
	touchedThreads   map[string]bool // threads changed by another request before their first run; "" is any thread
	request          spec.Event      // of the current exchange
	stream           *runStream      // the current stream
	content          *assembledRun   // the content of the current stream, if it is the first from the start
}

// An acceptedRun is one run that the server accepted, together with what its streams showed.
type acceptedRun struct {
	request, acceptance spec.Event
	requestedAgain      bool // more than once, so that its prompt is ambiguous
	number              int  // counts, from 1, the finished runs of the thread with the same prompt; 0: not finished
	runStream
}

// A runStream combines what all streams of one run showed.
type runStream struct {
	end         spec.Event    // the earliest terminal event; zero if none was seen
	toolResults int           // number of tool results
	content     *assembledRun // nil if no stream was seen from its start to its end
}

// atConversationEnd returns a watchFunc that collects a conversation and calls judge once, at its
// end.
func atConversationEnd(judge func(p *spec.Pass, c *conversation)) watchFunc {
	return func(p *spec.Pass) func(spec.Event) {
		exchanges := exchangesOf(p)
		c := spec.Shared(p, "conversation", func() (*conversation, func(spec.Event)) {
			c := &conversation{
				exchanges: exchanges, keep: keeper(p), streams: map[string]*runStream{}, touchedThreads: map[string]bool{},
				changedOtherwise: map[string]bool{},
			}
			p.AtEnd(c.addStreams)
			return c, c.observe
		})
		p.AtEnd(func() { judge(p, c) })
		return func(spec.Event) {}
	}
}

// addStreams adds to each run what was observed in its streams. It does not change runs without
// streams.
func (c *conversation) addStreams() {
	for _, r := range c.runs {
		if stream := c.streams[runKey(r.request)]; stream != nil {
			r.runStream = *stream
		}
	}
	type prompt struct{ credentials, thread, text string }
	finished := map[prompt][]*acceptedRun{}
	for _, r := range c.runs {
		if r.end.Kind != spec.RunEnd || r.requestedAgain {
			continue
		}
		key := prompt{credentialKey(r.request), r.request.Thread, r.request.Text}
		r.number = 1
		for _, earlier := range finished[key] {
			if earlier.end.At <= r.end.At {
				r.number++
			}
		}
		finished[key] = append(finished[key], r)
	}
}

// observe updates the conversation with one event.
func (c *conversation) observe(e spec.Event) {
	if e.Kind == spec.HTTPResponse {
		c.markTouched(e.StatusCode)
	}
	switch {
	case e.Kind == spec.HTTPRequest:
		c.request, c.stream, c.content = e, nil, nil
	case isHistoryRequest(c.request):
		if x := c.exchanges.current; c.exchanges.ended {
			c.historyExchanges = append(c.historyExchanges, &x)
		}
	case e.Kind == spec.RunAccepted:
		c.addRun(e)
	case e.Kind == spec.HTTPResponse && e.IsStream() && e.StatusCode/100 == 2 &&
		c.request.Valid() && c.request.Run != "":
		c.openStream()
	case c.stream != nil && e.IsFrame() && (e.Run == "" || e.Run == c.request.Run):
		c.observeFrame(e)
	}
}

// markTouched records that the current request, answered with status, may have changed its thread
// before the first run of the thread was accepted. That may be so if the request was accepted and
// is not a valid prompt, or if it failed with status 5xx or without a status (0). Requests for a
// history, and valid requests that name no thread, are ignored.
func (c *conversation) markTouched(status int) {
	_, prompt := c.request.Prompt()
	failed := status == 0 || status/100 == 5
	before := slices.ContainsFunc(c.runs, func(r *acceptedRun) bool { return r.request.Thread == c.request.Thread })
	if !isHistoryRequest(c.request) && (failed || status/100 == 2 && prompt && !c.request.Valid()) {
		c.changedOtherwise[c.request.Thread] = true
	}
	switch {
	case isHistoryRequest(c.request) || before || status/100 != 2 && !failed:
	case prompt && c.request.Valid() && !failed: // the first run itself
	case c.request.Thread == "" && c.request.Valid():
	default: // the thread of an unreadable request is "", any thread
		c.touchedThreads[c.request.Thread] = true
	}
}

// isHistoryRequest reports whether a request is a valid request for a history.
func isHistoryRequest(request spec.Event) bool { return request.Name == "history" && request.Valid() }

// addRun records that the current request started a run, which the reply e accepts. If the
// conversation already has the run, addRun only notes that it was requested again. Invalid
// requests, and those that do not name both thread and run, are ignored.
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

// openStream records that the current response is a stream of the run that the request names.
func (c *conversation) openStream() {
	if c.stream = c.streams[runKey(c.request)]; c.stream == nil {
		c.stream = &runStream{}
		c.streams[runKey(c.request)] = c.stream
	}
	if c.request.Cursor == "" && c.stream.content == nil {
		c.content = &assembledRun{request: c.request, keep: c.keep}
	}
}

// observeFrame records one frame of the current stream: a tool result, the terminal event, and any
// part of the answer.
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

// credentialKey returns a map key for the credentials of a request. Requests with the same
// credentials have the same key.
func credentialKey(request spec.Event) string {
	return request.Header.Get("Authorization") + "\x00" + request.Header.Get("Cookie")
}

// page returns the history that the response contains. The second result is false if the response
// is not a history.
func (x *exchange) page() (spec.Event, bool) {
	return x.reply, x.status()/100 == 2 && x.reply.Kind == spec.History
}

// isThreadUnknown reports whether the server answered that it does not know the requested thread,
// with status 404 or 410.
func (x *exchange) isThreadUnknown() bool {
	return x.status() == 404 || x.status() == 410
}

// latestPage returns the history that the response contains. The second result reports whether this
// is the latest page of the given thread, that is a history of that thread that was requested
// without a day.
func (x *exchange) latestPage(thread string) (spec.Event, bool) {
	page, ok := x.page()
	return page, ok && x.request.Day == "" && page.Thread == thread
}

// endedBefore reports whether the run finished before the time at, by at least the duration margin.
// It returns false for a run that was requested more than once.
func (r *acceptedRun) endedBefore(at, margin time.Duration) bool {
	return !r.requestedAgain && r.end.Kind == spec.RunEnd && r.end.At+margin <= at
}

// hasServedHistory reports whether the server returned at least one history in the conversation.
func (c *conversation) hasServedHistory() bool {
	return slices.ContainsFunc(c.historyExchanges, func(x *exchange) bool {
		_, ok := x.page()
		return ok
	})
}
