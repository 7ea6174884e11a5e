package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/streamassay/streamassay/spec/dialect"
	"github.com/streamassay/streamassay/spec/rules"
)

// unprovoked are the requirements about refusals that no request with a fault is made
// for, and why.
var unprovoked = map[string]string{}

// Every requirement about refusals shows the request that provokes it, and its twin.
func TestExplainRefusals(t *testing.T) {
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

// A quote stands in quotation marks and is rendered in English; a sentence of this
// project stands without them.
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

// faultsIn counts the requests with one fault for each requirement that they are about.
func faultsIn(d *dialect.Dialect) map[string]int {
	n := map[string]int{}
	for _, o := range d.Operations() {
		known := &dialect.InvalidRequestSet{}
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
