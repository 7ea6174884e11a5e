package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// lintInput runs lint with input on standard input. It returns the exit code, and the output on
// both standard output and standard error.
func lintInput(t *testing.T, input string, args ...string) (code int, out string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], append([]string{"lint"}, args...)...)
	cmd.Env, cmd.Dir = append(os.Environ(), "STREAMASSAY_TEST_MAIN=1"), t.TempDir()
	var b bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(input), &b, &b
	_ = cmd.Run() // the code says it
	return cmd.ProcessState.ExitCode(), b.String()
}

const goodStream = "data: {\"type\":\"text\",\"content\":\"hello\"}\n\ndata: [DONE]\n\n"

// TestLintFolder checks that lint judges all recordings below a directory, as run --transcripts
// writes them.
func TestLintFolder(t *testing.T) {
	dir := t.TempDir()
	if code, out, said := streamassay(t, dir, quick(agkit(t, replacing(`[DONE]`, "[DONE]\n\ndata: {\"type\":\"text\",\"content\":\"more\"}")), "--transcripts", "t")...); code != exitFailed {
		t.Fatalf("exit %d\n%s%s", code, out, said)
	}
	code, out, said := streamassay(t, dir, "lint", "t")
	if code != exitFailed || !strings.Contains(out, "done.is-last") || said != "" {
		t.Errorf("exit %d\n%s%s", code, out, said)
	}
	if err := os.Mkdir(filepath.Join(dir, "none"), 0o700); err != nil {
		t.Fatal(err)
	}
	if code, _, said := streamassay(t, dir, "lint", "none"); code != exitUsage || !strings.Contains(said, "none: contains no recordings") {
		t.Errorf("a directory without recordings: exit %d %s", code, said)
	}
}

// TestLintInput checks that lint accepts the output of curl -i, or an event stream alone, on
// standard input, and rejects anything else.
func TestLintInput(t *testing.T) {
	for input, want := range map[string]int{
		goodStream: exitOK,
		"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n" + goodStream:                   exitOK,
		"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n" + goodStream + goodStream[:43]: exitFailed,
		"": exitUsage, "{": exitUsage,
	} {
		if code, out := lintInput(t, input, "-", "--dialect", "agkit"); code != want {
			t.Errorf("%q: exit %d, want %d\n%s", input, code, want, out)
		}
	}
	if code, out := lintInput(t, goodStream, "-", "-", "--dialect", "agkit"); code != exitUsage || !strings.Contains(out, "given twice") {
		t.Errorf("exit %d %s", code, out)
	}
	if code, out := lintInput(t, goodStream, "-"); code != exitUsage || !strings.Contains(out, "standard input does not name its dialect") {
		t.Errorf("exit %d %s", code, out)
	}
}

// TestLintSecrets checks that reports do not contain a credential of the recorded request, even where
// the response repeats it.
func TestLintSecrets(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"answer.http": "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: {\"type\":\"text\",\"content\":7,\"for\":\"tok-52f1c9\"}\n\n",
		"answer.request.json": `{"method":"POST","path":"/send-message?access_token=tok-52f1c9","headers":{"Content-Type":"application/json","Cookie":"sid=abc-98765"},
			"body":{"conversationId":"c1","messages":[{"role":"user","content":"hello abc-98765"}]}}`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	code, out, said := streamassay(t, dir, "lint", "answer.http", "--dialect", "agkit", "--report", "text", "--report", "json=r.json", "--report", "html=r.html")
	if code != exitFailed || !strings.Contains(out, "REDACTED") {
		t.Errorf("exit %d\n%s%s", code, out, said)
	}
	for _, name := range []string{"r.json", "r.html"} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		out += string(data)
	}
	refused := "HTTP/1.1 401 Unauthorized\r\nContent-Type: application/json\r\n\r\n{\"detail\":\"invalid token tok-52f1c9\"}"
	if err := os.WriteFile(filepath.Join(dir, "answer.http"), []byte(refused), 0o600); err != nil {
		t.Fatal(err)
	}
	_, note, more := streamassay(t, dir, "lint", "answer.http", "--dialect", "agkit")
	if !strings.Contains(more, "invalid token REDACTED") {
		t.Errorf("no note about the refusal:\n%s", more)
	}
	out, said = out+note, said+more
	for _, secret := range []string{"tok-52f1c9", "abc-98765"} {
		if strings.Contains(out+said, secret) {
			t.Errorf("%q is in the reports\n%s", secret, out)
		}
	}
}

// TestLintBareBody checks that a .request.json file may consist of the request body alone, and that
// the response is then judged by the prompt in that body.
func TestLintBareBody(t *testing.T) {
	for body, code := range map[string]int{
		`{"conversationId":"c1","messages":[{"role":"user","content":"conformance:text hello"}]}`:   exitOK,
		`{"conversationId":"c1","messages":[{"role":"user","content":"conformance:text goodbye"}]}`: exitFailed,
	} {
		dir := t.TempDir()
		for name, text := range map[string]string{
			"answer.http": "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n" + goodStream, "answer.request.json": body,
		} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		got, out, said := streamassay(t, dir, "lint", "answer.http", "--dialect", "agkit", "--claim", "scripted")
		if got != code || strings.Contains(said, "no such member") {
			t.Errorf("%s: exit %d, want %d\n%s%s", body, got, code, out, said)
		}
	}
}
