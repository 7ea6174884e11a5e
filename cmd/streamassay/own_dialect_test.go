package main

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// echoDialect is the document of a small dialect that is not embedded.
const echoDialect = "../../spec/dialect/testdata/echo.yaml"

// expectRun runs the program in dir and checks its exit code, and that its output has each of the
// wanted texts.
func expectRun(t *testing.T, dir string, code int, args []string, wanted ...string) (out string) {
	t.Helper()
	got, out, stderr := streamassay(t, dir, args...)
	if got != code {
		t.Errorf("%s: exit %d, want %d:\n%s%s", strings.Join(args, " "), got, code, out, stderr)
	}
	for _, text := range wanted {
		if !strings.Contains(out+stderr, text) {
			t.Errorf("%s: got %s%s\nwant %q in it", strings.Join(args, " "), out, stderr, text)
		}
	}
	return out
}

// copyDialect copies a document and its catalogue to a new directory, which it returns.
func copyDialect(t *testing.T, document string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for _, name := range []string{document, strings.TrimSuffix(document, ".yaml") + ".requirements.yaml"} {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(name)), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestDialectFile checks that each command takes the path of a document as a dialect.
func TestDialectFile(t *testing.T) {
	dir := copyDialect(t, echoDialect)
	ok := func(args, want string) { expectRun(t, dir, exitOK, strings.Fields(args), want) }
	ok("list dialects --dialect echo.yaml", "echo@1")
	ok("list requirements --dialect ./echo.yaml,agkit", "echo.nested")
	ok("list checks --dialect ./echo.yaml", "wire.matches-schema")
	ok("list scenarios --dialect ./echo.yaml", "text")
	ok("list faults --dialect ./echo.yaml", "cut")
	ok("explain echo.frame --dialect "+filepath.Join(dir, "echo.yaml"), "echo.frame (requirement of echo@1)")
	ok("spec ./echo.yaml", "title: Echo")
	ok("run --dialect ./echo.yaml --set model=large --transcripts recorded --only text", "echo@1")
	ok("lint recorded --dialect ./echo.yaml", "echo@1")
	if got := expectRun(t, dir, exitOK, []string{"lint", "recorded", "--dialect", "./echo.yaml", "--report", "json"}); !strings.Contains(got, "echo@1") {
		t.Errorf("the report does not name the dialect: %s", got)
	}
	expectRun(t, dir, exitUsage, []string{"lint", "recorded"}, `unknown dialect "echo@1"`)
	expectRun(t, dir, exitUsage, []string{"run", "--dialect", "./echo.yaml", "--set", "modle=x"}, "--set", "did you mean model?")

	server := startServer(t, dir, "serve", "--dialect", "./echo.yaml")
	for name, text := range map[string]string{
		"good.yaml": "targets: [{url: '" + server.base() + "', dialects: [./echo.yaml], set: {model: large}}]\n",
		"bad.yaml":  "targets:\n- url: '" + server.base() + "'\n  dialects: [./none.yaml]\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ok("run "+server.base()+" --dialect ./echo.yaml --only text", "echo@1")
	ok("run --config good.yaml --only text", "echo@1")
	expectRun(t, dir, exitUsage, []string{"run", "--config", "bad.yaml"}, "bad.yaml:3: target 1: dialects: ./none.yaml: no such file")
	ok("diff reference "+server.base()+" --dialect ./echo.yaml --only text", "echo@1")
	ok("diff recorded recorded --dialect ./echo.yaml", "")

	mock := startServer(t, dir, "mock", "--dialect", "./echo.yaml")
	ok("run "+mock.base()+" --dialect ./echo.yaml --only text", "echo@1")
	replay := startServer(t, dir, "mock", "recorded", "--dialect", "./echo.yaml")
	if replay.base() == "" {
		t.Error("the mock that replays has no base URL")
	}
}

// chatDialect is the document of docs/own-dialect.md.
const chatDialect = "../../examples/dialects/chat-completions/chat-completions.yaml"

// TestChatCompletions checks that the worked example of docs/own-dialect.md, which exists only as
// files, is used as an embedded dialect is: by the reference and the checks, the mock with scripts
// and faults, and the linter.
func TestChatCompletions(t *testing.T) {
	t.Parallel()
	dir := copyDialect(t, chatDialect)
	for name, text := range map[string]string{
		"weather.yaml": "dialects: chat-completions\nrules:\n" +
			"- when: {text: {contains: weather}}\n  reply: [client-tool: {name: paint, arguments: {city: Paris}}]\n" +
			"- reply: one two three four five six\n  faults: [abort: {event: 3}]\n",
		"unfinished.sse": `data: {"id":"a","object":"chat.completion.chunk","created":1700000000,"model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":"x"},"finish_reason":null}]}` +
			"\n\ndata: [DONE]\n\n",
		"usage.sse": `data: {"id":"a","object":"chat.completion.chunk","created":1700000000,"model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":"x"},"finish_reason":null}]}` +
			"\n\n" + `data: {"id":"a","object":"chat.completion.chunk","created":1700000000,"model":"m","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` +
			"\n\n" + `data: {"id":"a","object":"chat.completion.chunk","created":1700000000,"model":"m","choices":[],"usage":{"prompt_tokens":9,"completion_tokens":2,"total_tokens":11}}` +
			"\n\ndata: [DONE]\n\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const d = "--dialect ./chat-completions.yaml"
	ok := func(args string, wanted ...string) string {
		return expectRun(t, dir, exitOK, strings.Fields(args), wanted...)
	}
	ok("run "+d+" --strict", "PASSED  chat-completions@1: 51 requirements hold, 2 not tested")
	server := startServer(t, dir, "serve", "--dialect", "./chat-completions.yaml")
	ok("run "+server.base()+" "+d+" --claim all --set model=small --transcripts recorded --header Authorization:ann",
		"51 requirements hold, 2 not tested", "test prompts: 9 followed")
	ok("lint recorded "+d+" --claim scripted", "PASSED  chat-completions@1")
	ok("lint usage.sse "+d, "PASSED  chat-completions@1")
	ok("list faults "+d, "abort")
	ok("explain chat.error.messages "+d, "exercised by the scenario refusals", "body /messages is missing")
	expectRun(t, dir, exitFailed, strings.Fields("lint unfinished.sse "+d), "FAILED  run.ends ", "chat.finish.sent")

	mock := startServer(t, dir, "mock", "weather.yaml", "--dialect", "./chat-completions.yaml")
	ask := func(text string) string {
		t.Helper()
		body := `{"model":"m","stream":true,"tools":[{"type":"function","function":{"name":"paint"}}],` +
			`"messages":[{"role":"user","content":"` + text + `"}]}`
		res, err := http.Post(mock.base()+"/chat/completions", "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		data, _ := io.ReadAll(res.Body) // the response to "hello" is cut off
		return string(data)
	}
	if got := ask("the weather"); !strings.Contains(got, "Paris") ||
		!strings.Contains(got, `"finish_reason":"tool_calls"`) || !strings.HasSuffix(got, "data: [DONE]\n\n") {
		t.Errorf("the mock calls the tool so: %s", got)
	}
	if got := ask("hello"); !strings.Contains(got, `"content":"one"`) || strings.Contains(got, "finish_reason\":\"stop") {
		t.Errorf("the fault does not cut the stream off: %s", got)
	}
}
