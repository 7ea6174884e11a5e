package suites

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
)

// maxRetained is how many bytes of a conversation are kept until all are judged. Larger ones
// are judged at once, and released.
const maxRetained = 1 << 20

// What is kept of a conversation that was released, in bytes.
const (
	maxRetainedBody = 64 << 10 // of each answer
	maxRetainedRaw  = 3 << 10  // of the evidence of each finding
)

// finishConversation takes down what a conversation came to. A large one is judged, and released.
func (t *Target) finishConversation(talk *Conversation, part ScenarioResult) ScenarioResult {
	part.Trace, part.Err, part.IncompleteReason = talk.finalTrace(), talk.err, talk.abortCause
	large, coded := responseSize(part.Trace)
	switch {
	case coded: // it may be large without its coding
		talk.clients[spec.PrimaryUser].Use(talk.ctx, func() { part.Evaluation = t.evaluate(&part) })
	case large > maxRetained:
		part.Evaluation = t.evaluate(&part)
	}
	if large > maxRetained {
		if t.BeforeTrim != nil {
			t.BeforeTrim(part)
		}
		trimResult(&part)
	}
	talk.releaseMemory()
	return part
}

// releaseMemory gives back the memory that the conversation was granted.
func (t *Conversation) releaseMemory() {
	for _, c := range t.clients { // they share it
		c.ReleaseMemory()
	}
}

// responseSize is how many bytes the answers of a conversation have, and whether any of them has a
// content coding.
func responseSize(t spec.Trace) (n int, coded bool) {
	for _, x := range t.Exchanges {
		n += len(x.Response.Body)
		coded = coded || dialect.HasContentCoding(x.Response)
	}
	return n, coded
}

// trimResult forgets all but the beginnings of a judged conversation's bodies, and of what
// its findings quote.
func trimResult(p *ScenarioResult) {
	p.Trimmed = true
	for i := range p.Trace.Exchanges {
		r := &p.Trace.Exchanges[i].Response
		r.Body = bytes.Clone(r.Body[:min(len(r.Body), maxRetainedBody)])
		r.Arrivals = nil
	}
	for i := range p.summaries {
		o := &p.summaries[i]
		o.bodyPrefix, o.responseText, o.failureText = bytes.Clone(o.bodyPrefix), strings.Clone(o.responseText), strings.Clone(o.failureText)
	}
	for i := range p.Evaluation.Results {
		for k := range p.Evaluation.Results[i].Findings {
			f := &p.Evaluation.Results[i].Findings[k]
			f.Event = trimEvent(f.Event)
		}
	}
}

// trimEvent is what a report needs of an event.
func trimEvent(e spec.Event) spec.Event {
	kept := spec.Event{
		Kind: e.Kind, Exchange: e.Exchange, Operation: e.Operation, Principal: e.Principal, StatusCode: e.StatusCode, MediaType: e.MediaType, Requirement: e.Requirement,
		At: e.At, Frame: e.Frame, Line: e.Line, Offset: e.Offset, Raw: truncateRaw(e.Raw), Err: e.Err,
	}
	if len(e.Violations) == 1 && len(e.Violations[0].Pointer) <= maxRetainedRaw {
		kept.Violations = []spec.Violation{{Pointer: string([]byte(e.Violations[0].Pointer)), Requirement: e.Violations[0].Requirement}}
	}
	return kept
}

// truncateRaw is the beginning of some bytes, with the number of those left out, as a
// report writes it.
func truncateRaw(raw []byte) []byte {
	if len(raw) <= maxRetainedRaw {
		return bytes.Clone(raw)
	}
	n := maxRetainedRaw
	for n > maxRetainedRaw-utf8.UTFMax && !utf8.RuneStart(raw[n]) {
		n--
	}
	return fmt.Appendf(slices.Clone(raw[:n]), " … (%d more bytes)", len(raw)-n)
}

// judgeGrace is how long judging may take once the run was broken off.
const judgeGrace = time.Second

// newJudgeContext is a context in which something is judged after ctx has ended, but not for long.
func newJudgeContext(ctx context.Context) (judge context.Context, stop func()) {
	judge, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	unlink := context.AfterFunc(ctx, func() {
		if _, late := context.Cause(ctx).(runTimeoutError); late { // what there is, is judged
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
