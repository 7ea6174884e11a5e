package mockserver

import (
	"cmp"
	"net/http"
	"strconv"
	"time"

	"github.com/streamassay/streamassay/internal/fault"
	"github.com/streamassay/streamassay/internal/journal"
	"github.com/streamassay/streamassay/internal/script"
	"github.com/streamassay/streamassay/reference"
)

// intercept is the hook that the reference server calls for each decoded request; see
// [reference.Config]. It opens the journal entry of the request and returns the changes that
// scripts, recordings, faults and X-Mock headers make to the response. If the request starts a run
// and names no thread, intercept stores a new thread id in h. The dynamic type of w must be
// *responseWriter.
func (s *Server) intercept(
	w http.ResponseWriter, r *http.Request, h *reference.ParsedRequest,
) (override reference.Override) {
	ex := w.(*responseWriter).exchange
	ex.dialect = h.Dialect
	base := ex.seed
	ex.seed = s.requestSeed(base, ex.scope.id, h.Request.Method, h.Request.Target, h.Request.Body, h.Event.Cursor)
	ex.entry = s.journal.Open(journal.ExchangeStart{
		Dialect: h.Dialect.Name, Op: h.OperationKind, Test: ex.scope.id, Seed: base, Request: h.Request,
		Path: requestedPath(r), At: s.clock.Now(),
	})
	if h.OperationKind == "run" && h.Event.Thread == "" {
		h.Event.Thread = ex.newID()
	}
	ex.entry.Parsed(h.Operation.Name, h.Event)
	ex.run = runKey{h.Dialect.Name, h.Event.Thread, h.Event.Run}
	ex.isListen = h.OperationKind == "listen"
	if len(h.Event.Violations) > 0 { // an invalid request is refused by the reference, whatever the script
		return override
	}
	decision := ex.decide(h)
	if recording := ex.findRecording(h, decision); recording != nil {
		ex.isListen = false // a recorded run has no plan of an earlier request
		ex.ownPlan = ex.newPlan(decision)
		override.Serve = ex.replay(recording)
		return override
	}
	if decision.Rule == nil && s.cfg.Defaults.Strict && h.OperationKind == "run" {
		decision.Reply.Refusal = &fault.CannedResponse{
			Status: http.StatusNotImplemented, Message: "no rule and no recording matches this request",
		}
	}
	if refusal := decision.Reply.Refusal; refusal != nil {
		refuse(w, *refusal, &override)
		return override
	}
	ex.ownPlan = ex.newPlan(decision)
	switch h.OperationKind {
	case "run":
		ex.configureRun(h, decision, &override)
	case "listen":
		if h.Event.Cursor != "" {
			ex.configureResume(&override)
		}
	}
	if len(ex.ownPlan.faults) > 0 || ex.isListen {
		ex.refuseByFault(w, &override)
	}
	return override
}

// newPlan returns the fault plan of the request. The parameter found is the result of decide. The
// index of the first frame to hold is the value of the header X-Mock-Hold or, if that is absent, of
// Hold in the settings. If neither is set, no frame is held.
func (x *requestState) newPlan(found script.Decision) *faultPlan {
	p := &faultPlan{test: x.scope.id, faults: x.requestFaults(found.Reply.Faults), firstHeld: noFrame}
	if found.Rule != nil {
		p.rule = found.Rule.Name
	}
	if hold := cmp.Or(x.overrides.Hold, x.settings.Hold); hold != nil {
		p.firstHeld = *hold
	}
	return p
}

// decide finds the script rule that matches the request h, and records the result in the journal.
// It tries the script of the request's test before the shared script. If no rule matches, the Rule
// of the result is nil, and Mismatches contains the mismatches of both scripts.
func (x *requestState) decide(h *reference.ParsedRequest) (found script.Decision) {
	sets := x.scope.scriptSets()
	if sets == nil {
		return found
	}
	f := &script.RequestContext{
		Dialect: h.Dialect, Operation: h.OperationKind, Request: h.Request, Parsed: h.Event,
		Rand: x.newRand(randScript), Now: x.server.clock.Now(),
	}
	var mismatches []script.Mismatch
	for _, set := range sets {
		found = set.Decide(f, x.scope.state)
		if found.Rule != nil {
			x.entry.Matched(found.Rule.Name, nil)
			return found
		}
		mismatches = append(mismatches, found.Mismatches...)
	}
	found.Mismatches = mismatches
	x.entry.Matched("", journalMisses(mismatches))
	return found
}

// journalMisses returns the mismatches of scripts as mismatches for the journal.
func journalMisses(all []script.Mismatch) (out []journal.RuleMismatch) {
	for _, m := range all {
		out = append(out, journal.RuleMismatch{Rule: m.Rule, Why: m.Reason})
	}
	return out
}

// requestFaults returns the faults for the response: those of the X-Mock-Fault header, ruleFaults
// (those of the matching script rule) and those of the settings, in this order. If the request
// listens to a run that another request started, the result omits the faults of the settings,
// because the plan of that run already contains them.
func (x *requestState) requestFaults(ruleFaults []fault.Spec) (all []fault.Spec) {
	if x.overrides.Faults != nil {
		all = append(all, *x.overrides.Faults...)
	}
	all = append(all, ruleFaults...)
	if x.isListen {
		return all
	}
	if x.settings.Faults != nil {
		all = append(all, *x.settings.Faults...)
	}
	return all
}

// configureRun sets the fields Agent and NewSink of override for the run that the request h starts.
// Agent is set if a script, a pace or flushing after every event changes how the run is emitted,
// and NewSink if faults change its events, its frames or its end. If other requests will stream the
// run, configureRun also stores the fault plan for them. The parameter decision is the result of
// decide.
func (x *requestState) configureRun(
	h *reference.ParsedRequest, decision script.Decision, override *reference.Override,
) {
	if !h.Operation.IsStream {
		x.server.plans.get(x.run, func() *faultPlan { return x.ownPlan }) // a repeated request keeps the first plan
	}
	speed := decision.Reply.Pace
	if x.settings.Pace != nil {
		speed = x.settings.Pace.Merge(speed)
	}
	if x.overrides.Pace != nil {
		speed = speed.Merge(*x.overrides.Pace)
	}
	if reply := decision.Reply.Agent; reply != nil || !speed.IsInstant() {
		override.Agent = pacedAgent(func(pause func(time.Duration)) reference.Agent {
			if reply == nil {
				return reference.Scripted
			}
			return reply(speed.Chunk, pause)
		}, speed, x.newRand(randPace))
	}
	if x.server.cfg.Defaults.FlushEach {
		if override.Agent == nil {
			override.Agent = reference.Scripted
		}
		override.Agent = flushEach(override.Agent)
	}
	if len(x.ownPlan.faults) == 0 {
		return
	}
	var effects []fault.Effect
	r, applied := x.newRand(randRun), x.entry.FaultApplied
	if !h.Operation.IsStream {
		applied = x.ownPlan.addApplied // the entry of this exchange is closed before the run is streamed
	}
	for _, use := range x.ownPlan.faults {
		effect := x.newEffect(use, r, applied)
		if effect.OnEvent != nil || effect.OnFrame != nil || effect.OnEnd != nil {
			effects = append(effects, effect)
		}
	}
	if effects != nil {
		override.NewSink = faultySink(effects)
	}
}

// configureResume sets override.ResumeFrom if faults change the position at which the requested
// stream resumes the run. If several faults do, each changes the result of the one before it in the
// plan.
func (x *requestState) configureResume(override *reference.Override) {
	p, _ := x.currentPlan()
	if p == nil {
		return
	}
	for _, effect := range x.streamEffects(p, int(p.resumeCount.Add(1))) {
		apply := effect.OnResume
		if apply == nil {
			continue
		}
		earlier := override.ResumeFrom
		override.ResumeFrom = func(at, last int64) (int64, bool) {
			if earlier != nil {
				var ok bool
				if at, ok = earlier(at, last); !ok {
					return at, false
				}
			}
			return apply(at, last)
		}
	}
}

// refuseByFault calls refuse for the first fault of the fault plan that refuses requests. It does
// nothing if there is no such fault.
func (x *requestState) refuseByFault(w http.ResponseWriter, override *reference.Override) {
	p, _ := x.currentPlan()
	if p == nil {
		return
	}
	for _, use := range p.faults {
		if refusal := x.newEffect(use, x.newRand(randRun), x.entry.FaultApplied).Response; refusal.Status != 0 {
			x.entry.FaultApplied(use.String())
			refuse(w, refusal, override)
			return
		}
	}
}

// refuse changes override so that the reference server sends the given refusal. If
// refusal.ContentType is not "", the body is refusal.Body; otherwise, it is an error in the format
// of the dialect. If refusal.RetryAfter is positive, refuse also sets the header field Retry-After
// of w.
func refuse(w http.ResponseWriter, refusal fault.CannedResponse, override *reference.Override) {
	if refusal.RetryAfter > 0 {
		seconds := (refusal.RetryAfter + time.Second - 1) / time.Second
		w.Header().Set("Retry-After", strconv.FormatInt(int64(seconds), 10))
	}
	if refusal.ContentType == "" {
		override.Refuse = &reference.Refusal{Status: refusal.Status, Code: refusal.Code, Text: refusal.Message}
		return
	}
	override.Serve = func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", refusal.ContentType)
		w.WriteHeader(refusal.Status)
		_, _ = w.Write([]byte(refusal.Body)) // fails only if the client left
	}
}
