package replay

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/streamassay/streamassay/internal/redact"
	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
)

// maxReasons is how many reasons are given why nothing fits.
const maxReasons = 20

// Find is the recorded answer to a request, or nil and why no recording fits, the
// nearest first. ask is the request as d hears it, with the ids that the client chose
// and no others; nil: it is heard here.
//
// A recorded exchange fits if the same operation was asked for the same: the last prompt,
// the results of tools or the answers to interrupts. Whose conversation it is does not
// matter for what opens a run; anything else has to be about a conversation and a run
// that seen has been played, or that are called as recorded. Of several that fit, it is
// the next one of the same conversation that seen has not been played, and after the last
// one the first again. A stream that is asked for from a cursor on, where nobody recorded
// that, is one that has an event with that cursor, from there on.
//
// Ids that the client chose stand in the answer where the recorded client's stood, if
// they are strings of their own in it; all else is as recorded.
func (l *Library) Find(d *dialect.Dialect, r spec.Request, request *spec.Event, seen *Session) (a *Response, reasons []string) {
	op := d.Operation(r)
	if l.Len() == 0 || op == nil {
		return nil, nil
	}
	if request == nil {
		parsed := d.ParseRequest(r)
		request = &parsed
	}
	if seen == nil {
		seen = &Session{}
	}
	seen.mu.Lock()
	defer seen.mu.Unlock()
	s := recordingSearch{dialect: d, operation: op, rawRequest: r, request: request, key: newMatchKey(request), playback: seen.playbackOf(l)}
	s.thread = threadKey{d.Name, request.Thread}
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

// A recordingSearch is one request looking for its answer.
type recordingSearch struct {
	dialect    *dialect.Dialect
	operation  *dialect.Operation
	rawRequest spec.Request
	request    *spec.Event
	key        matchKey
	thread     threadKey
	playback   *playback

	candidates []candidate
	mismatches []mismatch
}

// A candidate is a recorded exchange that answers a request, and how well.
type candidate struct {
	exchange  *exchange
	binding   *binding     // nil: the client's conversation is not bound to its own
	resumeAt  *resumePoint // where its stream is taken up; nil: at its beginning
	score     int          // how much speaks for it
	playCount int          // how often it was played
}

func (a candidate) compare(b candidate) int {
	return cmp.Or(
		-cmp.Compare(a.score, b.score), cmp.Compare(a.playCount, b.playCount),
		cmp.Compare(a.exchange.conversation.index, b.exchange.conversation.index), cmp.Compare(a.exchange.index, b.exchange.index),
	)
}

// A mismatch is why an exchange does not fit. Those that came far are told first.
type mismatch struct {
	stage  int
	reason string
}

// What speaks for an exchange, the more the further down.
const (
	sameCursor = 1 << iota
	sameCredentials
	sameRun
	sameThread
	boundThread
)

// searchConversation looks at each exchange of a conversation.
func (s *recordingSearch) searchConversation(c *conversation) {
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

// match says why an exchange does not fit, or how well.
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

// hasNoRequest says that nobody wrote down what was asked.
func (x *exchange) hasNoRequest() bool { return x.method == "" }

// checkSubject says why an exchange is about another conversation or run, which must be known.
func (s *recordingSearch) checkSubject(f *candidate) string {
	was, is := f.exchange.request, s.request
	switch {
	case (was.Thread == "") != (is.Thread == ""):
		return fmt.Sprintf("it was asked about the conversation %s, now it is %s", quoteBrief(was.Thread), quoteBrief(is.Thread))
	case f.binding == nil && was.Thread != is.Thread:
		return fmt.Sprintf("its conversation (%s) has not been played as %s", quoteBrief(was.Thread), quoteBrief(is.Thread))
	case (was.Run == "") != (is.Run == ""):
		return fmt.Sprintf("it was asked about the run %s, now it is %s", quoteBrief(was.Run), quoteBrief(is.Run))
	}
	if f.binding != nil {
		if run, known := f.binding.recordedRuns[is.Run]; known && run == was.Run {
			return ""
		} else if known {
			return fmt.Sprintf("the run %s was played as %s, and this is %s", quoteBrief(is.Run), quoteBrief(run), quoteBrief(was.Run))
		}
	}
	if was.Run != is.Run {
		return fmt.Sprintf("its run (%s) has not been played as %s", quoteBrief(was.Run), quoteBrief(is.Run))
	}
	return ""
}

// hasCredentials reports whether a client says who it is.
func hasCredentials(h spec.Header) bool {
	return slices.ContainsFunc(h, func(f spec.Field) bool { return redact.IdentifiesUser(f.Name) })
}

// checkCredentials says why somebody with credentials is not given the answer of somebody
// without. The other way round he is: a mock is asked by whoever comes.
func (s *recordingSearch) checkCredentials(f *candidate) string {
	recorded, now := f.exchange.request.Principal != spec.Anonymous && hasCredentials(f.exchange.request.Header), hasCredentials(s.rawRequest.Header)
	if f.exchange.request.Principal == spec.Anonymous && now {
		return "it was asked without credentials"
	}
	if recorded == now {
		f.score |= sameCredentials
	}
	return ""
}

// checkCursor says why a stream cannot be taken up where it is asked for.
func (s *recordingSearch) checkCursor(f *candidate) string {
	was, is := f.exchange.request.Cursor, s.request.Cursor
	switch {
	case was == is:
		f.score |= sameCursor
		return ""
	case is == "":
		return fmt.Sprintf("it was asked for from the cursor %s on", quoteBrief(was))
	}
	if i := slices.IndexFunc(f.exchange.resumePoints, func(m resumePoint) bool { return m.cursor == is }); i >= 0 {
		f.resumeAt = &f.exchange.resumePoints[i]
		return ""
	}
	return fmt.Sprintf("it has no event with the cursor %s", quoteBrief(is))
}

// scoreCandidate says how much speaks for an exchange that fits.
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

// respond notes that an exchange is played, and makes its answer.
func (s *recordingSearch) respond(f candidate) *Response {
	x, is := f.exchange, s.request
	b := f.binding
	if thread := cmp.Or(is.Thread, x.thread()); b == nil && thread != "" {
		b = s.playback.bind(threadKey{s.dialect.Name, thread}, x)
	}
	s.playback.exchangeCounts[x]++
	var ids map[string]string
	if b != nil {
		b.playCounts[x.index]++
		b.mapID(x.thread(), cmp.Or(is.Thread, x.thread()))
		if is.Run != "" || s.operation.StartsRun {
			b.mapRun(x.run(), cmp.Or(is.Run, x.run()))
		}
		for recorded, now := range userMessagePairs(x.request.Parts, is.Parts) {
			b.mapID(recorded, now)
		}
		ids = b.currentIDs
	}
	return x.newResponse(f.resumeAt, ids)
}

// userMessagePairs yields the ids of the user's messages, those of two requests that say the
// same, from the last one back.
func userMessagePairs(was, is []spec.Event) func(func(string, string) bool) {
	users := func(parts []spec.Event) (all []spec.Event) {
		for _, p := range parts {
			if p.Kind == spec.InputUser {
				all = append(all, p)
			}
		}
		return all
	}
	return func(yield func(string, string) bool) {
		was, is := users(was), users(is)
		for len(was) > 0 && len(is) > 0 {
			a, b := was[len(was)-1], is[len(is)-1]
			if a.Text != b.Text || !yield(a.Message, b.Message) {
				return
			}
			was, is = was[:len(was)-1], is[:len(is)-1]
		}
	}
}

// reasons are the reasons, those of what came nearest first.
func (s *recordingSearch) reasons() (all []string) {
	slices.SortStableFunc(s.mismatches, func(a, b mismatch) int { return -cmp.Compare(a.stage, b.stage) })
	for i, m := range s.mismatches {
		if i == maxReasons {
			return append(all, fmt.Sprintf("and %d more", len(s.mismatches)-i))
		}
		all = append(all, m.reason)
	}
	if len(all) == 0 {
		all = append(all, fmt.Sprintf("no recording of %s asks for %s", s.dialect.Name, s.operation.Name))
	}
	return all
}

// streamEndOf is how an answer ended.
func streamEndOf(r spec.Response) StreamEnd {
	switch {
	case r.Status == 0 && errors.Is(r.End, spec.ErrReset):
		return Reset
	case r.Status == 0:
		return NoResponse
	case errors.Is(r.End, spec.ErrReset):
		return Reset
	case errors.Is(r.End, spec.ErrTruncated), errors.Is(r.End, spec.ErrNotHTTP):
		return Truncated
	case errors.Is(r.End, spec.ErrIdleTimeout):
		return Stall
	}
	return Clean
}

// hopByHopHeaders are the fields that belong to a connection, or to who serves: the origins
// that may read an answer are not those of the recording.
var hopByHopHeaders = []string{
	"Connection", "Keep-Alive", "Proxy-Connection", "Proxy-Authenticate", "TE", "Trailer",
	"Transfer-Encoding", "Upgrade", "Content-Length",
}

// endToEndHeaders is what of a header an answer has.
func endToEndHeaders(h spec.Header) (out spec.Header) {
	drop := slices.Clone(hopByHopHeaders)
	for _, f := range h {
		if strings.EqualFold(f.Name, "Connection") {
			for name := range strings.SplitSeq(f.Value, ",") {
				drop = append(drop, strings.TrimSpace(name))
			}
		}
	}
	for _, f := range h {
		is := func(name string) bool { return strings.EqualFold(name, f.Name) }
		cors := len(f.Name) > 15 && strings.EqualFold(f.Name[:15], "Access-Control-")
		if cors || slices.ContainsFunc(drop, is) || f.Value == redact.Placeholder {
			continue
		}
		out = append(out, f)
	}
	return out
}
