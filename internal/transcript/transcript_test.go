package transcript

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/streamassay/streamassay/spec"
)

func open(t *testing.T, path string) *Transcript {
	t.Helper()
	tr, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

// TestEveryDirection parses a file that uses every feature of the format, and compares the result
// with one that is written out here.
func TestEveryDirection(t *testing.T) {
	path := filepath.Join("testdata", "every-direction.txtar")
	got := open(t, path)
	crlf := "a\r\nb\nc\r\n"
	body := ": hello\n\ndata: {\"a\":\"b\"}\n\ndata: c"
	want := spec.Trace{TargetFacts: spec.TargetFacts{Scripted: true}, Exchanges: []spec.Exchange{
		{
			At: 120 * time.Millisecond,
			Request: spec.Request{
				Method: "POST",
				Header: spec.Header{
					{Name: "Content-Type", Value: "application/json"}, {Name: "Authorization", Value: "REDACTED"},
					{Name: "X-Twice", Value: "a"}, {Name: "x-twice", Value: "b"}, {Name: "X-Empty"}, {Name: "X-Name", Value: "caf\xe9"},
				},
				Body: []byte(`{"a":1}`),
			},
			Response: spec.Response{
				Proto: "HTTP/1.1", Status: 200, Reason: "OK", Framing: spec.FramingClose,
				Header: spec.Header{{Name: "Content-Type", Value: "text/event-stream"}},
				Body:   []byte(body),
				Arrivals: []spec.Arrival{
					{End: 20, At: 50 * time.Millisecond}, {End: 26, At: 50 * time.Millisecond}, {End: 33, At: 1550 * time.Millisecond},
				},
				End: spec.ErrIdleTimeout,
			},
		},
		{
			Request: spec.Request{Method: "GET", Target: "/files/1"},
			Response: spec.Response{
				Proto: "HTTP/2.0", Status: 200, Framing: spec.FramingHTTP2,
				Header: spec.Header{{Name: "Content-Type", Value: "application/octet-stream"}},
				Body:   []byte("\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09\n:@ cut\n-- 1.response --\nno final newline"),
			},
		},
		{
			Request: spec.Request{Method: "GET", Target: "/runs"},
			Response: spec.Response{
				Status: 404, Reason: "Not Found", Framing: spec.FramingChunked,
				Header:  spec.Header{{Name: "Transfer-Encoding", Value: "chunked"}},
				Body:    []byte(crlf),
				Trailer: spec.Header{{Name: "X-Sum", Value: "1"}},
			},
		},
		{Request: spec.Request{Target: "/somewhere"}, Response: spec.Response{End: spec.ErrReset}},
		{Response: spec.Response{Proto: "HTTP/1.1", Status: 204, Reason: "No Content", Framing: spec.FramingNone}},
	}}
	if d := differ(want, got.Trace); d != "" {
		t.Error(d)
	}
	if end := got.Trace.Exchanges[0].Response.End; end.Error() != spec.ErrIdleTimeout.Error()+": silent for 30s" {
		t.Errorf("the reason is lost: %v", end)
	}
	got.Trace, got.Playback = spec.Trace{TargetFacts: got.Trace.TargetFacts}, nil
	settings := &Transcript{
		Name: path, Dialect: "agui@1.0", Target: "http://127.0.0.1:8000/agent", Scenario: "text",
		Recorded: time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC), FailingChecks: []string{"http.stream-ends", "sse.utf8"},
		Comment: "Every direction there is, and what text cannot hold.\n" +
			"Note: this is prose, for it begins with a capital.\n dialect: this is prose too, for it is indented",
		Trace: spec.Trace{TargetFacts: spec.TargetFacts{Scripted: true}},
	}
	if !reflect.DeepEqual(got, settings) {
		t.Errorf("%#v, not %#v", got, settings)
	}
}

// TestFormatGivesTheFileBack checks that a file that Format wrote is parsed and formatted without
// any change.
func TestFormatGivesTheFileBack(t *testing.T) {
	path := filepath.Join("testdata", "every-direction.txtar")
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got := string(Format(open(t, path))); got != string(want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestCues(t *testing.T) {
	tr, err := Parse("x", []byte("-- 1.request --\nGET / HTTP/1.1\n-- 1.response --\nHTTP/1.1 200 OK\nContent-Type: text/event-stream\n\n"+
		"data: 1\n\ndata: 2\n\n:@ wait 20ms\ndata: 3\n:@ wait 1s mid-line\n:@ cut (why)\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := [][]PlaybackStep{{
		{Data: []byte("data: 1\n\ndata: 2\n\n")}, {Directive: "wait", Argument: "20ms"}, {Data: []byte("data: 3")},
		{Directive: "wait", Argument: "1s"}, {Directive: "cut", Argument: "why"},
	}}
	if !reflect.DeepEqual(tr.Playback, want) {
		t.Errorf("%q", tr.Playback)
	}
	reads := []spec.Arrival{{End: 18}, {End: 25, At: 20 * time.Millisecond}}
	if r := tr.Trace.Exchanges[0].Response; !reflect.DeepEqual(r.Arrivals, reads) || !errors.Is(r.End, spec.ErrTruncated) {
		t.Errorf("%v, %v", r.Arrivals, r.End)
	}
}

// TestOddReads checks that recordableArrivals corrects inconsistent arrivals.
func TestOddReads(t *testing.T) {
	r := spec.Response{Body: []byte("abcdef"), Arrivals: []spec.Arrival{
		{End: 0, At: 1}, {End: 2, At: 5 * time.Millisecond}, {End: 2, At: 6 * time.Millisecond}, {End: 4, At: 3 * time.Millisecond}, {End: 5, At: time.Second},
	}}
	want := []spec.Arrival{{End: 2, At: 5 * time.Millisecond}, {End: 4, At: 5 * time.Millisecond}, {End: 6, At: time.Second}}
	if got := recordableArrivals(r); !reflect.DeepEqual(got, want) {
		t.Errorf("%v, not %v", got, want)
	}
}

// TestExpectedFindings checks to which event a want directive refers, depending on its position.
func TestExpectedFindings(t *testing.T) {
	got, err := Parse("x.txtar", []byte(`-- 1.request --
:@ want a.request
POST /x HTTP/1.1

:@ end
-- 1.response --
:@ want a.head
HTTP/1.1 200 OK
Content-Type: text/event-stream

data: 1

:@ want a.second
data: 2

:@ want a.end
:@ cut
-- 2.request --
GET /y HTTP/1.1
-- 2.response --
HTTP/1.1 200 OK

:@ want b.reply
{}
:@ want b.end
`))
	if err != nil {
		t.Fatal(err)
	}
	want := []ExpectedFinding{
		{"a.request", 0, PartRequest, 0}, {"a.head", 0, PartHead, 0}, {"a.second", 0, PartBody, 9}, {"a.end", 0, PartBody, 18},
		{"b.reply", 1, PartBody, 0}, {"b.end", 1, PartBody, 2},
	}
	if !slices.Equal(got.ExpectedFindings, want) {
		t.Errorf("got  %v\nwant %v", got.ExpectedFindings, want)
	}
}

// TestLastNewline checks that it depends on the media type whether the last newline belongs to the
// body, unless a directive states where the body ends.
func TestLastNewline(t *testing.T) {
	const json, stream = "Content-Type: application/json\n\n", "Content-Type: text/event-stream; charset=utf-8\n\n"
	for in, want := range map[string]string{
		json:                          "",
		json + "{}\n":                 "{}",
		json + "{}\n:@ end\n":         "{}\n",
		json + "{}\n:@ cut\n":         "{}\n",
		json + "{}\n:@ cut mid-line":  "{}",
		json + "{}\n\n":               "{}\n",
		json + ":@ raw \"{}\\n\"\n":   "{}\n",
		stream:                        "",
		stream + "a\n":                "a\n",
		stream + "a":                  "a\n",
		stream + "a\n:@ end":          "a\n",
		stream + "a\n:@ end mid-line": "a",
		stream + "\n":                 "\n",
	} {
		tr, err := Parse("x", []byte("-- 1.request --\n-- 1.response --\nHTTP/1.1 200 OK\n"+in))
		if err != nil {
			t.Errorf("%q: %v", in, err)
			continue
		}
		if got := string(tr.Trace.Exchanges[0].Response.Body); got != want {
			t.Errorf("%q: body %q, not %q", in, got, want)
		}
	}
}

func TestStrip(t *testing.T) {
	for _, c := range []struct{ base, target, want string }{
		{"/api", "/api/runs?x=1", "/runs?x=1"},
		{"http://h:1/api/", "/api/runs", "/runs"},
		{"/api", "/api", "/"},
		{"/api", "/api?x", "/?x"},
		{"/api", "/apis/x", "/apis/x"},
		{"http://h:1", "/runs", "/runs"},
		{"", "/runs", "/runs"},
	} {
		tr := &Transcript{Trace: spec.Trace{Exchanges: []spec.Exchange{{Request: spec.Request{Target: c.target}}}}}
		found := tr.StripBasePath(c.base)
		if got := tr.Trace.Exchanges[0].Request.Target; got != c.want || found == (c.target == "/apis/x") {
			t.Errorf("%s without %s: %q, not %q; found: %v", c.target, c.base, got, c.want, found)
		}
	}
}

func TestRedaction(t *testing.T) {
	tr := &Transcript{
		Target: "http://user:hunter2@127.0.0.1/", RedactHeaders: []string{"x-tenant"}, Secrets: []string{`p"s<s`, ""},
		Trace: spec.Trace{Exchanges: []spec.Exchange{{
			Request: spec.Request{
				Method: "GET", Target: "/x?key=p%22s%3Cs",
				Header: spec.Header{{Name: "authorization", Value: "Bearer abc"}, {Name: "X-API-Key", Value: "abc"}, {Name: "X-Tenant", Value: "abc"}, {Name: "X-Other", Value: "kept"}},
				Body:   []byte(`{"plain":"p\"s<s","html":"p\"s\u003cs"}`),
			},
			Response: spec.Response{Status: 200, Header: spec.Header{{Name: "Set-Cookie", Value: "id=abc"}}, Trailer: spec.Header{{Name: "Cookie", Value: "abc"}}},
		}}},
	}
	want := `target: http://REDACTED@127.0.0.1/
-- 1.request --
GET /x?key=REDACTED HTTP/1.1
authorization: REDACTED
X-API-Key: REDACTED
X-Tenant: REDACTED
X-Other: kept

{"plain":"******","html":"REDACTED***"}
-- 1.response --
HTTP/? 200
Set-Cookie: REDACTED

:@ end
:@ trailer Cookie: REDACTED
`
	if got := string(Format(tr)); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if tr.Trace.Exchanges[0].Request.Header[0].Value != "Bearer abc" {
		t.Error("Format changed what it wrote down")
	}
}
