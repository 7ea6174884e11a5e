package main

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestLintMeasuresNothing checks that recordings in which nothing can be judged end with exit code
// 3, that no check passes, and that a note gives the reason.
func TestLintMeasuresNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	noise := make([]byte, 3000)
	luck := rand.New(rand.NewPCG(1, 2))
	for i := range noise {
		noise[i] = byte(luck.Uint32())
	}
	ask := `{"method":"POST","path":"/process","headers":{"Content-Type":"application/json"},"body":{"input":[{"role":"user","content":[{"type":"text","text":"hi"}]}]}}`
	agentscope := "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n" +
		`data: {"sequence_number":0,"object":"response","status":"created","id":"response_1","created_at":1795226548,"session_id":"s"}` + "\n\n" +
		`data: {"sequence_number":1,"object":"content","status":"in_progress","type":"text","index":0,"delta":true,"msg_id":"m","text":"Hello"}` + "\n\n"
	files := map[string]string{
		"noise.sse":          string(noise),
		"noise.http":         "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n" + string(noise),
		"foreign.http":       agentscope,
		"other.http":         agentscope,
		"other.request.json": ask,
		"refused.http":       "HTTP/1.1 422 Unprocessable Entity\r\nContent-Type: application/json\r\n\r\n{\"detail\":\"Field required\"}",
		"empty.http":         "HTTP/1.1 422 Unprocessable Entity\r\nContent-Type: application/json\r\n\r\n{\"detail\":\"Field required\"}",
		"empty.request.json": `{"method":"POST","path":"/send-message","headers":{"Content-Type":"application/json"},"body_raw":""}`,
		"health.http":        "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\nok",
		"renamed.sse":        "data: {\"type\":\"message\",\"text\":\"Hello\"}\n\ndata: [DONE]\n\n",
		"sentinel.sse":       "data: [DONE]\n\n",
		"chunks.sse":         "data: {\"object\":\"chat.completion.chunk\"}\n\n",
		"nothing.sse":        "",
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for file, says := range map[string]string{
		"noise.sse":    "contains no event of agkit@0.0.10 (another dialect, or not an event stream?)",
		"noise.http":   "contains no event of agkit@0.0.10 (another dialect, or not an event stream?)",
		"foreign.http": "contains no event of agkit@0.0.10 (another dialect, or not an event stream?)",
		"renamed.sse":  "contains no event of agkit@0.0.10 (another dialect, or not an event stream?)",
		"chunks.sse":   "contains no event of agkit@0.0.10 (another dialect, or not an event stream?)",
		"sentinel.sse": "contains only the terminator [DONE], and no event before it",
		"nothing.sse":  "contains no event: the body of the response is empty",
		"other.http":   "POST /process: not an operation of agkit@0.0.10 (its streaming operations: POST /send-message); is this agentscope or agentscope-java?",
		"refused.http": `the request (not recorded) got 422 Unprocessable Entity {"detail":"Field required"}: no stream to judge`,
		"empty.http":   `POST /send-message got 422 Unprocessable Entity {"detail":"Field required"}: the request has no body`,
	} {
		code, out, said := streamassay(t, dir, "lint", file, "--dialect", "agkit")
		if code != exitInconclusive || strings.Contains(out, " passed") || strings.Contains(out, "broken") {
			t.Errorf("%s: exit %d\n%s", file, code, out)
		}
		if !strings.Contains(said, says) {
			t.Errorf("%s: it says %q, want %q", file, said, says)
		}
		report := strings.Join(strings.Fields(out), " ")
		if !strings.Contains(report, file+": "+says) && !strings.Contains(report, "COULD NOT TEST agkit@0.0.10, because: ") {
			t.Errorf("%s: the report lacks %q:\n%s", file, says, out)
		}
		assumed := strings.Contains(report, "(assumed, with the Content-Type: the recording has only the stream)")
		if hasCause := strings.Contains(report, "received │"); assumed != (hasCause && strings.HasSuffix(file, ".sse")) {
			t.Errorf("%s: the report says that the status is assumed: %t\n%s", file, assumed, out)
		}
	}
	_, out, _ := streamassay(t, dir, "lint", "health.http", "--dialect", "agkit")
	for _, says := range []string{
		`POST /send-message: 200 OK with content type text/plain, want text/event-stream: "ok" (the request is assumed)`,
		"the request was not recorded: if it was not POST /send-message, describe it in health.request.json (see streamassay",
	} {
		if !strings.Contains(strings.Join(strings.Fields(out), " "), says) {
			t.Errorf("it does not say %s:\n%s", says, out)
		}
	}
	const large = "the first event has more than 16 bytes, the limit of --max-event"
	code, out, said := streamassay(t, dir, "lint", "renamed.sse", "--dialect", "agkit", "--max-event", "16")
	if code != exitInconclusive || !strings.Contains(said, large) || strings.Contains(out, "not those of") {
		t.Errorf("exit %d; it says %q, want %q\n%s", code, said, large, out)
	}
}
