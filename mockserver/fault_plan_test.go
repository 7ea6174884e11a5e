package mockserver_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/onsi/gomega"

	"github.com/streamassay/streamassay/internal/journal"
	"github.com/streamassay/streamassay/internal/script"
	"github.com/streamassay/streamassay/mockserver"
	"github.com/streamassay/streamassay/reference"
	"github.com/streamassay/streamassay/spec"
)

// TestAppliedFaults checks that the journal lists exactly the faults that changed the
// response.
func TestAppliedFaults(t *testing.T) {
	for _, name := range both {
		m := made(t, mockserver.Config{}, name)
		k := newTestClient(t, m)
		for i, c := range []struct {
			fault string
			harm  bool
		}{
			{"abort; event=2", true}, {"abort; event=999", false}, {"clean-end; byte=99999", false}, {"drip; bytes=9; every=1ms", true},
			{"duplicated", true}, {"malformed; event=2", true}, {"malformed; event=999", false}, {"interrupt-not-last", false},
			{"garbage; event=2", true}, {"split", true}, {"content-type", true}, {"http-error", true}, {"empty", true}, {"oversize; event=1; bytes=9000", true},
		} {
			m.Reset("")
			k.ask("run-"+string(rune('a'+i)), "conformance:many 6", "X-Mock-Fault: "+c.fault)
			var applied []string
			page, _ := m.Journal().List(journal.Filter{})
			for _, r := range page {
				for _, f := range r.Faults {
					applied = append(applied, f.Name)
				}
			}
			want := c.fault[:strings.IndexAny(c.fault+";", ";")]
			other := slices.ContainsFunc(applied, func(name string) bool { return !strings.HasPrefix(name, want) })
			if c.harm != (len(applied) > 0) || other { // "empty" affects both responses
				t.Errorf("%s: %s: journal lists %v, want %v", name, c.fault, applied, c.harm)
			}
		}
	}
}

// TestEarlyListenerGetsFaults checks that a stream that was requested before its run started gets the
// faults of the request that then started the run, except gzip, which would have to change its head.
func TestEarlyListenerGetsFaults(t *testing.T) {
	for use, wantWhole := range map[string]bool{"abort; event=2": false, "gzip": true} {
		m := made(t, mockserver.Config{}, "runs@2026-04")
		k := newTestClient(t, m)
		k.ask("run-1", "conformance:text first") // the thread has to be known
		body := make(chan string)
		go func() { body <- string(k.send(k.request("listen", spec.Event{Run: "run-2"})).Body) }()
		g := gomega.NewWithT(t)
		g.Eventually(func() []*mockserver.Stream { return m.Streams("") }).Should(gomega.HaveLen(1))
		k.send(k.request("prompt", spec.Event{Run: "run-2", Text: "conformance:many 6"}), "X-Mock-Fault: "+use)
		if got := <-body; !strings.Contains(got, "run-2") || strings.Contains(got, "5 ") != wantWhole {
			t.Errorf("%s: the stream is %q; want a whole one: %v", use, got, wantWhole)
		}
	}
}

// TestListenerIsHeld checks that a request that listens to a run can hold its stream itself.
func TestListenerIsHeld(t *testing.T) {
	m := made(t, mockserver.Config{}, "runs@2026-04")
	k := newTestClient(t, m)
	k.ask("run-1", "conformance:many 6")
	body := make(chan string)
	go func() { body <- string(k.send(k.request("listen", spec.Event{Run: "run-1"}), "X-Mock-Hold: 1").Body) }()
	g := gomega.NewWithT(t)
	g.Eventually(func() []*mockserver.Stream { return m.Streams("") }).Should(gomega.HaveLen(1))
	open := m.Streams("")[0]
	g.Eventually(func() *int { return open.Status().Held }).Should(gomega.HaveValue(gomega.Equal(1)))
	open.Release()
	if got := <-body; !strings.Contains(got, "5 ") {
		t.Errorf("the stream is %q after its release", got)
	}
}

// TestStreamsOfATest checks that the stream of a request that names no test belongs to the test of
// the run, also if the stream was requested before its run started.
func TestStreamsOfATest(t *testing.T) {
	for _, early := range []bool{false, true} {
		m := made(t, mockserver.Config{}, "runs@2026-04")
		k := newTestClient(t, m)
		k.ask("run-1", "conformance:text first") // the thread has to be known
		start := func() {
			k.send(k.request("prompt", spec.Event{Run: "run-2", Text: "conformance:many 6"}), "X-Test-Id: t", "X-Mock-Hold: 1")
		}
		if !early {
			start()
		}
		done := make(chan spec.Response)
		go func() { done <- k.send(k.request("listen", spec.Event{Run: "run-2"})) }()
		g := gomega.NewWithT(t)
		if early {
			g.Eventually(func() []*mockserver.Stream { return m.Streams("") }).Should(gomega.HaveLen(1))
			start()
		}
		g.Eventually(func() []*mockserver.Stream { return m.Streams("t") }).Should(gomega.HaveLen(1))
		open := m.Streams("t")[0]
		status := open.Status()
		entry, _ := m.Journal().Get(status.Entry)
		if status.Test != "t" || entry.Test != "t" {
			t.Errorf("early %v: the stream belongs to test %q, its journal entry to %q", early, status.Test, entry.Test)
		}
		open.Release()
		<-done
	}
}

// TestResetBeginsAgain checks that a mock sends the same bytes after a reset as after its
// start.
func TestResetBeginsAgain(t *testing.T) {
	seed := uint64(7)
	for _, name := range both {
		m := made(t, mockserver.Config{Seed: &seed}, name)
		k := newTestClient(t, m)
		var first string
		for range 3 {
			got := string(k.ask("run-1", "conformance:many 6").Body)
			if first == "" {
				first = got
			}
			if got != first || !strings.Contains(got, "5 ") {
				t.Errorf("%s: after a reset the response is %s\nand was before %s", name, got, first)
			}
			m.Reset("")
		}
	}
}

// TestResetForgetsFaults checks that a run after a reset gets the faults of its own request,
// although a run with the same id had others before.
func TestResetForgetsFaults(t *testing.T) {
	for _, name := range both {
		m := made(t, mockserver.Config{}, name)
		k := newTestClient(t, m)
		if got := k.ask("run-1", "conformance:many 6", "X-Mock-Fault: abort; event=2; streams=0"); strings.Contains(string(got.Body), "5 ") {
			t.Errorf("%s: the stream is not faulty: %s", name, got.Body)
		}
		m.Reset("")
		if got := string(k.ask("run-1", "conformance:many 6").Body); !strings.Contains(got, "5 ") {
			t.Errorf("%s: the stream after a reset is faulty: %s", name, got)
		}
	}
}

// TestResetOfATest checks that the counters of a test begin anew after its reset, and those of other
// tests do not: those of its script, and those on which random choices depend.
func TestResetOfATest(t *testing.T) {
	seed := uint64(7)
	m := made(t, mockserver.Config{Seed: &seed}, "agkit@0.0.10")
	rules := "rules: [{times: 1, reply: 'first {{uuid}}'}, {quota: {requests: 1, per: 1m}, reply: 'number {{seq \"n\"}}'}]"
	set, problems := script.Load([]script.Source{{Name: "x", Data: []byte(rules)}}, m.Dialects())
	if set == nil || len(problems) > 0 {
		t.Fatal(problems)
	}
	m.SetSettings("", mockserver.RuntimeSettings{Scripts: set})
	k := newTestClient(t, m)
	three := func(test string) (all string) {
		for range 3 {
			all += string(k.ask("run-1", "hi", "X-Test-Id: "+test).Body)
		}
		return all
	}
	first, other := three("a"), three("b")
	m.Reset("a")
	if got := three("a"); got != first || !strings.Contains(got, "first") || !strings.Contains(got, "quota") {
		t.Errorf("after a reset the responses are %s\nand were before %s", got, first)
	}
	if three("b") == other {
		t.Error("the counters of test b begin anew after the reset of test a")
	}
}

// TestResetOfATestForgetsFaults checks that a run of a test gets the faults of its own request after
// a reset of the test, although a run with the same id had others before, and that the reset of another
// test does not change the faults of the run.
func TestResetOfATestForgetsFaults(t *testing.T) {
	m := made(t, mockserver.Config{}, "runs@2026-04")
	k := newTestClient(t, m)
	for _, c := range []struct {
		reset string // the test that is reset before the run is repeated
		fault bool   // whether the repeated run has the fault of the first one
	}{{"b", true}, {"a", false}} {
		k.ask("run-1", "conformance:many 6", "X-Test-Id: a", "X-Mock-Fault: abort; event=2; streams=0")
		m.Reset(c.reset)
		got := string(k.ask("run-1", "conformance:many 6", "X-Test-Id: a").Body)
		if strings.Contains(got, "5 ") == c.fault {
			t.Errorf("after a reset of test %s the stream is %q; want a faulty one: %v", c.reset, got, c.fault)
		}
	}
}

// TestResetBesidesAStream checks that a run which is held during a reset is streamed completely
// after its release, and that an equal run after the reset is streamed completely as well.
func TestResetBesidesAStream(t *testing.T) {
	seed := uint64(7)
	m := made(t, mockserver.Config{Seed: &seed}, "agkit@0.0.10")
	k := newTestClient(t, m)
	body := make(chan string)
	go func() { body <- string(k.ask("run-1", "conformance:many 6", "X-Mock-Hold: 1").Body) }()
	g := gomega.NewWithT(t)
	g.Eventually(func() []*mockserver.Stream { return m.Streams("") }).Should(gomega.HaveLen(1))
	open := m.Streams("")[0]
	m.Reset("")
	if got := string(k.ask("run-1", "conformance:many 6").Body); !strings.Contains(got, "5 ") {
		t.Errorf("after a reset beside a held stream the response is %q", got)
	}
	open.Release()
	if got := <-body; !strings.Contains(got, "5 ") {
		t.Errorf("the held stream is %q", got)
	}
}

// TestOperationKindsAreFilters checks that the journal can be filtered by each kind of
// operation.
func TestOperationKindsAreFilters(t *testing.T) {
	for _, kind := range reference.OperationKinds {
		if err := (journal.Filter{Op: kind}).Check(nil); err != nil {
			t.Error(err)
		}
	}
	if (journal.Filter{Op: "rnu"}).Check(nil) == nil {
		t.Error("an unknown operation is accepted as a filter")
	}
}
