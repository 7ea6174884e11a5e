package dialect

import (
	"fmt"
	"testing"

	"github.com/streamassay/streamassay/spec"
)

// TestDenied checks that the required refusals of a request depend on the reason and on the slots
// of the request, and that the event has the principal of the request.
func TestDenied(t *testing.T) {
	d, err := Open("runs@2026-03") // through the version that it extends
	if err != nil {
		t.Fatal(err)
	}
	said := spec.Event{Thread: "t", Run: "r"}
	for _, c := range []struct {
		phrase, cursor string
		why            spec.DenialReason
		want           string
	}{
		{"prompt", "", spec.DeniedAnonymous, "runs.auth.create-401 [401] false; "},
		{"prompt", "", spec.DeniedStreamLimit, ""},
		{"listen", "", spec.DeniedOtherUser, "runs.auth.events-403 [403] false; runs.auth.plain [] true; "},
		{"listen", "1-0", spec.DeniedOtherUser, "runs.auth.events-403 [403] false; runs.auth.events-403-cursor [403] false; runs.auth.plain [] true; "},
		{"listen", "", spec.DeniedStreamLimit, "runs.stream.limit-429 [429] false; runs.stream.limit-plain [] true; runs.errors.code-sse-limit [] false; "},
		{"cancel", "", spec.DeniedUnknownUser, "runs.auth.bad-token [401] false; "},
		{"history", "", spec.DeniedOtherUser, "runs.auth.more-403 [403 404] false; "},
	} {
		said.Cursor = c.cursor
		r, err := d.BuildRequest(c.phrase, said)
		if err != nil {
			t.Fatal(err)
		}
		r.Principal = spec.OtherUser
		e, got := d.ParseRequest(r), ""
		for _, demand := range e.Facts().Denials[c.why] {
			got += fmt.Sprintf("%s %v %v; ", demand.Requirement, demand.Status, demand.Plain)
		}
		if got != c.want || e.Principal != spec.OtherUser {
			t.Errorf("%s, cursor %q, %s: asked by %q, %s", c.phrase, c.cursor, c.why, e.Principal, got)
		}
		if o := d.Operation(r); !o.RequiresCredentials {
			t.Errorf("%s wants no credentials", o.Name)
		}
	}
}

// TestSecured checks that the documents that require credentials, and only those, specify how
// requests without them are refused.
func TestSecured(t *testing.T) {
	all, err := All()
	if err != nil {
		t.Fatal(err)
	}
	secured := 0
	for _, d := range all {
		if d.RequiresCredentials() != d.HasDenial(spec.DeniedAnonymous) || d.RequiresCredentials() != d.HasDenial(spec.DeniedOtherUser) {
			t.Errorf("%s wants credentials: %v; it says what comes without: %v, to others: %v", d.Name, d.RequiresCredentials(), d.HasDenial(spec.DeniedAnonymous), d.HasDenial(spec.DeniedOtherUser))
		}
		if d.RequiresCredentials() {
			secured++
		}
	}
	if secured != 2 {
		t.Errorf("%d documents want credentials", secured)
	}
}
