package replay

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/streamassay/streamassay/internal/redact"
	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
)

// maxReasons is the maximum number of mismatches that Find describes for one request. Find states
// only how many further mismatches there are.
const maxReasons = 20

// Find returns the recorded response to the request r in dialect d. If no recording matches, the
// response is nil and the reasons explain why, beginning with the closest recording. If the library
// is empty or r is not an operation of d, both results are nil.
//
// The parameter request is r as parsed by d, without thread and run ids that the client did not
// send. If request is nil, Find parses r. Find reads and updates seen, which records what has been
// replayed. If seen is nil, nothing has been replayed.
//
// A recorded exchange matches if its operation and its input are the same as those of the request.
// The input is the last prompt, the tool results or the answers to interrupts. A request that
// starts a run matches exchanges of any thread. Any other request matches only exchanges of a
// thread and a run that were already replayed for its ids, or whose recorded ids it contains.
//
// A request can resume a stream at a cursor, which is the id of an event. It also matches a
// recorded stream that has an event with that cursor. The response then begins after that event.
//
// Among equally close matches, Find selects the one that was replayed the fewest times. If there
// are several of these, it selects the earliest. Repeated requests thus receive the recorded
// responses in order, and after the last response the first one again.
//
// Ids that the recorded client chose are replaced with those of the current client if they are
// complete strings in the response. Everything else is returned as recorded, except for header
// fields that are not replayed (see [Response]).
func (l *Library) Find(
	d *dialect.Dialect, r spec.Request, request *spec.Event, seen *PlaybackState,
) (a *Response, reasons []string) {
	op := d.Operation(r)
	if l.Len() == 0 || op == nil {
		return nil, nil
	}
	if request == nil {
		parsed := d.ParseRequest(r)
		request = &parsed
	}
	if seen == nil {
		seen = &PlaybackState{}
	}
	seen.mu.Lock()
	defer seen.mu.Unlock()
	s := recordingSearch{
		dialect: d, operation: op, rawRequest: r, request: request,
		key: newMatchKey(request), playback: seen.playbackOf(l),
	}
	s.thread = dialectThreadKey{d.Name, request.Thread}
	for _, c := range l.conversations {
		if c.dialect.Name == d.Name {
			s.searchConversation(c)
		}
	}
	if len(s.candidates) == 0 {
		return nil, s.reasons()
	}
	best := slices.MinFunc(s.candidates, candidate.compare)
	return s.respond(best), nil
}

// A recordingSearch is the search for the recorded response to one request. It collects the
// exchanges that match the request, and the reasons why other exchanges with the same operation do
// not match.
type recordingSearch struct {
	dialect    *dialect.Dialect
	operation  *dialect.Operation // the operation of the request
	rawRequest spec.Request       // the request as received
	request    *spec.Event        // the parsed request
	key        matchKey           // of the request
	thread     dialectThreadKey   // the thread of the request; its id may be ""
	playback   *libraryPlayback   // what has been replayed from the library

	candidates []candidate
	mismatches []mismatch
}

// A candidate is a recorded exchange that matches a request, with the values that determine its
// rank among the candidates.
type candidate struct {
	exchange  *replayableExchange
	binding   *threadBinding // nil if the client's thread is not bound to the recorded one
	resumeAt  *resumePoint   // where the stream is resumed; nil for its beginning
	score     int            // sum of flags such as sameThread; higher is better
	playCount int            // how many times the exchange or its conversation was replayed, see scoreCandidate
}

// compare returns a negative number if a is a better candidate than b, a positive number if b is
// better, and 0 if both have the same exchange. The higher score is better. With equal scores, the
// lower playCount is better, and then the earlier position in the library.
func (a candidate) compare(b candidate) int {
	return cmp.Or(
		-cmp.Compare(a.score, b.score), cmp.Compare(a.playCount, b.playCount),
		cmp.Compare(a.exchange.conversation.index, b.exchange.conversation.index),
		cmp.Compare(a.exchange.index, b.exchange.index),
	)
}

// A mismatch is the reason why a recorded exchange does not match a request. The zero value means
// that the exchange matches.
type mismatch struct {
	stage  int    // number of the condition that failed, from 0; a higher number means a closer match
	reason string // text for error messages; "" if the exchange matches
}

// The flags of the score of a candidate, in order of increasing weight. They state what the request
// and the recorded exchange have in common.
const (
	sameCursor      = 1 << iota // the cursors are equal
	sameCredentials             // both have credentials, or neither has
	sameRun                     // the run corresponds to the recorded one, or both begin a run
	sameThread                  // the thread ids are equal, and boundThread is not set
	boundThread                 // the client's thread is bound to the recorded thread
)

// searchConversation compares the request with all exchanges of conversation c that have the same
// operation. It adds those that match to s.candidates, and the mismatches of the others to
// s.mismatches.
func (s *recordingSearch) searchConversation(c *replayableConversation) {
	for _, x := range c.exchanges {
		if x.operation.Name != s.operation.Name {
			continue
		}
		f := candidate{exchange: x}
		if m := s.match(&f); m.reason != "" {
			m.reason = x.Name() + ": " + m.reason
			s.mismatches = append(s.mismatches, m)
			continue
		}
		s.candidates = append(s.candidates, f)
	}
}

// match compares f.exchange with the request. If they match, it sets all other fields of f and
// returns the zero mismatch. Otherwise it returns the reason, and f must not be used.
func (s *recordingSearch) match(f *candidate) (m mismatch) {
	x := f.exchange
	if !x.hasNoRequest() {
		if why := s.key.difference(x.key); why != "" {
			return mismatch{0, why}
		}
	}
	if s.thread.thread != "" {
		f.binding = s.playback.findBinding(s.thread, x)
	}
	if !x.hasNoRequest() && !s.operation.StartsRun {
		if why := s.checkSubject(f); why != "" {
			return mismatch{1, why}
		}
	}
	if why := s.checkCredentials(f); why != "" {
		return mismatch{2, why}
	}
	if why := s.checkCursor(f); why != "" {
		return mismatch{3, why}
	}
	s.scoreCandidate(f)
	return mismatch{}
}

// hasNoRequest reports whether the recording has only the response of exchange x, not the request.
func (x *replayableExchange) hasNoRequest() bool { return x.method == "" }

// checkSubject returns "" if the request is about the same thread and run as the exchange of
// candidate f, that is, if their ids are equal to the recorded ones or correspond to them according
// to f.binding, which the caller must have set. Otherwise, checkSubject returns a text that states
// the difference.
func (s *recordingSearch) checkSubject(f *candidate) string {
	was, is := f.exchange.request, s.request
	switch {
	case (was.Thread == "") != (is.Thread == ""):
		return fmt.Sprintf("it was recorded for thread %s, the request is for %s",
			quoteBrief(was.Thread), quoteBrief(is.Thread))
	case f.binding == nil && was.Thread != is.Thread:
		return fmt.Sprintf("its thread %s has not been replayed as %s", quoteBrief(was.Thread), quoteBrief(is.Thread))
	case (was.Run == "") != (is.Run == ""):
		return fmt.Sprintf("it was recorded for run %s, the request is for %s", quoteBrief(was.Run), quoteBrief(is.Run))
	}
	if f.binding != nil {
		if run, known := f.binding.recordedRuns[is.Run]; known && run == was.Run {
			return ""
		} else if known {
			return fmt.Sprintf("run %s corresponds to the recorded run %s, this is %s",
				quoteBrief(is.Run), quoteBrief(run), quoteBrief(was.Run))
		}
	}
	if was.Run != is.Run {
		return fmt.Sprintf("its run %s has not been replayed as %s", quoteBrief(was.Run), quoteBrief(is.Run))
	}
	return ""
}

// hasCredentials reports whether h has a field that identifies the user, such as Authorization.
func hasCredentials(h spec.Header) bool {
	return slices.ContainsFunc(h, func(f spec.HeaderField) bool { return redact.IdentifiesUser(f.Name) })
}

// checkCredentials returns a reason for a mismatch if the request has credentials but the recorded
// client was anonymous, and "" otherwise. A request without credentials matches any exchange,
// because clients of a mock often have none. If the current and the recorded request both have
// credentials, or both have none, checkCredentials adds sameCredentials to f.score.
func (s *recordingSearch) checkCredentials(f *candidate) string {
	isAnonymous := f.exchange.request.Principal == spec.Anonymous
	recorded, current := !isAnonymous && hasCredentials(f.exchange.request.Header), hasCredentials(s.rawRequest.Header)
	if isAnonymous && current {
		return "it was recorded without credentials"
	}
	if recorded == current {
		f.score |= sameCredentials
	}
	return ""
}

// checkCursor returns "" if candidate f matches the cursor of the request, and otherwise the reason
// for the mismatch. There are two ways to match:
//   - The recorded request has the same cursor, or neither request has one. checkCursor then adds
//     sameCursor to f.score.
//   - An event of the recorded stream has the cursor. checkCursor then sets f.resumeAt to the end
//     of that event.
func (s *recordingSearch) checkCursor(f *candidate) string {
	was, is := f.exchange.request.Cursor, s.request.Cursor
	switch {
	case was == is:
		f.score |= sameCursor
		return ""
	case is == "":
		return fmt.Sprintf("it was recorded with the cursor %s", quoteBrief(was))
	}
	if i := slices.IndexFunc(f.exchange.resumePoints, func(m resumePoint) bool { return m.cursor == is }); i >= 0 {
		f.resumeAt = &f.exchange.resumePoints[i]
		return ""
	}
	return fmt.Sprintf("it has no event with the cursor %s", quoteBrief(is))
}

// scoreCandidate completes f.score and sets f.playCount for candidate f, whose exchange matches the
// request. What playCount counts depends on the thread of the request:
//   - no thread: how many times the exchange was replayed
//   - a thread bound to the recorded one: how many times the exchange was replayed in this binding
//   - any other thread: how many bindings of the recorded conversation were created, dropped or not
func (s *recordingSearch) scoreCandidate(f *candidate) {
	was, is := f.exchange.request, s.request
	switch {
	case f.binding != nil:
		f.score |= boundThread
		f.playCount = f.binding.playCounts[f.exchange.index]
	case is.Thread != "" && was.Thread == is.Thread:
		f.score |= sameThread
		f.playCount = s.playback.conversationCounts[f.exchange.conversation]
	case is.Thread != "":
		f.playCount = s.playback.conversationCounts[f.exchange.conversation]
	default:
		f.playCount = s.playback.exchangeCounts[f.exchange]
	}
	if !s.operation.StartsRun || is.Run == "" {
		return
	}
	run, known := "", false
	if f.binding != nil {
		run, known = f.binding.recordedRuns[is.Run]
	}
	if known && run == was.Run || !known && f.exchange.startsRun {
		f.score |= sameRun
	}
}

// respond returns the response of candidate f. It updates s.playback: it counts the replay, and
// records which ids of the client correspond to recorded ids.
func (s *recordingSearch) respond(f candidate) *Response {
	x, is := f.exchange, s.request
	b := f.binding
	if thread := cmp.Or(is.Thread, x.thread()); b == nil && thread != "" {
		b = s.playback.bind(dialectThreadKey{s.dialect.Name, thread}, x)
	}
	s.playback.exchangeCounts[x]++
	var ids map[string]string
	if b != nil {
		b.playCounts[x.index]++
		b.mapID(x.thread(), cmp.Or(is.Thread, x.thread()))
		if is.Run != "" || s.operation.StartsRun {
			b.mapRun(x.run(), cmp.Or(is.Run, x.run()))
		}
		b.mapUserMessages(x.request.Parts, is.Parts)
		ids = b.currentIDs
	}
	return x.newResponse(f.resumeAt, ids)
}

// mapUserMessages records which id the client uses for each recorded user message (see mapID). The
// arguments are the parts of the recorded request and of the current request. mapUserMessages
// compares the texts of their user messages, from the last message to the first, and stops at the
// first difference.
func (b *threadBinding) mapUserMessages(recorded, current []spec.Event) {
	isOther := func(p spec.Event) bool { return p.Kind != spec.InputUser }
	recorded = slices.DeleteFunc(slices.Clone(recorded), isOther)
	current = slices.DeleteFunc(slices.Clone(current), isOther)
	for i := range min(len(recorded), len(current)) {
		was, is := recorded[len(recorded)-1-i], current[len(current)-1-i]
		if was.Text != is.Text {
			return
		}
		b.mapID(was.Message, is.Message)
	}
}

// reasons returns the reasons why no recorded exchange matches, the closest matches first. It
// returns at most maxReasons reasons, followed by the number of further reasons, if any. The result
// is never empty.
func (s *recordingSearch) reasons() (all []string) {
	slices.SortStableFunc(s.mismatches, func(a, b mismatch) int { return -cmp.Compare(a.stage, b.stage) })
	for i, m := range s.mismatches {
		if i == maxReasons {
			return append(all, fmt.Sprintf("and %d more", len(s.mismatches)-i))
		}
		all = append(all, m.reason)
	}
	if len(all) == 0 {
		all = append(all, fmt.Sprintf("no recording of %s has the operation %s", s.dialect.Name, s.operation.Name))
	}
	return all
}

// streamEndOf returns the way in which the recorded response r ended.
func streamEndOf(r spec.Response) StreamEnd {
	switch {
	case errors.Is(r.End, spec.ErrReset):
		return Reset
	case r.Status == 0:
		return NoResponse
	case errors.Is(r.End, spec.ErrTruncated), errors.Is(r.End, spec.ErrNotHTTP):
		return Truncated
	case errors.Is(r.End, spec.ErrIdleTimeout):
		return Stall
	}
	return Clean
}
