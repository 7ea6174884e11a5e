package journal

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/streamassay/streamassay/spec"
)

func TestNoSecretIsKept(t *testing.T) {
	const canary = `canary/"<42>&secret`
	inJSON, _ := json.Marshal(canary)
	plain := strings.Trim(strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(string(inJSON)), `"`)
	for name, field := range map[string]spec.HeaderField{
		"bearer": {Name: "authorization", Value: "Bearer " + canary},
		"basic":  {Name: "Authorization", Value: "Basic " + base64.StdEncoding.EncodeToString([]byte("ada:"+canary))},
		"cookie": {Name: "Cookie", Value: "theme=dark; sid=" + canary},
		"key":    {Name: "X-Api-Key", Value: canary},
		"ours":   {Name: "X-Ours", Value: canary},
	} {
		t.Run(name, func(t *testing.T) {
			j := made(Config{Secrets: []string{"x-ours"}, Body: 4000})
			events := j.Subscribe(t.Context())
			o := runStart("", `{"text":`+string(inJSON)+`}`)
			o.Request.Target = "/runs?access_token=canary%2F%22%3C42%3E%26secret&again=canary%2F%22%3C42%3E%26secret"
			o.Request.Header = append(o.Request.Header, field, spec.HeaderField{Name: "Referer", Value: "http://x/" + canary})
			e := j.Open(o)
			e.Parsed("POST /runs", &spec.Event{Thread: "t-" + canary, Violations: []spec.Violation{{Location: "body /text", Message: canary + " is wrong"}},
				Parts: []spec.Event{{Kind: spec.InputToolResult, Call: canary}}})
			e.Matched("", []RuleMismatch{{"a", "the text is " + canary}})
			e.HeadSent(200, http.Header{"Content-Type": {"text/event-stream"}, "Set-Cookie": {"id=other-canary; Path=/"}, "X-Echo": {canary}})
			e.BytesSent(0, []byte("data: "+plain[:9]))
			e.BytesSent(0, []byte(plain[9:]+" "+canary+"\n\n"))
			e.FaultApplied("cut " + canary)
			look := func(when string) {
				t.Helper()
				var b bytes.Buffer
				_ = j.Export(&b, Filter{})
				_ = Expectations{}.Conclude(j).WriteJSON(&b)
				b.WriteString(Expectations{}.Conclude(j).Text())
				for len(events) > 0 {
					line, _ := json.Marshal(<-events)
					b.Write(append(line, '\n'))
				}
				for _, part := range []string{"canary", "42", "secret"} {
					if i := strings.Index(b.String(), part); i >= 0 {
						t.Errorf("%s: %q stands in the outputs: %s", when, part, b.String()[max(0, i-80):min(i+80, b.Len())])
					}
				}
			}
			look("while it goes on")
			e.BytesSent(0, []byte("data: {\"cookie\":\"other-canary\"}\n\n"))
			e.Close(Complete)
			look("at the end")
			for _, kept := range [][]byte{j.entries[0].sentBytes, j.entries[0].body} {
				if bytes.Contains(kept, []byte("canary")) {
					t.Errorf("in memory stands %s", kept)
				}
			}
		})
	}
}

// TestSecretsInLocation checks that secret parameters of URLs in the header of a response are
// redacted by their names, and their values in the body.
func TestSecretsInLocation(t *testing.T) {
	j := made(Config{Secrets: []string{"pin"}})
	e := j.Open(runStart("", ""))
	e.HeadSent(302, http.Header{
		"Location":         {"https://ada:canary@host.example/x?a=1&token=canary-1&pin=42"},
		"Content-Location": {"/x?pin=43&b=2"},
	})
	e.BytesSent(0, []byte("see https://host.example/x?token=canary-1"))
	e.Close(Complete)
	r, _ := j.Get(1)
	text, _ := json.Marshal(r)
	for _, secret := range []string{"canary", "42", "43"} {
		if strings.Contains(string(text), secret) {
			t.Errorf("%q stands in %s", secret, text)
		}
	}
	want := []HeaderField{
		{"Content-Location", "/x?pin=REDACTED&b=2"},
		{"Location", "https://REDACTED@host.example/x?a=1&token=REDACTED&pin=REDACTED"},
	}
	if !slices.Equal(r.Header, want) {
		t.Errorf("header %v, want %v", r.Header, want)
	}
}
