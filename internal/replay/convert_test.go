package replay_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"

	"github.com/streamassay/streamassay/internal/replay"
	"github.com/streamassay/streamassay/internal/script"
	"github.com/streamassay/streamassay/internal/transcript"
	"github.com/streamassay/streamassay/spec/dialect"
)

// converted converts fixtures to a script, which must load without errors. It returns the script
// and the problems of the conversion; the script is "" if no fixture can be converted.
func converted(t *testing.T, fixtures string) (yaml string, problems []replay.FileProblem) {
	t.Helper()
	files, problems := replay.ConvertFixtures("dir/chat.json", []byte(fixtures))
	if len(files) == 0 {
		return "", problems
	}
	if len(files) != 1 || files[0].Name != "chat.yaml" {
		t.Fatalf("files %v", files)
	}
	_, found := script.Load([]script.Source{{Name: "chat.yaml", Data: files[0].Data}}, all(t))
	for _, p := range found {
		if p.Severity == script.Error {
			t.Errorf("%v in\n%s", p, files[0].Data)
		}
	}
	return string(files[0].Data), problems
}

func TestFixtures(t *testing.T) {
	for name, tt := range map[string]struct{ in, want string }{
		"a text": {
			`{"fixtures":[{"match":{"userMessage":"hello","hasToolResult":false},"response":{"content":"Hi: \"{{you}}\"\nthere"}}]}`,
			`rules:
  - name: fixture 0
    when:
      last: user
      text:
        contains: hello
    reply:
      - text: "Hi: \"{{\"{{\"}}you}}\"\nthere"
`},
		"a call and its result": {
			`{"fixtures":[
				{"match":{"toolCallId":"call_1","toolResultContains":"yes"},"response":{"content":"Done."}},
				{"match":{"userMessage":"weather","toolName":"get_weather","hasToolResult":false},"response":{"content":"Let me see.","reasoning":"Hm.","toolCalls":[{"name":"get_weather","id":"call_1","arguments":{"city":"SF","days":[1,2.5],"a":null,"b":true}},{"name":"x","arguments":"{\"z\":1,\"a\":{}}"}]}},
				{"match":{},"response":{"toolCalls":[{"name":"y","arguments":"not json"}],"finishReason":"tool_calls"}}]}`,
			`rules:
  - name: fixture 0
    when:
      tool-result:
        name: get_weather
        text:
          contains: "yes"
    reply:
      - text: Done.
  - name: fixture 1
    when:
      last: user
      text:
        contains: weather
      offers: get_weather
    reply:
      - reasoning: Hm.
      - text: Let me see.
      - client-tool:
          name: get_weather
          arguments:
            city: SF
            days:
              - 1
              - 2.5
            a: null
            b: true
      - client-tool:
          name: x
          arguments:
            z: 1
            a: {}
  - name: fixture 2
    reply:
      - client-tool:
          name: "y"
          arguments: not json
`},
		"calls of several tools with one id": {
			`{"fixtures":[
				{"match":{"userMessage":"a","hasToolResult":false},"response":{"toolCalls":[{"name":"get.a","id":"call_1"}]}},
				{"match":{"userMessage":"b","hasToolResult":false},"response":{"blocks":[{"type":"toolCall","name":"get_b","id":"call_1"}]}},
				{"match":{"userMessage":"again","hasToolResult":false},"response":{"toolCalls":[{"name":"get.a","id":"call_1"}]}},
				{"match":{"toolCallId":"call_1"},"response":{"content":"Done."}}]}`,
			`rules:
  - name: fixture 0
    when:
      last: user
      text:
        contains: a
    reply:
      - client-tool:
          name: get.a
          arguments: {}
  - name: fixture 1
    when:
      last: user
      text:
        contains: b
    reply:
      - client-tool:
          name: get_b
          arguments: {}
  - name: fixture 2
    when:
      last: user
      text:
        contains: again
    reply:
      - client-tool:
          name: get.a
          arguments: {}
  - name: fixture 3
    when:
      tool-result:
        name:
          matches: "^(?:get\\.a|get_b)$"
    reply:
      - text: Done.
`},
		"an order": {
			`{"fixtures":[{"match":{"userMessage":"go","hasToolResult":false,"sequenceIndex":0},"response":{"content":{"a":[1]}}},
				{"match":{"hasToolResult":false,"sequenceIndex":1,"userMessage":"go"},"response":{"blocks":[{"type":"toolCall","name":"t","arguments":{}},{"type":"text","text":"late"}]}}]}`,
			`rules:
  - name: fixture 0
    when:
      last: user
      text:
        contains: go
    reply:
      - text: "{\"a\":[1]}"
    times: 1
  - name: fixture 1
    when:
      last: user
      text:
        contains: go
    reply:
      - text: late
      - client-tool:
          name: t
          arguments: {}
    times: 1
`},
		"errors": {
			`{"fixtures":[{"match":{"context":"py"},"response":{"error":{"message":"slow down","code":"rate"},"status":429,"retryAfter":3}},
				{"match":{},"response":{"error":{"message":"no"}}}]}`,
			`rules:
  - name: fixture 0
    when:
      header:
        X-AIMock-Context: py
    status:
      code: 429
      text: slow down
      problem: rate
      retry-after: 3s
  - name: fixture 1
    status:
      code: 500
      text: "no"
`},
		"a pace and faults": {
			`{"fixtures":[{"match":{"turnIndex":1},"response":{"content":"x"},"streamingProfile":{"ttft":300,"tps":40,"jitter":0.2},"chunkSize":5,"truncateAfterChunks":4,"chaos":{"dropRate":0.25,"rateLimitRate":1,"latencyMs":50}},
				{"match":{},"response":{"content":"x"},"latency":30,"disconnectAfterMs":350},
				{"match":{},"response":{"content":"x"},"recordedTimings":{"ttftMs":100,"interChunkDelaysMs":[10,30],"totalDurationMs":140},"replaySpeed":2}]}`,
			`rules:
  - name: fixture 0
    when:
      turn: 2
    reply:
      - text: x
    pace:
      first: 300ms
      rate: 40
      jitter:
        uniform: 0.2
      chunk: 5
    faults:
      - abort:
          event: 4
      - slow-head:
          for: 50ms
      - http-error:
          status: 500
          chance: 25
      - too-many: {}
  - name: fixture 1
    reply:
      - text: x
    pace:
      first: 30ms
      rate: 33.3333
    faults:
      - abort:
          time: 350ms
  - name: fixture 2
    reply:
      - text: x
    pace:
      first: 50ms
      rate: 100
`},
	} {
		t.Run(name, func(t *testing.T) {
			got, _ := converted(t, tt.in)
			_, got, _ = strings.Cut(got, "\n")
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestFixtureProblems checks that members without an equivalent and invalid members of fixtures are
// reported.
func TestFixtureProblems(t *testing.T) {
	for _, tt := range []struct {
		in, want string
		level    replay.Severity
		omitted  bool // the result has no file
	}{
		{`{"fixtures":[{"match":{"inputText":"x"},"response":{"content":"x"}}]}`, "fixtures[0]: inputText: the fixture is omitted", replay.Error, true},
		{`{"fixtures":[{"match":{},"response":{"embedding":[1]}}]}`, "embedding: the fixture is omitted", replay.Error, true},
		{`{"fixtures":[{"match":{"endpoint":"image"},"response":{"content":"x"}}]}`, `no dialect has an equivalent of "image"`, replay.Error, true},
		{`{"fixtures":[{"match":{"userMessage":7},"response":{"content":"x"}}]}`, "userMessage must be a string, got 7", replay.Error, true},
		{`{"fixtures":[{"match":{"hasToolResult":"yes"},"response":{"content":"x"}}]}`, `must be true or false`, replay.Error, true},
		{`{"fixtures":[{"match":{"sequenceIndex":1},"response":{"content":"x"}}]}`, "want 0, the next index", replay.Error, true},
		{`{"fixtures":[{"match":{}}]}`, "the fixture has no response", replay.Error, true},
		{`{"fixtures":[{"match":{},"response":{}}]}`, "needs content", replay.Error, true},
		{`{"fixtures":[{"match":{},"response":{"error":{"message":"x"},"status":200}}]}`, "from 400 to 599", replay.Error, true},
		{`{"fixtures":[{"match":{},"response":{"content":"x"},"chaos":{"dropRate":2}}]}`, "must be a number from 0 to 1", replay.Error, true},
		{
			`{"fixtures":[{"match":{"sequenceIndex":0.5},"response":{"content":"x"}}]}`,
			"sequenceIndex must be an integer from 0 to 1000000, got 0.5", replay.Error, true,
		},
		{
			`{"fixtures":[{"match":{"turnIndex":1.5},"response":{"content":"x"}}]}`,
			"turnIndex must be an integer from 0 to 1000000, got 1.5", replay.Error, true,
		},
		{
			`{"fixtures":[{"match":{},"response":{"content":"x"},"chunkSize":2.5}]}`,
			"chunkSize must be an integer from 1 to 1000000, got 2.5", replay.Error, true,
		},
		{
			`{"fixtures":[{"match":{},"response":{"content":"x"},"truncateAfterChunks":2.5}]}`,
			"truncateAfterChunks must be an integer from 0 to 1000000, got 2.5", replay.Error, true,
		},
		{
			`{"fixtures":[{"match":{},"response":{"error":{"message":"x"},"status":404.5}}]}`,
			"status must be an integer from 100 to 599, got 404.5", replay.Error, true,
		},
		{`{"fixtures":[]}`, "no fixtures in the file", replay.Error, true},
		{`[]`, "is not an object", replay.Error, true},
		{`{`, "chat.json:1:1: not JSON: unexpected end of JSON input", replay.Error, true},
		{"{\"fixtures\": [\n  {},\n]}", "chat.json:3:1: not JSON: invalid character ']'", replay.Error, true},
		{" \n", `chat.json: is empty: want {"fixtures"`, replay.Error, true},
		{`{"fixtures":[{"match":{"model":"gpt-4"},"response":{"content":"x"}}]}`, "fixtures[0]: model is ignored", replay.Warning, false},
		{`{"fixtures":[{"match":{"systemMessage":["a"]},"response":{"content":"x"}}]}`, "systemMessage is ignored", replay.Warning, false},
		{`{"fixtures":[{"match":{"userMessage":"a"},"response":{"content":"x"}}]}`, "userMessage without hasToolResult", replay.Warning, false},
		{`{"fixtures":[{"match":{"toolCallId":"c"},"response":{"content":"x"}}]}`, `toolCallId "c" does not occur`, replay.Warning, false},
		{`{"fixtures":[{"match":{},"response":{"content":"x","usage":{},"finishReason":"length"}}]}`, `finishReason "length" is ignored`, replay.Warning, false},
		{`{"fixtures":[{"match":{},"response":{"toolCalls":[{"name":"f","arguments":"{\"a\":1}}"}]}}]}`, `are not valid JSON; they are sent unchanged`, replay.Warning, false},
		{`{"fixtures":[{"match":{},"response":{"content":"x","webSearches":["q"]}}]}`, "webSearches is ignored", replay.Warning, false},
		{`{"fixtures":[{"match":{"toolNamespace":"n"},"response":{"content":"x"}}]}`, `the unknown member "toolNamespace" of match is ignored`, replay.Warning, false},
		{`{"fixtures":[{"match":{},"response":{"content":"x"},"replaySpeed":2}]}`, "replaySpeed is ignored", replay.Warning, false},
		{`{"fixtures":[{"match":{},"response":{"content":"x"},"chaos":{"dropRate":0.005}}]}`, "1 percent", replay.Warning, false},
	} {
		yaml, problems := converted(t, tt.in)
		found := false
		for _, p := range problems {
			found = found || p.Severity == tt.level && strings.Contains(p.String(), tt.want)
		}
		if !found || (yaml == "") != tt.omitted {
			t.Errorf("%s: problems %v, want %q; script %q", tt.in, problems, tt.want, yaml)
		}
	}
}

// TestFixtureTexts checks that a converted script reproduces texts that are special in YAML or in
// templates.
func TestFixtureTexts(t *testing.T) {
	quote := func(s string) []byte { b, _ := json.Marshal(s); return b }
	escaped := func(s string) string { return strings.ReplaceAll(s, "{{", `{{"{{"}}`) }
	for _, text := range []string{
		"yes", "null", "1.5", "~", "- a", "a: b", "a # b", "{a}", "[a", "'", `"`, " a ", "a\n\nb\n", "é 世界 🎉", "\u2028", "%", "@", "a, b", "a?", "*x", "&x", "!x", "|", ">", "x:", "{{ .Text }}",
		"", "\t", "a\r\nb", "\x00", "---", "...", "? a", "<<", "0x10", "1_000", "\ufeffa", "a\\",
	} {
		in := `{"fixtures":[{"match":{},"response":{"toolCalls":[{"name":"t","arguments":{"v":` + string(quote(text)) + `,"l":[` + string(quote(text)) + `]}}]}}]}`
		if made, problems := converted(t, in); made == "" || len(problems) > 0 {
			t.Errorf("%q: %v", text, problems)
		} else if got := arguments(t, made); !cmp.Equal(got, map[string]any{"v": escaped(text), "l": []any{escaped(text)}}) {
			t.Errorf("%q comes out as %v of\n%s", text, got, made)
		}
	}
}

// TestFixtureKeys checks that a converted script reproduces the arguments of a tool call whatever
// their keys. If a key is special in YAML, the arguments are written as text.
func TestFixtureKeys(t *testing.T) {
	for key, asText := range map[string]bool{
		"": false, "a b": false, "yes": false, "城市": false, "$ref": false, "@id": false, "a: b": false, "1": false,
		"---": true, "<<": true, "? a": true, "a\tb": true, "a\nb": true, "- a": true,
	} {
		inner, _ := json.Marshal(map[string]any{key: "x"})
		made, problems := converted(t, `{"fixtures":[{"match":{},"response":{"toolCalls":[{"name":"t","arguments":`+string(inner)+`}]}}]}`)
		if made == "" || len(problems) > 0 {
			t.Errorf("%q: %v", key, problems)
			continue
		}
		var want any = map[string]any{key: "x"}
		if asText {
			want = string(inner)
		}
		if got := arguments(t, made); !cmp.Equal(got, want) {
			t.Errorf("%q comes out as %v of\n%s", key, got, made)
		}
	}
}

// arguments returns the decoded arguments of the client-tool step with which the first rule of a
// script begins.
func arguments(t *testing.T, text string) any {
	t.Helper()
	var file struct {
		Rules []struct {
			Reply []map[string]struct{ Arguments any }
		}
	}
	if err := yaml.Unmarshal([]byte(text), &file); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return file.Rules[0].Reply[0]["client-tool"].Arguments
}

const har = `{"log":{"version":"1.2","entries":[
{"startedDateTime":"2026-01-31T12:00:01.000Z","request":{"method":"GET","url":"https://h.example/app.js","headers":[]},"response":{"status":200,"statusText":"OK","httpVersion":"HTTP/1.1","headers":[],"content":{"size":1,"mimeType":"text/javascript","text":"x"}}},
{"startedDateTime":"2026-01-31T12:00:02.000Z","request":{"method":"POST","url":"https://h.example/api/v1/agent/runs","headers":[{"name":"Content-Type","value":"application/json"},{"name":"Authorization","value":"Bearer canary-1"}],
 "postData":{"mimeType":"application/json","text":"{\"threadId\":\"3d6a9f0e-5c1b-4e7a-9a52-0f1d2c3b4a59\",\"runId\":\"r1\",\"messages\":[{\"id\":\"u1\",\"role\":\"user\",\"content\":\"canary-1 hello\"}],\"forwardedProps\":{\"runtime_mode\":\"chat\"}}"}},
 "response":{"status":202,"statusText":"Accepted","httpVersion":"HTTP/1.1","headers":[{"name":"Content-Type","value":"application/json"}],"content":{"size":2,"mimeType":"application/json","text":"{\"taskId\":\"t\",\"threadId\":\"3d6a9f0e-5c1b-4e7a-9a52-0f1d2c3b4a59\",\"runId\":\"r1\",\"created\":true}"}}},
{"startedDateTime":"2026-01-31T12:00:03.000Z","request":{"method":"POST","url":"https://h.example/api/v1/agent/runs","headers":[{"name":"Content-Type","value":"application/json"}],
 "postData":{"mimeType":"application/json","text":"{\"threadId\":\"11111111-2222-4333-8444-555555555555\",\"runId\":\"r9\",\"messages\":[{\"id\":\"u1\",\"role\":\"user\",\"content\":\"bye\"}],\"forwardedProps\":{\"runtime_mode\":\"chat\"}}"}},
 "response":{"status":202,"statusText":"Accepted","httpVersion":"HTTP/1.1","headers":[{"name":"Content-Type","value":"application/json"}],"content":{"size":2,"mimeType":"application/json","text":"{}"}}}
]}}`

func TestArchives(t *testing.T) {
	file := filepath.Join(t.TempDir(), "page.har")
	if err := os.WriteFile(file, []byte(har), 0o600); err != nil {
		t.Fatal(err)
	}
	d := openDialect(t, "runs")
	files, problems := replay.Convert(file, replay.ConvertOptions{Dialect: d})
	if len(files) != 2 || len(problems) != 1 || !strings.Contains(problems[0].Message, "GET /app.js is not an operation") {
		t.Fatalf("%d files, problems %v", len(files), problems)
	}
	dir := t.TempDir()
	for _, f := range files {
		if strings.Contains(string(f.Data), "canary") {
			t.Errorf("a secret stands in\n%s", f.Data)
		}
		if err := os.WriteFile(filepath.Join(dir, f.Name), f.Data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	l, problems := replay.Load([]string{dir}, []*dialect.Dialect{d})
	if l.Len() != 2 || len(problems) > 0 {
		t.Fatalf("%d exchanges, problems %v", l.Len(), problems)
	}
	if a := mustFind(t, l, createRequest(otherThread, "mine", "bye"), nil); string(a.Body) != "{}" {
		t.Errorf("answered %s", a.Body)
	}
}

func TestConvertRefuses(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for path, tt := range map[string]struct {
		o    replay.ConvertOptions
		want string
	}{
		write("a.txt", ""):                  {replay.ConvertOptions{}, `cannot convert ".txt"`},
		write("a.har", "{}"):                {replay.ConvertOptions{}, "log.entries: missing or empty"},
		write("b.har", "{}"):                {replay.ConvertOptions{Format: replay.Script}, "the file can be converted to a transcript, not to a script"},
		filepath.Join(dir, "none.json"):     {replay.ConvertOptions{}, "cannot be read"},
		write("c.har", har):                 {replay.ConvertOptions{Dialect: openDialect(t, "agkit")}, "no requests of agkit@0.0.10 in the file"},
		write("d.json", `{"fixtures":[1]}`): {replay.ConvertOptions{}, "fixtures[0]: the fixture is not an object"},
	} {
		files, problems := replay.Convert(path, tt.o)
		text := ""
		for _, p := range problems {
			text += p.String() + "\n"
		}
		if len(files) > 0 || !strings.Contains(text, tt.want) || !strings.Contains(text, filepath.Base(path)) {
			t.Errorf("%s: %d files, %s; want %s", path, len(files), text, tt.want)
		}
	}
	const unnamed = "no request begins with the base path /nomatch, which is not removed"
	if _, problems := replay.Convert(write("c.har", har), replay.ConvertOptions{BaseURL: "/nomatch"}); len(problems) != 1 ||
		problems[0].Severity != replay.Warning || problems[0].Message != unnamed {
		t.Errorf("with another base path: %v", problems)
	}
	files, problems := replay.Convert(write("bare.sse", "data: {}\n\n"), replay.ConvertOptions{Dialect: openDialect(t, "agkit")})
	if len(files) != 1 || len(problems) > 0 {
		t.Fatalf("%v, %v", files, problems)
	}
	tr, err := transcript.Parse(files[0].Name, files[0].Data)
	if err != nil || string(tr.Trace.Exchanges[0].Response.Body) != "data: {}\n\n" || tr.Dialect != "agkit@0.0.10" {
		t.Errorf("%v\n%s", err, files[0].Data)
	}
}
