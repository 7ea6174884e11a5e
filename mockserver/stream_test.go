package mockserver_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/onsi/gomega"

	"github.com/streamassay/streamassay/internal/fault"
	"github.com/streamassay/streamassay/internal/journal"
	"github.com/streamassay/streamassay/internal/wire"
	"github.com/streamassay/streamassay/mockserver"
	"github.com/streamassay/streamassay/spec"
)

// startHeldRun starts a run whose stream is held before its third event, and returns the
// stream and a channel that receives the complete response.
func startHeldRun(t *testing.T, m *mockserver.Server, k *testClient) (*mockserver.Stream, <-chan spec.Response) {
	t.Helper()
	got := make(chan spec.Response, 1)
	go func() { got <- k.ask("run-1", "conformance:many 9", "X-Mock-Hold: 2") }()
	var found *mockserver.Stream
	gomega.NewWithT(t).Eventually(func() bool {
		all := m.Streams("")
		if len(all) == 1 && all[0].Status().Events == 3 { // the third event waits at the gate
			found = all[0]
		}
		return found != nil
	}).Should(gomega.BeTrue())
	return found, got
}

func count(body []byte) int { return bytes.Count(body, []byte("\n\n")) }

// TestSteps holds a stream, steps it, injects a comment and releases it.
func TestSteps(t *testing.T) {
	for _, name := range both {
		t.Run(name, func(t *testing.T) {
			m := made(t, mockserver.Config{}, name)
			k := newTestClient(t, m)
			total := count(k.ask("run-0", "conformance:many 9").Body)
			s, got := startHeldRun(t, m, k)
			if look := s.Status(); look.Held == nil || *look.Held != 2 || look.Run != "run-1" && look.Thread != k.thread {
				t.Errorf("status is %+v", look)
			}
			if err := s.Next(2); err != nil {
				t.Fatal(err)
			}
			gomega.NewWithT(t).Eventually(func() int { return s.Status().Events }).Should(gomega.Equal(5))
			if err := s.Inject([]byte(": injected\n\n")); err != nil {
				t.Fatal(err)
			}
			if err := s.Next(0); err == nil {
				t.Error("Next(0) is accepted")
			}
			s.Release()
			end := <-got
			if n := count(end.Body); n != total+1 || end.End != nil {
				t.Errorf("got %d frames, want %d; %v", n, total+1, end.End)
			}
			if at := bytes.Index(end.Body, []byte(": injected")); count(end.Body[:max(0, at)]) != 4 {
				t.Errorf("injected comment is at offset %d in\n%s", at, end.Body)
			}
			if err := s.Next(1); err == nil {
				t.Error("a stream that is not held can be stepped")
			}
			gomega.NewWithT(t).Eventually(func() int { return len(m.Streams("")) }).Should(gomega.BeZero())
		})
	}
}

// TestNextMany checks that the greatest number of events lets all events pass.
func TestNextMany(t *testing.T) {
	m := made(t, mockserver.Config{}, "agkit@0.0.10")
	s, got := startHeldRun(t, m, newTestClient(t, m))
	err := s.Next(math.MaxInt)
	if held := s.Status().Held; err != nil || held != nil {
		t.Errorf("Next: %v; the status of the stream: %+v", err, s.Status())
	}
	s.Release()
	<-got
}

// TestHeldInBetween holds a stream whose first events have passed through unchanged. The numbers of
// events count from the beginning of the stream nevertheless.
func TestHeldInBetween(t *testing.T) {
	for _, name := range both {
		t.Run(name, func(t *testing.T) {
			m := made(t, mockserver.Config{}, name)
			k := newTestClient(t, m)
			got := make(chan spec.Response, 1)
			go func() { got <- k.ask("run-0", "conformance:slow 20 50") }()
			eventually := gomega.NewWithT(t).Eventually
			eventually(func() bool {
				all := m.Streams("")
				return len(all) == 1 && all[0].Status().Events >= 3
			}).Should(gomega.BeTrue())
			s := m.Streams("")[0]
			s.Hold(8)
			eventually(func() int { return s.Status().Events }, "5s").Should(gomega.Equal(9)) // the ninth waits
			s.End(fault.Clean)
			if end := <-got; count(end.Body) != 8 {
				t.Errorf("got %d frames, want the 8 before the hold", count(end.Body))
			}
		})
	}
}

// TestEndedFromOutside ends a held stream in each way.
func TestEndedFromOutside(t *testing.T) {
	for how, want := range map[fault.StreamEnd]error{
		fault.Clean: nil, fault.Abort: spec.ErrTruncated, fault.Reset: spec.ErrReset, fault.Stall: spec.ErrIdleTimeout,
	} {
		for _, name := range both {
			t.Run(name+"/"+string(how), func(t *testing.T) {
				t.Parallel()
				m := made(t, mockserver.Config{}, name)
				s, got := startHeldRun(t, m, newTestClientWithTimeout(t, m, 2*time.Second))
				s.End(how)
				if end := <-got; !errors.Is(end.End, want) || count(end.Body) != 2 {
					t.Errorf("it ends with %v after %d frames", end.End, count(end.Body))
				}
			})
		}
	}
}

// TestHeldStreamsEnd checks that a held stream ends when its client leaves and when the
// mock shuts down.
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

		_, got := startHeldRun(t, m, newTestClient(t, m))
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

// TestIsolation checks that the settings of one test do not affect another.
func TestIsolation(t *testing.T) {
	m := made(t, mockserver.Config{}, "agkit@0.0.10")
	k := newTestClient(t, m)
	uses, err := fault.Parse("http-error; status=503")
	if err != nil {
		t.Fatal(err)
	}
	m.SetSettings("a", mockserver.RuntimeSettings{Faults: &uses})
	for test, want := range map[string]int{"a": 503, "b": 200, "": 200} {
		if got := k.ask("r", "hello", "X-Test-Id: "+test).Status; got != want {
			t.Errorf("status for test %q is %d, want %d", test, got, want)
		}
	}
	m.Reset("a")
	if got := k.ask("r", "hello", "X-Test-Id: a").Status; got != 200 {
		t.Errorf("after a reset the status for test a is %d, want 200", got)
	}
}

// TestBadOverrides checks that an invalid X-Mock header is refused with the reason.
func TestBadOverrides(t *testing.T) {
	m := made(t, mockserver.Config{}, "agkit@0.0.10")
	k := newTestClient(t, m)
	for header, right := range map[string]string{
		"X-Mock-Seed: -1":               "want an integer",
		"X-Mock-Seed: 9007199254740993": "want an integer",
		"X-Mock-Fault: cutt":            "unknown fault",
		"X-Mock-Fault: abort; event=-1": "abort",
		"X-Mock-Pace: {rate: fast}":     "rate",
		"X-Mock-Pace: [":                "pace",
		"X-Mock-Vary: x":                "want an integer",
		"X-Mock-Hold: first":            "event number",
	} {
		got := k.ask("r", "hello", header)
		name, _, _ := strings.Cut(header, ":")
		if got.Status != 400 || !strings.Contains(string(got.Body), name) || !strings.Contains(string(got.Body), right) {
			t.Errorf("response to %s is %d %s", header, got.Status, got.Body)
		}
	}
}

// TestSeedIsReported checks that the response and the journal report the same seed.
func TestSeedIsReported(t *testing.T) {
	seed := uint64(7)
	m := made(t, mockserver.Config{Seed: &seed}, "agkit@0.0.10")
	k := newTestClient(t, m)
	for header, want := range map[string]uint64{"X-Test-Id: a": 7, "X-Mock-Seed: 12": 12} {
		r := k.ask("r", "hello", header)
		page, _ := m.Journal().List(journal.Filter{})
		if said := r.Header.Get("X-Mock-Seed"); said != fmt.Sprint(want) || page[len(page)-1].Seed != want {
			t.Errorf("%s: seed in the response is %s, in the journal %d", header, said, page[len(page)-1].Seed)
		}
		m.Reset("")
	}
}
