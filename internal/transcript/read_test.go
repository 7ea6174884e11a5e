package transcript

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestBareBody checks that NAME.request.json may be the description of a request or only its JSON
// body.
func TestBareBody(t *testing.T) {
	for body, bare := range map[string]bool{
		`{"conversationId":"c1","messages":[]}`: true, `{"input":[],"body":1}`: true, `[1,2]`: true, `"text"`: true,
		"\ufeff{\"input\":[]}": true, `{"path":"/x","method":"GET"}`: false,
	} {
		dir := t.TempDir()
		write := func(name, text string) {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		write("a.http", "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: {}\n\n")
		write("a.request.json", body)
		got, err := Open(filepath.Join(dir, "a.http"))
		if err != nil {
			t.Errorf("%s: %v", body, err)
			continue
		}
		r := got.Trace.Exchanges[0].Request
		if bare && (r.Method != "" || string(r.Body) != body) || !bare && (r.Method != "GET" || len(r.Body) > 0) {
			t.Errorf("%s: the request is %+v", body, r)
		}
	}
}

// TestRead checks that Read recognizes the format by the content.
func TestRead(t *testing.T) {
	const stream = "data: {\"a\":1}\n\n"
	for text, body := range map[string]string{
		stream:          stream,
		": hi\n\n":      ": hi\n\n",
		"\n\n" + stream: "\n\n" + stream,
		"HTTP/1.1 404 Not Found\r\nContent-Type: text/plain\r\n\r\nno":                                                      "no",
		"HTTP/2 200 \r\ncontent-type: text/event-stream\r\n\r\n" + stream:                                                   stream,
		"-- 1.request --\nGET /x HTTP/1.1\n-- 1.response --\nHTTP/1.1 200 OK\nContent-Type: text/event-stream\n\n" + stream: stream,
		`{"log":{"version":"1.2","entries":[{"startedDateTime":"2026-01-01T00:00:00Z","request":{"method":"GET","url":"http://h/x"},` +
			`"response":{"status":200,"statusText":"OK","httpVersion":"HTTP/1.1","headers":[],"content":{"text":"hello","mimeType":"text/plain"}}}]}}`: "hello",
	} {
		got, err := Read("standard input", strings.NewReader(text))
		if err != nil {
			t.Errorf("%.40q: %v", text, err)
			continue
		}
		if b := string(got.Trace.Exchanges[0].Response.Body); b != body {
			t.Errorf("%.40q: the body is %q, want %q", text, b, body)
		}
	}
	for text, says := range map[string]string{"": "empty input", " \n": "empty input", "HTTP/1.1 200": "standard input:2", "{": "standard input:1"} {
		if _, err := Read("standard input", strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v, want %q", text, err, says)
		}
	}
}
