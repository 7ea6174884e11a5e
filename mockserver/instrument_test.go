package mockserver_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/onsi/gomega"

	"github.com/streamassay/streamassay/mockserver"
	"github.com/streamassay/streamassay/mockserver/journal"
	"github.com/streamassay/streamassay/reference"
)

// The journal names the faults that did harm, and no others.
func TestStruck(t *testing.T) {
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
			var struck []string
			page, _ := m.Journal().List(journal.Filter{})
			for _, r := range page {
				for _, f := range r.Faults {
					struck = append(struck, f.Name)
				}
			}
			want := c.fault[:strings.IndexAny(c.fault+";", ";")]
			other := slices.ContainsFunc(struck, func(name string) bool { return !strings.HasPrefix(name, want) })
			if c.harm != (len(struck) > 0) || other { // "empty" strikes each of two answers
				t.Errorf("%s: %s is said to have struck: %v, want %v", name, c.fault, struck, c.harm)
			}
		}
	}
}

// What was reset is as if the mock was begun again: ids, conversations and bytes. A run that
// is still told keeps its id.
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
			if got != first || !strings.Contains(got, "5") {
				t.Errorf("%s: after it was reset a mock says %s\nand before %s", name, got, first)
			}
			m.Reset("")
		}
	}
}

// A run that is still told when the mock is reset keeps its id: the next one gets another.
func TestResetBesidesAStream(t *testing.T) {
	seed := uint64(7)
	m := made(t, mockserver.Config{Seed: &seed}, "agkit@0.0.10")
	k := newTestClient(t, m)
	told := make(chan string)
	go func() { told <- string(k.ask("run-1", "conformance:many 6", "X-Mock-Hold: 1").Body) }()
	g := gomega.NewWithT(t)
	g.Eventually(func() []*mockserver.Stream { return m.Streams("") }).Should(gomega.HaveLen(1))
	open := m.Streams("")[0]
	m.Reset("")
	if got := string(k.ask("run-1", "conformance:many 6").Body); !strings.Contains(got, "5 ") {
		t.Errorf("beside a stream that is held, a mock that was reset says %q", got)
	}
	open.Release()
	if got := <-told; !strings.Contains(got, "5 ") {
		t.Errorf("the stream that was held says %q", got)
	}
}

// What a server can be asked to do, the journal can be asked for.
func TestEveryDeedIsAFilter(t *testing.T) {
	for _, deed := range reference.OperationKinds {
		if err := (journal.Filter{Op: deed}).Check(); err != nil {
			t.Error(err)
		}
	}
	if (journal.Filter{Op: "rnu"}).Check() == nil {
		t.Error("an operation that there is not can be asked for")
	}
}
