package dialect

import (
	"slices"
	"strings"
	"testing"

	"github.com/streamassay/streamassay/spec"
)

// sampleRequestEvent has values for the templates of requests.
var sampleRequestEvent = spec.Event{
	Text: "conformance:text one", Thread: "550e8400-e29b-41d4-a716-446655440000", Run: "r1",
	Name: "paint", Call: "c1", ID: "https://example.com/i1",
}

// variantsOf returns the variants of the request of a template, and its event.
func variantsOf(t *testing.T, d *Dialect, template string) (spec.Event, []ValidRequestVariant) {
	t.Helper()
	r, err := d.BuildRequest(template, sampleRequestEvent)
	if err != nil {
		t.Fatal(err)
	}
	return d.ParseRequest(r), d.ValidVariants(r)
}

// Every variant is valid, asks for the same as the original, and has a form that the original does
// not have, or lacks one that it has.
func TestValidVariantsAreValid(t *testing.T) {
	all, err := All()
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range all {
		name := d.Name
		for _, o := range d.Operations() {
			for _, template := range o.Templates() {
				base, variants := variantsOf(t, d, template)
				seen := map[string]bool{}
				for _, v := range variants {
					e := d.ParseRequest(v.Request)
					if !e.Valid() || e.Text != base.Text || seen[v.Name] {
						t.Errorf("%s %s, %s: violations %v, text %q, seen %v", name, template, v.Name, e.Violations, e.Text, seen[v.Name])
					}
					if seen[v.Name] = true; slices.Equal(e.Facts().Features(), base.Facts().Features()) && !strings.Contains(v.Name, "nknown") {
						t.Errorf("%s %s, %s: has the same forms as the original", name, template, v.Name)
					}
				}
			}
		}
	}
}

func TestValidVariants(t *testing.T) {
	for _, c := range []struct {
		dialect, template string
		has, hasNot       string
		requirement       string // of the form
	}{
		{"runs@2026-04", "prompt", "body /tools is missing", "body /tools is null", "runs.create.tools-optional"},
		{"runs@2026-04", "conversation", "body /messages/4/content is null", "body /messages/3/content is null", "runs.create.assistant-accept"},
		{"runs@2026-04", "named", "body /messages/0/name is missing", "body /messages/0/name is null", "runs.create.user-extras"},
		{"runs@2026-04", "tools", "body /tools/1 is another tool", "body /xUnknownMember is present", "runs.create.tool-def-accept"},
		{"runs@2026-04", "uploaded", "body /messages/0/content/1/id is missing", "body /messages/0/content/1/id is null", "runs.create.binary-accept"},
		{"agentscope@1.1", "prompt", "body /seed is null", "body /stream is null", "agentscope.parameters"},
		{"agentscope@1.1", "prompt", "body /stream is missing", "body /input is missing", "agentscope.stream-default"},
		{"agentscope@0.1", "prompt", "body /input/0/xUnknownMember is present", "body /input/0/content is null", "agentscope.unknown-field"},
		{"agentscope@1.1", "tool-offer", "body /tools/1 is another tool", "", "agentscope.tool-offer"},
		{"agentscope-java@0.1", "full", "body /topP is missing", "body /stream is null", "agentscope-java.req.parameters"},
		{"agentscope-java@1.0", "prompt", "body /temperature is null", "body /input/0/content is missing", "agentscope-java.req.parameters"},
		{"agkit@0.0.10", "prompt", "body /xUnknownMember is present", "body /messages is null", "agkit.error.unknown-fields"},
	} {
		d, err := Open(c.dialect)
		if err != nil {
			t.Fatal(err)
		}
		base, variants := variantsOf(t, d, c.template)
		named := func(name string) int {
			return slices.IndexFunc(variants, func(v ValidRequestVariant) bool { return v.Name == name })
		}
		if c.hasNot != "" && named(c.hasNot) >= 0 {
			t.Errorf("%s %s: has the variant %s", c.dialect, c.template, c.hasNot)
		}
		i := named(c.has)
		if i < 0 {
			t.Errorf("%s %s: lacks the variant %s", c.dialect, c.template, c.has)
			continue
		}
		forms := d.ParseRequest(variants[i].Request).Facts().Features()
		forms = slices.DeleteFunc(forms, func(f spec.RequestFeature) bool { return f.IsValue || slices.Contains(base.Facts().Features(), f) })
		if len(forms) != 1 || forms[0].Requirement != c.requirement {
			t.Errorf("%s %s, %s: has the new forms %v; want one with %s", c.dialect, c.template, c.has, forms, c.requirement)
		}
	}
}
