package rules_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/streamassay/streamassay/internal/rules"
	"github.com/streamassay/streamassay/internal/transcript"
	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
)

// verdictsByRequirement evaluates the transcript text and returns the verdict on each requirement
// of its dialect, by id.
func verdictsByRequirement(t *testing.T, text string) map[string]spec.Verdict {
	t.Helper()
	tr, err := transcript.Parse("test.txtar", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	d, err := dialect.Open(tr.Dialect)
	if err != nil {
		t.Fatal(err)
	}
	verdicts := map[string]spec.Verdict{}
	h := spec.Run(d.Plan(rules.All), d.Events(tr.Trace), nil)
	for _, r := range spec.RequireCompleteExchange([]spec.Evaluation{h})[0].Results {
		for _, requirement := range r.PlannedCheck.Requirements {
			verdicts[requirement.ID] = max(verdicts[requirement.ID], r.VerdictOn(requirement))
		}
	}
	return verdicts
}

const (
	agkitAsk = "POST /send-message HTTP/1.1\nAccept: text/event-stream\nAccept-Encoding: identity\nContent-Type: application/json\n\n" +
		`{"conversationId":"c","messages":[{"role":"user","content":"conformance:text Hello"}]}` + "\n"
	agkitAnswer = "HTTP/1.1 200 OK\nContent-Type: text/event-stream\n\n" + `data: {"type":"text","content":"Hello"}` + "\n\ndata: [DONE]\n\n"
	processAsk  = "POST /process HTTP/1.1\nAccept: text/event-stream\nContent-Type: application/json\n\n" +
		`{"input":[{"role":"user","type":"message","content":[{"type":"text","text":"Hello"}]}],"session_id":"s"STREAM}` + "\n"
	processAnswer = "HTTP/1.1 200 OK\nContent-Type: text/event-stream\n\n" + `data: {"sequence_number":0,"object":"response","status":"created"}` + "\n\n"
	runsAsk       = "GET /runs/3d6a9f0e-5c1b-4e7a-9a52-0f1d2c3b4a59/events?runId=r HTTP/1.1\nAccept: text/event-stream\n\n"
)

// Parts of transcripts in the dialect agentscope-java@1.0: a request, and the beginning and the end
// of its response.
var (
	javaAsk   = strings.Replace(processAsk, "STREAM", "", 1)
	javaBegin = "HTTP/1.1 200 OK\nContent-Type: text/event-stream\n\n" + javaRun("in_progress", "null") + javaRun("in_progress", "null")
	javaEnd   = javaRun("completed", "1795226549")
)

const (
	javaText = `data:{"sequence_number":2,"object":"content","status":null,"type":"text","index":0,"delta":true,"msg_id":null,"text":"Hello"}` + "\n\n"
	javaOpen = `data:{"sequence_number":2,"object":"message","status":"in_progress","id":"m1","type":"message","role":"assistant","content":null,"metadata":{}}` + "\n\n"
)

func javaRun(status, completed string) string {
	return `data:{"sequence_number":2,"object":"response","status":"` + status + `","error":null,"id":"r","created_at":1795226548,"completed_at":` +
		completed + `,"output":null,"usage":null,"session_id":"s"}` + "\n\n"
}

// A requirementTest is a transcript with the ids of the requirements that it violates, satisfies
// and does not exercise.
type requirementTest struct{ text, failed, passed, silent string }

// TestRequirementVerdicts checks that evidence counts only for the requirement to which it refers.
func TestRequirementVerdicts(t *testing.T) {
	agkit := func(answers ...string) string {
		text := "x\n\ndialect: agkit@0.0.10\n"
		for i, a := range answers {
			n := string(rune('1' + i))
			text += "-- " + n + ".request --\n" + agkitAsk + "-- " + n + ".response --\n" + a
		}
		return text
	}
	one := func(name, ask, answer string) string {
		return "x\n\ndialect: " + name + "\n-- 1.request --\n" + ask + "-- 1.response --\n" + answer
	}
	two := func(name, ask, answer, ask2, answer2 string) string {
		return one(name, ask, answer) + "-- 2.request --\n" + ask2 + "-- 2.response --\n" + answer2
	}
	json := "HTTP/1.1 200 OK\nContent-Type: application/json\n\n{}\n"
	failing := "HTTP/1.1 500 Internal Server Error\nContent-Type: text/plain\n\nno\n"
	cut := "HTTP/1.1 200 OK\nContent-Type: text/event-stream\nTransfer-Encoding: chunked\n\ndata: {\"type\":\"text\",\"content\":\"He\"}\n\n:@ cut\n"
	with, without := strings.Replace(processAsk, "STREAM", `,"stream":true`, 1), strings.Replace(processAsk, "STREAM", "", 1)
	tests := map[string]requirementTest{
		"the status": {agkit(agkitAnswer, failing), "agkit.http.status", "agkit.sse.content-type", ""},
		"the media type": {agkit(agkitAnswer, strings.Replace(agkitAnswer, "text/event-stream", "text/plain", 1)),
			"agkit.sse.content-type", "agkit.http.status", ""},
		"the coding": {agkit(agkitAnswer, strings.Replace(agkitAnswer, "\n\n", "\nContent-Encoding: br\n\n", 1)),
			"agkit.sse.content-type", "agkit.http.status", ""},
		"an answer cut off":       {agkit(agkitAnswer, cut), "agkit.http.post", "agkit.http.status", ""},
		"the status of events":    {one("runs@2026-04", runsAsk, failing), "runs.stream.status-200", "", "runs.stream.content-type runs.stream.idle-default runs.resume.optional"},
		"the media type, again":   {one("runs@2026-04", runsAsk, json), "runs.stream.content-type", "", "runs.resume.optional"},
		"the status, java":        {one("agentscope-java@0.1", without, failing), "agentscope-java.http.status", "", "agentscope-java.http.sse agentscope-java.req.stream-default"},
		"nothing streams":         {two("agentscope@1.1", with, json, without, json), "agentscope.http-ok", "", "agentscope.stream-default"},
		"only what says stream":   {two("agentscope@1.1", with, processAnswer, without, json), "agentscope.stream-default", "", ""},
		"only what does not, too": {two("agentscope@1.1", without, processAnswer, with, json), "agentscope.http-ok", "", ""},
	}
	tests["after the end, java"] = requirementTest{one("agentscope-java@1.0", javaAsk, javaBegin+javaEnd+javaText), "agentscope-java.resp.last", "", ""}
	tests["never completed, java"] = requirementTest{one("agentscope-java@1.0", javaAsk, javaBegin+javaOpen+javaText+javaEnd), "agentscope-java.msg.completed", "agentscope-java.resp.last", ""}
	tests["failed, java"] = requirementTest{one("agentscope-java@1.0", javaAsk, javaBegin+javaOpen+strings.Replace(javaOpen, "in_progress", "failed", 1)+javaText+javaEnd), "", "agentscope-java.msg.completed", ""}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := verdictsByRequirement(t, test.text)
			if test.failed != "" && got[test.failed] != spec.Failed {
				t.Errorf("%s is %v, want failed", test.failed, got[test.failed])
			}
			for _, id := range strings.Fields(test.passed) {
				if got[id] != spec.Passed {
					t.Errorf("%s is %v, want passed", id, got[id])
				}
			}
			for _, id := range strings.Fields(test.silent) {
				if got[id] != spec.Silent {
					t.Errorf("%s is %v, want silent", id, got[id])
				}
			}
			for id, v := range got {
				other := strings.HasPrefix(id, "agentscope.") || strings.HasPrefix(id, "agentscope-java.") // their streams are incomplete here
				if v == spec.Failed && id != test.failed && !other {
					t.Errorf("%s is failed, want passed or silent", id)
				}
			}
		})
	}
}

// naming lists the checks that name the requirement of each of their judgements.
var naming = []*spec.Check{
	rules.OpensStream, rules.MatchesSchema, rules.ReplyAsPromised, rules.RefusesAsDocumented, rules.AcceptsAsDocumented,
	rules.NeedsCredentials, rules.OwnerOnly, rules.RefusesExcessStreams, rules.ResumeContinues,
}

// checkedTogether maps each check whose judgements are about several requirements at once to the
// reason. The keys are family and check id.
var checkedTogether = map[string]string{
	"agkit script.recall":             "the prompts make the history visible: the protocol and the convention require the same answer",
	"agkit script.resume":             "the prompts make the payload of a resume visible: likewise",
	"agkit script.client-tool-result": "the prompts make the result of a client tool visible: likewise",
	"agentscope script.recall":        "likewise",
	"agentscope-java script.recall":   "likewise",
	"runs run.keeps-to-itself":        "the document requires it twice: for the stream and for its runId",
}

// TestJudgementsNameTheirRequirement checks that each judgement of a check is about a single
// requirement, even if the check judges several. The exceptions are listed in checkedTogether.
func TestJudgementsNameTheirRequirement(t *testing.T) {
	all, err := dialect.All()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, d := range all {
		for _, planned := range d.Plan(rules.All).PlannedChecks {
			open := slices.DeleteFunc(slices.Clone(planned.Requirements), func(r spec.Requirement) bool { return len(r.About) > 0 })
			if len(open) < 2 || slices.Contains(naming, planned.Check) {
				continue
			}
			pair := d.Family + " " + planned.Check.ID
			if seen[pair] = true; checkedTogether[pair] == "" {
				t.Errorf("%s: judgements of %s are about %d requirements; expected one, or a reason in checkedTogether", d.Name, planned.Check.ID, len(open))
			}
		}
	}
	for pair := range checkedTogether {
		if !seen[pair] {
			t.Errorf("%s is in checkedTogether, but judges only one requirement or names it", pair)
		}
	}
}

// TestRefusedReplies checks that the refusal of an answer to an interrupt counts against the SHOULD
// on such answers, even if the request is the first of the conversation that offers a tool.
func TestRefusedReplies(t *testing.T) {
	const resume = "POST /send-message HTTP/1.1\nAccept: text/event-stream\nContent-Type: application/json\n\n" +
		`{"conversationId":"c","resume":{"interruptId":"i","payload":"yes"},"tools":[{"name":"paint","description":"","parameters":"{}"}]}` + "\n"
	const interrupt = "HTTP/1.1 200 OK\nContent-Type: text/event-stream\n\n" +
		`data: {"type":"interrupt","id":"i","payload":"go on?"}` + "\n\ndata: [DONE]\n\n"
	const refusal = "HTTP/1.1 422 Unprocessable Entity\nContent-Type: application/json\n\n" + `{"detail":"no"}` + "\n"
	verdicts := verdictsByRequirement(t, "\ndialect: agkit@0.0.10\n-- 1.request --\n"+agkitAsk+"-- 1.response --\n"+interrupt+
		"-- 2.request --\n"+resume+"-- 2.response --\n"+refusal)
	for requirement, want := range map[string]spec.Verdict{
		"agkit.resume.accepted": spec.Warned, "agkit.client-tool.parameters-string": spec.Silent,
	} {
		if got := verdicts[requirement]; got != want {
			t.Errorf("%s: %v, want %v", requirement, got, want)
		}
	}
}
