package rules

import (
	"errors"
	"time"

	"github.com/streamassay/streamassay/spec"
)

// The trackers in this file are built once per conversation and shared by all checks; see
// [spec.Shared]. When a check sees an event, each tracker already includes that event, unless the
// comment on the tracker says otherwise.

// An initialStreamTracker follows the streams of a conversation, one after the other. It leaves
// out resumed streams, whose requests have a cursor, and the responses to requests that a server
// must refuse. Other checks judge these.
type initialStreamTracker struct {
	request spec.Event // of the current exchange; Text is the prompt of its run, if that is known
	isOpen  bool       // whether the current response is a stream that the tracker follows
	opens   bool       // whether the current event is the head of a stream that the tracker follows
	// event is the current event. A missing message id has been added to it; see
	// messageTracker.resolve.
	event spec.Event

	prompts  map[string]string // by runKey: the last prompt for the run that the server did not refuse
	messages messageTracker    // which messages of the current stream are open
}

// streamsOf returns the initialStreamTracker of the conversation to which p applies. All checks
// share it, so they must not modify it.
func streamsOf(p *spec.Pass) *initialStreamTracker {
	return spec.Shared(p, "streams", func() (*initialStreamTracker, func(spec.Event)) {
		s := &initialStreamTracker{prompts: map[string]string{}}
		return s, s.observe
	})
}

// observe updates the tracker with e, the next event of the conversation.
func (s *initialStreamTracker) observe(e spec.Event) {
	s.opens, s.event = false, e
	switch {
	case e.Kind == spec.HTTPRequest:
		s.request, s.isOpen = e, false
		switch {
		case e.Facts().Lacked: // the run need not do what the prompt asks for
			s.request.Text = ""
		case e.Text == "":
			s.request.Text = s.prompts[runKey(e)]
		}
	case e.Kind == spec.HTTPResponse:
		if s.request.Text != "" && s.request.Run != "" && e.StatusCode < 400 {
			s.prompts[runKey(s.request)] = s.request.Text
		}
		s.isOpen = e.IsStream() && e.StatusCode/100 == 2 && s.request.Cursor == "" && s.request.MayBeAccepted()
		s.opens, s.messages = s.isOpen, messageTracker{}
	case s.sees(e):
		s.event = s.messages.resolve(e)
	}
}

// sees reports whether e is an event of the current stream and the tracker follows that stream.
// The events of a stream are its frames, its comments, an incomplete frame, and the end of its
// body. The end of the body is left out if the client closed the connection before the run ended.
func (s *initialStreamTracker) sees(e spec.Event) bool {
	return s.isOpen && !isAbandoned(e) &&
		(e.IsFrame() || e.Kind == spec.BodyEnd || e.Kind == spec.Comment || e.Kind == spec.Incomplete)
}

// isUnrequested reports whether request asks for the stream of a run that no earlier request of the
// conversation is known to have started. The argument must be the field request of an
// [initialStreamTracker], whose Text is the prompt of the run if that is known.
func isUnrequested(request spec.Event) bool {
	return request.Run != "" && request.Text == "" && len(request.Parts) == 0
}

// eachStream returns a newWatcherFunc that calls w at the start of each stream that an
// [initialStreamTracker] follows. The argument request of w is the request for the stream. The
// function that w returns is then called with each event of the stream, in order; see
// [initialStreamTracker.sees].
func eachStream(w func(p *spec.Pass, request spec.Event) func(spec.Event)) newWatcherFunc {
	return func(p *spec.Pass) func(spec.Event) {
		streams := streamsOf(p)
		var observe func(spec.Event)
		return func(e spec.Event) {
			switch {
			case streams.opens:
				observe = w(p, streams.request)
			case streams.sees(e):
				observe(e)
			}
		}
	}
}

// eachResolvedStream is like eachStream, but it fills in missing message ids: if an event has
// content and no message id while exactly one message is open, the event gets the id of that
// message.
func eachResolvedStream(w func(p *spec.Pass, request spec.Event) func(spec.Event)) newWatcherFunc {
	return func(p *spec.Pass) func(spec.Event) {
		streams := streamsOf(p)
		observe := eachStream(w)(p)
		return func(spec.Event) { observe(streams.event) }
	}
}

// An exchangeTracker follows the exchanges of a conversation, one after the other.
type exchangeTracker struct {
	current exchange        // the exchange of the current event, as far as it has been observed
	ended   bool            // whether the current event ends the current exchange
	asked   answerableItems // the tool calls and interrupts that the client may answer
	uploads *knownUploads   // the uploads of the exchanges that have ended
	running openRuns        // the runs that were started and whose end was not seen; updated after each exchange
	// runs contains the ids of the runs that the server accepted. The thread is not part of the
	// key, because a server may require run ids that are unique in all threads.
	runs map[string]bool
	// runOperations contains the keys of the valid requests that the server accepted.
	runOperations map[runOperationKey]bool
	// operations contains, for each user, the operations that accepted a valid request of the user.
	operations map[userOperationKey]bool
	// unread contains the runs of which no stream was received yet. The value is the time at which
	// the request that started the run was accepted, measured from the start of the conversation.
	unread map[userRunKey]time.Duration
	// idleSince maps each thread to the end of the latest response to an accepted request in that
	// thread, measured from the start of the conversation.
	idleSince map[userThreadKey]time.Duration
	cancels   []spec.Event // the accepted requests to cancel a run, in order
	// ownRuns contains the runs of the user that the server accepted and, with the run "", their
	// threads.
	ownRuns   map[userRunKey]bool
	timedRuns map[userRunKey]timedRun // runs whose prompt sets a duration
	// refusedCancels holds the requests to cancel a run that were refused with a status 4xx, in
	// order.
	refusedCancels []spec.Event
}

// exchangesOf returns the exchangeTracker of the conversation to which p applies. All checks share
// it, so they must not modify it.
func exchangesOf(p *spec.Pass) *exchangeTracker {
	return spec.Shared(p, "exchanges", func() (*exchangeTracker, func(spec.Event)) {
		uploads := &knownUploads{files: map[string]string{}, links: map[string]issuedLink{}}
		a := &exchangeTracker{
			asked: answerableItems{}, uploads: uploads, running: openRuns{}, runs: map[string]bool{},
			runOperations: map[runOperationKey]bool{}, operations: map[userOperationKey]bool{},
			unread: map[userRunKey]time.Duration{}, idleSince: map[userThreadKey]time.Duration{},
			ownRuns: map[userRunKey]bool{}, timedRuns: map[userRunKey]timedRun{},
		}
		return a, a.observe
	})
}

// observe updates the tracker with e, the next event of the conversation. It does not set the
// field ended for an exchange that the client left before there was a response.
func (a *exchangeTracker) observe(e spec.Event) {
	a.ended = false
	x := &a.current
	switch {
	case e.Kind == spec.HTTPRequest:
		*x = exchange{request: e, unaskedAnswer: a.asked.isAnsweredUnasked(e), isFirstRead: a.isFirstRead(e)}
	case e.Kind == spec.HTTPResponse:
		x.response = e
	case e.Kind == spec.RunRefused:
		x.refusedInBand = true
	case e.IsFrame():
		x.observeFrame(e)
		a.asked.record(x.request, e)
		a.recordProgress(e)
	case e.Kind == spec.BodyEnd:
		x.bodyEnd = e
		if a.ended = x.status() != 0 || !errors.Is(e.Err, spec.ErrClientLeft); a.ended {
			a.uploads.record(x.request, x.reply)
			x.unverifiable = x.unaskedAnswer || a.uploads.isUnverifiable(x.request)
			x.threadBusy = a.running.mayRefuse(x.request)
			x.acceptedBefore = a.runOperations[runOperationOf(x.request)]
			x.knownUser = x.request.Facts().Scripted && a.operations[operationOf(x.request)]
			x.isOwn = a.isOwn(x.request)
			x.runActive = a.isActiveDuring(*x)
			if x.runKnown = a.runs[x.request.Run]; a.idleSince[threadOf(x.request)] > 0 {
				x.idle = x.request.At - a.idleSince[threadOf(x.request)]
			}
			a.running.record(*x)
			a.recordAccepted(*x)
			switch {
			case x.isCancel() && x.status()/100 == 4:
				a.refusedCancels = append(a.refusedCancels, x.request)
			case x.isCancel() && x.isAccepted() && x.reply.Kind != spec.CancelAccepted: // such as status 204
				a.recordCancel(x.request)
			}
		}
	case e.Frame < 0: // a body that is not a stream
		if x.reply = e; e.Kind == spec.CancelAccepted {
			a.recordCancel(x.request)
		}
	}
	if x.firstBodyEvent.Kind == "" && e.Kind != spec.HTTPRequest && e.Kind != spec.HTTPResponse {
		x.firstBodyEvent = e
	}
}

// recordCancel updates a.cancels and a.running after the server has accepted request, which asks to
// cancel a run.
func (a *exchangeTracker) recordCancel(request spec.Event) {
	a.cancels = append(a.cancels, request)
	a.running.recordCancel(request)
	delete(a.timedRuns, userRunKey{threadOf(request), request.Run})
}

// isOwn reports whether what request names is known to be the user's: the server accepted a run of
// the user in the thread and, if request names a run without asking for it, that run in the thread.
// The result is false for a request that asks for a run whose id is known, because the server may
// refuse it as a duplicate.
func (a *exchangeTracker) isOwn(request spec.Event) bool {
	thread := threadOf(request)
	if isRunRequest(request) {
		return a.ownRuns[userRunKey{thread, ""}] && !a.runs[request.Run]
	}
	return a.ownRuns[userRunKey{thread, request.Run}]
}

// A timedRun is a run whose prompt sets a minimum duration; see [scriptedDuration]. The times are
// measured from the start of the conversation.
type timedRun struct {
	midpoint  time.Duration // when half of the duration had passed since the request for the run
	contentAt time.Duration // arrival of the first content; 0 if there was none
	endedAt   time.Duration // arrival of the terminal event; 0 if there was none
}

// recordProgress records what e, an event of the current stream, shows about a run in a.timedRuns.
func (a *exchangeTracker) recordProgress(e spec.Event) {
	key := userRunKey{threadOf(a.current.request), a.current.request.Run}
	run, ok := a.timedRuns[key]
	switch {
	case !ok:
		return
	case e.Kind == spec.MessageDelta && run.contentAt == 0:
		run.contentAt = e.At
	case isTerminal(e) && run.endedAt == 0:
		run.endedAt = e.At
	default:
		return
	}
	a.timedRuns[key] = run
}

// isActiveDuring reports whether the run that x names was certainly active while the server
// responded to x: some of its content had arrived before x, the response to x ended in the first
// half of the time that the run must last, and the terminal event of the run had not arrived.
func (a *exchangeTracker) isActiveDuring(x exchange) bool {
	run, ok := a.timedRuns[userRunKey{threadOf(x.request), x.request.Run}]
	return ok && run.contentAt > 0 && run.contentAt < x.request.At && x.bodyEnd.At < run.midpoint &&
		(run.endedAt == 0 || run.endedAt > x.bodyEnd.At)
}

// recordAccepted updates a.runOperations, a.idleSince, a.runs and a.unread to reflect the exchange x,
// which has ended. It does nothing if the request was not accepted. If the request names no thread,
// it updates only a.runOperations.
func (a *exchangeTracker) recordAccepted(x exchange) {
	if !x.isAccepted() {
		return
	}
	if x.request.Valid() {
		a.runOperations[runOperationOf(x.request)], a.operations[operationOf(x.request)] = true, true
	}
	if x.request.Thread == "" {
		return
	}
	thread := threadOf(x.request)
	a.idleSince[thread] = max(a.idleSince[thread], x.bodyEnd.At) // exchanges may overlap
	run := userRunKey{thread, x.request.Run}
	if isRunRequest(x.request) {
		a.ownRuns[run], a.ownRuns[userRunKey{thread, ""}] = true, true
	}
	switch {
	case isRunRequest(x.request) && x.request.Run != "":
		if minimum, ok := scriptedDuration(x.request); ok && !x.request.IsStream() {
			a.timedRuns[run] = timedRun{midpoint: x.request.At + minimum/2}
		}
		a.runs[x.request.Run] = true
		if !x.request.IsStream() { // otherwise the response is the stream
			a.unread[run] = x.bodyEnd.At
		}
	case x.request.IsStream():
		delete(a.unread, run)
	}
}

// isFirstRead reports whether request asks for the whole stream of a run for the first time. The
// result is false if the client has already received the stream, or if the run was accepted
// firstReadTime or longer before the request.
func (a *exchangeTracker) isFirstRead(request spec.Event) bool {
	began, isUnread := a.unread[userRunKey{threadOf(request), request.Run}]
	return isUnread && !isRunRequest(request) && request.IsStream() && request.Cursor == "" &&
		request.At-began < firstReadTime
}

// firstReadTime is the time after the acceptance of a run during which the server must be able to
// return the stream of the run to a client that requests it for the first time, even if the run has
// already ended.
const firstReadTime = 5 * time.Second

// A userRunKey identifies a run of a thread of a user.
type userRunKey struct {
	thread userThreadKey
	run    string
}

// threadOf returns the key of the thread named in request. The key also identifies the user,
// because threads of different users may have the same id.
func threadOf(request spec.Event) userThreadKey {
	return userThreadKey{request.Thread, request.User, request.Principal}
}

// A runOperationKey identifies an operation, and the user, the thread and the run that a request
// for it names. Fields for what the request does not name are empty.
type runOperationKey struct {
	operation string
	run       userRunKey
}

// runOperationOf returns the key of request.
func runOperationOf(request spec.Event) runOperationKey {
	return runOperationKey{request.Operation, userRunKey{threadOf(request), request.Run}}
}

// A userOperationKey identifies a user and an operation of the dialect.
type userOperationKey struct {
	operation string
	user      string         // the user whom the request names, or ""
	principal spec.Principal // the user whose credentials the request has
}

// operationOf returns the key of the operation and the user of request.
func operationOf(request spec.Event) userOperationKey {
	return userOperationKey{request.Operation, request.User, request.Principal}
}

// eachStreamOrRest is like [eachStream], but also calls w for streams that were requested from a
// cursor. Unlike eachStream, it does not add the prompt of an earlier request for the same run to a
// request that has no prompt.
func eachStreamOrRest(w func(p *spec.Pass, request spec.Event) func(spec.Event)) newWatcherFunc {
	return func(p *spec.Pass) func(spec.Event) {
		exchanges := exchangesOf(p)
		var observe func(spec.Event)
		return func(e spec.Event) {
			switch request := exchanges.current.request; {
			case e.Kind == spec.HTTPRequest:
				observe = nil
			case e.Kind == spec.HTTPResponse && e.IsStream() && e.StatusCode/100 == 2 && request.MayBeAccepted():
				observe = w(p, request)
			case observe != nil && !isAbandoned(e):
				observe(e)
			}
		}
	}
}

// eachResponseEvent returns a newWatcherFunc that calls judge with each event e of each response,
// from its head to the end of its body. The argument x is the exchange so far, including e. All
// checks share it, so judge must not modify it.
func eachResponseEvent(judge func(p *spec.Pass, x *exchange, e spec.Event)) newWatcherFunc {
	return func(p *spec.Pass) func(spec.Event) {
		exchanges := exchangesOf(p)
		return func(e spec.Event) {
			if e.Kind != spec.HTTPRequest {
				judge(p, &exchanges.current, e)
			}
		}
	}
}

// eachExchange returns a newWatcherFunc that calls w once per conversation. The function that w
// returns is then called with each exchange, at the end of the body of its response. Exchanges that
// the client left before there was a response are omitted.
func eachExchange(w func(p *spec.Pass) func(exchange)) newWatcherFunc {
	return func(p *spec.Pass) func(spec.Event) {
		exchanges := exchangesOf(p)
		onExchange := w(p)
		return func(spec.Event) {
			if exchanges.ended {
				onExchange(exchanges.current)
			}
		}
	}
}
