package script

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/streamassay/streamassay/reference"
	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
)

// examples returns the example scripts, which must load without errors.
func examples(t testing.TB) (all []Source) {
	t.Helper()
	paths, err := filepath.Glob("testdata/examples/*.yaml")
	if err != nil || len(paths) < 4 {
		t.Fatal(paths, err)
	}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, Source{filepath.Base(path), data})
	}
	return all
}

func example(t testing.TB, name string, dialects ...*dialect.Dialect) *RuleSet {
	t.Helper()
	for _, source := range examples(t) {
		if source.Name == name {
			return loaded(t, string(source.Data), dialects...)
		}
	}
	t.Fatal("there is no", name)
	return nil
}

func loaded(t testing.TB, script string, dialects ...*dialect.Dialect) *RuleSet {
	t.Helper()
	set, problems := Load([]Source{{"s.yaml", []byte(script)}}, dialects)
	if set == nil {
		t.Fatal(strings.Join(problemTexts(problems), "\n"))
	}
	return set
}

func TestExamplesAreLoaded(t *testing.T) {
	set, problems := Load(examples(t), testDialects(t))
	for _, p := range problems {
		if !strings.HasPrefix(p.File, "weather.yaml") || !strings.Contains(p.Message, "anything else") {
			t.Errorf("%v", p)
		}
	}
	if len(set.Rules()) < 15 {
		t.Errorf("only %d rules", len(set.Rules()))
	}
}

// userRequest returns a request with the parts in more and a final message of the user. If text is
// empty, there is no message.
func userRequest(text string, more ...spec.Event) *RequestContext {
	parts := append([]spec.Event{}, more...)
	if text != "" {
		parts = append(parts, spec.Event{Kind: spec.InputUser, Text: text})
	}
	return newRequest(parts...)
}

var agkit = sync.OnceValue(func() *dialect.Dialect {
	d, err := dialect.Open("agkit")
	if err != nil {
		panic(err)
	}
	return d
})

// newRequest returns a request with the given parts.
func newRequest(parts ...spec.Event) *RequestContext {
	return &RequestContext{
		Dialect: agkit(), Operation: "run", Parsed: &spec.Event{Thread: "t", Parts: parts},
		Rand: rand.New(rand.NewPCG(1, 2)), Now: time.Unix(1_700_000_000, 0),
	}
}

// describeEvents returns the reply of a decision as text: one line per event, the refusal if there
// is one, or "default" if the server's own agent replies.
func describeEvents(d Decision) string {
	if no := d.Reply.Refusal; no != nil {
		return fmt.Sprintf("%d %s %q %v", no.Status, no.Code, no.Message, no.RetryAfter)
	}
	if d.Reply.Agent == nil {
		return "default"
	}
	var all []string
	var delay time.Duration
	agent := d.Reply.Agent(d.Reply.Pace.Chunk, func(d time.Duration) { delay += d })
	for e := range agent(context.Background(), reference.Turn{Event: spec.Event{Run: "r"}}) {
		line := strings.Join(strings.Fields(fmt.Sprintf("%s %s %s %s %s", e.Kind, e.Message, e.Call, e.ID, e.Name)), " ")
		if e.Text != "" || e.Raw != nil {
			line += fmt.Sprintf(" %q", e.Text+string(e.Raw))
		}
		if delay > 0 {
			line += fmt.Sprintf(" after %v", delay)
			delay = 0
		}
		all = append(all, line)
	}
	return strings.Join(all, "\n")
}

// replyText returns the text of the messages in a reply. If the decision has no scripted reply, it
// returns the result of describeEvents.
func replyText(d Decision) (text string) {
	if d.Reply.Agent == nil {
		return describeEvents(d)
	}
	agent := d.Reply.Agent(d.Reply.Pace.Chunk, func(time.Duration) {})
	for e := range agent(context.Background(), reference.Turn{Event: spec.Event{Run: "r"}}) {
		if e.Kind == spec.MessageDelta {
			text += e.Text
		}
	}
	return text
}

func matchedRule(d Decision) string {
	if d.Rule == nil {
		return ""
	}
	return d.Rule.Name
}

func TestReplies(t *testing.T) {
	var out strings.Builder
	weather, confirm, outage, broken := example(t, "weather.yaml"), example(t, "confirm.yaml"), example(t, "outage.yaml"), example(t, "broken.yaml")
	for _, tt := range []struct {
		set *RuleSet
		f   *RequestContext
	}{
		{weather, userRequest("the WEATHER in Rome?")}, {weather, userRequest("both")}, {weather, userRequest("hello")},
		{confirm, userRequest("order", spec.Event{Kind: spec.InputTool, Name: "confirm"})}, {confirm, userRequest("delete it")},
		{outage, userRequest("fail")}, {outage, userRequest("count")}, {broken, userRequest("hi")},
	} {
		d := tt.set.Decide(tt.f, NewState())
		fmt.Fprintf(&out, "# %s\n%s\n", matchedRule(d), describeEvents(d))
	}
	golden(t, "testdata/replies.golden", out.String())
}

func TestAReplyCanBePlayedAgain(t *testing.T) {
	d := example(t, "weather.yaml").Decide(userRequest("weather in Rome"), NewState())
	if first := describeEvents(d); first != describeEvents(d) || !strings.Contains(first, "Rome") {
		t.Errorf("first %s\nthen %s", first, describeEvents(d))
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	n := 0
	for range d.Reply.Agent(d.Reply.Pace.Chunk, func(time.Duration) {})(ctx, reference.Turn{}) {
		if n++; n == 3 {
			cancel()
		}
	}
	if n != 3 {
		t.Errorf("%d events after the end", n)
	}
}

func TestTheClientsToolIsKnownByItsCall(t *testing.T) {
	set, st := example(t, "confirm.yaml"), NewState()
	offer := spec.Event{Kind: spec.InputTool, Name: "confirm"}
	if call := describeEvents(set.Decide(userRequest("order", offer), st)); !strings.Contains(call, `tool.start r-m1 r-c1 confirm`) || !strings.Contains(call, "book") {
		t.Fatal(call)
	}
	answer := func(text string) Decision {
		return set.Decide(newRequest(spec.Event{Kind: spec.InputUser, Text: "order"}, spec.Event{Kind: spec.InputToolResult, Call: "r-c1", Text: text}), st)
	}
	if d := answer("yes please"); matchedRule(d) != "confirmed" || replyText(d) != "Ordered: yes please." {
		t.Errorf("%s: %s", matchedRule(d), replyText(d))
	}
	if d := answer("no"); matchedRule(d) != "refused" {
		t.Errorf("%s", matchedRule(d))
	}
	if d := set.Decide(newRequest(spec.Event{Kind: spec.InputResume, Text: "ok"}), st); replyText(d) != "You said ok." {
		t.Errorf("%s", replyText(d))
	}
}

func TestMissesSayWhy(t *testing.T) {
	set, st := example(t, "outage.yaml"), NewState()
	f := userRequest("nothing")
	f.Request.Header = spec.Header{{Name: "X-Plan", Value: "pro"}}
	f.Request.Body = []byte(`{"metadata": {"plan": {"name": "pro"}}, "n": 2}`)
	d := set.Decide(f, st)
	var out strings.Builder
	for _, m := range d.Mismatches {
		fmt.Fprintf(&out, "%s: %s\n", m.Rule, m.Reason)
	}
	f = userRequest("checkout")
	f.Parsed.Thread = "another"
	st.SetStep("checkout", "lost")
	for _, m := range set.Decide(f, st).Mismatches[:2] {
		fmt.Fprintf(&out, "%s: %s\n", m.Rule, m.Reason)
	}
	golden(t, "testdata/misses.golden", out.String())
}

func TestStateGoesOn(t *testing.T) {
	set, st := example(t, "outage.yaml"), NewState()
	expect := func(f *RequestContext, want string) {
		t.Helper()
		if got := replyText(set.Decide(f, st)); got != want {
			t.Errorf("%q, not %q", got, want)
		}
	}
	busy := `503 BUSY "busy, count" 2s`
	for _, want := range []string{busy, busy, "here you are", "here you are"} {
		expect(userRequest("count"), want)
	}
	for _, want := range []string{"begun", "paid", "begun"} {
		expect(userRequest("checkout"), want)
	}
	if st.ScenarioSteps()["checkout"] != "paid" {
		t.Errorf("%v", st.ScenarioSteps())
	}
	free := func(after time.Duration) *RequestContext {
		f := userRequest("x")
		f.Request.Header, f.Now = spec.Header{{Name: "x-plan", Value: "free"}}, f.Now.Add(after)
		return f
	}
	expect(free(0), "request 1")
	expect(free(time.Second), "request 2")
	expect(free(21*time.Second), `429  "the quota of rule free plan is exhausted" 39s`)
	expect(free(time.Minute), "request 3")
	st.Reset()
	expect(userRequest("count"), busy)
}

func TestTheBodyIsMatched(t *testing.T) {
	f := userRequest("say")
	f.Request.Body = []byte(`{"metadata": {"plan": {"name": "pro"}}, "n": 1}`)
	if got := replyText(example(t, "outage.yaml").Decide(f, NewState())); got != `"say" {"name":"pro"}` {
		t.Error(got)
	}
}

func TestTurns(t *testing.T) {
	user, answer := spec.Event{Kind: spec.InputUser, Text: "x"}, spec.Event{Kind: spec.InputAssistant, Text: "y"}
	result := spec.Event{Kind: spec.InputToolResult, Call: "c"}
	for _, tt := range []struct {
		name  string
		asked [][]spec.Event
		want  []int
	}{
		{"the server remembers", [][]spec.Event{{user}, {user}, {user}}, []int{1, 2, 3}},
		{"the client repeats", [][]spec.Event{{user}, {user, answer, user}, {user, answer, user, answer, user}}, []int{1, 2, 3}},
		{"the client goes back", [][]spec.Event{{user}, {user, answer, user, answer, user}, {user, answer, user}}, []int{1, 3, 2}},
		{"a result is not a turn", [][]spec.Event{{user}, {result}, {user}}, []int{1, 1, 2}},
		{"a repeated result is none", [][]spec.Event{{user}, {user, answer, result}, {user, answer, result, answer, user}}, []int{1, 1, 2}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			st := NewState()
			for i, parts := range tt.asked {
				f := newRequest(parts...)
				f.analyze(st)
				if f.turn != tt.want[i] {
					t.Errorf("request %d is turn %d, not %d", i+1, f.turn, tt.want[i])
				}
			}
		})
	}
}

func TestARefusedOrRepeatedRequestIsNoTurn(t *testing.T) {
	set := loaded(t, "rules:\n- {when: {turn: 1}, times: 1, status: 503}\n- {reply: 'turn {{.Turn}}'}\n")
	st, shown := NewState(), []string{}
	for _, run := range []string{"a", "b", "b", "c"} {
		f := userRequest("x")
		f.Parsed.Run = run
		shown = append(shown, replyText(set.Decide(f, st)))
	}
	if got := strings.Join(shown, ", "); got != `503  "" 0s, turn 1, turn 1, turn 2` {
		t.Error(got)
	}
	f := userRequest("x") // one request that is passed to two rule sets counts as one turn
	loaded(t, "\ufeffrules:\n- {when: {text: y}, reply: hi}\n").Decide(f, st)
	if got := replyText(set.Decide(f, st)); got != "turn 3" {
		t.Error(got)
	}
}

func TestPriority(t *testing.T) {
	set := loaded(t, "rules:\n- {name: low, priority: -1, reply: hi}\n- {name: first, when: {text: a}, reply: hi}\n- {name: high, priority: 5, when: {text: {contains: b}}, reply: hi}\n")
	for text, want := range map[string]string{"a": "first", "ab": "high", "c": "low"} {
		if got := matchedRule(set.Decide(userRequest(text), NewState())); got != want {
			t.Errorf("%s is answered by %s, not by %s", text, got, want)
		}
	}
}

func TestNoRulesSayNothing(t *testing.T) {
	var none *RuleSet
	if d := none.Decide(userRequest("x"), NewState()); d.Rule != nil || d.Mismatches != nil || d.Reply.Agent != nil {
		t.Errorf("%+v", d)
	}
}
