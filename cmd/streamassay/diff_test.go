package main

import (
	"encoding/json"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/streamassay/streamassay/internal/diff"
)

// TestDiffAlike checks that two instances of the same server do not differ, although all their ids
// do.
func TestDiffAlike(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(rightServer(t, "agkit"))
	defer srv.Close()
	code, out, said := streamassay(t, t.TempDir(), "diff", "reference", srv.URL, "--dialect", "agkit", "--skip", "refusals", "--skip", "slow", "--skip", "payloads*")
	if code != exitOK || !strings.Contains(out, " 0 differences in 0 of them") || !strings.HasSuffix(out, "ALIKE  (exit 0)\n") {
		t.Errorf("exit %d\n%s%s", code, out, said)
	}
	if strings.Contains(out, "volatile in text") {
		t.Errorf("what a scripted agent was told to say is not volatile\n%s", out)
	}
}

// TestDiffDifferent checks that a difference is shown side by side in the text report and is
// contained in the JSON report, and that the JSON report does not contain a secret header value.
func TestDiffDifferent(t *testing.T) {
	right := rightServer(t, "agkit")
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Retry-After", "7")
		w.Header().Set("X-Token", r.Header.Get("X-Api-Key"))
		right.ServeHTTP(w, r)
	}))
	defer srv.Close()
	args := []string{"diff", "reference", srv.URL, "--dialect", "agkit", "--only", "text", "--header-b", "X-Api-Key: secret-of-b", "--seed", "4"}
	code, out, said := streamassay(t, t.TempDir(), args...)
	if code != exitFailed || !strings.Contains(out, `│ retry-after: "7"`) || !strings.Contains(out, "seed 4, salt ") || !strings.HasSuffix(out, "DIFFERENT  (exit 1)\n") {
		t.Errorf("exit %d\n%s%s", code, out, said)
	}
	code, out, _ = streamassay(t, t.TempDir(), append(args, "--json")...)
	var r diff.Report
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatal(err)
	}
	c := r.Dialects[0].Conversations
	if code != exitFailed || r.Exit != exitFailed || r.A != "reference" || r.B != srv.URL || len(c) != 1 || len(c[0].Differences) != 1 ||
		c[0].Differences[0].Fields[0] != (diff.FieldDiff{Name: "retry-after", A: "", B: "7"}) {
		t.Errorf("exit %d\n%s", code, out)
	}
	if strings.Contains(out, "secret-of-b") {
		t.Error("the secret is in the report")
	}
}

// TestDiffRecordings checks that recordings are compared like targets: different ids are not a
// difference, but a different text is one.
func TestDiffRecordings(t *testing.T) {
	dir := t.TempDir()
	for _, seed := range []string{"1", "2"} {
		if code, out, said := streamassay(t, dir, "run", "--dialect", "agkit", "--only", "messages", "--only", "tool", "--transcripts", "take-"+seed, "--seed", seed); code != exitOK {
			t.Fatalf("exit %d\n%s%s", code, out, said)
		}
	}
	code, out, said := streamassay(t, dir, "diff", "take-1", "take-2", "--timeout", "5s", "--only", "*", "--header", "A: b")
	if code != exitOK || !strings.Contains(out, "agkit@0.0.10: 2 conversations") ||
		said != "streamassay: note: no effect on recordings: --header, --timeout\n" {
		t.Errorf("exit %d\n%s%s", code, out, said)
	}
	file := filepath.Join(dir, "take-2", "agkit@0.0.10", "messages.txtar")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	other := strings.Replace(string(text), `"o"`, `"y"`, 1)
	if other == string(text) {
		t.Fatalf("no piece of a text to change in\n%s", text)
	}
	if err := os.WriteFile(filepath.Join(dir, "other.txtar"), []byte(other), 0o644); err != nil {
		t.Fatal(err)
	}
	code, out, said = streamassay(t, dir, "diff", file, file, "--dialect", "runs")
	if code != exitInconclusive || !strings.Contains(out, "NOTHING COMPARED") ||
		!strings.Contains(said, "POST /send-message: not an operation of runs@2026-04") {
		t.Errorf("exit %d\n%s%s", code, out, said)
	}
	code, out, said = streamassay(t, dir, "diff", file, "other.txtar")
	if code != exitFailed || !strings.Contains(out, `text: "one`) || !strings.Contains(out, `text: "yne`) {
		t.Errorf("exit %d\n%s%s", code, out, said)
	}
	code, out, _ = streamassay(t, dir, "diff", "take-1", file)
	if code != exitOK || !strings.Contains(out, "agkit@0.0.10 tool: only in A") {
		t.Errorf("exit %d\n%s", code, out)
	}
}

// TestDiffNothing checks that diff reports the case that nothing can be compared, and that the exit
// code is then not 0.
func TestDiffNothing(t *testing.T) {
	srv := httptest.NewServer(http.NotFoundHandler())
	gone := srv.URL
	srv.Close()
	code, out, said := streamassay(t, t.TempDir(), "diff", "reference", gone, "--dialect", "agkit", "--only", "text", "--timeout", "2s")
	if code != exitInconclusive || out != "" || said != "streamassay: B: "+gone+": connection refused: is the server running?\n" {
		t.Errorf("exit %d\n%s%s", code, out, said)
	}
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	defer secure.Close()
	plain := strings.Replace(secure.URL, "https", "http", 1)
	code, out, _ = streamassay(t, t.TempDir(), "diff", "reference", plain, "--dialect", "agkit", "--only", "text", "--timeout", "2s")
	if code != exitInconclusive || !strings.Contains(out, "NOTHING COMPARED") || !strings.Contains(out, "text (B: "+plain+": the server speaks TLS on this port") {
		t.Errorf("exit %d\n%s", code, out)
	}
	lost := httptest.NewServer(http.NotFoundHandler())
	defer lost.Close()
	code, out, _ = streamassay(t, t.TempDir(), "diff", lost.URL, lost.URL, "--dialect", "agkit", "--only", "text")
	if code != exitInconclusive || !strings.HasSuffix(out, "text (both replied 404 to every request)\nto do: check the base URLs and the dialect\nNOTHING COMPARED  (exit 3)\n") {
		t.Errorf("exit %d\n%s", code, out)
	}
}

// TestDiffMaxTime checks that a conversation that --max-time cut short in its second take is not
// compared, although its first take is complete, and that the exit code is then 3. The server never
// responds from the fourth request on, which is that of the second take: each take is preceded by a
// request that asks for a random word.
func TestDiffMaxTime(t *testing.T) {
	right := rightServer(t, "agkit")
	var requests atomic.Int32
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if requests.Add(1) >= 4 {
			_, _ = io.Copy(io.Discard, r.Body) // otherwise the end of the connection is not noticed
			<-r.Context().Done()
			return
		}
		right.ServeHTTP(w, r)
	}))
	defer srv.Close()
	code, out, said := streamassay(t, t.TempDir(), "diff", "reference", srv.URL, "--dialect", "agkit", "--only", "text", "--max-time", "3s")
	if n := requests.Load(); n != 4 {
		t.Fatalf("the server got %d requests, want 4", n)
	}
	if code != exitInconclusive || !strings.Contains(out, "incomplete: stopped after 3s (--max-time)\n") ||
		!strings.Contains(out, "not compared: text (B was not played to the end)\n") || !strings.HasSuffix(out, "INCOMPLETE  (exit 3)\n") {
		t.Errorf("exit %d\n%s%s", code, out, said)
	}
}

// TestDiffBadInput checks that invalid arguments of diff result in a single line that names the
// invalid argument.
func TestDiffBadInput(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "empty"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "plain.sse"), []byte("data: {}\n\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ args, names string }{
		{"diff", "two arguments"},
		{"diff reference", "two arguments"},
		{"diff reference 127.0.0.1:80 --dialect agkit", "127.0.0.1:80"},
		{"diff reference http://127.0.0.1:1", "--dialect"},
		{"diff reference http://127.0.0.1:1 --dialect nope", "nope"},
		{"diff reference http://127.0.0.1:1 --dialect agkit --lacks nothing", "nothing"},
		{"diff reference http://127.0.0.1:1 --dialect agkit --header-b NoColon", "--header"},
		{"diff plain.sse reference --dialect agkit", "plain.sse is a recording"},
		{"diff plain.sse plain.sse", "--dialect"},
		{"diff empty empty", "contains no recordings"},
		{"diff empty missing", "missing"},
		{"run --repeat 0", "--repeat 0"},
		{"run --repeat 99999", "--repeat 99999"},
	} {
		code, out, said := streamassay(t, dir, strings.Fields(c.args)...)
		if code != exitUsage || out != "" || strings.Count(said, "\n") != 1 || !strings.Contains(said, c.names) {
			t.Errorf("%s: exit %d, %q, %q", c.args, code, out, said)
		}
	}
}
