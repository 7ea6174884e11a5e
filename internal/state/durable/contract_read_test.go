package durable

import (
	"errors"
	"fmt"
	"strings"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/streamassay/streamassay/internal/state"
)

func contractAfter(p *probe) {
	a, b := p.run("t", "a"), p.run("t", "b")
	p.tell(a, "1", "2")
	p.tell(b, "3")
	p.tell(a, "4", "5")
	p.hears(a, "1:1 2:2 4:4 5:5")
	p.end(a)
	for _, c := range []struct {
		run  state.RunRef
		at   int64
		most int
		want string
	}{
		{a, 0, 100, "1:1 2:2 4:4 5:5 over"},
		{a, 0, 4, "1:1 2:2 4:4 5:5 over"},
		{a, 0, 3, "1:1 2:2 4:4"}, // one more will come
		{a, 1, 1, "2:2"},
		{a, 1, 2, "2:2 4:4"},
		{a, 3, 1, "4:4"}, // position of another run
		{a, 4, 1, "5:5 over"},
		{a, 5, 1, "over"},
		{a, 999, 1, "over"},
		{b, 0, 100, "3:3"},
		{b, 3, 100, ""},
		{state.RunRef{Thread: "t", Run: "c"}, 0, 100, "unknown"},
		{state.RunRef{Thread: "u", Run: "a"}, 0, 100, "unknown"},
		{state.RunRef{Thread: "ta", Run: ""}, 0, 100, "unknown"},
	} {
		if got := p.eventsAfter(c.run, c.at, c.most); got != c.want {
			p.Errorf("%d of %q after %d: %q, not %q", c.most, c.run, c.at, got, c.want)
		}
	}
}

func contractThread(p *probe) {
	if _, err := p.s.Thread(p.Context(), "t"); !errors.Is(err, state.ErrNotFound) {
		p.Errorf("an unknown thread: %v", err)
	}
	a := state.RunRef{Thread: "t", Run: "a"}
	p.begin(state.StartRunRequest{RunRef: a, Owner: "u"})
	p.begin(state.StartRunRequest{RunRef: state.RunRef{Thread: "t2", Run: "a"}})
	first, other := p.thread("t"), p.thread("t2")
	p.tell(a, "1", "2")
	p.end(a)
	now := p.thread("t")
	if want := (state.Thread{Owner: "u", Tag: first.Tag, LastPosition: 2}); now != want {
		p.Errorf("it is %+v, not %+v", now, want)
	}
	if other.Owner != "" || other.LastPosition != 0 || p.thread("t2") != other {
		p.Errorf("the other one is %+v", other)
	}
}

func contractMessages(p *probe) {
	whole := state.Message{
		ID: "m-3", Run: "r", Role: "assistant", Text: "a\nb", At: day(1), Name: "n", ToolCall: "c", Hidden: true,
		Calls: []state.Call{{ID: "1", Name: "f", Arguments: "{}"}, {ID: "2", Name: "g", Arguments: ""}}, Files: []state.Attachment{{Path: "p/q.png", Type: "image/png"}},
	}
	said := []state.Message{{ID: "m-1", Role: "user", Text: "hi", At: day(0)}, {ID: "m-2", At: day(2)}, whole, {ID: "m-1"}, {ID: "m-5"}}
	r := state.RunRef{Thread: "t", Run: "r"}
	p.begin(state.StartRunRequest{RunRef: r, Messages: said[:2]})
	p.told(r, state.AppendBatch{Messages: said[2:4]})
	p.begin(state.StartRunRequest{RunRef: state.RunRef{Thread: "u", Run: "r"}, Messages: said[:1]})
	p.told(r, state.AppendBatch{Messages: said[4:], End: true})
	for i := range said {
		said[i].Seq = int64(i + 1)
	}
	p.checkMessages("t", 0, 100, said...)
	p.checkMessages("t", 0, 5, said...)
	p.checkMessages("t", 0, 2, said[3:]...)
	p.checkMessages("t", 0, 0)
	p.checkMessages("t", 100, 3, said[2:]...)
	p.checkMessages("t", 5, 2, said[2:4]...)
	p.checkMessages("t", 3, 100, said[:2]...)
	p.checkMessages("t", 1, 100)
	p.checkMessages("u", 0, 100, said[0])
	p.checkMessages("v", 0, 100)
	if g := p.begin(state.StartRunRequest{RunRef: state.RunRef{Thread: "t", Run: "s"}}); g.FirstMessage != 6 {
		p.Errorf("the next message has number %d", g.FirstMessage)
	}
}

func contractDay(p *probe) {
	r := state.RunRef{Thread: "t", Run: "r"}
	east := day(3).In(day(3).Location()) // 10:20 on March 1, in UTC
	late := day(0).Add(1e9 * 3600 * 13)  // 23:20 on February 27
	p.begin(state.StartRunRequest{RunRef: r, Messages: []state.Message{
		{ID: "1", At: day(0)}, {ID: "2", At: day(0), Hidden: true}, {ID: "3", At: late}, {ID: "4", At: late.Add(1e9 * 3600)},
		{ID: "5", At: day(2), Hidden: true},
	}})
	p.told(r, state.AppendBatch{Messages: []state.Message{{ID: "6", At: east}, {ID: "7", At: day(5), Hidden: true}, {ID: "8", At: east}, {ID: "9", At: day(0)}}})
	p.begin(state.StartRunRequest{RunRef: state.RunRef{Thread: "hidden", Run: "r"}, Messages: []state.Message{{ID: "1", At: day(0), Hidden: true}}})
	for _, c := range []struct {
		thread, before string
		day, ids       string
		more           bool
	}{
		{"t", "", "2024-03-01", "6 8", true},
		{"t", "2024-03-02", "2024-03-01", "6 8", true},
		{"t", "2024-03-01", "2024-02-28", "4", true},
		{"t", "2024-02-28", "2024-02-27", "1 3 9", false},
		{"t", "2024-02-27", "", "", false},
		{"t", "1999-12-31", "", "", false},
		{"hidden", "", "", "", false},
		{"nobody's", "", "", "", false},
	} {
		name, said, more, err := p.s.DayMessages(p.Context(), c.thread, c.before)
		var ids []string
		for i, m := range said {
			ids = append(ids, m.ID)
			if c.thread == "t" && (m.Seq < 1 || m.Seq > 9 || m.ID[0] != byte('0'+m.Seq) || m.Hidden) {
				p.Errorf("%d: message %+v", i, m)
			}
		}
		if got := strings.Join(ids, " "); err != nil || name != c.day || got != c.ids || more != c.more {
			p.Errorf("the day of %s before %q: %q, %q, %v, %v; not %q, %q, %v", c.thread, c.before, name, got, more, err, c.day, c.ids, c.more)
		}
	}
}

func contractLatest(p *probe) {
	latest := func(owner, prefix, want string) {
		p.Helper()
		if got, err := p.s.LatestThread(p.Context(), owner, prefix); err != nil || got != want {
			p.Errorf("the latest of %q under %q is %q, not %q (%v)", owner, prefix, got, want, err)
		}
	}
	latest("u", "", "")
	for _, b := range []state.StartRunRequest{
		{RunRef: state.RunRef{Thread: "x/1", Run: "a"}, Owner: "u", StartedAt: day(9)}, {RunRef: state.RunRef{Thread: "x/2", Run: "a"}, Owner: "u", StartedAt: day(1)}, {RunRef: state.RunRef{Thread: "y/1", Run: "a"}, Owner: "u", StartedAt: day(2)},
		{RunRef: state.RunRef{Thread: "x/3", Run: "a"}, Owner: "v", StartedAt: day(3)}, {RunRef: state.RunRef{Thread: "x/4", Run: "a"}, StartedAt: day(4)},
	} {
		p.begin(b)
	}
	latest("u", "x/", "x/2")
	latest("u", "", "y/1")
	latest("u", "y/", "y/1")
	latest("u", "x/1", "x/1")
	latest("u", "z", "")
	latest("u", "x/1/", "")
	latest("v", "x/", "x/3")
	latest("", "x/", "x/4")
	latest("w", "", "")
	p.tell(state.RunRef{Thread: "x/1", Run: "a"}, "1")
	p.begin(state.StartRunRequest{RunRef: state.RunRef{Thread: "x/1", Run: "a"}, Owner: "u"}) // nothing new is begun
	latest("u", "x/", "x/2")
	p.begin(state.StartRunRequest{RunRef: state.RunRef{Thread: "x/1", Run: "b"}, Owner: "u", StartedAt: day(0)})
	latest("u", "x/", "x/1")
	latest("u", "", "x/1")
	for _, name := range []string{"\xff\xff/1", "\xff/1", "%_/1"} {
		p.begin(state.StartRunRequest{RunRef: state.RunRef{Thread: name, Run: "a"}, Owner: "odd"})
	}
	latest("odd", "\xff", "\xff/1")
	latest("odd", "\xff\xff", "\xff\xff/1")
	latest("odd", "%", "%_/1")
	latest("odd", "_", "")
}

func contractAnyBytes(p *probe) {
	odd := []string{"", "a\x00b", "a\x00", "a", "ünï 🦜 \u202e", "\xff\xfe", "a:1/b c\r\n'\";--%_*?", strings.Repeat("long", 2500)}
	at := map[state.RunRef]string{}
	for i, name := range odd {
		for j, other := range odd[:3] {
			run := state.RunRef{Thread: name, Run: other + odd[i]}
			p.begin(state.StartRunRequest{RunRef: run, Owner: name, TaskID: other, Messages: []state.Message{{ID: "\x00" + odd[i][:min(9, len(odd[i]))], Text: "a\x00ü\n"}}})
			p.tell(run, name, other, string([]byte{byte(i), byte(j)}))
			at[run] = name + "|" + other + "|" + string([]byte{byte(i), byte(j)})
		}
	}
	for run, want := range at {
		entries, _, err := p.s.EventsAfter(p.Context(), run, 0, 9)
		var got []string
		for _, e := range entries {
			got = append(got, string(e.Data))
		}
		if text := strings.Join(got, "|"); err != nil || text != want {
			p.Errorf("run %.40q: got %.40q, want %.40q (%v)", run, text, want, err)
		}
		g := p.begin(state.StartRunRequest{RunRef: run, Owner: run.Thread})
		if !g.Existed {
			p.Errorf("%.40q is not there any more", run)
		}
		if th := p.thread(run.Thread); th.Owner != run.Thread || th.LastPosition != 9 {
			p.Errorf("%.40q is %+v", run.Thread, th)
		}
		said, err := p.s.Messages(p.Context(), run.Thread, 0, 9)
		if err != nil || len(said) != 3 || said[2].Text != "a\x00ü\n" {
			p.Errorf("%.40q says %+v, %v", run.Thread, said, err)
		}
		if latest, err := p.s.LatestThread(p.Context(), run.Thread, run.Thread); err != nil || latest != run.Thread {
			p.Errorf("the latest of %.40q is %.40q, %v", run.Thread, latest, err)
		}
	}
	if len(at) != 3*len(odd) {
		p.Errorf("%d runs", len(at))
	}
}

func contractLarge(p *probe) {
	run := p.run("t", "r")
	large := strings.Repeat("0123456789abcdef", 1<<16)
	data := []string{large, "", "small", large[1:], large[2:], "", large}
	p.tell(run, data[:3]...)
	p.tell(run, data[3:]...)
	many := make([]string, 3000)
	for i := range many {
		many[i] = strings.Repeat("x", i%50)
	}
	p.tell(run, many...)
	want := append(data, many...)
	text := state.Message{ID: "m", Text: large, At: day(0)}
	p.told(run, state.AppendBatch{Messages: []state.Message{text}, End: true})
	text.Seq = 1
	p.checkMessages("t", 0, 1, text)
	for _, most := range []int{2, 500, 10_000} {
		var got []string
		for at, over := int64(0), false; !over; {
			entries, last, err := p.s.EventsAfter(p.Context(), run, at, most)
			if err != nil || len(entries) > most || !last && len(entries) == 0 {
				p.Fatalf("%d entries of %d, %v, %v", len(entries), most, last, err)
			}
			size := 0
			for _, e := range entries {
				size += len(e.Data)
			}
			if _, inMemory := p.s.(state.Resetter); !inMemory && size > state.MaxReadBytes && len(entries) > 1 {
				p.Errorf("%d entries of %d bytes at once", len(entries), size)
			}
			for _, e := range entries {
				if at++; e.Position != at {
					p.Fatalf("place %d instead of %d", e.Position, at)
				}
				got = append(got, string(e.Data))
			}
			over = last
		}
		if !cmp.Equal(got, want, cmpopts.EquateEmpty()) {
			p.Errorf("%d at a time: %d events, not %d, or other ones", most, len(got), len(want))
		}
	}
}

func contractSecret(p *probe) {
	one, err := p.s.Secret(p.Context())
	two, again := p.s.Secret(p.Context())
	if err != nil || again != nil || len(one) != 32 || !cmp.Equal(one, two) || cmp.Equal(one, make([]byte, 32)) {
		p.Errorf("%d and %d bytes: %v, %v", len(one), len(two), err, again)
	}
	one[0]++
	if three, err := p.s.Secret(p.Context()); err != nil || !cmp.Equal(two, three) {
		p.Errorf("the caller changed the stored secret: %v", err)
	}
}

// contractManyMessages checks that an endless conversation does not fill the store: its oldest
// messages are dropped, together with the days that have no other messages.
func contractManyMessages(p *probe) {
	run := p.run("t", "r")
	const all = state.MaxMessages + 3*state.TrimStep
	for n := 0; n < all; n += state.TrimStep {
		said := make([]state.Message, state.TrimStep)
		for i := range said {
			said[i] = state.Message{ID: fmt.Sprint(n + i + 1), At: day(n / state.TrimStep)}
		}
		p.told(run, state.AppendBatch{Messages: said})
	}
	said, err := p.s.Messages(p.Context(), "t", 0, all)
	if err != nil || len(said) < state.MaxMessages || len(said) > state.MaxMessages+state.TrimStep+1 {
		p.Fatalf("%d messages are left of %d: %v", len(said), all, err)
	}
	for i, m := range said {
		if want := int64(all - len(said) + i + 1); m.Seq != want || m.ID != fmt.Sprint(want) {
			p.Fatalf("message %d of those that are left is %d, %s", i, m.Seq, m.ID)
		}
	}
	first, days := "", 0
	for more := true; more; days++ {
		var shown []state.Message
		if first, shown, more, err = p.s.DayMessages(p.Context(), "t", first); err != nil || first == "" || len(shown) == 0 {
			p.Fatalf("day %q with %d messages: %v", first, len(shown), err)
		}
	}
	if least := state.MaxMessages / state.TrimStep; days < least || days > least+2 {
		p.Errorf("%d days are left", days)
	}
	if before, err := p.s.Messages(p.Context(), "t", said[2].Seq, 100); err != nil || len(before) != 2 || before[1].Seq != said[1].Seq {
		p.Errorf("before the third of them are %d: %v", len(before), err)
	}
}
