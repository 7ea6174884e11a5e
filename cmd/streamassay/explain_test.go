package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/streamassay/streamassay/internal/rules"
	"github.com/streamassay/streamassay/spec/dialect"
)

// unprovoked maps each requirement about refusals for which no invalid request can be built to the
// reason for that.
var unprovoked = map[string]string{
	"agui.input.snake-case": "a name in snake_case takes the place of another, which is then missing",
	"agui.input.null":       "nulls are only sent where they must be refused",
}

// TestExplainRefusals checks that invalid requests can be built for every requirement about
// refusals, and that explain shows an invalid request with the corresponding valid one.
func TestExplainRefusals(t *testing.T) {
	t.Parallel()
	dialects, err := dialect.All()
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range dialects {
		known := faultsIn(d)
		for _, r := range d.Requirements {
			if !slices.Contains(r.Checks, rules.RefusesAsDocumented.ID) {
				continue
			}
			if n := known[r.ID]; (n == 0) != (unprovoked[r.ID] != "") {
				t.Errorf("%s %s: %d requests, and the reason for none is %q", d.Name, r.ID, n, unprovoked[r.ID])
			}
		}
	}
	d, err := dialect.Open("runs@2026-04")
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if !explain(&out, "runs.create.thread-uuid", []*dialect.Dialect{d}) {
		t.Fatal("it is not explained")
	}
	for _, want := range []string{`body /threadId is "%%wrong%%"`, "422", `"threadId":"%%wrong%%"`, `"$BASE"'/runs'`, "the same request without the fault"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %s in\n%s", want, out.String())
		}
	}
}

// TestExplainDemand checks that explain prints a quotation in quotation marks, with its English
// translation, and a summary by this project without them.
func TestExplainDemand(t *testing.T) {
	d, err := dialect.Open("agentscope@1.1")
	if err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]string{
		"agentscope.index-present": "SHOULD  “每个片段包含指向目标内容槽的 index”" +
			" (in English: “Each fragment contains an index that points to the target content slot”)\n",
		"agentscope.n-range": "MUST  “n: Optional[int] = Field(default=1, ge=1, le=5)”\n",
		"agentscope.utf-8":   "MUST  JSON and event streams are encoded in UTF-8.\n",
	} {
		var out strings.Builder
		if !explain(&out, id, []*dialect.Dialect{d}) || !strings.Contains(out.String(), want) {
			t.Errorf("%s: no %s in\n%s", id, want, out.String())
		}
	}
}

// TestExplainCheck checks that explain names the requirements of a check in the given dialects or,
// if they have none, the dialects that do.
func TestExplainCheck(t *testing.T) {
	for name, want := range map[string]string{
		"runs@2026-04": "required by:\n    MUST    runs@2026-04  runs.stream.one-terminal\n",
		"agkit@0.0.10": "no requirement of agkit@0.0.10 needs it; it is required by agentscope-java@0.1, ",
	} {
		d, err := dialect.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		if !explain(&out, "run.ends-once", []*dialect.Dialect{d}) || !strings.Contains(out.String(), want) {
			t.Errorf("%s: no %s in\n%s", name, want, out.String())
		}
	}
}

// faultsIn returns, for each requirement about refusals, how many invalid requests of dialect d
// violate a single constraint that the requirement refers to.
func faultsIn(d *dialect.Dialect) map[string]int {
	n := map[string]int{}
	for _, o := range d.Operations() {
		known := &dialect.DerivedInvalidRequests{}
		for _, phrase := range o.TemplatesBySimplicity() {
			r, err := d.BuildRequest(phrase, sampleEvent)
			if err != nil {
				continue
			}
			for _, m := range d.UnseenInvalidRequests(r, known) {
				if broken := d.ValidateRequest(m.Request); len(broken) == 1 {
					for _, demand := range broken[0].Refusals {
						n[demand.Requirement]++
					}
				}
			}
		}
	}
	return n
}
