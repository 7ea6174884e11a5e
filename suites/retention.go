package suites

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/streamassay/streamassay/internal/printable"
	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
)

// maxRetained is the largest total size, in bytes, of the response bodies in a conversation that is
// kept in full until the end of the run. A larger conversation is evaluated as soon as it ends, and
// then trimmed.
const maxRetained = 1 << 20

// The sizes, in bytes, to which the parts of a large conversation are cut when it is trimmed.
const (
	maxRetainedBody = 64 << 10 // of the body of each response
	maxRetainedRaw  = 3 << 10  // of the bytes that each finding quotes
)

// finishConversation completes part, the result of the ended conversation conv, with the recording
// and the errors of conv, and returns it. If the recording is too large to keep, it evaluates the
// conversation, calls t.BeforeTrim and trims the result. It also evaluates conversations with
// content codings at once, because their bodies may be large after decoding. Finally it releases
// the memory of the conversation.
func (t *Target) finishConversation(conv *Conversation, part ScenarioResult) ScenarioResult {
	part.Trace, part.Err, part.IncompleteReason = conv.finalTrace(), conv.err, conv.abortCause
	if part.IncompleteReason == nil {
		part.IncompleteReason = conv.busyError
	}
	if part.IncompleteReason == nil && part.Scenario.Denial != spec.DeniedStreamLimit && conv.wasAtStreamLimit() {
		part.IncompleteReason = busyError(http.StatusTooManyRequests)
	}
	n, coded := responseSize(part.Trace)
	large := n > maxRetained || conv.largeDecoded
	switch {
	case coded: // may be large when decoded
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

// wasAtStreamLimit reports whether the last response to some request for a stream has the status
// 429 (Too Many Requests). The client then had too many streams open, by the server's count, so the
// conversation shows nothing about the run of that stream. Requests that start a run themselves do
// not count. If the server has accepted no run of the conversation, the result is false.
func (t *Conversation) wasAtStreamLimit() bool {
	refused := map[string]bool{}
	for _, x := range t.trace.Exchanges {
		o := t.dialect.Operation(x.Request)
		if o != nil && o.IsStream && !o.StartsRun && x.Request.Principal == spec.PrimaryUser {
			key := fmt.Sprint(x.Request.Target, x.Request.Header)
			if delete(refused, key); x.Response.Status == http.StatusTooManyRequests {
				refused[key] = true
			}
		}
	}
	return t.acceptedAny && len(refused) > 0
}

// releaseMemory returns to the memory limiter the memory that the responses of the conversation
// occupy, and closes idle connections.
func (t *Conversation) releaseMemory() {
	for _, c := range t.clients {
		c.ReleaseMemory()
		c.CloseIdleConnection()
	}
}

// responseSize returns n, the number of bytes in all response bodies of t. coded reports whether
// any response has a content coding.
func responseSize(t spec.Trace) (n int, coded bool) {
	for _, x := range t.Exchanges {
		n += len(x.Response.Body)
		coded = coded || dialect.HasContentCoding(x.Response)
	}
	return n, coded
}

// trimResult removes from p what would take too much memory, and sets p.Trimmed. It drops the times
// at which the bytes of the responses arrived. Of each body, and of the bytes that each finding
// quotes, it keeps only the beginning (see [maxRetainedBody] and [maxRetainedRaw]). The
// conversation must already have been evaluated.
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

// trimEvent returns a copy of e with only the fields that reports need. The copy has its own e.Raw,
// cut to about [maxRetainedRaw] bytes (see [truncateRaw]).
func trimEvent(e spec.Event) spec.Event {
	kept := spec.Event{
		Kind: e.Kind, Exchange: e.Exchange, Operation: e.Operation, Principal: e.Principal, StatusCode: e.StatusCode, MediaType: e.MediaType, Requirement: e.Requirement,
		At: e.At, Frame: e.Frame, Line: e.Line, Offset: e.Offset, Raw: truncateRaw(e.Raw), Err: e.Err,
	}
	if len(e.Violations) == 1 && len(e.Violations[0].Pointer) <= maxRetainedRaw {
		v := e.Violations[0]
		kept.Violations = []spec.Violation{{Pointer: strings.Clone(v.Pointer), Requirement: v.Requirement}}
	}
	return kept
}

// truncateRaw returns the first [maxRetainedRaw] bytes of raw, or slightly fewer so that no
// character is cut, followed by a note that says how many bytes are left out. If raw is not longer
// than maxRetainedRaw, truncateRaw returns a copy of it.
func truncateRaw(raw []byte) []byte {
	kept := bytes.Clone(printable.Prefix(raw, maxRetainedRaw))
	if n := len(raw) - len(kept); n > 0 {
		kept = fmt.Appendf(kept, " … (%d more bytes)", n)
	}
	return kept
}

// judgeGrace is how long evaluations may go on after the user has cancelled the run.
const judgeGrace = time.Second

// newJudgeContext returns a context for evaluations. It ends [judgeGrace] after ctx, with the same
// cause. If ctx ends because of the run timeout, the returned context stays valid, so that
// everything recorded until then is evaluated. The caller must call stop when all evaluations are
// done.
func newJudgeContext(ctx context.Context) (judge context.Context, stop func()) {
	judge, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	unlink := context.AfterFunc(ctx, func() {
		if _, late := context.Cause(ctx).(runTimeoutError); late {
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
