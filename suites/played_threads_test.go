package suites

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/streamassay/streamassay/internal/rules"
	"github.com/streamassay/streamassay/reference"
	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
)

// startTarget serves h and returns a scripted target for it.
func startTarget(t *testing.T, d *dialect.Dialect, h http.Handler) Target {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	base, err := url.Parse(srv.URL + d.Base)
	if err != nil {
		t.Fatal(err)
	}
	return Target{Dialect: d, Base: base, ClaimedCapabilities: []string{"scripted"}, Seed: 1, Salt: 1}
}

// TestRunConcurrently checks that an action which starts runs on two threads stores both of them.
func TestRunConcurrently(t *testing.T) {
	for _, name := range []string{"runs", "agkit"} { // the second has no listen requests
		d, err := dialect.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		target := startTarget(t, d, reference.New(d, reference.Scripted, reference.Config{}))
		target.Only = []string{"one-action"}
		target.Scenarios = []Scenario{{Name: "one-action", Doc: "one action of a sequence", Templates: promptTemplates, Run: func(c *Conversation) {
			a := newSequencePlayer(c)
			a.runConcurrently(action{number: 1})
			for i, thread := range a.threads[1:] {
				if !a.hasRun(thread) {
					t.Errorf("%s: thread %d has no run, want one", name, i+1)
				}
			}
		}}}
		if _, err := Run(t.Context(), target, nil); err != nil {
			t.Fatal(err)
		}
	}
}

// repeating is a document whose requests repeat the history of their thread, which the server also
// keeps.
const repeating = `openapi: 3.2.0
info: {title: Repeating, version: "1"}
paths:
  /run:
    post:
      summary: says something, and streams the answer
      x-stream:
        sentinel: "[DONE]"
        requirements: {status: repeating.status}
      requestBody:
        required: true
        content:
          application/json:
            schema:
              type: object
              required: [thread, messages]
              properties:
                thread: {type: string, x-slot: thread}
                loud: {type: boolean}
                messages:
                  type: array
                  x-parts: true
                  items:
                    oneOf:
                      - {$ref: "#/components/schemas/User"}
                      - {$ref: "#/components/schemas/Assistant"}
              example: {thread: t, messages: [{role: user, content: hi}]}
            examples:
              prompt: {value: {thread: "{{thread}}", messages: ["{{history}}", {role: user, content: "{{text}}"}]}}
              loud: {value: {thread: "{{thread}}", loud: true, messages: ["{{history}}", {role: user, content: "{{text}}"}]}}
      responses:
        "200":
          description: the answer
          content:
            text/event-stream:
              itemSchema:
                x-requirement: repeating.event
                oneOf:
                  - $ref: "#/components/schemas/Delta"
              example: |+
                data: {"type":"delta","text":"a"}

                data: [DONE]

  /history:
    get:
      summary: returns the messages of a thread
      x-says: history
      parameters:
        - {name: thread, in: query, required: true, x-slot: thread, schema: {type: string}}
      responses:
        "200":
          description: the messages
          content: {application/json: {schema: {$ref: "#/components/schemas/Told"}}}
components:
  schemas:
    User:
      x-kind: ask.user
      type: object
      required: [role, content]
      properties:
        role: {enum: [user]}
        content: {type: string, x-slot: text}
    Assistant:
      x-kind: ask.assistant
      type: object
      required: [role, content]
      properties:
        role: {enum: [assistant]}
        content: {type: string, x-slot: text}
    Delta:
      x-kind: message.delta
      type: object
      required: [type, text]
      properties:
        type: {enum: [delta]}
        text: {type: string, x-slot: text}
    Told:
      x-kind: history
      x-requirement: repeating.history
      type: object
      required: [thread]
      properties:
        thread: {type: string, x-slot: thread}
      example: {thread: t}
`

const repeatingRequirements = `- id: repeating.status
  level: MUST
  quote: A valid request is answered with status 200.
  source: 'derived: the test'
  checks: [wire.opens-stream]
- id: repeating.event
  level: MUST
  quote: Each event is a delta.
  source: 'derived: the test'
  checks: [wire.matches-schema]
- id: repeating.history
  level: MUST
  quote: The history names its thread.
  source: 'derived: the test'
  checks: [wire.matches-schema]
`

// TestFormsRequestHistories checks that the forms scenario requests the history of each thread in
// which it has sent a prompt, and of no other, if each prompt has a new thread.
func TestFormsRequestHistories(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"repeating.yaml": repeating, "repeating.requirements.yaml": repeatingRequirements} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	d, err := dialect.OpenFile(filepath.Join(dir, "repeating.yaml"), rules.All)
	if err != nil {
		t.Fatal(err)
	}
	target := startTarget(t, d, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/history") {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"thread":%q}`, r.FormValue("thread"))
			return
		}
		w.Header().Set("Content-Type", spec.EventStream)
		fmt.Fprint(w, "data: {\"type\":\"delta\",\"text\":\"a\"}\n\ndata: [DONE]\n\n")
	}))
	target.Only, target.Deep = []string{"forms"}, true
	parts, err := Run(t.Context(), target, nil)
	if err != nil {
		t.Fatal(err)
	}
	var prompted, requested []string
	for _, p := range parts {
		for _, x := range p.Trace.Exchanges {
			switch r := d.ParseRequest(x.Request); {
			case x.Request.Method == "POST" && p.Scenario.Name == "forms":
				prompted = append(prompted, r.Thread)
			case x.Request.Method == "GET":
				requested = append(requested, r.Thread)
			}
		}
	}
	slices.Sort(prompted)
	slices.Sort(requested)
	if requested = slices.Compact(requested); len(prompted) < 2 || !slices.Equal(prompted, requested) {
		t.Errorf("the histories of %q were requested, want those of %q", requested, prompted)
	}
}
