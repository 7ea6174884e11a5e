package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/onsi/gomega"
)

const greets = `rules:
  - name: greets
    when: {text: hello}
    reply: [{text: GREETING}]
`

// TestMockBadFlags checks that an invalid flag or file of mock results in a message that names it
// and the valid values, and that nothing is served.
func TestMockBadFlags(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"good.yaml": greets, "bad.yaml": strings.Replace(greets, "text:", "txt:", 1), "notes.md": "hello",
		"breaks.yaml": "rules:\n  - name: breaks\n    reply: [{raw: 'data: {'}]\n",
		"calls.yaml":  "calls: [{op: run, exactly: 1}]\n", "bad-calls.yaml": "cals: []\n",
		"foo-calls.yaml": "calls: [{dialect: foo}]\n",
		"empty.yaml":     "", "recorded.sse": "data: {}\n\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		args, names, right string
		code               int
	}{
		{"--addr 0.0.0.0:80", "--addr 0.0.0.0:80", "only loopback", exitUsage},
		{"--control 0.0.0.0:80", "--control 0.0.0.0:80", "only loopback", exitUsage},
		{"--control nowhere", "--control", "HOST:PORT", exitUsage},
		{"--seed x", "--seed", "want an integer", exitUsage},
		{"--vary -1", "--vary", "want an integer", exitUsage},
		{"--clock noon", "--clock noon", "2026-01-01T00:00:00Z", exitUsage},
		{"--pace fast", "--pace fast", "pace", exitUsage},
		{"--pace {rate:-1}", "--pace", "rate", exitUsage},
		{"--fault cutt", `--fault: unknown fault "cutt"`, "streamassay list faults lists them", exitUsage},
		{"--fault abort;event=x", `--fault "abort;event=x"`, "event", exitUsage},
		{"--fault=", "--fault is empty", "give it a value", exitUsage},
		{"--addr localhost:4010 --control 127.0.0.1:4010", "--addr localhost:4010 and --control 127.0.0.1:4010",
			"the same address", exitUsage},
		{"--schema good.yaml", "--schema", "no FILE can be given", exitUsage},
		{"--schema --check good.yaml", "--schema", "--check", exitUsage},
		{"--fault first-missing --dialect agkit bad.yaml", "warning: --fault first-missing has no effect in agkit@0.0.10",
			"which lacks the event ", exitUsage},
		{"--dialect agui --expect foo-calls.yaml", "--expect foo-calls.yaml:1: call 1: invalid dialect \"foo\"", "want agui@1.0", exitUsage},
		{"--expect empty.yaml", "--expect empty.yaml", "is empty: want calls", exitUsage},
		{"recorded.sse", "recorded.sse: the recording does not name its dialect", "give exactly one --dialect", exitUsage},
		{"--flush never", "--flush", "coalesce, each", exitUsage},
		{"--journal 0", "--journal", "above 0", exitUsage},
		{"missing.yaml", "missing.yaml", "no such file", exitUsage},
		{"notes.md", "notes.md", "must be a script (.yaml, .yml) or a recording", exitUsage},
		{"bad.yaml", "bad.yaml:3", "did you mean text", exitUsage},
		{"breaks.yaml", "breaks.yaml:3", "violates: true", exitUsage},
		{"--check bad.yaml", "bad.yaml:3", "did you mean text", exitFailed},
		{"--check", "mock --check", "needs at least one FILE", exitUsage},
		{"--expect missing.yaml", "--expect missing.yaml", "no such file", exitUsage},
		{"--expect bad-calls.yaml", "--expect bad-calls.yaml:1", "cals", exitUsage},
		{"--expect-report missing/report.json", "--expect-report missing/report.json", "directory missing does not exist", exitUsage},
		{"--record 127.0.0.1:80 --dialect runs", "127.0.0.1:80", "http://", exitUsage},
		{"--record http://127.0.0.1:1", "at http://127.0.0.1:1", "exactly one --dialect", exitUsage},
		{"--record http://127.0.0.1:1 --dialect runs good.yaml", "--record", "no FILE can be given", exitUsage},
		{"--record http://127.0.0.1:1 --dialect runs --save good.yaml", "--save good.yaml", "directory", exitUsage},
		{"--dialect rans", "rans", "runs", exitUsage},
	} {
		t.Run(c.args, func(t *testing.T) {
			t.Parallel()
			code, out, said := streamassay(t, dir, append([]string{"mock"}, strings.Fields(c.args)...)...)
			if all := out + said; code != c.code || !strings.Contains(all, c.names) || !strings.Contains(all, c.right) {
				t.Errorf("exit %d, stdout %q, stderr %q: want exit %d, %q and %q", code, out, said, c.code, c.names, c.right)
			}
		})
	}
}

// startMock starts a mock in the directory dir, with the given arguments, until the end of the
// test.
func startMock(t *testing.T, dir string, args ...string) *served {
	t.Helper()
	return startServer(t, dir, append([]string{"mock"}, args...)...)
}

// says sends a user message in the dialect agkit and returns the body of the response, or the part
// of it that arrived.
func (s *served) says(t *testing.T, text string) string {
	t.Helper()
	body := fmt.Sprintf(`{"conversationId":"c1","messages":[{"role":"user","content":%q}]}`, text)
	r, err := http.Post(s.base()+"/send-message", "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	all, _ := io.ReadAll(r.Body) // what was cut is judged by what came
	return string(all)
}

// stop ends the server with SIGTERM and returns its exit code. It fails the test if that takes more
// than five seconds.
func (s *served) stop(t *testing.T) int {
	t.Helper()
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	_ = s.cmd.Wait() // the code says it
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("it took %v to end", took)
	}
	return s.cmd.ProcessState.ExitCode()
}

// TestMockReloads checks that a changed script is reloaded, that a script with errors is reported
// and changes nothing, and that streams that are open meanwhile continue to their end.
func TestMockReloads(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "script.yaml")
	write := func(text string) {
		if err := os.WriteFile(path+"~", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(path+"~", path); err != nil { // as editors do
			t.Fatal(err)
		}
	}
	write(strings.Replace(greets, "GREETING", "good morning", 1))
	m := startMock(t, dir, "--dialect", "agkit", "script.yaml")
	g := gomega.NewWithT(t)
	if said := m.says(t, "hello"); !strings.Contains(said, "good") || !strings.Contains(said, "morning") {
		t.Fatalf("it says %s", said)
	}
	open := make(chan string, 1)
	go func() { open <- m.says(t, "conformance:slow 20 50") }()
	write(strings.Replace(greets, "GREETING", "evening", 1))
	g.Eventually(func() string { return m.says(t, "hello") }).WithTimeout(5 * time.Second).Should(gomega.ContainSubstring("evening"))
	write("rules: {")
	g.Eventually(m.out.String).WithTimeout(5 * time.Second).Should(gomega.ContainSubstring("the ones loaded before stay in use"))
	if said := m.says(t, "hello"); !strings.Contains(said, "evening") {
		t.Errorf("after a script that cannot be played it says %s", said)
	}
	if said := <-open; !strings.Contains(said, `"20 "`) || !strings.Contains(said, "[DONE]") {
		t.Errorf("a stream was broken: %s", said)
	}
	if r, err := http.Get(m.control + "/healthz"); err != nil || r.StatusCode != 200 {
		t.Errorf("the control port: %v %v", r, err)
	}
	if code := m.stop(t); code != exitOK {
		t.Errorf("it ends with %d", code)
	}
}

// TestMockReloadsDirectories checks that the scripts of a directory that is moved into a directory
// of scripts, or out of it, are loaded and dropped.
func TestMockReloadsDirectories(t *testing.T) {
	dir := t.TempDir()
	inside, outside := filepath.Join(dir, "scripts", "new"), filepath.Join(dir, "elsewhere")
	for _, path := range []string{filepath.Dir(inside), outside} {
		if err := os.Mkdir(path, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for path, text := range map[string]string{
		filepath.Join(outside, "script.yaml"):             strings.Replace(greets, "GREETING", "evening", 1),
		filepath.Join(filepath.Dir(inside), "other.yaml"): strings.NewReplacer("greets", "bids", "hello", "goodbye").Replace(greets),
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	m := startMock(t, dir, "--dialect", "agkit", "scripts")
	g := gomega.NewWithT(t)
	said := func() string { return m.says(t, "hello") }
	for _, move := range []struct {
		from, to string
		want     gomega.OmegaMatcher
	}{
		{outside, inside, gomega.ContainSubstring("evening")},
		{inside, outside, gomega.Not(gomega.ContainSubstring("evening"))},
	} {
		if err := os.Rename(move.from, move.to); err != nil {
			t.Fatal(err)
		}
		g.Eventually(said).WithTimeout(5 * time.Second).Should(move.want)
	}
}

// TestMockExpects checks that the exit code of mock depends on whether the clients met the
// expectations, with and without a client command.
func TestMockExpects(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"calls.yaml": "calls: [{op: run, exactly: 2}]\n", "strict.yaml": "strict: true\n",
		"greets.yaml": greets, "rule.yaml": "calls: [{op: run, rule: greet}]\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ asks, code int }{{0, exitInconclusive}, {1, exitFailed}, {2, exitOK}, {3, exitFailed}} {
		t.Run(fmt.Sprint(c.asks), func(t *testing.T) {
			t.Parallel()
			report := filepath.Join(t.TempDir(), "report.json")
			m := startMock(t, dir, "--dialect", "agkit", "--expect", "calls.yaml", "--expect-report", report)
			for range c.asks {
				m.says(t, "hello")
			}
			if code := m.stop(t); code != c.code {
				t.Errorf("exit %d, want %d\n%s", code, c.code, m.out)
			}
			var said struct {
				Exit    int
				Verdict string
			}
			if text, err := os.ReadFile(report); err != nil || json.Unmarshal(text, &said) != nil || said.Exit != c.code {
				t.Errorf("the report says %+v, %v", said, err)
			}
		})
	}
	t.Run("command", func(t *testing.T) {
		t.Parallel()
		const ask = `curl -sf -o /dev/null -H 'Content-Type: application/json' -d '{"conversationId":"c","messages":[{"role":"user","content":"hello"}]}' "$MOCK_URL/send-message"`
		for script, want := range map[string]int{
			ask + " && " + ask: exitOK, ask: exitFailed, ask + " && " + ask + "; exit 7": exitFailed,
		} {
			code, out, said := streamassay(t, dir, "mock", "--dialect", "agkit", "--expect", "calls.yaml", "--", "sh", "-c", script)
			if code != want {
				t.Errorf("%s: exit %d, want %d\n%s%s", script, code, want, out, said)
			}
		}
	})
	t.Run("several dialects", func(t *testing.T) {
		t.Parallel()
		code, out, said := streamassay(t, dir, "mock", "--", "sh", "-c", `test -n "$MOCK_URL"`)
		const want = "command sh failed: exit status 1 (MOCK_URL is not set, because several dialects are served: " +
			"use MOCK_URLS or one --dialect)\n"
		if code != exitFailed || !strings.HasSuffix(said, want) {
			t.Errorf("exit %d, want %d\n%s%s\nwant %s", code, exitFailed, out, said, want)
		}
	})
	t.Run("unknown rule", func(t *testing.T) {
		t.Parallel()
		args := []string{"mock", "greets.yaml", "--dialect", "agkit", "--expect", "rule.yaml", "--", "true"}
		const want = "warning: --expect rule.yaml: call 1: the scripts have no rule \"greet\"; did you mean greets?\n"
		if code, out, said := streamassay(t, dir, args...); code != exitInconclusive || !strings.Contains(said, want) {
			t.Errorf("exit %d, want %d\n%s%s\nwant %s", code, exitInconclusive, out, said, want)
		}
	})
	t.Run("malformed", func(t *testing.T) {
		t.Parallel()
		m := startMock(t, dir, "--dialect", "agkit", "--expect", "strict.yaml")
		if _, err := http.Post(m.base()+"/send-message", "application/json", strings.NewReader("{")); err != nil {
			t.Fatal(err)
		}
		if code := m.stop(t); code != exitFailed || !strings.Contains(m.out.String(), "agkit.") {
			t.Errorf("exit %d\n%s", code, m.out)
		}
	})
}

// TestMockRecords checks that mock --record saves the responses of a server, without secrets, and
// that a mock replays them byte for byte.
func TestMockRecords(t *testing.T) {
	dir := t.TempDir()
	real := startMock(t, dir, "--dialect", "agkit")
	taped := startMock(t, dir, "--dialect", "agkit", "--record", real.base(), "--save", "tapes", "--header", "Authorization: Bearer s3cr3t-token")
	want := taped.says(t, "conformance:text hello there")
	if code := taped.stop(t); code != exitOK {
		t.Errorf("it ends with %d", code)
	}
	files, err := filepath.Glob(filepath.Join(dir, "tapes", "*.txtar"))
	if err != nil || len(files) != 1 {
		t.Fatalf("there are %v, %v", files, err)
	}
	text, err := os.ReadFile(files[0])
	if err != nil || bytes.Contains(text, []byte("s3cr3t")) {
		t.Errorf("%v\n%s", err, text)
	}
	again := startMock(t, dir, "--dialect", "agkit", "tapes")
	if got := again.says(t, "conformance:text hello there"); got != want || want == "" {
		t.Errorf("it plays\n%s\nand what was recorded is\n%s", got, want)
	}
	if code, out, said := streamassay(t, dir, "mock", "--check", "tapes"); code != exitOK || !strings.Contains(out, "1 recording") {
		t.Errorf("exit %d %s %s", code, out, said)
	}
}

// TestConvert checks that fixtures of another mock server are converted to a script that a mock can
// play.
func TestConvert(t *testing.T) {
	dir := t.TempDir()
	fixtures := `{"fixtures":[{"match":{"userMessage":"hello"},"response":{"content":"good morning"}}]}`
	if err := os.WriteFile(filepath.Join(dir, "greet.json"), []byte(fixtures), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, said := streamassay(t, dir, "convert", "greet.json", "--out", "scripts")
	if code != exitOK || !strings.Contains(out, "scripts") {
		t.Fatalf("exit %d %s %s", code, out, said)
	}
	m := startMock(t, dir, "--dialect", "agkit", "scripts")
	if said := m.says(t, "hello"); !strings.Contains(said, "morning") {
		t.Errorf("it says %s", said)
	}
	if err := os.WriteFile(filepath.Join(dir, "first.json"), []byte(fixtures), 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"convert", "first.json", "greet.json", "--out", "scripts"}
	if code, _, said := streamassay(t, dir, args...); code != exitUsage || !strings.Contains(said, "--force") {
		t.Errorf("a file is written over: %d %s", code, said)
	}
	if _, err := os.Stat(filepath.Join(dir, "scripts", "first.yaml")); err == nil {
		t.Error("a file is written although another one exists")
	}
	for args, right := range map[string]string{"": "convert needs files", "missing.har": "no such file", "greet.json --to book": "transcript or script", "greet.json --dialect rans": "runs"} {
		if code, _, said := streamassay(t, dir, append([]string{"convert"}, strings.Fields(args)...)...); code != exitUsage || !strings.Contains(said, right) {
			t.Errorf("convert %s: exit %d %s", args, code, said)
		}
	}
}

// TestForeignEvents checks that convert and mock --check report a recording whose events are not
// those of the dialect, and which dialect they look like.
func TestForeignEvents(t *testing.T) {
	dir := t.TempDir()
	const (
		other   = "the events are not those of runs@2026-04 but look like agkit@0.0.10: try --dialect agkit@0.0.10\n"
		unknown = "the events are not those of runs@2026-04, nor of any other dialect that streamassay knows\n"
	)
	for _, c := range []struct {
		name, body, dialect, note string
		converted, checked        int // exit codes
	}{
		{"agkit", goodStream, "runs", other, exitFailed, exitFailed},
		{"right", goodStream, "agkit", "", exitOK, exitOK},
		{"chunks", "data: {\"object\":\"chat.completion.chunk\"}\n\n", "runs", unknown, exitFailed, exitOK},
		{"empty", "", "runs", "", exitOK, exitOK},
	} {
		file := c.name + ".http"
		text := "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n" + c.body
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		note, converted := "", ""
		if c.note != "" {
			note, converted = file+": "+c.note, "streamassay: "+file+": was converted, but "+c.note
		}
		code, out, said := streamassay(t, dir, "convert", file, "--dialect", c.dialect)
		if code != c.converted || out != c.name+".txtar\n" || said != converted {
			t.Errorf("convert %s: exit %d, %s%s", c.name, code, out, said)
		}
		code, out, said = streamassay(t, dir, "mock", "--check", file, "--dialect", c.dialect)
		if code != c.checked || code == exitFailed && out != note || said != "" {
			t.Errorf("mock --check %s: exit %d, %s%s", c.name, code, out, said)
		}
	}
}
