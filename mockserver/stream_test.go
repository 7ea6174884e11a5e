package mockserver_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/onsi/gomega"

	"github.com/streamassay/streamassay/internal/wire"
	"github.com/streamassay/streamassay/mockserver"
	"github.com/streamassay/streamassay/mockserver/fault"
	"github.com/streamassay/streamassay/mockserver/journal"
	"github.com/streamassay/streamassay/spec"
)

// held asks for a run whose stream waits from its third event on, and is that stream and
// what its client gets in the end.
func held(t *testing.T, m *mockserver.Server, k *testClient) (*mockserver.Stream, <-chan spec.Response) {
	t.Helper()
	got := make(chan spec.Response, 1)
	go func() { got <- k.ask("run-1", "conformance:many 9", "X-Mock-Hold: 2") }()
	var found *mockserver.Stream
	gomega.NewWithT(t).Eventually(func() bool {
		all := m.Streams("")
		if len(all) == 1 && all[0].Status().Events == 3 { // the third stands at the gate
			found = all[0]
		}
		return found != nil
	}).Should(gomega.BeTrue())
	return found, got
}

func count(body []byte) int { return bytes.Count(body, []byte("\n\n")) }

// A stream is held, stepped, added to and let go.
func TestSteps(t *testing.T) {
	for _, name := range both {
		t.Run(name, func(t *testing.T) {
			m := made(t, mockserver.Config{}, name)
			k := newTestClient(t, m)
			whole := count(k.ask("run-0", "conformance:many 9").Body)
			s, got := held(t, m, k)
			if look := s.Status(); look.Held == nil || *look.Held != 2 || look.Run != "run-1" && look.Thread != k.thread {
				t.Errorf("it looks like %+v", look)
			}
			if err := s.Next(2); err != nil {
				t.Fatal(err)
			}
			gomega.NewWithT(t).Eventually(func() int { return s.Status().Events }).Should(gomega.Equal(5))
			if err := s.Inject([]byte(": injected\n\n")); err != nil {
				t.Fatal(err)
			}
			if err := s.Next(0); err == nil {
				t.Error("no event at all can be let go")
			}
			s.Release()
			end := <-got
			if n := count(end.Body); n != whole+1 || end.End != nil {
				t.Errorf("%d frames came, want %d; %v", n, whole+1, end.End)
			}
			if at := bytes.Index(end.Body, []byte(": injected")); count(end.Body[:max(0, at)]) != 4 {
				t.Errorf("what was injected stands at %d in\n%s", at, end.Body)
			}
			if err := s.Next(1); err == nil {
				t.Error("a stream that is not held can be stepped")
			}
			gomega.NewWithT(t).Eventually(func() int { return len(m.Streams("")) }).Should(gomega.BeZero())
		})
	}
}

// A stream that is held can be ended, in each way, by somebody else.
func TestEndedFromOutside(t *testing.T) {
	for how, want := range map[fault.StreamEnd]error{
		fault.Clean: nil, fault.Abort: spec.ErrTruncated, fault.Reset: spec.ErrReset, fault.Stall: spec.ErrIdleTimeout,
	} {
		for _, name := range both {
			t.Run(name+"/"+string(how), func(t *testing.T) {
				t.Parallel()
				m := made(t, mockserver.Config{}, name)
				s, got := held(t, m, patient(t, m, 2*time.Second))
				s.End(how)
				if end := <-got; !errors.Is(end.End, want) || count(end.Body) != 2 {
					t.Errorf("it ends with %v after %d frames", end.End, count(end.Body))
				}
			})
		}
	}
}

// Who leaves a stream that is held lets go of it, and a mock that is shut does too.
func TestHeldStreamsEnd(t *testing.T) {
	for _, name := range both {
		m := made(t, mockserver.Config{}, name)
		k := newTestClient(t, m)
		ctx, leave := context.WithCancel(t.Context())
		header := spec.Header{{Name: "X-Mock-Hold", Value: "1"}}
		r := k.request("prompt", spec.Event{Run: "run-0", Text: "hello"})
		r.Header = append(r.Header, header...)
		go func() {
			_, _ = k.client.Do(ctx, r, wire.StopWhen{})
			if _, listens := k.d.TemplateOperation("listen"); listens {
				_, _ = k.client.Do(ctx, k.request("listen", spec.Event{Run: "run-0"}), wire.StopWhen{})
			}
		}()
		g := gomega.NewWithT(t)
		g.Eventually(func() int { return len(m.Streams("")) }).Should(gomega.Equal(1))
		leave()
		g.Eventually(func() int { return len(m.Streams("")) }).Should(gomega.BeZero())

		_, got := held(t, m, newTestClient(t, m))
		soon, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		if err := m.Shutdown(soon); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		cancel()
		if end := <-got; end.End != nil {
			t.Errorf("%s: a stream that was held when the mock was shut ends with %v", name, end.End)
		}
	}
}

// What one test sets is nobody else's.
func TestIsolation(t *testing.T) {
	m := made(t, mockserver.Config{}, "agkit@0.0.10")
	k := newTestClient(t, m)
	uses, err := fault.Parse("http-error; status=503")
	if err != nil {
		t.Fatal(err)
	}
	m.SetSettings("a", mockserver.Settings{Faults: &uses})
	for test, want := range map[string]int{"a": 503, "b": 200, "": 200} {
		if got := k.ask("r", "hello", "X-Test-Id: "+test).Status; got != want {
			t.Errorf("test %q is answered %d, want %d", test, got, want)
		}
	}
	m.Reset("a")
	if got := k.ask("r", "hello", "X-Test-Id: a").Status; got != 200 {
		t.Errorf("after it was reset test a is answered %d", got)
	}
}

// What is wrong with a header of ours is said, and nothing is served.
func TestBadOverrides(t *testing.T) {
	m := made(t, mockserver.Config{}, "agkit@0.0.10")
	k := newTestClient(t, m)
	for header, right := range map[string]string{
		"X-Mock-Seed: -1":               "whole number",
		"X-Mock-Seed: 9007199254740993": "whole number",
		"X-Mock-Fault: cutt":            "there is no fault",
		"X-Mock-Fault: abort; event=-1": "abort",
		"X-Mock-Pace: {rate: fast}":     "rate",
		"X-Mock-Pace: [":                "pace",
		"X-Mock-Vary: x":                "whole number",
		"X-Mock-Hold: first":            "number of an event",
	} {
		got := k.ask("r", "hello", header)
		name, _, _ := strings.Cut(header, ":")
		if got.Status != 400 || !strings.Contains(string(got.Body), name) || !strings.Contains(string(got.Body), right) {
			t.Errorf("%s is answered %d %s", header, got.Status, got.Body)
		}
	}
}

// The journal and the answer say the same seed.
func TestSeedIsSaid(t *testing.T) {
	seed := uint64(7)
	m := made(t, mockserver.Config{Seed: &seed}, "agkit@0.0.10")
	k := newTestClient(t, m)
	for header, want := range map[string]uint64{"X-Test-Id: a": 7, "X-Mock-Seed: 12": 12} {
		r := k.ask("r", "hello", header)
		page, _ := m.Journal().List(journal.Filter{})
		if said := r.Header.Get("X-Mock-Seed"); said != fmt.Sprint(want) || page[len(page)-1].Seed != want {
			t.Errorf("%s: the answer says %s, and the journal %d", header, said, page[len(page)-1].Seed)
		}
		m.Reset("")
	}
}
