package reference

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/streamassay/streamassay/internal/files"
	"github.com/streamassay/streamassay/internal/files/blob"
	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
)

// TestRefusals checks that every request that violates the document in one place is refused as
// documented, and that the corresponding valid request is accepted.
func TestRefusals(t *testing.T) {
	each(t, func(t *testing.T, d *dialect.Dialect) {
		k := newTestClient(t, d, Scripted, Config{})
		defer k.close()
		n := 0
		for _, o := range d.Operations() {
			known := &dialect.DerivedInvalidRequests{KeepVariant: func() bool { return true }}
			for _, phrase := range o.TemplatesBySimplicity() {
				e := spec.Event{Run: "run-1", Text: "hi", Name: "paint", Call: "c", ID: "i"}
				switch phrase {
				case "sign":
					f := k.upload()
					e.Name, e.ID = o.FixedText(spec.AttachmentSigned, "name"), f.Path
				case "uploaded":
					e.ID = k.s.cfg.Files.Link("http://127.0.0.1/files", k.upload())
				}
				req := k.messageRequest(phrase, e)
				if _, listens := d.TemplateOperation("listen"); listens {
					k.sendPrompt("prompt", spec.Event{Run: "run-1", Text: "hi"})
				}
				for _, m := range d.UnseenInvalidRequests(req, known) {
					n++
					k.checkRefused(phrase+": "+m.Name, m)
				}
			}
		}
		if n < 5 {
			t.Errorf("only %d requests were tried", n)
		}
	})
}

// upload stores an image of the client's user.
func (k *testClient) upload() files.File {
	k.Helper()
	f, err := k.s.cfg.Files.Put(k.Context(), files.NewFile{Owner: k.user, Name: "x.png", Type: "image/png", Data: []byte("\x89PNG\r\n\x1a\n")})
	if err != nil {
		k.Fatal(err)
	}
	return f
}

// checkRefused checks that the server refuses m.Request as documented for one of its violations,
// and accepts m.Valid.
func (k *testClient) checkRefused(name string, m dialect.InvalidRequest) {
	k.Helper()
	p := k.do(m.Request)
	var wrong []string
	for _, broken := range k.d.ValidateRequest(m.Request) {
		faults := p.differences(broken.Refusals)
		if len(faults) == 0 {
			wrong = nil
			break
		}
		wrong = append(wrong, faults...)
	}
	if len(wrong) > 0 || p.status < 400 {
		k.Errorf("%s: %d %s: %s", name, p.status, p.bytes(), strings.Join(wrong, "; "))
	}
	if twin := k.do(m.Valid); twin.status/100 != 2 {
		k.Errorf("the twin of %s: %d %s", name, twin.status, twin.bytes())
	}
}

// differences returns how a response differs from a documented refusal, or nil if it does not.
func (p *recordedResponse) differences(demands []spec.RefusalRequirement) (wrong []string) {
	body := string(p.bytes())
	for _, demand := range demands {
		fits := slices.ContainsFunc(demand.Status, func(want string) bool {
			return want == strconv.Itoa(p.status) || strings.EqualFold(want, strconv.Itoa(p.status/100)+"XX")
		})
		if len(demand.Status) > 0 && !fits {
			wrong = append(wrong, fmt.Sprint("want ", demand.Status))
		}
		if len(demand.Code) > 0 && !slices.ContainsFunc(demand.Code, func(c string) bool { return strings.Contains(body, strconv.Quote(c)) }) {
			wrong = append(wrong, fmt.Sprint("no code of ", demand.Code))
		}
		if !strings.Contains(body, demand.Text) {
			wrong = append(wrong, fmt.Sprintf("no %q", demand.Text))
		}
	}
	return wrong
}

// TestProblems checks the status, the media type and the body of refusals.
func TestProblems(t *testing.T) {
	ask := func(method, target, body string) spec.Request {
		return spec.Request{Method: method, Target: target, Header: spec.Header{{Name: "Content-Type", Value: "application/json"}}, Body: []byte(body)}
	}
	for _, c := range []struct {
		dialect      string
		req          spec.Request
		status       int
		media, holds string
	}{
		{"runs@2026-04", ask("POST", "/runs", `{"threadId":"x"}`), 422, "application/problem+json", `"code":"AGENT_RUN_INPUT_INVALID"`},
		{"runs@2026-04", ask("POST", "/runs", `[`), 422, "application/problem+json", `"status":422`},
		{"runs@2026-04", ask("GET", "/nowhere", ""), 404, "application/problem+json", `"status":404`},
		{"runs@2026-04", ask("GET", "/runs/x/events", ""), 422, "application/problem+json", `"code":"AGENT_INVALID_RUN_ID"`},
		{"runs@2026-04", ask("GET", "/runs/x/events?runId=r&idle_limit=0", ""), 422, "application/problem+json", `"code":"AGENT_INVALID_IDLE_LIMIT"`},
		{"runs@2026-04", ask("GET", "/history?threadId=x", ""), 404, "application/problem+json", `"status":404`},
		{"agentscope@1.1", ask("POST", "/process", `{"input":5}`), 422, "application/json", `{"detail":"\"input\" is 5: expected an array"}`},
		{"agentscope@1.1", ask("POST", "/elsewhere", `{}`), 404, "application/json", `{"detail":"`},
		{"agkit@0.0.10", ask("POST", "/send-message", `null`), 422, "application/json", `{"detail":"`},
		{"agkit@0.0.10", ask("PUT", "/healthz", ``), 405, "application/json", `{"detail":"`},
		{"agentscope-java@1.0", ask("POST", "/process", `nonsense`), 400, "application/json", `"error":"Bad Request"`},
		{"agentscope-java@1.0", ask("DELETE", "/process", ``), 405, "application/json", `"error":"Method Not Allowed"`},
	} {
		t.Run(c.dialect+" "+c.req.Method+" "+c.req.Target, func(t *testing.T) {
			k := newTestClient(t, mustDialect(t, c.dialect), Scripted, Config{})
			defer k.close()
			p := k.do(c.req)
			if p.status != c.status || p.header.Get("Content-Type") != c.media || !strings.Contains(string(p.bytes()), c.holds) {
				t.Errorf("%d %v %s", p.status, p.header, p.bytes())
			}
		})
	}
}

func TestMethods(t *testing.T) {
	for _, c := range []struct {
		dialect, method, target string
		status                  int
		allow                   string
	}{
		{"agentscope@1.1", "GET", "/process", 405, "POST"},
		{"agentscope@1.1", "HEAD", "/process", 405, "POST"},
		{"agentscope@1.1", "OPTIONS", "/process", 204, "POST"},
		{"agentscope@1.1", "POST", "/health", 405, "GET, HEAD"},
		{"agentscope@1.1", "HEAD", "/health", 200, ""},
		{"agentscope@1.1", "OPTIONS", "/nowhere", 404, ""},
		{"runs@2026-04", "POST", "/runs/x/events", 405, "GET, HEAD"},
		{"runs@2026-04", "BREW", "/runs", 405, "POST"},
		{"agkit@0.0.10", "PATCH", "/send-message", 405, "POST"},
	} {
		k := newTestClient(t, mustDialect(t, c.dialect), Scripted, Config{})
		p := k.do(spec.Request{Method: c.method, Target: c.target})
		if p.status != c.status || p.header.Get("Allow") != c.allow {
			t.Errorf("%s %s: %d, Allow %q", c.method, c.target, p.status, p.header.Get("Allow"))
		}
		k.close()
	}
}

func TestHealth(t *testing.T) {
	for name, wants := range map[string]map[string]string{
		"agentscope@1.1":      {"/health": `{"mode":"daemon_thread","runner":"ready","status":"healthy"}`, "/": `"service":"AgentScope Runtime"`},
		"agentscope@0.1":      {"/health": `"status":"healthy"`, "/readiness": `"success"`, "/liveness": `"success"`, "/": `{"message":"Agent Service is running"}`},
		"agentscope-java@1.0": {"/": "AgentScope Runtime", "/health": "AgentScope service is running ✓", "/readiness": "Ready", "/liveness": "Alive"},
		"agentscope-java@0.1": {"/": "AgentScope Runtime", "/health": "AgentScope service is running ✓", "/readiness": "Ready", "/liveness": "Alive"},
		"agkit@0.0.10":        {"/healthz": `"status":"healthy"`},
	} {
		k := newTestClient(t, mustDialect(t, name), Scripted, Config{})
		for target, want := range wants {
			req := spec.Request{Method: "GET", Target: target}
			p := k.do(req)
			if p.status != 200 || !strings.Contains(string(p.bytes()), want) || len(k.events(req, p)) != 1 {
				t.Errorf("%s GET %s: %d %s", name, target, p.status, p.bytes())
			}
		}
		k.close()
	}
}

// TestMaxBody checks that a request whose body exceeds the limit is refused.
func TestMaxBody(t *testing.T) {
	for name, want := range map[string]int{"agentscope@1.1": 413, "runs@2026-04": 422} { // the latter has a limit of its own
		k := newTestClient(t, mustDialect(t, name), Scripted, Config{})
		req := k.messageRequest("prompt", spec.Event{Run: "r", Text: strings.Repeat("a", 2<<20)})
		if p := k.do(req); p.status != want {
			t.Errorf("%s: %d %.200s", name, p.status, p.bytes())
		}
		k.close()
	}
	k := newTestClient(t, mustDialect(t, "runs@2026-04"), Scripted, Config{Limits: Limits{RequestBytes: 1000}})
	defer k.close()
	if p := k.do(k.messageRequest("prompt", spec.Event{Run: "r", Text: strings.Repeat("a", 2000)})); p.status != 413 {
		t.Errorf("a limit below the document's: %d", p.status)
	}
}

// FuzzRequest checks that no request makes the server panic or respond with status 500.
func FuzzRequest(f *testing.F) {
	f.Add("POST", "/process", "application/json", `{"input":[{"role":"user","content":[{"type":"text","text":"conformance:tools"}]}]}`)
	f.Add("POST", "/runs", "application/json", `{"threadId":"`+firstThread+`","runId":"\u0000\n","messages":[{"id":"","role":"user","content":""}],"forwardedProps":{"runtime_mode":"chat"}}`)
	f.Add("POST", "/send-message", "", `{"conversationId":"\ud800","messages":null,"resume":{"interruptId":"","payload":"{"}}`)
	f.Add("GET", "/runs/%2e%2e/events?runId=%zz&;", "a/b/c;", "\xff")
	f.Add("HEAD", "//", "application/json;=", `{"input":[[],{},null,1e999]}`)
	var desks []*Server
	for _, name := range dialect.Names() {
		d, err := dialect.Open(name)
		if err != nil {
			f.Fatal(err)
		}
		desks = append(desks, New(d, Scripted, Config{PollInterval: 1, Limits: Limits{FinishedRuns: 3, RunDuration: 1 << 20}}))
	}
	f.Fuzz(func(t *testing.T, method, target, media, body string) {
		for _, s := range desks {
			k := &testClient{T: t, s: s, d: s.dialect}
			if p := k.raw(method, target, media, body); p != nil && (p.status < 200 || p.status > 599) {
				t.Errorf("%s: status %d", s.dialect.Name, p.status)
			}
		}
	})
}

// A failingStorage is a blob.Storage that fails to find blobs.
type failingStorage struct{ blob.Storage }

func (failingStorage) Stat(context.Context, string) (blob.Attributes, error) {
	return blob.Attributes{}, errGone
}

// TestFilesUnavailable checks that a run with an image is refused with status 503, rather than as
// one with a foreign image, if the file store fails.
func TestFilesUnavailable(t *testing.T) {
	storage, cfg := blob.NewMemory(1<<20), files.Config{SigningKey: []byte("0123456789abcdef")}
	works, err := files.New(storage, cfg)
	if err != nil {
		t.Fatal(err)
	}
	fails, err := files.New(failingStorage{storage}, cfg)
	if err != nil {
		t.Fatal(err)
	}
	for store, want := range map[*files.Store]int{works: 202, fails: 503} {
		k := newTestClient(t, mustDialect(t, "runs@2026-04"), Scripted, Config{Files: store})
		link := store.Link("http://127.0.0.1/files", k.upload())
		p := k.do(k.messageRequest("uploaded", spec.Event{Run: "run-1", Text: "hi", ID: link}))
		if p.status != want || strings.Contains(p.body.String(), errGone.Error()) {
			t.Errorf("status %d, want %d: %s", p.status, want, p.body.String())
		}
		k.close()
	}
}

// TestBucket checks that replies name the bucket of the document, and that the server finds files
// in no other.
func TestBucket(t *testing.T) {
	k := newTestClient(t, mustDialect(t, "runs@2026-04"), Scripted, Config{})
	defer k.close()
	f := k.upload()
	for bucket, want := range map[string]int{"attachments": 200, "other": 404} {
		p := k.do(k.messageRequest("sign", spec.Event{Name: bucket, ID: f.Path}))
		if p.status != want || want == 200 && !strings.Contains(p.body.String(), `"bucket":"attachments"`) {
			t.Errorf("%s: status %d, want %d: %s", bucket, p.status, want, p.body.String())
		}
	}
}
