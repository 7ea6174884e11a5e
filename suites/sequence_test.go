package suites_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/streamassay/streamassay/internal/identity"
	"github.com/streamassay/streamassay/mockserver"
	"github.com/streamassay/streamassay/reference"
	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
	"github.com/streamassay/streamassay/suites"
)

// wander plays generated sequences against a handler. It returns the results of all scenarios and
// sequences, and separately those of the sequences. adjust may change the target before the run.
func wander(t *testing.T, h http.Handler, d *dialect.Dialect, adjust func(*suites.Target)) (all, sequences []suites.ScenarioResult) {
	t.Helper()
	srv := httptest.NewServer(h)
	defer srv.Close()
	base, err := url.Parse(srv.URL + d.Base)
	if err != nil {
		t.Fatal(err)
	}
	target := suites.Target{Dialect: d, Base: base, ClaimedCapabilities: []string{"scripted"}, Sequences: 30, Seed: 5, Salt: 1, Only: []string{"sequence-*"}}
	target.Header, target.OtherHeader = bearer("token-of-ann"), bearer("token-of-bob")
	adjust(&target)
	parts, err := suites.Run(t.Context(), target, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range parts {
		if strings.HasPrefix(p.Scenario.Name, "sequence-") {
			sequences = append(sequences, p)
		}
	}
	return parts, sequences
}

// upright returns the reference with two users.
func upright(t *testing.T, d *dialect.Dialect) http.Handler {
	t.Helper()
	return reference.New(d, reference.Scripted, reference.Config{Authenticator: twoUsers(t)})
}

func twoUsers(t *testing.T) *identity.StaticTokens {
	t.Helper()
	users := &identity.StaticTokens{}
	for _, pair := range []string{"ann:token-of-ann", "bob:token-of-bob"} {
		if err := users.Add(pair); err != nil {
			t.Fatal(err)
		}
	}
	return users
}

// complaints returns the findings in p, sorted, each as the id of the check and the id of the
// violated requirement, without repetitions.
func complaints(p suites.ScenarioResult) (all []string) {
	for _, r := range p.Evaluation.Results {
		for _, f := range r.Findings {
			all = append(all, fmt.Sprint(r.PlannedCheck.Check.ID, " ", r.PlannedCheck.Requirement(f).ID))
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// TestSequencesReference checks that sequences find no fault in the reference and in the mock.
func TestSequencesReference(t *testing.T) {
	servers := map[string]func(*testing.T, *dialect.Dialect) http.Handler{"reference": upright, "mock": mocked}
	for _, name := range dialect.Names() {
		for of, server := range servers {
			t.Run(name+"/"+of, func(t *testing.T) {
				t.Parallel()
				d, err := dialect.Open(name)
				if err != nil {
					t.Fatal(err)
				}
				_, played := wander(t, server(t, d), d, func(*suites.Target) {})
				if len(played) != 30 {
					t.Fatalf("%d sequences were played", len(played))
				}
				faultless(t, played)
			})
		}
	}
}

// mocked returns the mock with two users.
func mocked(t *testing.T, d *dialect.Dialect) http.Handler {
	t.Helper()
	m, err := mockserver.New(mockserver.Config{Dialects: []*dialect.Dialect{d}, Server: reference.Config{Authenticator: twoUsers(t)}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return m
}

// faultless reports a test error if any result has a verdict worse than passed, or if less was
// judged than expected.
func faultless(t *testing.T, played []suites.ScenarioResult) {
	t.Helper()
	judged, exchanges := 0, 0
	for _, p := range played {
		if p.Err != nil {
			t.Errorf("%s: %v", p.Scenario.Name, p.Err)
		}
		exchanges += len(p.Trace.Exchanges)
		for _, r := range p.Evaluation.Results {
			if judged += r.Judged; r.Verdict > spec.Passed {
				t.Errorf("%s: %s: %s %v\n%s", p.Scenario.Name, p.Scenario.Doc, r.PlannedCheck.Check.ID, r.Verdict, findings(r))
			}
		}
	}
	t.Logf("%d exchanges, %d judgements", exchanges, judged)
	if exchanges < 100 || judged < 1000 {
		t.Errorf("only %d judgements in %d exchanges", judged, exchanges)
	}
}

// TestSequencesSeed checks that the same seed leads to the same requests in the same order and
// another seed to other requests. The requests of a sequence must not depend on which other
// sequences are played.
func TestSequencesSeed(t *testing.T) {
	d, err := dialect.Open("agentscope@1.1")
	if err != nil {
		t.Fatal(err)
	}
	ask := func(seed uint64, only ...string) (said []string) {
		_, played := wander(t, upright(t, d), d, func(target *suites.Target) {
			target.Sequences, target.Seed, target.Only = 6, seed, only
			target.LackedCapabilities = []string{"client-tool"} // what a server calls its calls it makes up anew
		})
		for _, p := range played {
			said = append(said, p.Scenario.Name+": "+p.Scenario.Doc)
			for _, x := range p.Trace.Exchanges {
				said = append(said, fmt.Sprintf("%s %s %s", x.Request.Method, x.Request.Target, x.Request.Body))
			}
		}
		return said
	}
	first := ask(1, "sequence-*")
	if again := ask(1, "sequence-*"); !slices.Equal(first, again) {
		t.Errorf("the same seed asked\n%s\nand then\n%s", strings.Join(first, "\n"), strings.Join(again, "\n"))
	}
	if other := ask(2, "sequence-*"); slices.Equal(first, other) {
		t.Error("another seed asks the same")
	}
	one := ask(1, "sequence-4")
	if len(one) < 2 || !strings.Contains(strings.Join(first, "\n"), strings.Join(one, "\n")) {
		t.Errorf("by itself, sequence-4 asks\n%s", strings.Join(one, "\n"))
	}
}

// TestSequencesRounds checks that every round of a run plays the same actions with different ids,
// so that the results of the rounds can be compared.
func TestSequencesRounds(t *testing.T) {
	d, err := dialect.Open("agkit")
	if err != nil {
		t.Fatal(err)
	}
	round := func(n int) (does, asks []string) {
		_, played := wander(t, upright(t, d), d, func(target *suites.Target) {
			target.Sequences, target.Seed, target.Round, target.Only = 4, 3, n, []string{"sequence-*"}
		})
		for _, p := range played {
			does = append(does, p.Scenario.Name+": "+p.Scenario.Doc)
			for _, x := range p.Trace.Exchanges {
				asks = append(asks, string(x.Request.Body))
			}
		}
		return does, asks
	}
	does, asks := round(0)
	doesAgain, asksAgain := round(1)
	if len(does) != 4 || !slices.Equal(does, doesAgain) {
		t.Errorf("the first round does\n%s\nand the second\n%s", strings.Join(does, "\n"), strings.Join(doesAgain, "\n"))
	}
	for _, ask := range asks {
		if strings.Contains(ask, `"conversationId":"`) && slices.Contains(asksAgain, ask) {
			t.Errorf("both rounds ask %s", ask)
		}
	}
}

// TestSequencesRespect checks that sequences contain no actions for capabilities that the target
// lacks, and that sequences which are not selected are not played.
func TestSequencesRespect(t *testing.T) {
	d, err := dialect.Open("runs")
	if err != nil {
		t.Fatal(err)
	}
	ask := func(adjust func(*suites.Target)) (said string, n int) {
		_, played := wander(t, upright(t, d), d, func(target *suites.Target) {
			target.Sequences = 8
			adjust(target)
		})
		for _, p := range played {
			said += p.Scenario.Doc + "\n"
		}
		return said, len(played)
	}
	lacking, _ := ask(func(t *suites.Target) {
		t.LackedCapabilities, t.OtherHeader = []string{"cancel", "attachments", "history", "resume", "refusals"}, nil
	})
	for _, word := range []string{"cancel", "image", "history", "again", "fault", "another user"} {
		if strings.Contains(lacking, word) {
			t.Errorf("asked for %q of a target that lacks it:\n%s", word, lacking)
		}
	}
	if _, n := ask(func(t *suites.Target) { t.Skip = []string{"sequence-[1-3]"} }); n != 5 {
		t.Errorf("3 of 8 are skipped, and %d are played", n)
	}
	if _, n := ask(func(t *suites.Target) { t.Only = []string{"text"} }); n != 0 {
		t.Errorf("%d sequences are played, and none is selected", n)
	}
	if _, n := ask(func(t *suites.Target) { t.Sequences = 0; t.Only = nil; t.Skip = []string{"[!t]*"} }); n != 0 {
		t.Errorf("%d sequences are played, and nobody wanted any", n)
	}
}

func findings(r spec.CheckResult) string {
	var b strings.Builder
	for _, f := range r.Findings {
		fmt.Fprintf(&b, "  exchange %d: %s (%s)\n", f.Event.Exchange, f.Message, r.PlannedCheck.Requirement(f).ID)
	}
	return b.String() + r.Note
}
