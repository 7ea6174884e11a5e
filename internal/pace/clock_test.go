package pace_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/streamassay/streamassay/internal/pace"
)

func chance() *rand.Rand { return rand.New(rand.NewPCG(7, 11)) }

// due returns the times at which the first n tokens of a reply with pace p are due.
func due(p pace.Pace, n int) (all []time.Duration) {
	c := p.NewClock(chance())
	for range n {
		all = append(all, c.NextToken())
	}
	return all
}

func TestSchedule(t *testing.T) {
	for _, tt := range []struct {
		name string
		pace pace.Pace
		want []time.Duration
	}{
		{"nothing", pace.Pace{}, []time.Duration{0, 0, 0, 0}},
		{"first", pace.Pace{First: 300 * ms}, []time.Duration{300 * ms, 300 * ms, 300 * ms}},
		{"rate", pace.Pace{First: 300 * ms, Rate: 40}, []time.Duration{300 * ms, 325 * ms, 350 * ms, 375 * ms}},
		{"burst", pace.Pace{Rate: 10, Burst: 2}, []time.Duration{0, 0, 200 * ms, 200 * ms, 400 * ms}},
		{"fixed", pace.Pace{Rate: 10, Jitter: pace.Jitter{Fixed: 30 * ms}}, []time.Duration{0, 130 * ms, 200 * ms, 330 * ms}},
		{"fixed bursts", pace.Pace{Rate: 10, Burst: 2, Jitter: pace.Jitter{Fixed: 30 * ms}}, []time.Duration{0, 0, 230 * ms, 230 * ms, 400 * ms}},
		{"slow", pace.Pace{Rate: 0.001}, []time.Duration{0, 1000 * time.Second, 2000 * time.Second}},
	} {
		if got := due(tt.pace, len(tt.want)); !slices.Equal(got, tt.want) {
			t.Errorf("%s: got %v, want %v", tt.name, got, tt.want)
		}
	}
}

// TestEvents checks that an event other than a token is due together with the preceding event and
// does not shift the tokens.
func TestEvents(t *testing.T) {
	c := pace.Pace{First: 300 * ms, Rate: 10}.NewClock(nil)
	got := []time.Duration{c.NextEvent(), c.NextEvent(), c.NextToken(), c.NextToken(), c.NextEvent(), c.NextEvent(), c.NextToken()}
	if want := []time.Duration{0, 0, 300 * ms, 400 * ms, 400 * ms, 400 * ms, 500 * ms}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestDelay checks that a delay shifts all later events.
func TestDelay(t *testing.T) {
	c := pace.Pace{Rate: 10}.NewClock(nil)
	got := []time.Duration{c.NextToken(), c.NextToken()}
	c.Delay(500 * ms)
	c.Delay(-time.Hour)
	got = append(got, c.NextEvent(), c.NextToken(), c.NextToken())
	if want := []time.Duration{0, 100 * ms, 600 * ms, 700 * ms, 800 * ms}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestJitter checks that equal seeds give equal schedules, and that jitter has the expected
// distribution and does not accumulate.
func TestJitter(t *testing.T) {
	const n, gap = 100_000, 10 * time.Millisecond
	for _, tt := range []struct {
		name      string
		jitter    pace.Jitter
		mean      time.Duration // maximum of the mean deviation
		limit     time.Duration // maximum deviation of a token; 0: unlimited
		from, to  time.Duration // expected range of the spread (p5 to p95) of the times between two tokens
		lateShare float64       // maximum fraction of late tokens
	}{
		{"uniform", pace.Jitter{Uniform: 0.5}, gap / 100, gap / 2, gap * 12 / 10, gap * 14 / 10, 0.51},
		{"uniform, all of it", pace.Jitter{Uniform: 1}, gap / 4, gap, gap * 17 / 10, gap * 25 / 10, 0.65},
		{"lognormal", pace.Jitter{Lognormal: 0.3}, gap / 50, 0, gap * 12 / 10, gap * 16 / 10, 0.46},
	} {
		p := pace.Pace{First: time.Second, Rate: 100, Jitter: tt.jitter}
		all := due(p, n)
		if !slices.Equal(all, due(p, n)) {
			t.Errorf("%s: schedules with the same seed differ", tt.name)
		}
		var sum, worst time.Duration
		late := 0
		gaps := make([]time.Duration, 0, n)
		for i, at := range all {
			miss := at - time.Second - time.Duration(i)*gap
			sum += miss
			worst = max(worst, miss, -miss)
			if miss > 0 {
				late++
			}
			if i > 0 {
				gaps = append(gaps, at-all[i-1])
			}
		}
		slices.Sort(gaps)
		mean, spread := sum/n, gaps[n*95/100]-gaps[n*5/100]
		if max(mean, -mean) > tt.mean {
			t.Errorf("%s: mean deviation %v, want at most %v", tt.name, mean, tt.mean)
		}
		if tt.limit > 0 && worst > tt.limit {
			t.Errorf("%s: a token deviates by %v, want at most %v", tt.name, worst, tt.limit)
		}
		if spread < tt.from || spread > tt.to {
			t.Errorf("%s: the times between tokens spread over %v, want %v to %v", tt.name, spread, tt.from, tt.to)
		}
		if share := float64(late) / n; share > tt.lateShare || share < 0.3 {
			t.Errorf("%s: %.3f of the tokens are late", tt.name, share)
		}
		if end := all[n-1] - time.Second; end < n*gap*99/100 || end > n*gap*101/100 {
			t.Errorf("%s: %d tokens took %v: it drifts", tt.name, n, end)
		}
	}
}

// TestMonotone checks that times never decrease, whatever the pace.
func TestMonotone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := pace.Pace{
			First:  time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "first")),
			Rate:   rapid.SampledFrom([]float64{0, 0.001, 1, 40, 1e6}).Draw(t, "rate"),
			Burst:  rapid.IntRange(0, 5).Draw(t, "burst"),
			Jitter: rapid.SampledFrom([]pace.Jitter{{}, {Fixed: time.Hour}, {Uniform: 1}, {Lognormal: 3}}).Draw(t, "jitter"),
		}
		if err := p.Check(); err != nil {
			t.Fatal(err)
		}
		c := p.NewClock(rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0)))
		last := time.Duration(0)
		for _, what := range rapid.SliceOf(rapid.IntRange(0, 2)).Draw(t, "events") {
			at := last
			switch what {
			case 0:
				at = c.NextToken()
			case 1:
				if at = c.NextEvent(); at != last {
					t.Fatalf("an event was due at %v, after %v", at, last)
				}
			case 2:
				c.Delay(time.Second)
				if at = c.NextEvent(); at != last+time.Second {
					t.Fatalf("a second after %v came %v", last, at)
				}
			}
			if at < last {
				t.Fatalf("%v after %v", at, last)
			}
			last = at
		}
	})
}

// TestAllocations checks that NextToken and NextEvent do not allocate memory.
func TestAllocations(t *testing.T) {
	c := pace.Pace{First: ms, Rate: 40, Jitter: pace.Jitter{Lognormal: 0.3}}.NewClock(chance())
	if n := testing.AllocsPerRun(1000, func() { c.NextToken(); c.NextEvent() }); n != 0 {
		t.Errorf("got %v allocations per token, want 0", n)
	}
}

func BenchmarkToken(b *testing.B) {
	for name, p := range map[string]pace.Pace{"zero": {}, "lognormal": {Rate: 40, Jitter: pace.Jitter{Lognormal: 0.3}}} {
		b.Run(name, func(b *testing.B) {
			c := p.NewClock(chance())
			for b.Loop() {
				c.NextToken()
			}
		})
	}
}
