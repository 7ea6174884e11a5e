package mockserver_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/streamassay/streamassay/internal/replay"
	"github.com/streamassay/streamassay/internal/script"
	"github.com/streamassay/streamassay/mockserver"
	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
)

// scripts loads script files for all dialects.
func scripts(t testing.TB, paths ...string) *script.RuleSet {
	t.Helper()
	all, err := dialect.All()
	if err != nil {
		t.Fatal(err)
	}
	var sources []script.Source
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		sources = append(sources, script.Source{Name: path, Data: data})
	}
	set, problems := script.Load(sources, all)
	if set == nil || len(problems) > 0 {
		t.Fatalf("%v", problems)
	}
	return set
}

var spoken = []string{"weather in Ulm", "picture", "are you sure", "luck", "cut", "sometimes", "sometimes", "sometimes", "busy", "busy", "busy",
	"step", "step", "hello", "conformance:tools"}

// session returns the responses of a mock to all prompts of spoken as one text. Each prompt has a
// thread of its own, because a run continues after its stream was cut, and its events would mix
// with those of the next run in random order.
func session(t testing.TB, m *mockserver.Server) string {
	k := newTestClient(t, m)
	var b strings.Builder
	for i, text := range spoken {
		k.thread = fmt.Sprintf("c0ffee00-0000-4000-8000-%012d", i)
		r := k.ask(fmt.Sprintf("run-%d", i), text)
		fmt.Fprintf(&b, "%s: %d %s %v\n%s\n", text, r.Status, r.Header.Get("Content-Type"), r.End, r.Body)
	}
	return b.String()
}

// TestSameSeedSameBytes checks that equal seeds and requests give equal bytes, with every
// script, fault and variation, and that another seed gives different ones.
func TestSameSeedSameBytes(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(paths) == 0 {
		t.Fatal("there are no scripts", err)
	}
	for _, path := range append(paths, "") {
		for _, name := range dialect.Names() {
			t.Run(filepath.Base(path)+"/"+name, func(t *testing.T) {
				t.Parallel()
				play := func(seed uint64, varied bool) string {
					cfg := mockserver.Config{Seed: &seed}
					if path != "" {
						cfg.Scripts = scripts(t, path)
					}
					if varied {
						cfg.Defaults.Vary = &seed
					}
					return session(t, made(t, cfg, name))
				}
				for _, varied := range []bool{false, true} {
					first, again, other := play(7, varied), play(7, varied), play(8, varied)
					if first != again {
						t.Errorf("varied %v: the same seed gives other bytes:\n%s", varied, firstDifference(first, again))
					}
					if first == other && varied {
						t.Errorf("varied %v: another seed gives the same bytes", varied)
					}
				}
			})
		}
	}
}

func firstDifference(a, b string) string {
	x, y := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range min(len(x), len(y)) {
		if x[i] != y[i] {
			from := max(0, i-3)
			return "- " + strings.Join(x[from:i+1], "\n- ") + "\n+ " + strings.Join(y[from:i+1], "\n+ ")
		}
	}
	return "one of them goes on"
}

// TestScript checks scripted replies in every dialect.
func TestScript(t *testing.T) {
	for _, name := range dialect.Names() {
		m := made(t, mockserver.Config{Scripts: scripts(t, "testdata/everything.yaml")}, name)
		k := newTestClient(t, m)
		for i, c := range []struct{ text, want string }{
			{"weather in Ulm", "Ulm"}, {"busy", "503"}, {"busy", "503"}, {"busy", "200"}, {"step", "first"}, {"step", "second"}, {"hello", "world"},
		} {
			r := k.ask(fmt.Sprintf("run-%d", i), c.text)
			if said := fmt.Sprint(r.Status, " ", streamText(k, r)); !strings.Contains(said, c.want) {
				t.Errorf("%s: response to %q is %s, want %q in it\n%s", name, c.text, said, c.want, r.Body)
			}
			if r.Status == 503 && (r.Header.Get("Retry-After") != "2" || !strings.Contains(string(r.Body), "come back later")) {
				t.Errorf("%s: it is refused with %v %s", name, r.Header, r.Body)
			}
		}
	}
}

// streamText returns the concatenated text of the deltas and tool calls of a stream.
func streamText(k *testClient, r spec.Response) string {
	ask := k.request("prompt", spec.Event{Run: "x", Text: "x"})
	if _, listens := k.d.TemplateOperation("listen"); listens {
		ask = k.request("listen", spec.Event{Run: "x"})
	}
	var b strings.Builder
	for e := range k.d.Events(spec.Trace{Exchanges: []spec.Exchange{{Request: ask, Response: r}}}) {
		if e.Kind.Phase() == "delta" || e.Kind == spec.ToolCall {
			b.WriteString(e.Text)
		}
	}
	return b.String()
}

// TestReasonsOfAllScripts checks that the journal gives the reasons of all scripts and of the
// recordings if none of them matches a request.
func TestReasonsOfAllScripts(t *testing.T) {
	m := made(t, mockserver.Config{}, "agkit@0.0.10")
	recorded, problems := replay.Load([]string{"../internal/rules/testdata/wire-good-legal-cr.txtar"}, m.Dialects())
	if recorded == nil {
		t.Fatal(problems)
	}
	for test, name := range map[string]string{"": "shared", "t": "own"} {
		text := "rules: [{name: " + name + ", when: {text: never}, reply: x}]"
		set, problems := script.Load([]script.Source{{Name: name, Data: []byte(text)}}, m.Dialects())
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		m.UpdateSettings(test, func(all *mockserver.RuntimeSettings) { all.Scripts, all.Replay = set, recorded })
	}
	newTestClient(t, m).ask("run-1", "hello", "X-Test-Id: t")
	var rules []string
	r, _ := m.Journal().Get(1)
	for _, miss := range r.Misses {
		rules = append(rules, miss.Rule)
	}
	if got := strings.Join(rules, " "); !strings.HasPrefix(got, "own shared recordings") {
		t.Errorf("the journal gives reasons of %q: %v", got, r.Misses)
	}
}

// TestReload checks that replacing scripts does not affect a thousand open streams.
func TestReload(t *testing.T) {
	const streams = 1000
	m := made(t, mockserver.Config{Scripts: scripts(t, "testdata/everything.yaml")}, "agkit@0.0.10")
	k := newTestClient(t, m)
	want := streamText(k, k.ask("r", "conformance:slow 20 2"))
	var wait sync.WaitGroup
	bad := make(chan string, streams)
	for range streams {
		wait.Go(func() {
			if r := k.ask("r", "conformance:slow 20 2"); streamText(k, r) != want || r.End != nil {
				bad <- fmt.Sprint(r.Status, " ", r.End, " ", streamText(k, r))
			}
		})
	}
	done := make(chan struct{})
	go func() { wait.Wait(); close(done) }()
	reloads := 0
	for open := true; open; reloads++ {
		to := m.Settings("")
		to.Scripts = scripts(t, "testdata/everything.yaml")
		m.SetSettings("", to)
		select {
		case <-done:
			open = false
		default:
		}
	}
	close(bad)
	for one := range bad {
		t.Fatalf("a stream was broken: %s", one)
	}
	if reloads < 3 {
		t.Errorf("scripts were reloaded only %d times", reloads)
	}
}
