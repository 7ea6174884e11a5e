package durable

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/streamassay/streamassay/internal/state"
)

// contract tests every statement in the documentation of the interface Store. open must return an
// empty store, which is closed when the test ends.
func contract(t *testing.T, open func(t *testing.T, cfg state.Config) state.Store) {
	for _, c := range []struct {
		name string
		cfg  state.Config
		test func(p *probe)
	}{
		{"begin", state.Config{}, contractBegin},
		{"owner", state.Config{}, contractOwner},
		{"places", state.Config{}, contractPlaces},
		{"unknown", state.Config{}, contractUnknown},
		{"after", state.Config{}, contractAfter},
		{"thread", state.Config{}, contractThread},
		{"messages", state.Config{}, contractMessages},
		{"day", state.Config{}, contractDay},
		{"latest", state.Config{}, contractLatest},
		{"watch", state.Config{}, contractWatch},
		{"cancel", state.Config{}, contractCancel},
		{"cancel all", state.Config{}, contractCancelAll},
		{"runs", state.Config{MaxRuns: 3}, contractRuns},
		{"bytes", state.Config{MaxBytes: 100}, contractBytes},
		{"not logged", state.Config{}, contractNotLogged},
		{"any bytes", state.Config{}, contractAnyBytes},
		{"large", state.Config{}, contractLarge},
		{"orphans", state.Config{}, contractOrphans},
		{"many messages", state.Config{}, contractManyMessages},
		{"secret", state.Config{}, contractSecret},
		{"given up", state.Config{}, contractGivenUp},
		{"many at once", state.Config{}, contractMany},
		{"a reader", state.Config{}, contractReader},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := &probe{T: t, s: open(t, c.cfg)}
			c.test(p)
			if err := p.s.Ping(t.Context()); err != nil {
				t.Errorf("ping: %v", err)
			}
		})
	}
}

// A probe is a test with the store that it tests. The methods of the probe fail the test if the
// store returns an error.
type probe struct {
	*testing.T
	s state.Store
}

// day returns a time on day number n of these tests, in UTC.
func day(n int) time.Time { return time.Date(2024, 2, 27+n, 10, 20, 30, 123456789, time.UTC) }

func (p *probe) begin(b state.StartRunRequest) state.StartRunResult {
	p.Helper()
	b.KeepEvents = true
	g, err := p.s.StartRun(p.Context(), b)
	if err != nil {
		p.Fatalf("begin %q: %v", b.RunRef, err)
	}
	return g
}

// run starts a run with the given thread and name. Its other fields do not matter to the test.
func (p *probe) run(thread, name string) state.RunRef {
	p.Helper()
	run := state.RunRef{Thread: thread, Run: name}
	if g := p.begin(state.StartRunRequest{RunRef: run, TaskID: "of " + name, StartedAt: day(0)}); g.Existed {
		p.Fatalf("%q was there before", run)
	}
	return run
}

func (p *probe) told(run state.RunRef, told state.AppendBatch) (first int64, canceled bool) {
	p.Helper()
	first, canceled, err := p.s.Append(p.Context(), run, told)
	if err != nil {
		p.Fatalf("tell %q: %v", run, err)
	}
	return first, canceled
}

func (p *probe) tell(run state.RunRef, data ...string) (first int64) {
	p.Helper()
	var told state.AppendBatch
	for _, d := range data {
		told.Events = append(told.Events, []byte(d))
	}
	first, _ = p.told(run, told)
	return first
}

func (p *probe) end(runs ...state.RunRef) {
	p.Helper()
	for _, run := range runs {
		p.told(run, state.AppendBatch{End: true})
	}
}

// eventsAfter returns the result of Store.EventsAfter as one line, or "unknown" if the run does not
// exist.
func (p *probe) eventsAfter(run state.RunRef, at int64, most int) string {
	p.Helper()
	entries, over, err := p.s.EventsAfter(p.Context(), run, at, most)
	if err != nil {
		if !errors.Is(err, state.ErrNotFound) {
			p.Errorf("after %q: %v", run, err)
		}
		return "unknown"
	}
	var b strings.Builder
	for _, e := range entries {
		fmt.Fprintf(&b, "%d:%s ", e.Position, e.Data)
	}
	if over {
		b.WriteString("over")
	}
	return strings.TrimSpace(b.String())
}

func (p *probe) hears(run state.RunRef, want string) {
	p.Helper()
	if got := p.eventsAfter(run, 0, 1000); got != want {
		p.Errorf("run %q: got %q, want %q", run, got, want)
	}
}

// thread returns the result of Store.Thread, or the zero Thread if the thread does not exist.
func (p *probe) thread(name string) state.Thread {
	p.Helper()
	th, err := p.s.Thread(p.Context(), name)
	if err != nil && (!errors.Is(err, state.ErrNotFound) || th != state.Thread{}) {
		p.Errorf("thread %q: %+v, %v", name, th, err)
	}
	return th
}

// checkMessages checks that Store.Messages returns the wanted messages.
func (p *probe) checkMessages(thread string, before int64, most int, want ...state.Message) {
	p.Helper()
	got, err := p.s.Messages(p.Context(), thread, before, most)
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" || err != nil {
		p.Errorf("%d messages of %q below %d (-want +got): %v\n%s", most, thread, before, err, diff)
	}
}

// receiveSoon returns the next value from the channel c. The test fails if there is none within 20
// seconds.
func receiveSoon[T any](p *probe, c <-chan T) (v T) {
	p.Helper()
	timer := time.NewTimer(20 * time.Second)
	defer timer.Stop()
	select {
	case v = <-c:
	case <-timer.C:
		p.Fatal("nothing came")
	}
	return v
}

func contractBegin(p *probe) {
	hi := state.Message{ID: "m1", Run: "a", Role: "user", Text: "hi", At: day(0)}
	a, b, c := state.RunRef{Thread: "t:1", Run: "a"}, state.RunRef{Thread: "t:1", Run: "b"}, state.RunRef{Thread: "t:1", Run: "c"}
	for _, x := range []struct {
		what string
		b    state.StartRunRequest
		want state.StartRunResult
	}{
		{"the first", state.StartRunRequest{RunRef: a, Owner: "u", TaskID: "A", StartedAt: day(0), Messages: []state.Message{hi, hi}}, state.StartRunResult{ThreadCreated: true, TaskID: "A", StartedAt: day(0), FirstMessage: 1}},
		{"the same", state.StartRunRequest{RunRef: a, Owner: "u", TaskID: "B", StartedAt: day(1), Messages: []state.Message{hi}}, state.StartRunResult{Existed: true, TaskID: "A", StartedAt: day(0), FirstMessage: 1}},
		{"another", state.StartRunRequest{RunRef: b, Owner: "u", StartedAt: day(1)}, state.StartRunResult{StartedAt: day(1), FirstMessage: 3}},
		{"a third", state.StartRunRequest{RunRef: c, Owner: "u", TaskID: "C", StartedAt: day(2), Messages: []state.Message{hi}}, state.StartRunResult{TaskID: "C", StartedAt: day(2), FirstMessage: 3}},
		{"another thread", state.StartRunRequest{RunRef: state.RunRef{Thread: "t", Run: ":1a"}, Owner: "v", TaskID: "D", StartedAt: day(2)}, state.StartRunResult{ThreadCreated: true, TaskID: "D", StartedAt: day(2), FirstMessage: 1}},
		{"no names at all", state.StartRunRequest{StartedAt: day(2)}, state.StartRunResult{ThreadCreated: true, StartedAt: day(2), FirstMessage: 1}},
	} {
		if got := p.begin(x.b); !cmp.Equal(got, x.want) {
			p.Errorf("%s began as %+v, not %+v", x.what, got, x.want)
		}
	}
	p.end(a)
	again := state.StartRunResult{Existed: true, TaskID: "A", StartedAt: day(0), FirstMessage: 1}
	if got := p.begin(state.StartRunRequest{RunRef: a, Owner: "u", Messages: []state.Message{hi}}); !cmp.Equal(got, again) {
		p.Errorf("after its end it began as %+v", got)
	}
	p.hears(a, "over")
	p.hears(b, "")
	one, two, three := hi, hi, hi
	one.Seq, two.Seq, three.Seq = 1, 2, 3
	p.checkMessages("t:1", 0, 10, one, two, three)
}

func contractOwner(p *probe) {
	run := state.RunRef{Thread: "t", Run: "r"}
	p.begin(state.StartRunRequest{RunRef: run, Owner: "u"})
	for _, b := range []state.StartRunRequest{
		{RunRef: run, Owner: "v"}, {RunRef: run, Owner: ""}, {RunRef: state.RunRef{Thread: "t", Run: "s"}, Owner: "v", Messages: []state.Message{{ID: "m"}}},
	} {
		if g, err := p.s.StartRun(p.Context(), b); !errors.Is(err, state.ErrNotOwner) || g != (state.StartRunResult{}) {
			p.Errorf("%q begins in another's thread: %+v, %v", b.Owner, g, err)
		}
	}
	p.hears(state.RunRef{Thread: "t", Run: "s"}, "unknown")
	p.checkMessages("t", 0, 10)
	if got := p.thread("t"); got.Owner != "u" {
		p.Errorf("it is %q's now", got.Owner)
	}
	p.begin(state.StartRunRequest{RunRef: state.RunRef{Thread: "nobody's", Run: "r"}})
	if _, err := p.s.StartRun(p.Context(), state.StartRunRequest{RunRef: state.RunRef{Thread: "nobody's", Run: "s"}, Owner: "u"}); !errors.Is(err, state.ErrNotOwner) {
		p.Errorf("another user may use an anonymous thread: %v", err)
	}
}

func contractPlaces(p *probe) {
	a, b, other := p.run("t", "a"), p.run("t", "b"), p.run("u", "a")
	for i, x := range []struct {
		run  state.RunRef
		data []string
		want int64
	}{
		{a, []string{"1", "2"}, 1}, {b, []string{"3"}, 3}, {other, []string{"1"}, 1}, {a, []string{"4", "5", "6"}, 4},
		{b, []string{"7"}, 7}, {other, []string{"2"}, 2},
	} {
		if got := p.tell(x.run, x.data...); got != x.want {
			p.Errorf("%d: the first place was %d, not %d", i, got, x.want)
		}
	}
	p.told(a, state.AppendBatch{Messages: []state.Message{{ID: "m"}}}) // no events, so no positions
	if got, _ := p.told(b, state.AppendBatch{Events: [][]byte{[]byte("8"), []byte("9")}, End: true}); got != 8 {
		p.Errorf("the last ones have place %d", got)
	}
	p.hears(a, "1:1 2:2 4:4 5:5 6:6")
	p.hears(b, "3:3 7:7 8:8 9:9 over")
	p.hears(other, "1:1 2:2")
}

func contractUnknown(p *probe) {
	over := p.run("t", "over")
	p.tell(over, "1")
	p.end(over)
	told := state.AppendBatch{Events: [][]byte{[]byte("x")}, Messages: []state.Message{{ID: "m"}}, End: true}
	for _, run := range []state.RunRef{over, {Thread: "t", Run: "other"}, {Thread: "u", Run: "over"}, {}} {
		if first, canceled, err := p.s.Append(p.Context(), run, told); !errors.Is(err, state.ErrNotFound) || first != 0 || canceled {
			p.Errorf("%q: %d, %v, %v", run, first, canceled, err)
		}
	}
	p.hears(over, "1:1 over")
	p.hears(state.RunRef{Thread: "t", Run: "other"}, "unknown")
	p.hears(state.RunRef{Thread: "u", Run: "over"}, "unknown")
	p.checkMessages("t", 0, 10)
	p.checkMessages("u", 0, 10)
	if got := p.thread("t"); got.LastPosition != 1 {
		p.Errorf("the last place is %d", got.LastPosition)
	}
	if got := p.thread("u"); got != (state.Thread{}) {
		p.Errorf("there is a thread: %+v", got)
	}
}
