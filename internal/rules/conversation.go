package rules

import (
	"slices"
	"time"

	"github.com/streamassay/streamassay/spec"
)

// historySettleTime is how long the history of a thread may be incomplete after the end of a run.
// It is also how long a server may take to return the thread of a new run as the latest thread.
const historySettleTime = 5 * time.Second

// A runsAndHistories collects the data for the checks of histories and of accepted runs: the runs
// that replies accepted, the events of all their streams, and the requests for histories. Unlike a
// [storedPromptTracker], it also covers servers that do not understand the test prompts, and it
// combines all streams of a run.
type runsAndHistories struct {
	exchanges        *exchangeTracker
	keep             func(spec.Event) *spec.Event // copies an event that is retained; see keeper
	runs             []*acceptedRun               // in the order in which they were accepted
	historyExchanges []*exchange                  // the exchanges whose request is for a history, in order

	streams map[string]*mergedRunStreams // by runKey: what the streams of the run showed
	// changedOtherwise contains the ids of the threads that may have been changed by a request that
	// is not known to have started a run. The key "" stands for any thread.
	changedOtherwise map[string]bool
	// touchedAt contains the threads that may have been created or changed by such a request before
	// the first run of the thread was accepted. It maps the id of the thread to the time of the
	// first of these requests. The key "" stands for any thread.
	touchedAt map[string]time.Duration
	request   spec.Event        // of the current exchange
	stream    *mergedRunStreams // the run that the current response streams; nil if it streams none
	// content collects the content of the current stream. It is nil if the stream was requested
	// with a cursor, or if the content of its run is already known.
	content *assembledRun
}

// An acceptedRun is a run that the server accepted, together with what its streams showed.
type acceptedRun struct {
	request, acceptance spec.Event // the request that started the run, and the reply that accepted it
	requestedAgain      bool       // the run was requested more than once, so it is unknown which prompt counts
	// number is how often the history must contain the prompt after this run. It is 1 plus the
	// number of earlier runs with the same user, thread and prompt that finished before this run.
	// If this run did not finish or was requested more than once, number is 0.
	number   int
	canceled bool // an accepted request to cancel the run was sent before its end was seen
	mergedRunStreams
}

// A mergedRunStreams combines what all streams of one run showed.
type mergedRunStreams struct {
	requestedAt time.Duration   // when the first of the streams was requested
	end         spec.Event      // the earliest terminal event; zero if none was seen
	toolResults map[string]bool // ids of the calls whose results came before the end
	content     *assembledRun   // the content of a stream that was read from start to end; nil if there was none
}

// atConversationEnd returns a newWatcherFunc that calls judge once, at the end of a conversation.
// The argument c holds what was collected from the conversation. All checks share it, so judge must
// not modify it.
func atConversationEnd(judge func(p *spec.Pass, c *runsAndHistories)) newWatcherFunc {
	return judgeAtEnd(func(p *spec.Pass) *runsAndHistories {
		exchanges := exchangesOf(p)
		return spec.Shared(p, "conversation", func() (*runsAndHistories, func(spec.Event)) {
			c := &runsAndHistories{
				exchanges: exchanges, keep: keeper(p), streams: map[string]*mergedRunStreams{},
				touchedAt: map[string]time.Duration{}, changedOtherwise: map[string]bool{},
			}
			p.AtEnd(c.addStreams)
			return c, c.observe
		})
	}, judge)
}

// addStreams completes the runs in c.runs at the end of the conversation: it sets the fields
// mergedRunStreams, canceled and number of each of them.
func (c *runsAndHistories) addStreams() {
	for _, r := range c.runs {
		if stream := c.streams[runKey(r.request)]; stream != nil {
			r.mergedRunStreams = *stream
		}
		stream := completedStream{request: r.request, bodyEnd: r.end}
		r.canceled = slices.ContainsFunc(c.exchanges.cancels, func(cancel spec.Event) bool {
			hadEnded := r.end.Kind == spec.RunEnd && r.end.At < cancel.At
			return stream.isCanceledBy(cancel) && !hadEnded
		})
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

// observe updates c with e, the next event of the conversation.
func (c *runsAndHistories) observe(e spec.Event) {
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
		if !c.request.Valid() { // for example, its media type is wrong, so its prompt and thread were not read
			c.changedOtherwise[e.Thread] = true
		}
		c.addRun(e)
	case e.Kind == spec.HTTPResponse && e.IsStream() && e.StatusCode/100 == 2 &&
		c.request.Valid() && c.request.Run != "":
		c.openStream()
	case c.stream != nil && e.IsFrame() && (e.Run == "" || e.Run == c.request.Run):
		c.observeFrame(e)
	}
}

// markTouched records in c.changedOtherwise and c.touchedAt whether the current request may
// have changed its thread. The argument status is the status of the response, or 0 if there was
// none.
func (c *runsAndHistories) markTouched(status int) {
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
		if at, touched := c.touchedAt[c.request.Thread]; !touched || c.request.At < at {
			c.touchedAt[c.request.Thread] = c.request.At
		}
	}
}

// mayBeTouchedBefore reports whether c.touchedAt contains a request that may have created or
// changed the given thread and that was sent not later than at, the time since the start of the
// conversation.
func (c *runsAndHistories) mayBeTouchedBefore(thread string, at time.Duration) bool {
	for _, id := range []string{thread, ""} {
		if first, touched := c.touchedAt[id]; touched && first <= at {
			return true
		}
	}
	return false
}

// isHistoryRequest reports whether request is a valid request for a history.
func isHistoryRequest(request spec.Event) bool { return request.Name == "history" && request.Valid() }

// addRun adds the run that the current request started and that the reply e accepts, unless the
// request is invalid or does not name both a thread and a run.
func (c *runsAndHistories) addRun(e spec.Event) {
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

// openStream sets c.stream, and c.content if the content of the stream is to be collected. It must
// be called only if the current response is a stream of the run that the current request names.
func (c *runsAndHistories) openStream() {
	if c.stream = c.streams[runKey(c.request)]; c.stream == nil {
		c.stream = &mergedRunStreams{requestedAt: c.request.At, toolResults: map[string]bool{}}
		c.streams[runKey(c.request)] = c.stream
	}
	if c.request.Cursor == "" && c.stream.content == nil {
		c.content = &assembledRun{request: c.request, keep: c.keep}
	}
}

// observeFrame adds e, a frame of the current stream, to what is known about the run: its tool
// results, its terminal event and, if the stream was requested from its start, its content.
func (c *runsAndHistories) observeFrame(e spec.Event) {
	if e.Kind == spec.ToolResult && c.stream.end.Kind == "" {
		c.stream.toolResults[e.Call] = true
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

// credentialKey returns a map key for the credentials of a request. It is made of the header fields
// Authorization and Cookie.
func credentialKey(request spec.Event) string {
	return request.Header.Get("Authorization") + "\x00" + request.Header.Get("Cookie")
}

// page returns x.reply, the decoded body of the response, and whether it is a history that was
// returned with a 2xx status.
func (x *exchange) page() (spec.Event, bool) {
	return x.reply, x.status()/100 == 2 && x.reply.Kind == spec.History
}

// isThreadUnknown reports whether the server responded with status 404 or 410, which means that it
// does not know the requested thread.
func (x *exchange) isThreadUnknown() bool {
	return x.status() == 404 || x.status() == 410
}

// latestPage returns x.reply, the decoded body of the response, and whether it is the latest page
// of the history of the given thread. A server that divides a history into days returns the latest
// page, that of the last day, if a request does not ask for the history before a given day.
func (x *exchange) latestPage(thread string) (spec.Event, bool) {
	page, ok := x.page()
	return page, ok && x.request.Day == "" && page.Thread == thread
}

// endedBefore reports whether the run had finished at least the duration margin before at, a time
// since the start of the conversation. The result is false for a run that failed, and for one that
// was requested more than once.
func (r *acceptedRun) endedBefore(at, margin time.Duration) bool {
	return !r.requestedAgain && r.end.Kind == spec.RunEnd && r.end.At+margin <= at
}

// hasServedHistory reports whether the server returned at least one history in the conversation.
func (c *runsAndHistories) hasServedHistory() bool {
	return slices.ContainsFunc(c.historyExchanges, func(x *exchange) bool {
		_, ok := x.page()
		return ok
	})
}
