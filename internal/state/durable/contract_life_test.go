package durable

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/streamassay/streamassay/internal/state"
)

func contractWatch(p *probe) {
	changed, stop := p.s.Watch("t")
	also, stopAlso := p.s.Watch("t")
	other, stopOther := p.s.Watch("u")
	defer stopAlso()
	defer stopOther()
	run := p.run("t", "r")
	receiveSoon(p, changed)
	receiveSoon(p, also)
	// A subscriber that reads first and then waits misses no event.
	for i := range 50 {
		for drained := false; !drained; {
			select {
			case <-changed:
			default:
				drained = true
			}
		}
		go func() {
			if _, _, err := p.s.Append(p.Context(), run, state.AppendBatch{Events: [][]byte{[]byte(fmt.Sprint(i))}}); err != nil {
				p.Error(err)
			}
		}()
		for len(strings.Fields(p.eventsAfter(run, int64(i), 9))) == 0 {
			receiveSoon(p, changed)
		}
	}
	p.tell(run, "x") // there is room for one, whether or not it is taken
	p.end(run)
	receiveSoon(p, also)
	stop()
	stop()
	p.begin(state.StartRunRequest{RunRef: state.RunRef{Thread: "u", Run: "r"}})
	receiveSoon(p, other)
	late, stopLate := p.s.Watch("t")
	defer stopLate()
	p.begin(state.StartRunRequest{RunRef: state.RunRef{Thread: "t", Run: "s"}})
	receiveSoon(p, late)
}

// canceled appends an event to the run and returns whether Append reports the run as canceled.
func (p *probe) canceled(run state.RunRef) bool {
	p.Helper()
	_, canceled := p.told(run, state.AppendBatch{Events: [][]byte{[]byte("x")}})
	return canceled
}

// stopped receives from the channel that Canceled returns until it has received all wanted runs, in
// any order.
func (p *probe) stopped(want ...state.RunRef) {
	p.Helper()
	for len(want) > 0 {
		got := receiveSoon(p, p.s.Canceled())
		i := slices.Index(want, got)
		if i < 0 {
			p.Fatalf("%q is to be stopped, not one of %q", got, want)
		}
		want = slices.Delete(want, i, i+1)
	}
}

func (p *probe) cancel(run state.RunRef) {
	p.Helper()
	if err := p.s.Cancel(p.Context(), run); err != nil {
		p.Fatalf("cancel %q: %v", run, err)
	}
}

func contractCancel(p *probe) {
	a, b, over := p.run("t", "a"), p.run("t", "b"), p.run("t", "over")
	p.end(over)
	if p.canceled(a) {
		p.Error("the run was not canceled")
	}
	for _, run := range []state.RunRef{over, {Thread: "t", Run: "c"}, {Thread: "u", Run: "a"}, {Thread: "u", Run: ""}} { // passed over
		p.cancel(run)
	}
	p.cancel(a)
	p.stopped(a) // and no others are received
	for range 2 {
		if !p.canceled(a) || p.canceled(b) {
			p.Error("only the one is to be stopped, and it is from then on")
		}
	}
	if _, canceled := p.told(a, state.AppendBatch{End: true}); !canceled {
		p.Error("it is not to be stopped any more")
	}
	p.cancel(a)
	p.cancel(b)
	p.stopped(b)
}

func contractCancelAll(p *probe) {
	a, b, over, other := p.run("t", "a"), p.run("t", "b"), p.run("t", "over"), p.run("u", "a")
	p.end(over)
	p.cancel(state.RunRef{Thread: "t"})
	p.stopped(a, b)
	later := p.run("t", "later")
	if !p.canceled(a) || !p.canceled(b) || p.canceled(other) || p.canceled(later) {
		p.Error("those of the thread are to be stopped, and no other")
	}
	p.end(a)
	p.cancel(later)
	p.stopped(later)
}

// contractRuns checks that only the latest three ended runs are kept, the number in Config.MaxRuns.
func contractRuns(p *probe) {
	live, other := p.run("t", "live"), p.run("u", "1")
	p.tell(live, "1")
	before := p.thread("t")
	for i := range 3 {
		run := p.run("t", fmt.Sprint(i))
		p.tell(run, "x", "y")
		p.end(run)
	}
	p.told(other, state.AppendBatch{Events: [][]byte{nil}, Messages: []state.Message{{ID: "m"}}, End: true}) // the fourth
	p.hears(state.RunRef{Thread: "t", Run: "0"}, "unknown")
	p.hears(state.RunRef{Thread: "t", Run: "1"}, "4:x 5:y over")
	if got := p.thread("t"); got != (state.Thread{Tag: before.Tag, LastPosition: 7, LastForgotten: 3}) {
		p.Errorf("when one is lost it is %+v", got)
	}
	p.tell(live, "8")
	for i := range 3 {
		p.end(p.run("v", fmt.Sprint(i)))
	}
	p.hears(state.RunRef{Thread: "t", Run: "2"}, "unknown")
	p.hears(live, "1:1 8:8")
	if got := p.thread("t"); got != (state.Thread{Tag: before.Tag, LastPosition: 8, LastForgotten: 7}) {
		p.Errorf("when all but the live one are lost it is %+v", got)
	}
	was := p.thread("u")
	if was != (state.Thread{}) {
		p.Errorf("it is kept without a run: %+v", was)
	}
	p.checkMessages("u", 0, 9)
	if name, err := p.s.LatestThread(p.Context(), "", ""); err != nil || name != "v" {
		p.Errorf("the latest is %q, %v", name, err)
	}
	p.end(live)
	for i := range 3 {
		p.end(p.run("w", fmt.Sprint(i)))
	}
	if got, err := p.s.Thread(p.Context(), "t"); !errors.Is(err, state.ErrNotFound) {
		p.Errorf("it is kept without a run: %+v, %v", got, err)
	}
	if latest, err := p.s.LatestThread(p.Context(), "", "t"); err != nil || latest != "" {
		p.Errorf("the latest is one that is forgotten: %q, %v", latest, err)
	}
	// Of the same name, it is another one.
	if g := p.begin(state.StartRunRequest{RunRef: state.RunRef{Thread: "t", Run: "0"}, Owner: "somebody else", Messages: []state.Message{{ID: "m"}}}); !g.ThreadCreated || g.FirstMessage != 1 {
		p.Errorf("it began as %+v", g)
	}
	if got := p.thread("t"); got.Tag == before.Tag || got != (state.Thread{Owner: "somebody else", Tag: got.Tag}) {
		p.Errorf("the new one is %+v; the old one had tag %d", got, before.Tag)
	}
}

// contractBytes checks that only the latest ended runs are kept: as many as have events of a
// hundred bytes together, the number in Config.MaxBytes.
func contractBytes(p *probe) {
	live := p.run("t", "live")
	p.tell(live, strings.Repeat("x", 500)) // it does not count before it is over
	a, b, c := p.run("t", "a"), p.run("t", "b"), p.run("t", "c")
	p.tell(a, strings.Repeat("x", 30))
	p.tell(b, strings.Repeat("x", 20), strings.Repeat("x", 20))
	p.end(a, b)
	p.tell(c, strings.Repeat("x", 30))
	p.end(c) // a hundred in all
	if got := p.eventsAfter(a, 0, 9); !strings.HasSuffix(got, "over") {
		p.Errorf("it is %q already", got)
	}
	d := p.run("t", "d")
	p.tell(d, "x")
	p.end(d)
	p.hears(a, "unknown")
	if got := p.eventsAfter(b, 0, 9); !strings.HasSuffix(got, "over") {
		p.Errorf("it is %q already", got)
	}
	if got := p.thread("t"); got.LastPosition != 6 || got.LastForgotten != 2 {
		p.Errorf("it is %+v", got)
	}
	e := p.run("t", "e")
	p.tell(e, strings.Repeat("x", 60)) // with the last two 91
	p.end(e)
	p.hears(b, "unknown")
	p.hears(d, "6:x over")
	p.end(live)
	p.hears(d, "unknown")
}

func contractNotLogged(p *probe) {
	run := state.RunRef{Thread: "t", Run: "r"}
	said := state.Message{ID: "m", Text: "hi", At: day(0)}
	if _, err := p.s.StartRun(p.Context(), state.StartRunRequest{RunRef: run, Messages: []state.Message{said}}); err != nil {
		p.Fatal(err)
	}
	p.told(run, state.AppendBatch{Events: [][]byte{[]byte("x")}, Messages: []state.Message{said}})
	p.hears(run, "")
	p.end(run)
	p.hears(run, "over")
	one, two := said, said
	one.Seq, two.Seq = 1, 2
	p.checkMessages("t", 0, 9, one, two)
}

func contractOrphans(p *probe) {
	p.run("t", "r")
	for range 2 {
		if runs, err := p.s.ClaimOrphans(p.Context()); err != nil || len(runs) > 0 {
			p.Errorf("got orphans %q (%v)", runs, err)
		}
	}
}

// contractGivenUp checks that a call whose context is done changes nothing and returns an error.
func contractGivenUp(p *probe) {
	run := p.run("t", "r")
	ctx, cancel := context.WithCancel(p.Context())
	cancel()
	told := state.AppendBatch{Events: [][]byte{[]byte("x")}, Messages: []state.Message{{ID: "m"}}, End: true}
	for name, call := range map[string]func() error{
		"begin": func() error {
			_, err := p.s.StartRun(ctx, state.StartRunRequest{RunRef: state.RunRef{Thread: "u", Run: "r"}})
			return err
		},
		"tell":     func() error { _, _, err := p.s.Append(ctx, run, told); return err },
		"thread":   func() error { _, err := p.s.Thread(ctx, "t"); return err },
		"after":    func() error { _, _, err := p.s.EventsAfter(ctx, run, 0, 9); return err },
		"cancel":   func() error { return p.s.Cancel(ctx, run) },
		"messages": func() error { _, err := p.s.Messages(ctx, "t", 0, 9); return err },
		"day":      func() error { _, _, _, err := p.s.DayMessages(ctx, "t", ""); return err },
		"latest":   func() error { _, err := p.s.LatestThread(ctx, "", ""); return err },
		"orphans":  func() error { _, err := p.s.ClaimOrphans(ctx); return err },
		"ping":     func() error { return p.s.Ping(ctx) },
	} {
		if err := call(); !errors.Is(err, context.Canceled) {
			p.Errorf("%s: %v", name, err)
		}
	}
	p.hears(run, "")
	p.hears(state.RunRef{Thread: "u", Run: "r"}, "unknown")
	p.checkMessages("t", 0, 9)
	if p.canceled(run) {
		p.Error("it is to be stopped")
	}
}

// contractMany checks that every position is assigned once when many goroutines append to many runs
// of one thread.
func contractMany(p *probe) {
	const runs, tellers, times = 8, 4, 20
	var all sync.WaitGroup
	for r := range runs {
		run := state.RunRef{Thread: "t", Run: fmt.Sprint(r)}
		for range 3 { // one of them begins it
			all.Go(func() {
				_, _ = p.s.StartRun(p.Context(), state.StartRunRequest{RunRef: run, TaskID: run.Run, KeepEvents: true})
			})
		}
	}
	all.Wait()
	for r := range runs {
		for who := range tellers {
			all.Go(func() { p.many(state.RunRef{Thread: "t", Run: fmt.Sprint(r)}, fmt.Sprint(who), times) })
		}
	}
	all.Wait()
	places := map[int64]bool{}
	for r := range runs {
		run := state.RunRef{Thread: "t", Run: fmt.Sprint(r)}
		p.end(run)
		entries, over, err := p.s.EventsAfter(p.Context(), run, 0, 1<<20)
		if err != nil || !over {
			p.Errorf("%q: %v, %v", run, over, err)
		}
		next, last := map[string]int{}, int64(0)
		for _, e := range entries {
			var i, n int
			who, rest, _ := strings.Cut(string(e.Data), " ")
			_, _ = fmt.Sscan(rest, &i, &n)
			if e.Position <= last || places[e.Position] || next[who] != i {
				p.Errorf("%q has %q at %d after %d", run, e.Data, e.Position, last)
			}
			next[who], last, places[e.Position] = i+1, e.Position, true
		}
	}
	const want = runs * tellers * (times + times/2) // every other Append has two
	if th := p.thread("t"); len(places) != want || th.LastPosition != want {
		p.Errorf("%d places, the last %d, not %d", len(places), th.LastPosition, want)
	}
}

// many makes the given number of calls of Append, with one or two events each. The data of an event
// consists of who and the number of the event, starting at 0. many also checks that the events were
// stored.
func (p *probe) many(run state.RunRef, who string, times int) {
	n := 0
	for i := range times {
		var told state.AppendBatch
		for range 1 + i%2 {
			told.Events = append(told.Events, fmt.Appendf(nil, "%s %d", who, n))
			n++
		}
		first, _, err := p.s.Append(p.Context(), run, told)
		if err != nil {
			p.Errorf("tell %q: %v", run, err)
			return
		}
		entries, _, err := p.s.EventsAfter(p.Context(), run, first-1, len(told.Events))
		for j, e := range entries {
			if e.Position != first+int64(j) || string(e.Data) != string(told.Events[j]) {
				p.Errorf("appended %q at %d, got %d:%q", told.Events[j], first, e.Position, e.Data)
			}
		}
		if err != nil || len(entries) != len(told.Events) {
			p.Errorf("%d of %d events are there, %v", len(entries), len(told.Events), err)
		}
	}
}

// contractReader checks that a reader receives every event of a run exactly once, up to the end,
// while the run is appended to.
func contractReader(p *probe) {
	run := p.run("t", "r")
	const events = 300
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			changed, stop := p.s.Watch("t")
			defer stop()
			timer := time.NewTimer(20 * time.Second)
			defer timer.Stop()
			for at := int64(0); ; {
				entries, over, err := p.s.EventsAfter(p.Context(), run, at, 7)
				if err != nil {
					p.Error(err)
					return
				}
				for _, e := range entries {
					if at++; e.Position != at || string(e.Data) != fmt.Sprint(at) {
						p.Errorf("%d:%q instead of %d", e.Position, e.Data, at)
					}
				}
				if over {
					if at != events {
						p.Errorf("it was over after %d", at)
					}
					return
				}
				if len(entries) > 0 {
					continue
				}
				select {
				case <-changed:
				case <-timer.C:
					p.Errorf("nothing came after %d", at)
					return
				}
			}
		})
	}
	for i := range events - 1 {
		p.tell(run, fmt.Sprint(i+1))
	}
	p.told(run, state.AppendBatch{Events: [][]byte{[]byte(fmt.Sprint(events))}, End: true})
	all.Wait()
}
