package dialect

import (
	"slices"
	"testing"
)

// Forms of invalid requests that a server may fail to notice although it refuses others.
func TestInvalidRequestForms(t *testing.T) {
	for _, c := range []struct{ dialect, template, has, hasNot string }{
		{"runs@2026-04", "tools", "body /tools/1/name is missing after a valid item", "body /tools/2/name is missing after a valid item"},
		{"runs@2026-04", "blocks", "body /messages/0/content/1/text is missing after a valid item", "body /messages/1/id is missing after a valid item"},
		{"runs@2026-04", "prompt", "body /forwardedProps/runtime_mode is null", "header Content-Type is application/xml"}, // no requirement is broken by accepting it
		{"agentscope@1.1", "prompt", "method is GET", "body /input/0/role is null"},                                       // null is allowed
		{"agentscope-java@0.1", "prompt", "header Content-Type is application/xml", "body /input/0/role is null"},
		{"agentscope@1.1", "prompt", "body /input is {}", "body /session_id is {}"},
		{"agentscope@1.1", "prompt", "body /input is its item instead of a list", "body /input/0 is its item instead of a list"},
		{"agentscope@1.1", "full", "body /n is 105", "body /n is 100"},
		{"agentscope@1.1", "full", "body /n is -99", "body /seed is -99"},
		{"agentscope@0.1", "prompt", "body /input/0/role is of type integer", "body /input/0/role is of type null"},
		{"agkit@0.0.10", "tool-offer", "body /tools/1 is a number after a valid item", "header Content-Type is application/xml"},
		{"agkit@0.0.10", "prompt", "body has a comment", "body /conversationId is true"}, // further wrong types are made only where they are wanted
		{"agkit@0.0.10", "prompt", "body is not UTF-8", "body is NaN"},
		{"agkit@0.0.10", "prompt", `body /messages/0/role is "developer"`, `body /messages/0/role is "system"`},
		{"agui@1.0", "prompt", "body has single quotes", "body is not UTF-8"}, // the document does not say so
		{"agentscope-java@0.1", "prompt", `body /input/1/role is "alien" after a valid item`, `body /input/0/role is "USER"`},
		{"runs@2026-04", "prompt", "body has too many bytes in fewer characters", "body has 250000 bytes"},
	} {
		d, err := Open(c.dialect)
		if err != nil {
			t.Fatal(err)
		}
		r, err := d.BuildRequest(c.template, sampleRequestEvent)
		if err != nil {
			t.Fatal(err)
		}
		list := d.InvalidRequests(r)
		has := func(name string) bool {
			return slices.ContainsFunc(list, func(m InvalidRequest) bool { return m.Name == name })
		}
		if !has(c.has) || has(c.hasNot) {
			t.Errorf("%s %s: has %q: %v, want true; has %q: %v, want false",
				c.dialect, c.template, c.has, has(c.has), c.hasNot, has(c.hasNot))
		}
		for _, m := range list {
			if len(d.ValidateRequest(m.Request)) == 0 || len(d.ValidateRequest(m.Valid)) > 0 {
				t.Errorf("%s %s, %s: is valid, or its counterpart is not", c.dialect, c.template, m.Name)
			}
		}
	}
}
