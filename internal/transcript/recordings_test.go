package transcript

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/streamassay/streamassay/spec"
)

func TestCurl(t *testing.T) {
	const event = "data: x\n\n"
	for name, c := range map[string]struct {
		http, run string
		want      spec.Response
		notes     int
	}{
		"LF": {
			http: "HTTP/1.1 200 OK\nA:  b \n\n" + event,
			want: spec.Response{Proto: "HTTP/1.1", Status: 200, Reason: "OK", Header: spec.Header{{Name: "A", Value: "b"}}, Framing: spec.FramingClose, Body: []byte(event)},
		},
		"CR LF and nothing else": {
			http: "HTTP/1.1 200 \r\n\r\n",
			want: spec.Response{Proto: "HTTP/1.1", Status: 200, Framing: spec.FramingClose},
		},
		"HTTP/2": {
			http: "HTTP/2 200 \r\ncontent-type: text/event-stream\r\n\r\n" + event,
			want: spec.Response{Proto: "HTTP/2.0", Status: 200, Header: spec.Header{{Name: "content-type", Value: "text/event-stream"}}, Framing: spec.FramingHTTP2, Body: []byte(event)},
		},
		"chunked": {
			http: "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, Chunked\r\n\r\n" + event,
			want: spec.Response{Proto: "HTTP/1.1", Status: 200, Reason: "OK", Header: spec.Header{{Name: "Transfer-Encoding", Value: "gzip, Chunked"}}, Framing: spec.FramingChunked, Body: []byte(event)},
		},
		"folded and repeated fields": {
			http: "HTTP/1.1 200 OK\r\nA: b\r\n\t c\r\na: d\r\n\r\n",
			want: spec.Response{Proto: "HTTP/1.1", Status: 200, Reason: "OK", Header: spec.Header{{Name: "A", Value: "b c"}, {Name: "a", Value: "d"}}, Framing: spec.FramingClose},
		},
		"interim, redirect, challenge": {
			http: "HTTP/1.1 103 Early Hints\r\nA: b\r\n\r\nHTTP/1.1 307 Temporary Redirect\r\nLocation: /\r\n\r\nHTTP/1.1 401 Unauthorized\r\n\r\nHTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n",
			want: spec.Response{Proto: "HTTP/1.1", Status: 204, Reason: "No Content", Framing: spec.FramingNone},
		},
		"another protocol from here on": {
			http: "HTTP/1.1 101 Switching Protocols\r\n\r\nHTTP/1.1 200 OK\r\n\r\n",
			want: spec.Response{Proto: "HTTP/1.1", Status: 101, Reason: "Switching Protocols", Framing: spec.FramingNone, Body: []byte("HTTP/1.1 200 OK\r\n\r\n")},
		},
		"through a proxy": {
			http: "HTTP/1.1 200 Connection established\r\n\r\nHTTP/1.1 200 OK\r\n\r\nx",
			want: spec.Response{Proto: "HTTP/1.1", Status: 200, Reason: "OK", Framing: spec.FramingClose, Body: []byte("x")},
		},
		"a redirect that curl did not follow": {
			http: "HTTP/1.1 307 Temporary Redirect\r\nContent-Length: 4\r\n\r\ngone",
			want: spec.Response{Proto: "HTTP/1.1", Status: 307, Reason: "Temporary Redirect", Header: spec.Header{{Name: "Content-Length", Value: "4"}}, Framing: spec.FramingLength, Body: []byte("gone")},
		},
		"a body that is a head": {
			http: "HTTP/1.1 200 OK\r\n\r\nHTTP/1.1 404 Not Found\r\n\r\n",
			want: spec.Response{Proto: "HTTP/1.1", Status: 200, Reason: "OK", Framing: spec.FramingClose, Body: []byte("HTTP/1.1 404 Not Found\r\n\r\n")},
		},
		"cut, by its length": {
			http: "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nab",
			want: spec.Response{Proto: "HTTP/1.1", Status: 200, Reason: "OK", Header: spec.Header{{Name: "Content-Length", Value: "4"}}, Framing: spec.FramingLength, Body: []byte("ab"), End: spec.ErrTruncated},
		},
		"longer than its length": {
			http: "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nab", notes: 1,
			want: spec.Response{Proto: "HTTP/1.1", Status: 200, Reason: "OK", Header: spec.Header{{Name: "Content-Length", Value: "1"}}, Framing: spec.FramingLength, Body: []byte("ab")},
		},
		"shorter, but curl was content": {
			http: "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nab", run: `{"method":"GET","path":"/","curl_exit":0}`, notes: 1,
			want: spec.Response{Proto: "HTTP/1.1", Status: 200, Reason: "OK", Header: spec.Header{{Name: "Content-Length", Value: "4"}}, Framing: spec.FramingLength, Body: []byte("ab")},
		},
		"maybe to HEAD": {
			http: "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n", notes: 1,
			want: spec.Response{Proto: "HTTP/1.1", Status: 200, Reason: "OK", Header: spec.Header{{Name: "Content-Length", Value: "4"}}, Framing: spec.FramingLength},
		},
		"decoded by curl": {
			http: "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\ntext", notes: 1,
			want: spec.Response{Proto: "HTTP/1.1", Status: 200, Reason: "OK", Framing: spec.FramingClose, Body: []byte("text"), Header: spec.Header{}},
		},
		"not decoded": {
			http: "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n\x1f\x8b",
			want: spec.Response{Proto: "HTTP/1.1", Status: 200, Reason: "OK", Framing: spec.FramingClose, Body: []byte("\x1f\x8b"), Header: spec.Header{{Name: "Content-Encoding", Value: "gzip"}}},
		},
		"no answer":         {run: `{"method":"GET","path":"/","curl_exit":52}`, want: spec.Response{End: spec.ErrTruncated}},
		"only an interim":   {http: "HTTP/1.1 100 Continue\r\n\r\n", run: `{"method":"GET","path":"/","curl_exit":56}`, want: spec.Response{End: spec.ErrReset}},
		"half a status":     {http: "HTTP/1.1 2", run: `{"method":"GET","path":"/","curl_exit":28}`, want: spec.Response{End: spec.ErrClientLeft}},
		"not HTTP":          {http: "SSH-2.0\r\n", run: `{"method":"GET","path":"/","curl_exit":1}`, want: spec.Response{End: spec.ErrNotHTTP}},
		"half a head":       {http: "HTTP/1.1 200 OK\r\nA: b\r\nB", run: `{"method":"GET","path":"/","curl_exit":18}`, want: spec.Response{Proto: "HTTP/1.1", Status: 200, Reason: "OK", Framing: spec.FramingClose, Header: spec.Header{{Name: "A", Value: "b"}}, End: spec.ErrTruncated}},
		"our size limit":    {http: "HTTP/1.1 200 OK\r\n\r\nx", run: `{"method":"GET","path":"/","curl_exit":63}`, want: spec.Response{Proto: "HTTP/1.1", Status: 200, Reason: "OK", Framing: spec.FramingClose, Body: []byte("x"), End: spec.ErrClientLeft}},
		"stopped by a user": {http: "HTTP/1.1 200 OK\r\n\r\nx", run: `{"method":"GET","path":"/","curl_exit":130}`, want: spec.Response{Proto: "HTTP/1.1", Status: 200, Reason: "OK", Framing: spec.FramingClose, Body: []byte("x"), End: spec.ErrClientLeft}},
	} {
		t.Run(name, func(t *testing.T) {
			files := map[string]string{"a.http": c.http}
			if c.run != "" {
				files["a.request.json"] = c.run
			}
			tr, err := openFiles(t, "a.http", files)
			if err != nil {
				t.Fatal(err)
			}
			got := tr.Trace.Exchanges[0]
			if d := differ(spec.Trace{Exchanges: []spec.Exchange{{Request: got.Request, Response: c.want}}}, tr.Trace); d != "" {
				t.Error(d)
			}
			if len(tr.Notes) != c.notes {
				t.Errorf("notes: %q", tr.Notes)
			}
			if (got.Request.Method == "") != (c.run == "") {
				t.Errorf("request: %#v", got.Request)
			}
		})
	}
}

// TestRecordings checks that the recordings in testdata, which are of real servers, are read as
// expected.
func TestRecordings(t *testing.T) {
	for name, c := range map[string]struct {
		method, target, body string
		header               spec.Header
		status               int
		framing              spec.BodyFraming
		end                  error
		starts               string
	}{
		"client-left": {
			method: "POST", target: "/process", status: 200, framing: spec.FramingChunked, end: spec.ErrClientLeft,
			header: spec.Header{{Name: "Content-Type", Value: "application/json"}, {Name: "Accept", Value: "text/event-stream"}},
			body:   `{"input":[{"role":"user","type":"message","content":[{"type":"text","text":"conformance:slow"}]}]}`, starts: `data:{"sequence_number":183,`,
		},
		"cut": {
			method: "POST", target: "/send-message", status: 200, framing: spec.FramingChunked, end: spec.ErrTruncated,
			header: spec.Header{{Name: "Content-Type", Value: "application/json"}},
			body:   `{"messages":[{"role":"assistant","id":"a1","toolCalls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","content":"x","toolCallId":"c1"}],"conversationId":"conv-at"}`,
		},
		"head": {method: "HEAD", target: "/healthz", status: 404, framing: spec.FramingNone},
		"header-not-sent": {
			method: "POST", target: "/process", status: 415, framing: spec.FramingChunked,
			header: spec.Header{{Name: "Accept", Value: "*/*"}},
			body:   `{"input": [{"role": "user", "type": "message", "content": [{"type": "text", "text": "Hi"}]}]}`, starts: `{"timestamp":"2026-11-21T02:24:06.831+00:00",`,
		},
		"request-in-hex": {
			method: "POST", target: "/agent", status: 422, framing: spec.FramingLength,
			header: spec.Header{{Name: "Content-Type", Value: "application/json"}},
			body:   `{"conversationId":"c","threadId":"c","runId":"r","tools":[],"context":[],"messages":[{"id":"1","role":"user","content":"` + "\xff\xfe" + `"}]}`, starts: `[{"type":"json_invalid",`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			tr := open(t, filepath.Join("testdata", name+".http"))
			x := tr.Trace.Exchanges[0]
			if x.Request.Method != c.method || x.Request.Target != c.target || string(x.Request.Body) != c.body || !slices.Equal(x.Request.Header, c.header) {
				t.Errorf("request: %q", x.Request)
			}
			if x.Response.Status != c.status || x.Response.Framing != c.framing || !errors.Is(x.Response.End, c.end) || !strings.HasPrefix(string(x.Response.Body), c.starts) {
				t.Errorf("response: %+v", x.Response)
			}
			if len(tr.Notes) > 0 {
				t.Errorf("notes: %q", tr.Notes)
			}
			roundTrip(t, tr)
		})
	}
}

// roundTrip checks that a conversation that is formatted and parsed again is unchanged, except for
// a redacted Authorization.
func roundTrip(t *testing.T, tr *Transcript) {
	t.Helper()
	again, err := Parse(tr.Name, Format(tr))
	if err != nil {
		t.Error(err)
		return
	}
	want := spec.Trace{TargetFacts: tr.Trace.TargetFacts, Exchanges: slices.Clone(tr.Trace.Exchanges)}
	for i := range want.Exchanges {
		h := &want.Exchanges[i].Request.Header
		if *h = slices.Clone(*h); h.Has("Authorization") {
			(*h)[slices.IndexFunc(*h, func(f spec.HeaderField) bool { return f.Name == "Authorization" })].Value = "REDACTED"
		}
	}
	if d := differ(want, again.Trace); d != "" {
		t.Errorf("%s: %s", tr.Name, d)
	}
}

func TestRequestBodies(t *testing.T) {
	for in, want := range map[string]string{
		``:                           "",
		`,"body":null`:               "",
		`,"body":"a\u0000b"`:         "a\x00b",
		`,"body":[1, 2]`:             "[1,2]",
		`,"body":{"a": "é\n"}`:       `{"a":"é\n"}`,
		`,"body":{"hex":"00FF"}`:     "\x00\xff",
		`,"body":{"hex":"00","b":1}`: `{"hex":"00","b":1}`,
		`,"body":{"hex":1}`:          `{"hex":1}`,
		`,"body_raw":"null"`:         "null",
	} {
		run, err := parseCurlInvocation("x", []byte(`{"method":"POST","path":"/"`+in+`}`))
		if err != nil || string(run.request.Body) != want {
			t.Errorf("%s: %q, %v", in, run.request.Body, err)
		}
	}
	run, err := parseCurlInvocation("x", []byte(`{"method":"POST","path":"/","headers":{"B":"1","A":["2","3"],"C":null}}`))
	if want := (spec.Header{{Name: "B", Value: "1"}, {Name: "A", Value: "2"}, {Name: "A", Value: "3"}}); err != nil || !slices.Equal(run.request.Header, want) {
		t.Errorf("%v, %v", run.request.Header, err)
	}
}

func TestSSE(t *testing.T) {
	tr, err := openFiles(t, "a.sse", map[string]string{"a.sse": "data: x\r\n\r\n"})
	if err != nil {
		t.Fatal(err)
	}
	want := spec.Exchange{Response: spec.Response{Status: 200, Header: spec.Header{{Name: "Content-Type", Value: "text/event-stream"}}, Body: []byte("data: x\r\n\r\n")}}
	if !reflect.DeepEqual(tr.Trace.Exchanges, []spec.Exchange{want}) {
		t.Errorf("%#v", tr.Trace)
	}
}

func TestHAR(t *testing.T) {
	path := filepath.Join("testdata", "browser.har")
	tr := open(t, path)
	want := spec.Trace{Exchanges: []spec.Exchange{
		{
			Request: spec.Request{Method: "POST", Target: "/api/runs", Header: spec.Header{{Name: "Content-Type", Value: "application/json"}}, Body: []byte(`{"runId":"r1"}`)},
			Response: spec.Response{
				Proto: "HTTP/1.1", Status: 202, Reason: "Accepted", Framing: spec.FramingLength,
				Header: spec.Header{{Name: "Content-Length", Value: "2"}}, Body: []byte("\x00\xff"),
			},
		},
		{
			At:      250 * time.Millisecond,
			Request: spec.Request{Method: "GET", Target: "/api/runs/t%201/events?runId=r1", Header: spec.Header{{Name: "accept", Value: "text/event-stream"}}},
			Response: spec.Response{
				Proto: "HTTP/2.0", Status: 200, Framing: spec.FramingHTTP2,
				Header: spec.Header{{Name: "content-type", Value: "text/event-stream"}}, Body: []byte("data: é\n\n"),
			},
		},
	}}
	if d := differ(want, tr.Trace); d != "" {
		t.Error(d)
	}
	notes := []string{
		"log.entries[0]: GET /api/runs/t%201/events?runId=r1: Content-Encoding: gzip is ignored: archives contain decoded bodies",
		"log.entries[2] is left out: GET /api/runs/r1: no response: net::ERR_ABORTED",
		"log.entries[3] is left out: GET /api/stream: the archive lacks the event stream: browsers leave out what an EventSource reads",
		"log.entries[4] is left out: data:text/plain,x is not HTTP",
	}
	if !slices.Equal(tr.Notes, notes) {
		t.Errorf("notes: %q", tr.Notes)
	}
	if tr.Target != "https://agent.example" || !tr.Recorded.Equal(time.Date(2026, 1, 31, 12, 0, 1, 0, time.UTC)) {
		t.Errorf("target %q, recorded %v", tr.Target, tr.Recorded)
	}
	roundTrip(t, tr)
}

func TestHARBodies(t *testing.T) {
	for posted, want := range map[string]string{
		`{"text":"a=b","params":[]}`:          "a=b",
		`{"text":"AP8=","encoding":"base64"}`: "\x00\xff",
		`{"mimeType":"application/x-www-form-urlencoded","params":[{"name":"a","value":"b c"},{"name":"d"}]}`: "a=b+c&d=",
		`{"mimeType":"multipart/form-data","params":[{"name":"a","value":"b"}]}`:                              "",
		`{}`: "",
	} {
		tr, err := parseHAR("x", []byte(`{"log":{"entries":[{"startedDateTime":"2026-01-31T12:00:00Z","request":{"method":"POST","url":"http://h?q","postData":`+posted+`},"response":{"status":204}}]}}`))
		if err != nil {
			t.Errorf("%s: %v", posted, err)
			continue
		}
		r := tr.Trace.Exchanges[0].Request
		if string(r.Body) != want || r.Target != "/?q" {
			t.Errorf("%s: %q of %s", posted, r.Body, r.Target)
		}
		if assembled := strings.Contains(posted, `"name"`); assembled != (len(tr.Notes) == 1) {
			t.Errorf("%s: notes %q", posted, tr.Notes)
		}
	}
}

func TestOpenAll(t *testing.T) {
	in := func(names ...string) (paths []string) {
		for _, n := range names {
			paths = append(paths, filepath.Join("testdata", n))
		}
		return paths
	}
	for name, c := range map[string]struct{ paths, want []string }{
		"both parts, out of order": {in("cut.http", "interrupt.2.http", "head.http", "interrupt.1.http"), in("cut.http", "interrupt.*.http", "head.http")},
		"a part alone":             {in("interrupt.2.http"), in("interrupt.2.http")},
		"the first alone":          {in("interrupt.1.http"), in("interrupt.1.http")},
		"a file twice":             {in("cut.http", "cut.http", "interrupt.1.http", "interrupt.1.http"), in("cut.http", "interrupt.1.http")},
		"other kinds":              {in("every-direction.txtar", "browser.har"), in("every-direction.txtar", "browser.har")},
		"none":                     {nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			all, err := OpenAll(c.paths)
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, tr := range all {
				names = append(names, tr.Name)
			}
			if !slices.Equal(names, c.want) {
				t.Errorf("%q, not %q", names, c.want)
			}
		})
	}
	all, err := OpenAll(in("interrupt.2.http", "interrupt.1.http"))
	if err != nil {
		t.Fatal(err)
	}
	tr := all[0]
	if !slices.Equal(tr.Files, in("interrupt.1.http", "interrupt.2.http")) || len(tr.Playback) != 2 || len(tr.Trace.Exchanges) != 2 {
		t.Fatalf("%q, %d exchanges", tr.Files, len(tr.Trace.Exchanges))
	}
	for i, run := range []string{"run-interrupt.1", "run-resume"} {
		if body := string(tr.Trace.Exchanges[i].Request.Body); !strings.Contains(body, `"runId":"`+run+`"`) {
			t.Errorf("exchange %d: %s", i, body)
		}
	}
	if _, err := OpenAll(in("cut.http", "none.http")); err == nil || !strings.Contains(err.Error(), "none.http") {
		t.Errorf("a file that is not there: %v", err)
	}
}

// TestMissingParts checks that if a part of a conversation is missing, the other parts are separate
// conversations with a note.
func TestMissingParts(t *testing.T) {
	dir := t.TempDir()
	var paths []string
	for _, name := range []string{"a.1.http", "a.3.http", "b.http", "c.1.http", "d.01.http"} {
		paths = append(paths, filepath.Join(dir, name))
		if err := os.WriteFile(paths[len(paths)-1], []byte("HTTP/1.1 204 No Content\r\n\r\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	all, err := OpenAll(paths)
	if err != nil || len(all) != len(paths) {
		t.Fatalf("%d conversations, %v", len(all), err)
	}
	for i, tr := range all {
		if alone := len(tr.Notes) == 1; tr.Name != paths[i] || alone != strings.HasPrefix(filepath.Base(paths[i]), "a.") {
			t.Errorf("%s: %q", tr.Name, tr.Notes)
		}
	}
}

// TestAllRecordings reads and formats all recordings in the folder that the environment variable
// STREAMASSAY_RECORDINGS names. It is skipped if the variable is not set.
func TestAllRecordings(t *testing.T) {
	dir := os.Getenv("STREAMASSAY_RECORDINGS")
	if dir == "" {
		t.Skip("did not run: STREAMASSAY_RECORDINGS names no folder of recordings")
	}
	var paths []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if _, known := parsers[filepath.Ext(path)]; known && !d.IsDir() {
			paths = append(paths, path)
		}
		return err
	})
	if err != nil || len(paths) == 0 {
		t.Fatalf("no recordings in %s: %v", dir, err)
	}
	for _, path := range paths {
		tr, err := Open(path)
		if err != nil {
			t.Error(err)
			continue
		}
		for _, note := range tr.Notes {
			t.Logf("%s: %s", path, note)
		}
		roundTrip(t, tr)
	}
	all, err := OpenAll(paths)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d files, %d conversations", len(paths), len(all))
}
