package mockserver

import (
	"net/http"
	"strconv"
	"time"

	"github.com/streamassay/streamassay/mockserver/fault"
	"github.com/streamassay/streamassay/mockserver/journal"
	"github.com/streamassay/streamassay/mockserver/pace"
	"github.com/streamassay/streamassay/mockserver/script"
	"github.com/streamassay/streamassay/reference"
)

// direct says how a request is to be served: what the reference asks before it does.
func (s *Server) direct(w http.ResponseWriter, r *http.Request, h *reference.Heard) (as reference.Direction) {
	x := w.(*tap).x
	x.dialect = h.Dialect
	base := x.seed
	x.seed = s.chance(base, x.scope.id, h.Request.Method, h.Request.Target, h.Request.Body, h.Ask.Cursor)
	x.entry = s.journal.Open(journal.Opened{
		Dialect: h.Dialect.Name, Op: h.Does, Test: x.scope.id, Seed: base, Request: h.Request, At: s.clock.Now(),
	})
	if h.Does == "run" && h.Ask.Thread == "" {
		h.Ask.Thread = x.id()
	}
	x.entry.Heard(h.Op.Name, h.Ask)
	x.key = runKey{h.Dialect.Name, h.Ask.Thread, h.Ask.Run}
	x.listens = h.Does == "listen"
	if len(h.Ask.Violations) > 0 { // what is wrong is refused, whatever a script says
		return as
	}
	found := x.decide(h)
	if answer := x.recorded(h, found); answer != nil {
		x.listens = false // of the run that was recorded nothing is planned
		x.own = x.planned(h, found)
		as.Serve = x.replay(answer)
		return as
	}
	if found.Rule == nil && s.cfg.Manners.Strict && h.Does == "run" {
		found.Reply.Refusal = &fault.Refusal{Status: http.StatusNotImplemented, Message: "no rule and no recording answers this"}
	}
	if no := found.Reply.Refusal; no != nil {
		refuse(w, *no, &as)
		return as
	}
	x.own = x.planned(h, found)
	switch h.Does {
	case "run":
		x.run(h, found, &as)
	case "listen":
		if h.Ask.Cursor != "" {
			x.resume(&as)
		}
	}
	if len(x.own.uses) > 0 || x.listens {
		x.refused(w, &as)
	}
	return as
}

// planned is what this request plans.
func (x *exchange) planned(h *reference.Heard, found script.Decision) *plan {
	p := &plan{test: x.scope.id, thread: h.Ask.Thread, run: h.Ask.Run, uses: x.uses(found.Reply.Faults), hold: x.held()}
	if found.Rule != nil {
		p.rule = found.Rule.Name
	}
	return p
}

// decide finds the rule for a request: those of its test come first.
func (x *exchange) decide(h *reference.Heard) (found script.Decision) {
	sets := x.scope.sets()
	if sets == nil {
		return found
	}
	f := &script.RequestContext{
		Dialect: h.Dialect, Operation: h.Does, Request: h.Request, Parsed: h.Ask,
		Rand: x.rand(forScript), Now: x.server.clock.Now(),
	}
	for _, set := range sets {
		found = set.Decide(f, x.scope.state)
		if found.Rule != nil {
			break
		}
	}
	name := ""
	if found.Rule != nil {
		name = found.Rule.Name
	}
	x.entry.Matched(name, misses(found.Mismatches))
	return found
}

func misses(all []script.Mismatch) (out []journal.Miss) {
	for _, m := range all {
		out = append(out, journal.Miss{Rule: m.Rule, Why: m.Reason})
	}
	return out
}

// uses are the faults of a request: those of its headers, its rule, and of its test or of
// all. A stream of a run that was opened before has the last already.
func (x *exchange) uses(ruled []fault.Spec) (all []fault.Spec) {
	all = append(all, x.over.faults...)
	all = append(all, ruled...)
	if x.listens {
		return all
	}
	if own := setting(x.scope, func(s *Settings) *[]fault.Spec { return s.Faults }); own != nil {
		all = append(all, *own...)
	}
	return all
}

// held is the first frame that waits.
func (x *exchange) held() int {
	if x.over.hold != nil {
		return *x.over.hold
	}
	if own := setting(x.scope, func(s *Settings) *int { return s.Hold }); own != nil {
		return *own
	}
	return never
}

// run says how a run is played.
func (x *exchange) run(h *reference.Heard, found script.Decision, as *reference.Direction) {
	if h.Op.IsStream {
		x.gate.hold(x.own.hold)
	} else {
		x.server.plans.put(x.key, x.own)
	}
	tempo := found.Reply.Pace
	if own := setting(x.scope, func(s *Settings) *pace.Pace { return s.Pace }); own != nil {
		tempo = own.Merge(tempo)
	}
	if x.over.pace != nil {
		tempo = tempo.Merge(*x.over.pace)
	}
	play := found.Reply.WithPace(tempo).Play
	if play == nil && !tempo.Instant() {
		play = scripted
	}
	if play != nil {
		as.Agent = agent(play, tempo, x.rand(forPace))
	}
	if x.server.cfg.Manners.Each {
		if as.Agent == nil {
			as.Agent = reference.Scripted
		}
		as.Agent = each(as.Agent)
	}
	if len(x.own.uses) == 0 {
		return
	}
	var effects []fault.Effect
	r, tell := x.rand(forRun), x.entry.Fault
	if !h.Op.IsStream {
		tell = x.own.note // this exchange is over when the run is told
	}
	for _, use := range x.own.uses {
		if effect := watched(use, r, x.own, tell); effect.OnEvent != nil || effect.OnFrame != nil || effect.OnEnd != nil {
			effects = append(effects, effect)
		}
	}
	if effects != nil {
		as.Tell = telling(effects)
	}
}

// resume says where a stream begins that is taken up again.
func (x *exchange) resume(as *reference.Direction) {
	p, _ := x.plan()
	if p == nil {
		return
	}
	n, r := int(p.resumed.Add(1)), x.rand(forStream)
	for _, use := range p.uses {
		if most := use.MaxStreams(); most > 0 && n > most {
			continue // so many suffered it already
		}
		spoil := watched(use, r, p, x.entry.Fault).OnResume
		if spoil == nil {
			continue
		}
		next := as.From
		as.From = func(at, last int64) (int64, bool) {
			from, ok := spoil(at, last)
			if ok && next != nil {
				return next(from, last)
			}
			return from, ok
		}
	}
}

// refused refuses the request where a fault wants it.
func (x *exchange) refused(w http.ResponseWriter, as *reference.Direction) {
	p, _ := x.plan()
	if p == nil {
		return
	}
	for _, use := range p.uses {
		if no := use.NewEffect(x.rand(forRun), p.thread, p.run).Refusal; no.Status != 0 {
			x.entry.Fault(use.String())
			refuse(w, no, as)
			return
		}
	}
}

// refuse answers in the dialect's words for problems, or in nobody's.
func refuse(w http.ResponseWriter, no fault.Refusal, as *reference.Direction) {
	if no.RetryAfter > 0 {
		seconds := (no.RetryAfter + time.Second - 1) / time.Second
		w.Header().Set("Retry-After", strconv.FormatInt(int64(seconds), 10))
	}
	if no.ContentType == "" {
		as.Refuse = &reference.Refusal{Status: no.Status, Code: no.Code, Text: no.Message}
		return
	}
	as.Serve = func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", no.ContentType)
		w.WriteHeader(no.Status)
		_, _ = w.Write([]byte(no.Body)) // who left does not want it
	}
}
