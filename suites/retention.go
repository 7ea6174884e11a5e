package suites

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/streamassay/streamassay/internal/printable"
	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
)

// maxRetained is the maximum total size, in bytes, of the response bodies in a conversation that is
// retained until the end of the test run. A larger conversation is evaluated when it ends, and then
// trimmed.
const maxRetained = 1 << 20

// The sizes, in bytes, to which the parts of a large conversation are cut when it is trimmed.
const (
	maxRetainedBody = 64 << 10 // the body of each response
	maxRetainedRaw  = 3 << 10  // the bytes that each finding quotes
)

// finishConversation returns part with the recording and the errors of the conversation conv, which
// has ended. If a body has a content coding, the returned value also has the evaluation of the
// conversation, because the decoded bodies may be large. If the bodies together are larger than
// [maxRetained], the returned value has the evaluation, too, and is trimmed; before that,
// finishConversation calls t.BeforeTrim with the complete value, unless t.BeforeTrim is nil. In all
// cases, it releases the memory of conv.
func (t *Target) finishConversation(conv *Conversation, part ScenarioResult) ScenarioResult {
	part.Trace, part.Err, part.IncompleteReason = conv.finalTrace(), conv.err, conv.abortCause
	if part.IncompleteReason == nil {
		part.IncompleteReason = conv.busyError
	}
	n, coded := responseSize(part.Trace)
	large := n > maxRetained || conv.largeDecoded
	switch {
	case coded: // the decoded bodies may be large
		conv.clients[spec.PrimaryUser].Use(conv.ctx, func() { t.evaluateOnce(&part) })
	case large:
		t.evaluateOnce(&part)
	}
	if large {
		if t.BeforeTrim != nil {
			t.BeforeTrim(part)
		}
		trimResult(&part)
	}
	conv.releaseMemory()
	return part
}

// releaseMemory makes the memory that the memory limiter has reserved for the responses of the
// conversation available to other conversations. It also closes idle connections.
func (t *Conversation) releaseMemory() {
	for _, c := range t.clients {
		c.ReleaseMemory()
		c.CloseIdleConnection()
	}
}

// responseSize returns the total size, in bytes, of all response bodies in t. coded reports whether
// a response has a content coding.
func responseSize(t spec.Trace) (n int, coded bool) {
	for _, x := range t.Exchanges {
		n += len(x.Response.Body)
		coded = coded || dialect.HasContentCoding(x.Response)
	}
	return n, coded
}

// trimResult reduces the memory that p needs and sets p.Trimmed. It removes the arrival times of
// the responses, and keeps only the beginning of each body and of the bytes that each finding
// quotes; see [maxRetainedBody] and [maxRetainedRaw]. The conversation must have been evaluated.
func trimResult(p *ScenarioResult) {
	p.Trimmed = true
	for i := range p.Trace.Exchanges {
		r := &p.Trace.Exchanges[i].Response
		r.Body = bytes.Clone(r.Body[:min(len(r.Body), maxRetainedBody)])
		r.Arrivals = nil
	}
	for i := range p.summaries {
		o := &p.summaries[i]
		o.bodyPrefix, o.responseText = bytes.Clone(o.bodyPrefix), strings.Clone(o.responseText)
		o.failureText = strings.Clone(o.failureText)
		o.head.Raw, o.bodyEnd = bytes.Clone(o.head.Raw), trimEvent(o.bodyEnd)
	}
	for i := range p.Evaluation.Results {
		for k := range p.Evaluation.Results[i].Findings {
			f := &p.Evaluation.Results[i].Findings[k]
			f.Event = trimEvent(f.Event)
		}
	}
}

// trimEvent returns a copy of e with only the fields that reports need. The field Raw is the result
// of [truncateRaw].
func trimEvent(e spec.Event) spec.Event {
	kept := spec.Event{
		Kind: e.Kind, Exchange: e.Exchange, Operation: e.Operation, Principal: e.Principal, StatusCode: e.StatusCode, MediaType: e.MediaType, Requirement: e.Requirement,
		At: e.At, Frame: e.Frame, Line: e.Line, Offset: e.Offset, Raw: truncateRaw(e.Raw), Err: e.Err,
		Exercised: e.Exercised,
	}
	if len(e.Violations) == 1 && len(e.Violations[0].Pointer) <= maxRetainedRaw {
		v := e.Violations[0]
		kept.Violations = []spec.Violation{
			{Pointer: strings.Clone(v.Pointer), Requirement: v.Requirement, Refusals: v.Refusals},
		}
	}
	return kept
}

// truncateRaw returns a copy of raw. If raw is longer than [maxRetainedRaw], the copy is cut to
// that length without splitting a character, and ends with a note about the number of omitted
// bytes.
func truncateRaw(raw []byte) []byte {
	kept := bytes.Clone(printable.Prefix(raw, maxRetainedRaw))
	if n := len(raw) - len(kept); n > 0 {
		kept = fmt.Appendf(kept, " … (%d more bytes)", n)
	}
	return kept
}

// judgeGrace is the time for which evaluations may continue after the user has cancelled the test
// run.
const judgeGrace = time.Second

// newJudgeContext returns a context for evaluations. If the user cancels ctx, the context is done
// [judgeGrace] later, with the same cause. If ctx is done because the test run exceeded
// [Limits.RunTimeout], the context continues, so that all recordings are evaluated. The caller must
// call stop when all evaluations are done.
func newJudgeContext(ctx context.Context) (judge context.Context, stop func()) {
	judge, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	unlink := context.AfterFunc(ctx, func() {
		if _, late := context.Cause(ctx).(suiteTimeoutError); late {
			return
		}
		select {
		case <-time.After(judgeGrace):
		case <-judge.Done():
		}
		cancel(context.Cause(ctx))
	})
	return judge, func() { unlink(); cancel(nil) }
}
