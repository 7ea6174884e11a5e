package dialect

import (
	"testing"

	"github.com/streamassay/streamassay/spec"
)

// TestUseEndpoint says which paths of recorded requests are that of the endpoint: those at which a
// valid request succeeded or a run started, in any of the recordings.
func TestUseEndpoint(t *testing.T) {
	d, err := Open("agui@1.0")
	if err != nil {
		t.Fatal(err)
	}
	prompt, err := d.BuildRequest("prompt", spec.Event{Thread: "t", Run: "r", Text: "Hello."})
	if err != nil {
		t.Fatal(err)
	}
	ask := func(target, body string, status int) spec.Exchange {
		r := prompt
		r.Target, r.Body = target, []byte(body)
		return spec.Exchange{Request: r, Response: spec.Response{Status: status}}
	}
	valid := string(prompt.Body)
	first := spec.Trace{Exchanges: []spec.Exchange{ask("/agui", "{}", 422), ask("/other", "{}", 200), ask("/slash/", valid, 307)}}
	second := spec.Trace{Exchanges: []spec.Exchange{ask("/agui?x=1", valid, 200)}}
	d.UseEndpoint(&first, &second)
	for i, want := range []string{"/", "/other", "/slash/"} {
		if got := first.Exchanges[i].Request.Target; got != want {
			t.Errorf("the target of request %d is %s, want %s", i, got, want)
		}
	}
	if got := d.AtEndpoint(second.Exchanges[0].Request).Target; got != "?x=1" {
		t.Errorf("the target appended to the endpoint is %q, want ?x=1", got)
	}
	if d.Base != "/agent" {
		t.Errorf("embedded servers have it at %s, want /agent", d.Base)
	}
}
