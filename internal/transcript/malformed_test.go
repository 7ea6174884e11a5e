package transcript

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// ok is a valid exchange that may precede a malformed one.
const ok = "-- 1.request --\nGET / HTTP/1.1\n-- 1.response --\nHTTP/1.1 200 OK\n"

const answer = "-- 1.request --\nGET / HTTP/1.1\n-- 1.response --\n"

// TestMalformedTranscripts checks that each error names the file and line, what was found and what
// is expected.
func TestMalformedTranscripts(t *testing.T) {
	for name, c := range map[string]struct {
		in, line, says string
	}{
		"nothing":            {"", "1", "-- 1.request --"},
		"only prose":         {"A sentence.\n\ndialect: runs\n", "4", "-- 1.request --"},
		"unknown setting":    {"A sentence.\n\ndialekt: runs\n" + ok, "3", "want one of dialect, target, scenario, recorded, scripted, streams, replay, lacks, want"},
		"capital setting":    {"Dialect: runs\n" + ok, "1", "lower case"},
		"setting twice":      {"dialect: runs\nwant: a\nwant: b\ndialect: runs\n" + ok, "4", "twice"},
		"empty setting":      {"dialect:\n" + ok, "1", "want a dialect"},
		"scripted maybe":     {"scripted: maybe\n" + ok, "1", "yes or no"},
		"no streams":         {"streams: 0\n" + ok, "1", "a number of at least 1"},
		"recorded when":      {"recorded: today\n" + ok, "1", "2026-01-31T12:00:00Z"},
		"response first":     {"x\n-- 1.response --\n", "2", "-- 1.request --"},
		"request twice":      {"-- 1.request --\n-- 1.request --\n", "2", "-- 1.response --"},
		"number skipped":     {ok + "-- 3.request --\n", "5", "-- 2.request --"},
		"unknown section":    {ok + "-- notes.txt --\n", "5", "-- 2.request --"},
		"no response":        {"-- 1.request --\nGET / HTTP/1.1\n", "3", "-- 1.response -- is missing"},
		"no target":          {"-- 1.request --\nGET\n-- 1.response --\n", "2", "METHOD TARGET HTTP/1.1"},
		"spaces in target":   {"-- 1.request --\nGET /a b HTTP/1.1\n-- 1.response --\n", "2", "with :@ raw"},
		"method malformed":   {"-- 1.request --\nG@T / HTTP/1.1\n-- 1.response --\n", "2", "METHOD TARGET HTTP/1.1"},
		"field of a request": {"-- 1.request --\nGET / HTTP/1.1\n{}\n-- 1.response --\n", "3", "NAME: VALUE"},
		"body without start": {"-- 1.request --\n:@ end\n{}\n-- 1.response --\n", "2", "METHOD TARGET HTTP/1.1"},
		"cut request":        {"-- 1.request --\nPOST / HTTP/1.1\n\n{}\n:@ cut\n-- 1.response --\n", "5", "a request's body: want raw, base64, end"},
		"framed request":     {"-- 1.request --\n:@ framing close\nGET / HTTP/1.1\n-- 1.response --\n", "3", "for responses"},
		"bad time":           {"-- 1.request --\n:@ at noon\nGET / HTTP/1.1\n-- 1.response --\n", "2", "120ms"},
		"negative time":      {"-- 1.request --\n:@ at -1s\nGET / HTTP/1.1\n-- 1.response --\n", "2", "120ms"},
		"asked by whom":      {"-- 1.request --\n:@ who everybody\nGET / HTTP/1.1\n-- 1.response --\n", "2", "[other nobody stranger longer shorter]"},
		"answered by whom":   {answer + ":@ who other\nHTTP/1.1 200 OK\n", "5", "for requests"},
		"raw start":          {"-- 1.request --\n:@ raw \"GET\"\n-- 1.response --\n", "3", "as two strings"},
		"empty response":     {answer, "4", "HTTP/1.1 STATUS REASON"},
		"no status":          {answer + "HTTP/1.1 OK\n", "4", "HTTP/1.1 STATUS REASON"},
		"status of 1000":     {answer + "HTTP/1.1 1000 OK\n", "4", "HTTP/1.1 STATUS REASON"},
		"raw status":         {answer + ":@ raw \"HTTP/1.1\" \"OK\" \"\"\n", "5", "want a number"},
		"other protocol":     {answer + "SIP/2.0 200 OK\n", "4", "HTTP/1.1 STATUS REASON"},
		"late response":      {answer + ":@ at 5ms\nHTTP/1.1 200 OK\n", "5", "for requests"},
		"odd framing":        {answer + ":@ framing odd\nHTTP/1.1 200 OK\n", "4", "none, length, chunked, close, h2, unknown"},
		"odd lines":          {answer + ":@ lines lf\nHTTP/1.1 200 OK\n", "4", "crlf"},
		"cut among fields":   {answer + "HTTP/1.1 200 OK\n:@ cut\n", "5", "after the empty line"},
		"raw field of three": {answer + "HTTP/1.1 200 OK\n:@ raw \"a\" \"b\" \"c\"\n", "5", "as two strings"},
		"raw field unquoted": {answer + "HTTP/1.1 200 OK\n:@ raw a b\n", "5", "NAME: VALUE"},
		"field without name": {answer + "HTTP/1.1 200 OK\n: v\n", "5", "NAME: VALUE"},
		"unknown direction":  {answer + "HTTP/1.1 200 OK\n\na\nb\n:@ wiat 5ms\n", "8", "raw, base64, end, wait, want, trailer, cut, reset, left-after-end, left, open, idle, endless, not-http"},
		"no direction":       {answer + "HTTP/1.1 200 OK\n\n:@cut\n", "6", "unknown directive"},
		"wait for how long":  {answer + "HTTP/1.1 200 OK\n\n:@ wait long\n", "6", "a duration (e.g. 50ms)"},
		"wait in reverse":    {answer + "HTTP/1.1 200 OK\n\n:@ wait -5ms\n", "6", "a duration (e.g. 50ms)"},
		"body after its end": {answer + "HTTP/1.1 200 OK\n\na\n:@ cut\nb\n", "8", "ended above"},
		"two ends":           {answer + "HTTP/1.1 200 OK\n\na\n:@ cut\n:@ left\n", "8", "ended above"},
		"end with a reason":  {answer + "HTTP/1.1 200 OK\n\na\n:@ end (done)\n", "7", "nothing but mid-line"},
		"reason in clear":    {answer + "HTTP/1.1 200 OK\n\na\n:@ cut why\n", "7", "in parentheses"},
		"mid-line of what":   {answer + "HTTP/1.1 200 OK\n\n:@ cut mid-line\n", "6", "no line of the body"},
		"mid-line after raw": {answer + "HTTP/1.1 200 OK\n\n:@ raw \"a\"\n:@ cut mid-line\n", "7", "no line of the body"},
		"raw unquoted":       {answer + "HTTP/1.1 200 OK\n\n:@ raw a\n", "6", "in double quotes"},
		"raw empty":          {answer + "HTTP/1.1 200 OK\n\n:@ raw\n", "6", "in double quotes"},
		"raw in backquotes":  {answer + "HTTP/1.1 200 OK\n\n:@ raw `a`\n", "6", "in double quotes"},
		"bad base64":         {answer + "HTTP/1.1 200 OK\n\n:@ base64 a\n", "6", "standard base64"},
		"want in a body":     {answer + "HTTP/1.1 200 OK\n\n:@ want\n", "6", "the ID of a check"},
		"want before it":     {answer + ":@ want \nHTTP/1.1 200 OK\n", "4", "the ID of a check"},
		"early trailer":      {answer + "HTTP/1.1 200 OK\n\n:@ trailer A: b\n", "6", ":@ end must precede"},
		"bad trailer":        {answer + "HTTP/1.1 200 OK\n\n:@ end\n:@ trailer A\n", "7", "NAME: VALUE"},
		"body of no answer":  {answer + ":@ wait 5ms\nx\n:@ cut\n", "4", "no response"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse("some.txtar", []byte(c.in))
			if err == nil {
				t.Fatal("it was read")
			}
			if got := err.Error(); !strings.HasPrefix(got, "some.txtar:"+c.line+": ") || !strings.Contains(got, c.says) || strings.Contains(got, "\n") {
				t.Errorf("got %s\nwant line %s and %q", got, c.line, c.says)
			}
		})
	}
}

// openFiles writes files to a folder and opens one of them.
func openFiles(t *testing.T, name string, files map[string]string) (*Transcript, error) {
	t.Helper()
	dir := t.TempDir()
	for file, data := range files {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return Open(filepath.Join(dir, name))
}

func TestMalformedRecordings(t *testing.T) {
	const head = "HTTP/1.1 200 OK\r\n\r\n"
	entry := func(s string) string { return `{"log":{"entries":[` + s + `]}}` }
	const asked = `"startedDateTime":"2026-01-31T12:00:00Z","request":{"method":"GET","url":"http://h/x"}`
	for name, c := range map[string]struct {
		file string
		data string
		run  string // the request beside it
		says []string
	}{
		"other kind":         {"a.txt", "x", "", []string{"a.txt", ".txtar, .http, .sse or .har"}},
		"http empty":         {"a.http", "", "", []string{"a.http:1: ", "curl_exit"}},
		"http body only":     {"a.http", "data: x\n\n", "", []string{"a.http:1: ", "HTTP/1.1 200 OK", ".sse"}},
		"http no end":        {"a.http", "HTTP/1.1 200 OK\r\nA: b\r\n", "", []string{"a.http:3: ", "empty line"}},
		"http bad field":     {"a.http", "HTTP/1.1 200 OK\r\nA: b\r\nnonsense\r\n\r\n", "", []string{"a.http:3: ", `"nonsense"`, "NAME: VALUE"}},
		"http fold first":    {"a.http", "HTTP/1.1 200 OK\r\n A: b\r\n\r\n", "", []string{"a.http:2: ", "NAME: VALUE"}},
		"http only interim":  {"a.http", "HTTP/1.1 100 Continue\r\n\r\n", "", []string{"a.http:3: ", "interim status 100"}},
		"http bad status":    {"a.http", "HTTP/1.1 20 OK\r\n\r\n", "", []string{"a.http:1: ", "HTTP/1.1 200 OK"}},
		"run no JSON":        {"a.http", head, "{\n'method'", []string{"a.request.json:2: ", "not JSON"}},
		"run ends early":     {"a.http", head, `{"method":`, []string{"a.request.json:1: ", "ends too early"}},
		"run two":            {"a.http", head, `{"method":"GET","path":"/"} {}`, []string{"a.request.json:1: ", "single object"}},
		"run unknown member": {"a.http", head, `{"method":"GET","pth":"/"}`, []string{"a.request.json", `"pth"`, "method, path, headers, body, body_raw, curl_exit, note"}},
		"run wrong kind":     {"a.http", head, "{\"method\":\n7}", []string{"a.request.json:2: ", "method: got a JSON number, want a JSON string"}},
		"run no method":      {"a.http", head, `{"path":"/"}`, []string{"a.request.json", "method: missing"}},
		"run no path":        {"a.http", head, `{"method":"GET"}`, []string{"a.request.json", "path: missing"}},
		"run headers":        {"a.http", head, `{"method":"GET","path":"/","headers":["A: b"]}`, []string{"a.request.json", "headers: want an object"}},
		"run header":         {"a.http", head, `{"method":"GET","path":"/","headers":{"A":1}}`, []string{"a.request.json", "headers: A: want a string"}},
		"run header list":    {"a.http", head, `{"method":"GET","path":"/","headers":{"A":["b",1]}}`, []string{"a.request.json", "headers: A: want a string"}},
		"run two bodies":     {"a.http", head, `{"method":"GET","path":"/","body":"a","body_raw":"b"}`, []string{"a.request.json", "body and body_raw"}},
		"run bad hex":        {"a.http", head, `{"method":"GET","path":"/","body":{"hex":"xy"}}`, []string{"a.request.json", "body: hex: "}},
		"run exit":           {"a.http", head, `{"method":"GET","path":"/","curl_exit":7}`, []string{"a.request.json", "curl_exit: 7", "record the exchange again"}},
		"run no UTF-8":       {"a.http", head, "{\"method\":\"GET\",\n\"path\":\"/\xff\"}", []string{"a.request.json:2: ", "not valid UTF-8", "hex"}},
		"har no JSON":        {"a.har", "{\n\n,", "", []string{"a.har:3: ", "not JSON"}},
		"har array":          {"a.har", "[]", "", []string{"a.har:1: ", "got a JSON array"}},
		"har no log":         {"a.har", "{}", "", []string{"a.har: log.entries: missing or empty"}},
		"har no entry":       {"a.har", entry(""), "", []string{"a.har: log.entries: missing or empty"}},
		"har no UTF-8":       {"a.har", "{\"log\":\"\xff\"}", "", []string{"a.har:1: ", "not valid UTF-8", "base64"}},
		"har entry kind":     {"a.har", entry(`7`), "", []string{"a.har: log.entries[0]: got a JSON number"}},
		"har no response":    {"a.har", entry(`{` + asked + `}`), "", []string{"a.har: log.entries[0]: want a request and a response"}},
		"har no date":        {"a.har", entry(`{"request":{},"response":{}}`), "", []string{"a.har: log.entries[0].startedDateTime: ", "2026-01-31T12:00:00.000Z"}},
		"har no URL":         {"a.har", entry(`{"startedDateTime":"2026-01-31T12:00:00Z","request":{},"response":{}}`), "", []string{"a.har: log.entries[0].request.url: ", "https://host/path"}},
		"har no method":      {"a.har", entry(`{"startedDateTime":"2026-01-31T12:00:00Z","request":{"url":"http://h"},"response":{}}`), "", []string{"a.har: log.entries[0].request.method: "}},
		"har status kind":    {"a.har", entry(`{` + asked + `,"response":{"status":"200"}}`), "", []string{"a.har: log.entries[0].response.status: got a JSON string, want a JSON number"}},
		"har status":         {"a.har", entry(`{` + asked + `,"response":{"status":20}}`), "", []string{"a.har: log.entries[0].response.status: invalid status 20"}},
		"har base64":         {"a.har", entry(`{` + asked + `,"response":{"status":200,"content":{"text":"?","encoding":"base64"}}}`), "", []string{"a.har: log.entries[0].response.content.text: not base64"}},
		"har encoding":       {"a.har", entry(`{` + asked + `,"response":{"status":200,"content":{"text":"?","encoding":"hex"}}}`), "", []string{`a.har: log.entries[0].response.content.encoding: unknown encoding "hex"`}},
		"har nothing usable": {"a.har", entry(`{` + asked + `,"response":{"status":0}}`), "", []string{"a.har: no entry has a response: log.entries[0] is left out: GET /x: no response"}},
	} {
		t.Run(name, func(t *testing.T) {
			files := map[string]string{c.file: c.data}
			if c.run != "" {
				files["a.request.json"] = c.run
			}
			_, err := openFiles(t, c.file, files)
			if err == nil {
				t.Fatal("it was read")
			}
			for _, want := range c.says {
				if got := err.Error(); !strings.Contains(got, want) || strings.Contains(got, "\n") {
					t.Errorf("got %s\nwant %q", got, want)
				}
			}
		})
	}
}

func TestUnreadableFiles(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "a.har"), 0o700); err != nil {
		t.Fatal(err)
	}
	large := filepath.Join(dir, "large.txtar")
	if err := os.WriteFile(large, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(large, MaxFileBytes+1); err != nil { // a sparse file
		t.Skip("the file system has no holes:", err)
	}
	head := filepath.Join(dir, "head.sse")
	if err := os.WriteFile(head, []byte("HTTP/1.1 200 OK\r\n\r\ndata: 1\n\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		head:                             `head.sse:1: begins with "HTTP/1.1 200 OK", like the output of curl -i: name it `,
		filepath.Join(dir, "none.txtar"): "none.txtar: cannot be read: ",
		filepath.Join(dir, "a.har"):      "a.har is a folder",
		large:                            "large.txtar: larger than the limit of 1024 MiB",
	} {
		if _, err := Open(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, not %q", err, want)
		}
	}
}
