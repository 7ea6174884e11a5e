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

// mostWhy is how many reasons are given why nothing fits.
const mostWhy = 20

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
func (l *Library) Find(d *dialect.Dialect, r spec.Request, ask *spec.Event, seen *Seen) (a *Answer, why []string) {
	op := d.Operation(r)
	if l.Len() == 0 || op == nil {
		return nil, nil
	}
	if ask == nil {
		heard := d.ParseRequest(r)
		ask = &heard
	}
	if seen == nil {
		seen = &Seen{}
	}
	seen.mu.Lock()
	defer seen.mu.Unlock()
	s := search{d: d, op: op, r: r, ask: ask, key: questionOf(ask), shelf: seen.shelf(l)}
	s.thread = threadKey{d.Name, ask.Thread}
	for _, c := range l.conversations {
		if c.dialect.Name == d.Name {
			s.look(c)
		}
	}
	if len(s.fits) == 0 {
		return nil, s.why()
	}
	best := slices.MinFunc(s.fits, fit.compare)
	return s.play(best), nil
}

// A search is one request looking for its answer.
type search struct {
	d      *dialect.Dialect
	op     *dialect.Operation
	r      spec.Request
	ask    *spec.Event
	key    question
	thread threadKey
	shelf  *shelf

	fits   []fit
	misses []miss
}

// A fit is a recorded exchange that answers a request, and how well.
type fit struct {
	x       *exchange
	binding *binding // nil: the client's conversation is not bound to its own
	mark    *mark    // where its stream is taken up; nil: at its beginning
	near    int      // how much speaks for it
	count   int      // how often it was played
}

func (a fit) compare(b fit) int {
	return cmp.Or(
		-cmp.Compare(a.near, b.near), cmp.Compare(a.count, b.count),
		cmp.Compare(a.x.talk.n, b.x.talk.n), cmp.Compare(a.x.n, b.x.n),
	)
}

// A miss is why an exchange does not fit. Those that came far are told first.
type miss struct {
	far int
	why string
}

// What speaks for an exchange, the more the further down.
const (
	sameMark = 1 << iota
	sameCredentials
	sameRun
	sameThread
	boundThread
)

// look looks at each exchange of a conversation.
func (s *search) look(c *conversation) {
	for _, x := range c.exchanges {
		if x.op.Name != s.op.Name {
			continue
		}
		f := fit{x: x}
		if m := s.try(&f); m.why != "" {
			m.why = x.Name() + ": " + m.why
			s.misses = append(s.misses, m)
			continue
		}
		s.fits = append(s.fits, f)
	}
}

// try says why an exchange does not fit, or how well.
func (s *search) try(f *fit) (m miss) {
	x := f.x
	if !x.unasked() {
		if why := s.key.differs(x.key); why != "" {
			return miss{0, why}
		}
	}
	if s.thread.thread != "" {
		f.binding = s.shelf.bound(s.thread, x)
	}
	if !x.unasked() && !s.op.StartsRun {
		if why := s.about(f); why != "" {
			return miss{1, why}
		}
	}
	if why := s.credentials(f); why != "" {
		return miss{2, why}
	}
	if why := s.cursor(f); why != "" {
		return miss{3, why}
	}
	s.weigh(f)
	return miss{}
}

// unasked says that nobody wrote down what was asked.
func (x *exchange) unasked() bool { return x.method == "" }

// about says why an exchange is about another conversation or run, which must be known.
func (s *search) about(f *fit) string {
	was, is := f.x.ask, s.ask
	switch {
	case (was.Thread == "") != (is.Thread == ""):
		return fmt.Sprintf("it was asked about the conversation %s, now it is %s", brief(was.Thread), brief(is.Thread))
	case f.binding == nil && was.Thread != is.Thread:
		return fmt.Sprintf("its conversation (%s) has not been played as %s", brief(was.Thread), brief(is.Thread))
	case (was.Run == "") != (is.Run == ""):
		return fmt.Sprintf("it was asked about the run %s, now it is %s", brief(was.Run), brief(is.Run))
	}
	if f.binding != nil {
		if run, known := f.binding.runs[is.Run]; known && run == was.Run {
			return ""
		} else if known {
			return fmt.Sprintf("the run %s was played as %s, and this is %s", brief(is.Run), brief(run), brief(was.Run))
		}
	}
	if was.Run != is.Run {
		return fmt.Sprintf("its run (%s) has not been played as %s", brief(was.Run), brief(is.Run))
	}
	return ""
}

// named reports whether a client says who it is.
func named(h spec.Header) bool {
	return slices.ContainsFunc(h, func(f spec.Field) bool { return redact.IdentifiesUser(f.Name) })
}

// credentials says why somebody with credentials is not given the answer of somebody
// without. The other way round he is: a mock is asked by whoever comes.
func (s *search) credentials(f *fit) string {
	recorded, now := f.x.ask.Principal != spec.Anonymous && named(f.x.ask.Header), named(s.r.Header)
	if f.x.ask.Principal == spec.Anonymous && now {
		return "it was asked without credentials"
	}
	if recorded == now {
		f.near |= sameCredentials
	}
	return ""
}

// cursor says why a stream cannot be taken up where it is asked for.
func (s *search) cursor(f *fit) string {
	was, is := f.x.ask.Cursor, s.ask.Cursor
	switch {
	case was == is:
		f.near |= sameMark
		return ""
	case is == "":
		return fmt.Sprintf("it was asked for from the cursor %s on", brief(was))
	}
	if i := slices.IndexFunc(f.x.marks, func(m mark) bool { return m.cursor == is }); i >= 0 {
		f.mark = &f.x.marks[i]
		return ""
	}
	return fmt.Sprintf("it has no event with the cursor %s", brief(is))
}

// weigh says how much speaks for an exchange that fits.
func (s *search) weigh(f *fit) {
	was, is := f.x.ask, s.ask
	switch {
	case f.binding != nil:
		f.near |= boundThread
		f.count = f.binding.played[f.x.n]
	case is.Thread != "" && was.Thread == is.Thread:
		f.near |= sameThread
		f.count = s.shelf.talks[f.x.talk]
	case is.Thread != "":
		f.count = s.shelf.talks[f.x.talk]
	default:
		f.count = s.shelf.played[f.x]
	}
	if !s.op.StartsRun || is.Run == "" {
		return
	}
	run, known := "", false
	if f.binding != nil {
		run, known = f.binding.runs[is.Run]
	}
	if known && run == was.Run || !known && f.x.opens {
		f.near |= sameRun
	}
}

// play notes that an exchange is played, and makes its answer.
func (s *search) play(f fit) *Answer {
	x, is := f.x, s.ask
	b := f.binding
	if thread := cmp.Or(is.Thread, x.thread()); b == nil && thread != "" {
		b = s.shelf.bind(threadKey{s.d.Name, thread}, x)
	}
	s.shelf.played[x]++
	var ids map[string]string
	if b != nil {
		b.played[x.n]++
		b.name(x.thread(), cmp.Or(is.Thread, x.thread()))
		if is.Run != "" || s.op.StartsRun {
			b.run(x.run(), cmp.Or(is.Run, x.run()))
		}
		for recorded, now := range messages(x.ask.Parts, is.Parts) {
			b.name(recorded, now)
		}
		ids = b.ids
	}
	return x.played(f.mark, ids)
}

// messages yields the ids of the user's messages, those of two requests that say the
// same, from the last one back.
func messages(was, is []spec.Event) func(func(string, string) bool) {
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

// why are the reasons, those of what came nearest first.
func (s *search) why() (all []string) {
	slices.SortStableFunc(s.misses, func(a, b miss) int { return -cmp.Compare(a.far, b.far) })
	for i, m := range s.misses {
		if i == mostWhy {
			return append(all, fmt.Sprintf("and %d more", len(s.misses)-i))
		}
		all = append(all, m.why)
	}
	if len(all) == 0 {
		all = append(all, fmt.Sprintf("no recording of %s asks for %s", s.d.Name, s.op.Name))
	}
	return all
}

// endingOf is how an answer ended.
func endingOf(r spec.Response) Ending {
	switch {
	case r.Status == 0 && errors.Is(r.End, spec.ErrReset):
		return Reset
	case r.Status == 0:
		return Mute
	case errors.Is(r.End, spec.ErrReset):
		return Reset
	case errors.Is(r.End, spec.ErrTruncated), errors.Is(r.End, spec.ErrNotHTTP):
		return Cut
	case errors.Is(r.End, spec.ErrIdleTimeout):
		return Stall
	}
	return Clean
}

// connection are the fields that belong to a connection, or to who serves: the origins
// that may read an answer are not those of the recording.
var connection = []string{
	"Connection", "Keep-Alive", "Proxy-Connection", "Proxy-Authenticate", "TE", "Trailer",
	"Transfer-Encoding", "Upgrade", "Content-Length",
}

// endToEnd is what of a header an answer has.
func endToEnd(h spec.Header) (out spec.Header) {
	drop := slices.Clone(connection)
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
