package rules_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/streamassay/streamassay/internal/rules"
	"github.com/streamassay/streamassay/internal/transcript"
	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
)

// TestTranscripts checks that every transcript fails exactly the checks that it lists, that every
// check passes in some transcript, and that some transcript provokes every message of a check: a
// message that nothing provokes is dead code.
func TestTranscripts(t *testing.T) {
	messages := map[string][]string{} // by check
	passed := map[string]bool{}
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no transcripts: ", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			h, tr := evaluateFile(t, file)
			broken := map[string]bool{}
			want := tr.FailingChecks
			unmet := slices.Clone(tr.ExpectedFindings)
			for _, r := range h.Results {
				id := r.PlannedCheck.Check.ID
				passed[id] = passed[id] || r.Verdict == spec.Passed
				for _, f := range r.Findings {
					broken[id] = true
					message := f.Message
					if v := f.Event.Violations; len(v) > 0 {
						message = strings.TrimSuffix(message, " ("+v[0].Message+")") // which Pass.Judge adds
					}
					messages[id] = append(messages[id], message)
					at := expectedFinding(id, f.Event)
					unmet = slices.DeleteFunc(unmet, func(w transcript.ExpectedFinding) bool { return w == at })
					if !slices.Contains(want, id) && !slices.Contains(tr.ExpectedFindings, at) {
						t.Errorf("%s finds (exchange %d, line %d): %s", id, f.Event.Exchange, f.Event.Line, f.Message)
					}
				}
			}
			for _, id := range want {
				if !broken[id] {
					t.Errorf("%s has no finding, want one", id)
				}
			}
			for _, w := range unmet {
				t.Errorf("%s has no finding at exchange %d, part %d, offset %d", w.Check, w.Exchange+1, w.Part, w.Offset)
			}
		})
	}
	for name, c := range mockConversations {
		for _, r := range spec.Run(spec.NewClientPlan(rules.All, nil, nil, nil), slices.Values(c.events), nil).Results {
			id := r.PlannedCheck.Check.ID
			passed[id] = passed[id] || r.Verdict == spec.Passed
			if (len(r.Findings) > 0) != slices.Contains(c.want, id) {
				t.Errorf("%s: %s has the findings %v, want findings of %v", name, id, r.Findings, c.want)
			}
			for _, f := range r.Findings {
				messages[id] = append(messages[id], f.Message)
			}
		}
	}
	for _, c := range rules.All {
		if !passed[c.ID] {
			t.Errorf("%s passes in no transcript", c.ID)
		}
	}
	all := judgeMessages(t)
	for _, c := range all {
		if !provoked(c.format, messages) {
			t.Errorf("%s: no transcript provokes %q", c.position, c.format)
		}
	}
	t.Logf("%d messages in %d checks, %d transcripts", len(all), len(rules.All), len(files))
}

// expectedFinding returns the expectation that a finding of the check with the given id at e meets.
func expectedFinding(id string, e spec.Event) transcript.ExpectedFinding {
	w := transcript.ExpectedFinding{Check: id, Exchange: e.Exchange}
	switch e.Kind {
	case spec.HTTPRequest:
	case spec.HTTPResponse:
		w.Part = transcript.PartHead
	default:
		w.Part, w.Offset = transcript.PartBody, e.Offset
	}
	return w
}

// evaluateFile returns the evaluation of a transcript, as lint makes it, and the transcript.
func evaluateFile(t *testing.T, file string) (spec.Evaluation, *transcript.Transcript) {
	tr, err := transcript.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	d, err := dialect.Open(tr.Dialect)
	if err != nil {
		t.Fatal(err)
	}
	if strings.HasPrefix(filepath.Base(file), "client-") {
		return spec.Run(d.ClientPlan(rules.All), d.Events(tr.Trace), nil), tr
	}
	h := spec.Run(d.Plan(rules.All), d.Events(tr.Trace), nil)
	return spec.RequireCompleteExchange([]spec.Evaluation{h})[0], tr
}

// mockConversations holds conversations with a mock, and the checks of clients that fail for them.
// A transcript cannot represent these conversations, because it lacks what the mock decided.
var mockConversations = map[string]struct {
	events []spec.Event
	want   []string
}{
	"a rule matches":            {exchangeWithMock(200, spec.RequestFacts{Rule: "greet"}), nil},
	"no rule matches":           {exchangeWithMock(200, spec.RequestFacts{Unmatched: "(1 tried)"}), []string{"client.matched"}},
	"a rule refuses":            {exchangeWithMock(401, spec.RequestFacts{Rule: "refuse"}), nil},
	"a fault refuses":           {exchangeWithMock(401, spec.RequestFacts{Faulty: true}), nil},
	"the mock refuses":          {exchangeWithMock(401, spec.RequestFacts{}), []string{"client.refused"}},
	"no mistake of the client":  {exchangeWithMock(429, spec.RequestFacts{}), nil},
	"the request is unanswered": {exchangeWithMock(0, spec.RequestFacts{}), nil},
}

// exchangeWithMock returns the events of a request to a mock, with what the mock decided, and of
// the head of the response.
func exchangeWithMock(status int, decided spec.RequestFacts) []spec.Event {
	return []spec.Event{
		{Kind: spec.HTTPRequest, Frame: -1, Operation: "POST /runs", Request: &decided},
		{Kind: spec.HTTPResponse, Frame: -1, StatusCode: status},
	}
}

var verb = regexp.MustCompile(`%[a-z]`)

// provoked reports whether any of the messages was made from the given format.
func provoked(format string, messages map[string][]string) bool {
	pattern := verb.ReplaceAllString(regexp.QuoteMeta(format), "(?s:.*)")
	re := regexp.MustCompile("^" + pattern + "$")
	for _, list := range messages {
		if slices.ContainsFunc(list, re.MatchString) {
			return true
		}
	}
	return false
}

// A judgeMessage is the format of one call of Judge that can make a finding, with its position in
// the source.
type judgeMessage struct{ position, format string }

// judgeMessages returns the formats of all calls of Judge in the source of this package that can
// make a finding.
func judgeMessages(t *testing.T) (all []judgeMessage) {
	set := token.NewFileSet()
	files, _ := filepath.Glob("*.go")
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(set, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			sel, ok := call.Fun.(*ast.SelectorExpr)
			if !ok || sel.Sel.Name != "Judge" || len(call.Args) < 3 {
				return true
			}
			literal, ok := call.Args[2].(*ast.BasicLit)
			if !ok {
				t.Errorf("%s: the message is not a string literal", set.Position(call.Pos()))
				return true
			}
			format, _ := strconv.Unquote(literal.Value)
			if holds, ok := call.Args[1].(*ast.Ident); ok && holds.Name == "true" {
				return true // it cannot make a finding
			}
			all = append(all, judgeMessage{set.Position(call.Pos()).String(), format})
			return true
		})
	}
	if len(all) < 60 {
		t.Errorf("only %d messages were found", len(all))
	}
	return all
}
