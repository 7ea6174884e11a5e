package mutation

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/streamassay/streamassay/spec/dialect"
)

// A defectClass is a class of defects that a single simple conversation does not reveal,
// because they occur only for certain requests, in certain states or at certain times.
type defectClass struct {
	name, doc string   // shown in the report; doc says what goes wrong
	mutants   []string // globs that match the names of the mutants with such a defect
	// otherwise is the reason why some dialects have no mutant of the class. The report shows it
	// for these dialects. It is "" if every dialect has such a mutant.
	otherwise string
}

// defectClasses lists the classes of defects in the order in which the report shows them.
var defectClasses = []defectClass{
	{name: "payload", doc: "values with white space, escapes, nulls or rare characters are changed", mutants: []string{
		"text-trimmed", "text-crlf-normalized", "error-message-html-escaped", "client-tool-result-trimmed",
		"resume-answer-trimmed", "text-after-reasoning-trimmed", "client-call-null-arguments-dropped",
		"interrupt-null-members-dropped", "tool-call-null-arguments-dropped", "client-tool-empty-result-null",
		"recall-white-space-collapsed", "history-assistant-text-trimmed", "history-user-white-space-collapsed",
		"history-user-text-html-escaped",
	}},
	{name: "memory", doc: "what was said before is recalled wrongly after other kinds of turns", mutants: []string{
		"recall-repeats-first-message", "recall-skips-tool-calls", "recall-crosses-threads", "recall-finds-nothing",
		"thread-locked-after-failure",
	}},
	{name: "freshness", doc: "the second answer or id is that of the first", mutants: []string{
		"second-text-repeats-first", "second-tool-call-repeats-first", "second-client-call-repeats-first",
		"second-interrupt-repeats-first", "second-error-repeats-first", "second-client-result-repeats-first",
		"second-resume-answer-repeats-first", "message-ids-*", "run-id-same-for-all", "run-ids-only-sixteen",
		"history-user-messages-twice", "history-assistant-messages-twice",
	}},
	{name: "isolation", doc: "similar or concurrent threads, runs and calls are mixed up", mutants: []string{
		"history-threads-mixed", "history-short-threads-mixed", "thread-id-last-character-ignored",
		"thread-id-first-character-ignored", "thread-id-case-ignored", "thread-id-cut-at-slash",
		"thread-id-43-characters", "run-id-case-ignored", "run-id-40-characters", "run-of-other-thread", "cancels-*",
		"client-tool-result-one-pending", "resume-answer-one-pending", "concurrent-texts-swapped",
		"run-end-ends-other-streams", "canceled-run-ends-other-streams", "idle-limit-ends-other-streams",
		"created-thread-id-same",
	}},
	{name: "valid forms of requests", doc: "a request in another valid form is refused", mutants: []string{
		"refuses-*", "*.null-refused", "*.absence-refused", "*.unknown-refused",
	}},
	{name: "ends of ranges", doc: "values at or beyond the end of a range are treated wrongly", mutants: []string{
		"*-limit-in-bytes", "idle-limit-ignored", "idle-limit-misread", "idle-limit-cancels-run",
		"idle-limit-cumulative", "longest-run-*", "history-leap-day-refused", "history-other-century-refused",
	}, otherwise: "the document states no range whose ends a request can have"},
	{name: "forms of violations", doc: "an invalid request is accepted, in one of its forms", mutants: []string{"*.accepted", "*.*-accepted"}},
	{name: "state of the run", doc: "a request is treated wrongly while a run goes on, or after its end", mutants: []string{
		"malformed-cursor-accepted-while-active", "earlier-cursor-refused-while-active",
		"late-cancel-terminal-event-twice", "second-cancel-terminal-event-twice",
		"resumed-again-first-event-missing", "resumed-again-empty", "streams-counted-until-run-ends",
		"failed-replay-terminal-event-twice", "ended-replay-empty", "late-cancel-status-500",
	}, otherwise: "a run has one stream, which answers the request that starts it"},
	{name: "end of the stream", doc: "a body stays open when the run has ended", mutants: []string{
		"body-unended-after-run", "body-unended-after-failure", "comments-after-terminal-event",
		"body-open-after-client-call", "body-open-after-failure", "body-open-after-cancel",
	}},
	{name: "requested times", doc: "events come earlier than the prompt asks for", mutants: []string{
		"idle-time-halved", "idle-text-too-early", "slow-deltas-in-burst", "slow-deltas-in-pairs",
		"slow-deltas-one-behind", "slow-deltas-short-pauses", "events-held-until-end",
	}},
	{name: "completed values", doc: "a completed value is only a part of its deltas", mutants: []string{
		"completed-text-differs", "completed-text-empty", "completed-text-end-only", "completed-text-start-only",
	}, otherwise: "no completed value follows deltas"},
	{name: "refusals", doc: "a refusal is a stream, or has another form than those of other operations", mutants: []string{
		"refusals-as-stream", "refusals-labeled-as-stream", "history-refusals-other-type",
		"cancel-refusals-without-code",
	}},
	{name: "empty histories", doc: "a user without threads gets a history that is not empty", mutants: []string{
		"empty-history-has-more", "empty-history-has-day",
	}, otherwise: "no operation returns histories"},
	{name: "additions", doc: "an event precedes the first one, or a history has what nobody sent", mutants: []string{
		"run-start-late", "history-extra-first-message", "history-system-as-user", "history-images-for-all",
		"history-first-message-image", "history-image-links-broken", "history-image-links-unsigned",
	}, otherwise: "neither a first event nor histories are documented"},
}

// applicableTo returns how many of the given mutants belong to class c and apply to dialect d.
func (c defectClass) applicableTo(d *dialect.Dialect, mutants []*Mutant) (n int) {
	for _, m := range mutants {
		if matchesAny(c.mutants, m.Name) && m.AppliesTo(d) {
			n++
		}
	}
	return n
}

// writeClasses appends to b a section with a table of the classes of defects, in Markdown. The
// table has a row for each class and a column for each dialect. A cell contains the number of
// mutants of the class that apply to the dialect or, if that is 0, the reason why there are none.
func (r *Report) writeClasses(b *bytes.Buffer) {
	fmt.Fprint(b, "\n## Classes of defects\n\n"+
		"Defects that one plain conversation does not show. For each dialect, the number of mutants that have one,\n"+
		"or the reason why there are none.\n\n| class |")
	for _, d := range r.Dialects {
		fmt.Fprintf(b, " %s |", d.Name)
	}
	fmt.Fprintf(b, "\n|---|%s\n", strings.Repeat("---|", len(r.Dialects)))
	for _, c := range defectClasses {
		fmt.Fprintf(b, "| **%s**: %s |", c.name, c.doc)
		for _, d := range r.Dialects {
			cell := c.otherwise
			if n := c.applicableTo(d, r.Mutants); n > 0 {
				cell = fmt.Sprint(n)
			}
			fmt.Fprintf(b, " %s |", cell)
		}
		fmt.Fprintln(b)
	}
}
