package suites

import (
	"slices"

	"github.com/streamassay/streamassay/internal/wire"
	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
)

// runRefusals plays the refusals scenario. For each operation, it sends valid requests, and then
// variants of them that are invalid in one or two respects. Checks compare the responses with those
// that the dialect's document describes. Operations for which [Conversation.isProbeable] returns
// false are omitted.
func runRefusals(t *Conversation) {
	for _, o := range t.dialect.Operations() {
		known := t.newInvalidRequestSet()
		for _, template := range o.TemplatesBySimplicity() {
			switch {
			case isReplyTemplate(template):
				t.probeReply(template, known)
				continue
			case !t.isProbeable(o, template):
				continue
			}
			t.Thread = t.NewID()
			e := t.PromptEvent("text", "one")
			e.Name = "paint"
			if !o.StartsRun && !t.StartRun("prompt", e) {
				return
			}
			if o.StartsRun {
				t.Run = t.NewID()
			}
			t.probeRefusals(o, t.BuildRequest(template, e), known)
			if t.target.Deep { // a server may validate one form of a message and not another
				known = t.newInvalidRequestSet()
			}
		}
	}
}

// isProbeable reports whether the refusals scenario can test operation o with requests of the
// template with the given name, that is, whether the target supports the operation, and the suite
// can send a valid request of the template that the server is required to accept.
func (t *Conversation) isProbeable(o *dialect.Operation, template string) bool {
	if o.AcceptsFiles && t.canSend(o.Templates()[0]) {
		return !slices.Contains(optionalTemplates, template)
	}
	switch template {
	case "listen":
		return true
	case "cancel":
		if !t.HasTemplate("listen") { // there may be no run left to cancel
			return o.StartsRun
		}
		fallthrough
	case "health", "history":
		return o.StartsRun || t.canSend(template)
	}
	return o.StartsRun
}

// probeRefusals sends r, a valid request of operation o. If the server accepts it, probeRefusals
// sends the invalid variants of r that are not in known, and adds them to known. If a variant is
// made from a different valid request, it sends that request before the variant. It sends up to
// [maxProbes] requests that start runs at the same time, so that a slow server is tested in less
// time.
func (t *Conversation) probeRefusals(o *dialect.Operation, r spec.Request, known *dialect.DerivedInvalidRequests) {
	send := func(r spec.Request) bool { return t.sendProbe(o, r) }
	attach, _ := t.dialect.TemplateOperation("attach")
	if o == attach {
		send = t.upload
	}
	if !send(r) {
		return // refusals of the variants would not show that the server detects what is invalid in them
	}
	valid := r                // the last valid request
	var probes []spec.Request // valid and invalid requests that start runs, each in a thread of its own
	for _, m := range t.unseenInvalidRequests(r, known) {
		isNewValid := string(m.Valid.Body) != string(valid.Body) || m.Valid.Target != valid.Target
		valid = m.Valid
		switch {
		case o.StartsRun && isNewValid:
			probes = append(probes, t.withNewIDs(valid), t.withNewIDs(m.Request))
		case o.StartsRun:
			probes = append(probes, t.withNewIDs(m.Request))
		default:
			if isNewValid {
				t.sendProbe(o, valid)
			}
			t.sendInvalidProbe(o, m.Request)
			if o == attach {
				send(valid) // a refused upload must not affect the next one of the thread
			}
		}
	}
	t.sendTogether(probes, t.maxStreams(maxProbes), nil)
}

// maxProbes is the maximum number of requests that probeRefusals sends at the same time.
const maxProbes = 4

// wrongTypeShare determines how many variants of invalid requests are sent: one in wrongTypeShare,
// or all if [Target.Deep] is set. For these variants, see
// [dialect.DerivedInvalidRequests.KeepVariant].
const wrongTypeShare = 20

// newInvalidRequestSet returns an empty set for the invalid requests of one operation. Its
// KeepVariant function returns true once in every [wrongTypeShare] calls, starting at a call that
// the seed determines. If [Target.Deep] is set, it always returns true.
func (t *Conversation) newInvalidRequestSet() *dialect.DerivedInvalidRequests {
	n := t.target.Seed
	return &dialect.DerivedInvalidRequests{KeepVariant: func() bool {
		n++
		return t.target.Deep || n%wrongTypeShare == 0
	}}
}

// unseenInvalidRequests returns the result of [dialect.Dialect.UnseenInvalidRequests] for r and
// known. If Target.RefusalsAbout is not empty, it omits requests that violate none of the
// requirements in that field.
func (t *Conversation) unseenInvalidRequests(
	r spec.Request, known *dialect.DerivedInvalidRequests,
) []dialect.InvalidRequest {
	all := t.dialect.UnseenInvalidRequests(r, known)
	if len(t.target.RefusalsAbout) == 0 {
		return all
	}
	isWanted := func(d spec.RefusalRequirement) bool { return slices.Contains(t.target.RefusalsAbout, d.Requirement) }
	return slices.DeleteFunc(all, func(m dialect.InvalidRequest) bool {
		return !slices.ContainsFunc(t.dialect.ValidateRequest(m.Request), func(v spec.Violation) bool {
			return slices.ContainsFunc(v.Refusals, isWanted)
		})
	})
}

// probeReply sends a valid reply that it builds from the template with the given name. If the
// server accepts it, probeReply also sends invalid replies that are derived from valid ones, except
// those in known, and adds them to known. Before each reply, it makes the server send what the
// reply refers to, such as a tool call; see [Conversation.newReply].
func (t *Conversation) probeReply(template string, known *dialect.DerivedInvalidRequests) {
	newReply := func() (r spec.Request, ok bool) {
		if e, ok := t.newReply(template); ok {
			return t.buildReply(template, e), true
		}
		return r, false
	}
	if !t.canSend(template) {
		return
	}
	valid, ok := newReply()
	if !ok || !t.Send(valid) {
		return
	}
	for _, m := range t.unseenInvalidRequests(valid, known) {
		if r, ok := newReply(); ok {
			if again, ok := t.dialect.InvalidRequestByName(r, m.Name); ok {
				t.Send(again.Request)
			}
		}
	}
}

// sendInvalidProbe sends r, an invalid request of operation o, in the same way as
// [Conversation.sendProbe]. However, if o responds with the stream of an existing run, it reads at
// most one event, and for at most [readTimeout].
func (t *Conversation) sendInvalidProbe(o *dialect.Operation, r spec.Request) {
	if o.StartsRun || !o.IsStream {
		t.sendProbe(o, r)
		return
	}
	// A server may accept r and wait for a run that does not exist.
	t.send(r, wire.StopWhen{Frames: 1, Elapsed: readTimeout})
}

// sendProbe sends r, a request of operation o, and reports whether the server accepted it. If o
// starts a run, sendProbe first replaces the ids of the thread and the run in r with new ones.
func (t *Conversation) sendProbe(o *dialect.Operation, r spec.Request) (accepted bool) {
	if o.StartsRun {
		r = t.withNewIDs(r)
	}
	return t.Send(r)
}
