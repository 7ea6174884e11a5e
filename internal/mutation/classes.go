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
		"text-trimmed", "line-ends-normalized", "errors-escaped", "results-trimmed", "resume-trimmed", "reasoned-text-trimmed", "*-nulls-dropped",
		"nulls-dropped", "empty-result-unheard", "recall-squeezed", "answer-trimmed", "user-squeezed", "user-escaped",
	}},
	{name: "memory", doc: "what was said before is recalled wrongly after other kinds of turns", mutants: []string{
		"recalls-the-first", "recall-passes-over-tools", "remembers-others", "forgets", "locked-after-a-failure",
	}},
	{name: "freshness", doc: "the second answer or id is that of the first", mutants: []string{
		"second-*-is-the-first", "message-ids-*", "one-run-id", "few-run-ids", "*-told-twice",
	}},
	{name: "isolation", doc: "similar or concurrent threads, runs and calls are mixed up", mutants: []string{
		"threads-*", "runs-*", "run-of-another-thread", "cancels-*", "one-*-pending", "crossed-in-a-crowd", "ends-with-*", "one-thread-for-the-nameless",
	}},
	{name: "valid forms of requests", doc: "a request in another valid form is refused", mutants: []string{
		"refuses-*", "*.null-refused", "*.absence-refused", "*.unknown-refused",
	}},
	{name: "ends of ranges", doc: "values at or beyond the end of a range are treated wrongly", mutants: []string{
		"*-limit-in-bytes", "idle-limit-*", "longest-run-*", "leap-day-refused", "far-days-refused",
	}, otherwise: "the document states no range whose ends a request can have"},
	{name: "forms of violations", doc: "an invalid request is accepted, in one of its forms", mutants: []string{"*.accepted", "*-accepted"}},
	{name: "state of the run", doc: "a request is treated wrongly while a run goes on, or after its end", mutants: []string{
		"*-while-live", "canceled-after-its-end", "canceled-once-each", "resumed-twice-*", "streams-never-freed",
		"*-when-read-again", "late-stop-fails",
	}, otherwise: "a run has one stream, which answers the request that starts it"},
	{name: "end of the stream", doc: "a body stays open when the run has ended", mutants: []string{
		"lingers", "lingers-when-failed", "comments-after-the-end", "open-after-*",
	}},
	{name: "requested times", doc: "events come earlier than the prompt asks for", mutants: []string{
		"idle-half-the-time", "idle-not-at-all", "slow-*", "all-at-the-end",
	}},
	{name: "completed values", doc: "a completed value is only a part of its deltas", mutants: []string{"whole-is-*"}, otherwise: "no completed value follows deltas"},
	{name: "refusals", doc: "a refusal is a stream, or has another form than those of other operations", mutants: []string{
		"streams-refusals", "labels-refusals-as-streams", "history-refusals-as-json", "cancel-denials-without-code",
	}},
	{name: "empty histories", doc: "a user without threads gets a history that is not empty", mutants: []string{
		"none-has-more", "none-has-day",
	}, otherwise: "no operation returns histories"},
	{name: "additions", doc: "an event precedes the first one, or a history has what nobody sent", mutants: []string{
		"opening-late", "greets-in-history", "history-says-the-system", "images-for-all", "history-starts-with-an-image",
		"history-links-*",
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
