package suites

import (
	"slices"

	"github.com/streamassay/streamassay/internal/wire"
	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
)

// runRefusals plays the refusals scenario. For every operation whose refusals can be judged, it
// sends valid requests, and then variants of them that are invalid in one or two respects. Checks
// compare the responses with those that the document describes.
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
				known = &dialect.SeenInvalidRequests{}
			}
		}
	}
}

// isProbeable reports whether the refusals of operation o can be judged with requests of the
// template. This requires that the target supports the operation, and that the suite can send a
// valid request of the template for comparison.
func (t *Conversation) isProbeable(o *dialect.Operation, template string) bool {
	if o.AcceptsFiles && t.canSend(o.Templates()[0]) {
		return true
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

// probeRefusals sends r, which must be a valid request of operation o. If the server accepts it,
// probeRefusals then sends the invalid variants of r that the set known does not contain, and adds
// them to that set. A variant may be made from a valid request other than r. In this case, that
// request is sent before the variant.
func (t *Conversation) probeRefusals(o *dialect.Operation, r spec.Request, known *dialect.SeenInvalidRequests) {
	send := func(r spec.Request) bool { return t.sendProbe(o, r) }
	if attach, _ := t.dialect.TemplateOperation("attach"); o == attach {
		send = t.upload
	}
	if !send(r) {
		return // a refusal proves nothing where the valid request is refused too
	}
	valid := r // the last valid request that was sent
	for _, m := range t.unseenInvalidRequests(r, known) {
		if string(m.Valid.Body) != string(valid.Body) || m.Valid.Target != valid.Target {
			t.sendProbe(o, m.Valid)
			valid = m.Valid
		}
		t.sendInvalidProbe(o, m.Request)
	}
}

// wrongTypeShare is a divisor: unless [Target.Deep] is set, a run sends about one in wrongTypeShare
// of the invalid requests that [dialect.SeenInvalidRequests.KeepVariant] can leave out.
const wrongTypeShare = 20

// newInvalidRequestSet returns an empty set for the invalid requests of one operation. If
// [Target.Deep] is set, the KeepVariant function of the set keeps all variants. Otherwise it keeps
// one in [wrongTypeShare], and the seed determines which.
func (t *Conversation) newInvalidRequestSet() *dialect.SeenInvalidRequests {
	n := t.target.Seed
	return &dialect.SeenInvalidRequests{KeepVariant: func() bool {
		n++
		return t.target.Deep || n%wrongTypeShare == 0
	}}
}

// unseenInvalidRequests returns the invalid requests that [dialect.Dialect.UnseenInvalidRequests]
// derives from r and adds to known. If Target.RefusalsAbout is not empty, unseenInvalidRequests
// leaves out requests that violate none of the requirements listed there.
func (t *Conversation) unseenInvalidRequests(
	r spec.Request, known *dialect.SeenInvalidRequests,
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

// probeReply sends a valid request of the template and, if the server accepts it, invalid variants
// of that request, except those that the set known contains. It adds the variants that it sends to
// that set. The requests of the template must be replies to something that the server sent.
// Therefore, before each request, probeReply makes the server send a new tool call or interrupt, or
// store a new file.
func (t *Conversation) probeReply(template string, known *dialect.SeenInvalidRequests) {
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
// [Conversation.sendProbe]. If r is for the stream of a run that another request started, however,
// it reads at most one event, and for at most [readTimeout]. A server that accepts r, as the
// document may allow, need not have that run and need not end the stream.
func (t *Conversation) sendInvalidProbe(o *dialect.Operation, r spec.Request) {
	if o.StartsRun || !o.IsStream {
		t.sendProbe(o, r)
		return
	}
	t.send(r, wire.StopWhen{Frames: 1, Elapsed: readTimeout})
}

// sendProbe sends r, a request of operation o, and reports whether the server accepted it. If o
// starts a run, it sends r with new thread and run ids.
func (t *Conversation) sendProbe(o *dialect.Operation, r spec.Request) (accepted bool) {
	if o.StartsRun {
		r = t.withNewIDs(r)
	}
	return t.Send(r)
}
