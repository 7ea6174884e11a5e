package state

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// contract is what every store keeps, sentence by sentence of its interface. open
// gives a store in which there is nothing yet, and closes it when the test is over.
func contract(t *testing.T, open func(t *testing.T, cfg Config) Store) {
	for _, c := range []struct {
		name string
		cfg  Config
		test func(p *probe)
	}{
		{"begin", Config{}, contractBegin},
		{"owner", Config{}, contractOwner},
		{"places", Config{}, contractPlaces},
		{"unknown", Config{}, contractUnknown},
		{"after", Config{}, contractAfter},
		{"thread", Config{}, contractThread},
		{"messages", Config{}, contractMessages},
		{"day", Config{}, contractDay},
		{"latest", Config{}, contractLatest},
		{"watch", Config{}, contractWatch},
		{"cancel", Config{}, contractCancel},
		{"cancel all", Config{}, contractCancelAll},
		{"runs", Config{Runs: 3}, contractRuns},
		{"bytes", Config{Bytes: 100}, contractBytes},
		{"not logged", Config{}, contractNotLogged},
		{"any bytes", Config{}, contractAnyBytes},
		{"large", Config{}, contractLarge},
		{"orphans", Config{}, contractOrphans},
		{"many messages", Config{}, contractManyMessages},
		{"secret", Config{}, contractSecret},
		{"given up", Config{}, contractGivenUp},
		{"many at once", Config{}, contractMany},
		{"a reader", Config{}, contractReader},
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

// A probe is a test and its store. What it does has to go well.
type probe struct {
	*testing.T
	s Store
}

// day is when messages are said in these tests.
func day(n int) time.Time { return time.Date(2024, 2, 27+n, 10, 20, 30, 123456789, time.UTC) }

func (p *probe) begin(b Beginning) Begun {
	p.Helper()
	b.Logged = true
	g, err := p.s.Begin(p.Context(), b)
	if err != nil {
		p.Fatalf("begin %q: %v", b.Ref, err)
	}
	return g
}

// run begins one of which nothing else matters.
func (p *probe) run(thread, name string) Ref {
	p.Helper()
	run := Ref{Thread: thread, Run: name}
	if g := p.begin(Beginning{Ref: run, Task: "of " + name, At: day(0)}); g.Again {
		p.Fatalf("%q was there before", run)
	}
	return run
}

func (p *probe) told(run Ref, told Told) (first int64, canceled bool) {
	p.Helper()
	first, canceled, err := p.s.Tell(p.Context(), run, told)
	if err != nil {
		p.Fatalf("tell %q: %v", run, err)
	}
	return first, canceled
}

func (p *probe) tell(run Ref, data ...string) (first int64) {
	p.Helper()
	var told Told
	for _, d := range data {
		told.Data = append(told.Data, []byte(d))
	}
	first, _ = p.told(run, told)
	return first
}

func (p *probe) end(runs ...Ref) {
	p.Helper()
	for _, run := range runs {
		p.told(run, Told{Over: true})
	}
}

// heard is what After says of a run, in one line.
func (p *probe) heard(run Ref, at int64, most int) string {
	p.Helper()
	entries, over, err := p.s.After(p.Context(), run, at, most)
	if err != nil {
		if !errors.Is(err, ErrUnknown) {
			p.Errorf("after %q: %v", run, err)
		}
		return "unknown"
	}
	var b strings.Builder
	for _, e := range entries {
		fmt.Fprintf(&b, "%d:%s ", e.At, e.Data)
	}
	if over {
		b.WriteString("over")
	}
	return strings.TrimSpace(b.String())
}

func (p *probe) hears(run Ref, want string) {
	p.Helper()
	if got := p.heard(run, 0, 1000); got != want {
		p.Errorf("%q is told as %q, not %q", run, got, want)
	}
}

// thread is Thread, or nothing at all if there is none.
func (p *probe) thread(name string) Thread {
	p.Helper()
	th, err := p.s.Thread(p.Context(), name)
	if err != nil && (!errors.Is(err, ErrUnknown) || th != Thread{}) {
		p.Errorf("thread %q: %+v, %v", name, th, err)
	}
	return th
}

// said checks Messages.
func (p *probe) said(thread string, before int64, most int, want ...Message) {
	p.Helper()
	got, err := p.s.Messages(p.Context(), thread, before, most)
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" || err != nil {
		p.Errorf("%d messages of %q below %d (-want +got): %v\n%s", most, thread, before, err, diff)
	}
}

// soon waits for a channel.
func soon[T any](p *probe, c <-chan T) (v T) {
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
	hi := Message{ID: "m1", Run: "a", Role: "user", Text: "hi", At: day(0)}
	a, b, c := Ref{"t:1", "a"}, Ref{"t:1", "b"}, Ref{"t:1", "c"}
	for _, x := range []struct {
		what string
		b    Beginning
		want Begun
	}{
		{"the first", Beginning{Ref: a, Owner: "u", Task: "A", At: day(0), Said: []Message{hi, hi}}, Begun{Made: true, Task: "A", At: day(0), First: 1}},
		{"the same", Beginning{Ref: a, Owner: "u", Task: "B", At: day(1), Said: []Message{hi}}, Begun{Again: true, Task: "A", At: day(0), First: 1}},
		{"another", Beginning{Ref: b, Owner: "u", At: day(1)}, Begun{At: day(1), First: 3}},
		{"a third", Beginning{Ref: c, Owner: "u", Task: "C", At: day(2), Said: []Message{hi}}, Begun{Task: "C", At: day(2), First: 3}},
		{"another thread", Beginning{Ref: Ref{"t", ":1a"}, Owner: "v", Task: "D", At: day(2)}, Begun{Made: true, Task: "D", At: day(2), First: 1}},
		{"no names at all", Beginning{At: day(2)}, Begun{Made: true, At: day(2), First: 1}},
	} {
		if got := p.begin(x.b); !cmp.Equal(got, x.want) {
			p.Errorf("%s began as %+v, not %+v", x.what, got, x.want)
		}
	}
	p.end(a)
	again := Begun{Again: true, Task: "A", At: day(0), First: 1}
	if got := p.begin(Beginning{Ref: a, Owner: "u", Said: []Message{hi}}); !cmp.Equal(got, again) {
		p.Errorf("after its end it began as %+v", got)
	}
	p.hears(a, "over")
	p.hears(b, "")
	one, two, three := hi, hi, hi
	one.Seq, two.Seq, three.Seq = 1, 2, 3
	p.said("t:1", 0, 10, one, two, three)
}

func contractOwner(p *probe) {
	run := Ref{"t", "r"}
	p.begin(Beginning{Ref: run, Owner: "u"})
	for _, b := range []Beginning{
		{Ref: run, Owner: "v"}, {Ref: run, Owner: ""}, {Ref: Ref{"t", "s"}, Owner: "v", Said: []Message{{ID: "m"}}},
	} {
		if g, err := p.s.Begin(p.Context(), b); !errors.Is(err, ErrOwner) || g != (Begun{}) {
			p.Errorf("%q begins in another's thread: %+v, %v", b.Owner, g, err)
		}
	}
	p.hears(Ref{"t", "s"}, "unknown")
	p.said("t", 0, 10)
	if got := p.thread("t"); got.Owner != "u" {
		p.Errorf("it is %q's now", got.Owner)
	}
	p.begin(Beginning{Ref: Ref{"nobody's", "r"}})
	if _, err := p.s.Begin(p.Context(), Beginning{Ref: Ref{"nobody's", "s"}, Owner: "u"}); !errors.Is(err, ErrOwner) {
		p.Errorf("a thread of nobody's is everybody's: %v", err)
	}
}

func contractPlaces(p *probe) {
	a, b, other := p.run("t", "a"), p.run("t", "b"), p.run("u", "a")
	for i, x := range []struct {
		run  Ref
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
	p.told(a, Told{Said: []Message{{ID: "m"}}}) // no events, so no places
	if got, _ := p.told(b, Told{Data: [][]byte{[]byte("8"), []byte("9")}, Over: true}); got != 8 {
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
	told := Told{Data: [][]byte{[]byte("x")}, Said: []Message{{ID: "m"}}, Over: true}
	for _, run := range []Ref{over, {"t", "other"}, {"u", "over"}, {}} {
		if first, canceled, err := p.s.Tell(p.Context(), run, told); !errors.Is(err, ErrUnknown) || first != 0 || canceled {
			p.Errorf("%q: %d, %v, %v", run, first, canceled, err)
		}
	}
	p.hears(over, "1:1 over")
	p.hears(Ref{"t", "other"}, "unknown")
	p.hears(Ref{"u", "over"}, "unknown")
	p.said("t", 0, 10)
	p.said("u", 0, 10)
	if got := p.thread("t"); got.Last != 1 {
		p.Errorf("the last place is %d", got.Last)
	}
	if got := p.thread("u"); got != (Thread{}) {
		p.Errorf("there is a thread: %+v", got)
	}
}
