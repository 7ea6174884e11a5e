package reports

import (
	"fmt"
	"time"

	"github.com/streamassay/streamassay/spec"
)

// hostile is a frame with which a server could attack the reader of a report. It sets the title of
// the terminal, clears the screen in two notations, reverses the direction of the text, closes
// elements, fences and literals, and is not UTF-8.
const hostile = "data: {\"a\":\"\x1b]0;owned\a\x1b[2J\u009b2J\u202egnp\u200b</pre><script>alert(1)</script>]]>```\"}\r\ndata: \xff\xfe\x00|*_[x](http://evil)\n\n"

func nth(n int) *int { return &n }

// sample returns a report that contains an example of nearly everything that a report can contain.
func sample() *Report {
	r := &Report{
		Tool: "streamassay", Version: "1.2.3", Target: "http://127.0.0.1:4010/api/v1/agent", Seed: 42, Salt: 7, DurationMS: 3140,
		Started:  time.Date(2026, 1, 31, 13, 0, 0, 5e8, time.FixedZone("CET", 3600)),
		Dialects: []DialectResults{bad(), good()},
	}
	r.Conclude(ExitCodeOptions{})
	return r
}

func bad() DialectResults {
	return DialectResults{
		Dialect: "talk@2",
		Causes: []Cause{{
			Kind: "not-scripted", Message: "the agent does not do what the test prompts ask: prompt \"x\", reply \"\x1b[2J\"", Advice: "add --lacks scripted",
			Scenario: "text", Exchange: nth(0), Operation: "POST /runs", Request: "POST http://127.0.0.1:4010/api/v1/agent/runs\n\n{}", Consequences: 1,
		}},
		Requirements: []RequirementResult{
			{ID: "talk.frames.json", Level: spec.Must, Verdict: spec.Failed, Quote: "每个事件都必须是一个完整的 JSON 对象，客户端逐条解析，不会等待后续的数据。", English: "Every event has to be a complete JSON object; clients parse one by one and wait for no more.", Source: "doc.txt:12-14", Checks: []string{"wire.frames-are-json"}},
			{ID: "talk.run.closes", Level: spec.Must, Verdict: spec.Failed, Quote: "The stream ends when the run has ended.", Source: "doc.txt:20", Checks: []string{"run.closes"}},
			{ID: "talk.seq", Level: spec.Should, Verdict: spec.Warned, Quote: "numbers *should* rise by `1`", Source: "doc.txt:31; observed: server 1.1", Checks: []string{"sequence.rises"}},
			{ID: "talk.names", Level: spec.May, Verdict: spec.Passed, Quote: "may have a name", Source: "doc.txt:40", Checks: []string{"names"}},
			{ID: "talk.resume", Level: spec.Must, Verdict: spec.Error, Quote: "can be resumed", Source: "doc.txt:50", Checks: []string{"resume.suffix"}},
			{ID: "talk.tool", Level: spec.Must, Verdict: spec.Skipped, Quote: "tools", Source: "doc.txt:60", Checks: []string{"tool.nests"}},
			{ID: "talk.idle", Level: spec.Should, Verdict: spec.Silent, Quote: "keeps alive", Source: "doc.txt:70", Checks: []string{"wire.keeps-alive"}},
			{ID: "talk.client", Level: spec.Must, Quote: "the client repeats the id", Source: "doc.txt:80", Checks: []string{}, Excluded: &spec.Exclusion{Kind: "client", Reason: "it obliges the client"}},
		},
		Checks: []Check{
			{
				ID: "wire.frames-are-json", Title: "every frame's data is one JSON object", Level: spec.Must, Scenario: "text", Verdict: spec.Failed, Judged: 7,
				Findings: []Finding{{
					Message: "the frame cannot be read: invalid character '\x1b' in string", Requirement: "talk.frames.json",
					Exchange: 0, Event: nth(3), Line: 9, Offset: 211, Raw: boundedText([]byte(hostile), MaxRaw), Pointer: "/delta",
				}},
				Requirements: []string{"talk.frames.json"}, Curl: "curl -sN -i --data-binary '{\"text\":\"世界\"}' 'http://127.0.0.1:4010/api/v1/agent/runs'", Transcript: "out/talk@2/text.txtar",
			},
			{ID: "wire.frames-are-json", Title: "every frame's data is one JSON object", Level: spec.Must, Scenario: "many", Verdict: spec.Failed, Judged: 1, Findings: []Finding{{Message: "the same again"}}, Requirements: []string{"talk.frames.json"}},
			{
				ID: "answer.comes", Title: "a request is answered", Level: spec.Must, Scenario: "many", Verdict: spec.Failed, Judged: 1, Requests: 2,
				Findings: []Finding{{
					Message: "the answer is 500; it has to be 200", Operation: "POST /runs", Exchange: 1, Raw: "{\"text\":1}",
					Request: "POST http://127.0.0.1:4010/api/v1/agent/runs\n\n{\"text\":1}", Response: "HTTP/1.1 500 Internal Server Error\nContent-Type: text/html\n\n</pre><script>alert(2)</script>",
				}},
				Requirements: []string{"talk.run.closes"}, Curl: "curl -sN -i 'http://127.0.0.1:4010/api/v1/agent/runs'", Rerun: "streamassay run http://127.0.0.1:4010 --dialect talk@2 --only many --seed 42",
			},
			{ID: "stream.ends", Title: "a stream ends", Level: spec.Must, Scenario: "many", Verdict: spec.Failed, Judged: 1, Findings: []Finding{{Message: "it was cut", Exchange: 1}}, Requirements: []string{"talk.run.closes"}},
			{ID: "run.closes", Title: "a stream ends after its run", Level: spec.Must, Scenario: "text", Verdict: spec.Failed, Judged: 1, Note: "you claimed idle, but nothing in scenario text is covered by this rule: prompt \"x\", the reply has no text", Requirements: []string{"talk.run.closes"}},
			{ID: "sequence.rises", Title: "sequence numbers rise by one", Level: spec.Should, Scenario: "text", Verdict: spec.Warned, Judged: 9, Dropped: 7, Requirements: []string{"talk.seq"}, Findings: jumps(5)},
			{ID: "names", Title: "names are names", Level: spec.May, Scenario: "text", Verdict: spec.Passed, Judged: 2, Requirements: []string{"talk.names"}},
			{ID: "resume.suffix", Title: "what is resumed is the rest", Level: spec.Must, Scenario: "resume", Verdict: spec.Error, Note: "not judged: connection refused", Requirements: []string{"talk.resume"}},
			{ID: "tool.nests", Title: "tool calls nest", Level: spec.Must, Scenario: "tool", Verdict: spec.Skipped, Note: "the server lacks tool", Requirements: []string{"talk.tool"}},
			{ID: "wire.keeps-alive", Title: "silence is broken by comments", Level: spec.Should, Scenario: "idle", Verdict: spec.Silent, Requirements: []string{"talk.idle"}},
			{ID: "wire.flushes", Title: "deltas come when they are made", Level: spec.Should, Scenario: "slow", Verdict: spec.Warned, Judged: 1, Note: "it follows from the cause", Cause: nth(0), Requirements: []string{"talk.idle"}},
		},
	}
}

func good() DialectResults {
	return DialectResults{
		Dialect:      "hello@1.0",
		Requirements: []RequirementResult{{ID: "hello.says", Level: spec.Must, Verdict: spec.Passed, Quote: "says hello", Source: "hello.txt:1", Checks: []string{"says"}}},
		Checks:       []Check{{ID: "says", Title: "it says something", Level: spec.Must, Scenario: "text", Verdict: spec.Passed, Judged: 1, Requirements: []string{"hello.says"}}},
	}
}

func jumps(n int) (all []Finding) {
	for i := range n {
		all = append(all, Finding{
			Message: fmt.Sprintf("the number jumps to %d", i), Requirement: "talk.seq",
			Event: nth(i), Line: 3 * i, Offset: 10 * i, Raw: "data: {\"n\":7}\n\n",
		})
	}
	return all
}
