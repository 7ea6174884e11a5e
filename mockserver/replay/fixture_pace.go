package replay

import (
	"encoding/json"
	"math"
	"strconv"
	"time"
)

// A playing is how a fixture is streamed, and what happens to it on its way.
type playing struct {
	latency, chunk, truncate, disconnect, speed *float64
	first, rate, jitter                         *float64 // of streamingProfile
	profile, recorded                           bool
	ttft, gap                                   float64 // of recordedTimings, in milliseconds
	chances                                     map[string]float64
	delay                                       *float64
}

// Bounds, in milliseconds and in pieces.
const (
	longest    = 24 * 3600 * 1000
	mostPieces = 1e6
)

// playing reads the members of a fixture that are neither match nor response.
func (c *converter) playing(known fields, p *playing) {
	known["latency"] = c.number(&p.latency, "latency", 0, longest)
	known["chunkSize"] = c.number(&p.chunk, "chunkSize", 1, mostPieces)
	known["truncateAfterChunks"] = c.number(&p.truncate, "truncateAfterChunks", 0, mostPieces)
	known["disconnectAfterMs"] = c.number(&p.disconnect, "disconnectAfterMs", 0, longest)
	known["replaySpeed"] = c.number(&p.speed, "replaySpeed", 0.001, 1000)
	known["streamingProfile"] = func(raw json.RawMessage) {
		p.profile = true
		c.each("streamingProfile", raw, fields{
			"ttft": c.number(&p.first, "ttft", 0, longest), "tps": c.number(&p.rate, "tps", 0, 1e6),
			"jitter": c.number(&p.jitter, "jitter", 0, 1),
		})
	}
	known["recordedTimings"] = func(raw json.RawMessage) { c.recorded(raw, p) }
	known["chaos"] = func(raw json.RawMessage) {
		p.chances = map[string]float64{}
		all := fields{"latencyMs": c.number(&p.delay, "chaos: latencyMs", 0, 30_000)}
		for _, name := range []string{"dropRate", "malformedRate", "disconnectRate", "rateLimitRate"} {
			all[name] = func(raw json.RawMessage) {
				var rate *float64
				if c.number(&rate, "chaos: "+name, 0, 1)(raw); rate != nil {
					p.chances[name] = *rate
				}
			}
		}
		c.each("chaos", raw, all)
	}
}

func (c *converter) recorded(raw json.RawMessage, p *playing) {
	var first *float64
	var gaps []float64
	c.each("recordedTimings", raw, fields{
		"ttftMs": c.number(&first, "ttftMs", 0, longest),
		"interChunkDelaysMs": func(raw json.RawMessage) {
			if json.Unmarshal(raw, &gaps) != nil {
				c.fail("recordedTimings: interChunkDelaysMs is a list of numbers")
			}
		},
		"totalDurationMs": func(json.RawMessage) {}, // it follows from the others
	})
	p.recorded = true
	if first != nil {
		p.ttft = *first
	}
	for _, gap := range gaps {
		p.gap += gap / float64(len(gaps))
	}
}

// pace says when the pieces of a reply come.
func (c *converter) pace(rule *object, p playing) {
	var o object
	switch {
	case p.recorded:
		times := 1.0
		if p.speed != nil {
			times = *p.speed
		}
		if p.profile || p.latency != nil {
			c.warn("streamingProfile and latency are left out: recordedTimings come before them")
		}
		c.warn("recordedTimings are a steady rate: the pieces of a script are not those of the recording")
		o.set("first", milliseconds(p.ttft/times))
		if p.gap > 0 {
			o.set("rate", rounded(1000*times/p.gap))
		}
	case p.profile:
		if p.latency != nil {
			c.warn("latency is left out: streamingProfile comes before it")
		}
		if p.first != nil {
			o.set("first", milliseconds(*p.first))
		}
		if p.rate != nil && *p.rate > 0 {
			o.set("rate", *p.rate)
			if p.jitter != nil && *p.jitter > 0 {
				o.set("jitter", object{{"uniform", *p.jitter}})
			}
		}
	case p.latency != nil && *p.latency > 0:
		o.set("first", milliseconds(*p.latency))
		o.set("rate", rounded(1000 / *p.latency))
	}
	if p.speed != nil && !p.recorded {
		c.warn("replaySpeed is left out: there are no recordedTimings")
	}
	if p.chunk != nil {
		o.set("chunk", int(*p.chunk))
	}
	if len(o) > 0 {
		rule.set("pace", o)
	}
}

// rounded is a number with as many digits as anybody can tell apart.
func rounded(n float64) float64 {
	short, _ := strconv.ParseFloat(strconv.FormatFloat(n, 'g', 6, 64), 64)
	return short
}

func milliseconds(ms float64) string {
	return time.Duration(ms * float64(time.Millisecond)).String()
}

// faults say what happens to a reply on its way. What happens by chance does so by the
// seed, each by itself; there the first that strikes spares the others.
func (c *converter) faults(rule *object, p playing, r response) {
	var all []any
	add := func(name string, set object) {
		all = append(all, object{{name, set}})
	}
	if p.truncate != nil {
		c.warn("truncateAfterChunks %v is before event %v: events are counted, those that open a run and a message among them", *p.truncate, *p.truncate)
		add("abort", object{{"event", int(*p.truncate)}})
	}
	if p.disconnect != nil {
		add("abort", object{{"time", milliseconds(*p.disconnect)}})
	}
	if p.delay != nil && *p.delay > 0 {
		add("slow-head", object{{"for", milliseconds(*p.delay)}})
	}
	hits := 0
	for _, one := range []struct {
		rate, fault string
		set         object
	}{
		{"dropRate", "http-error", object{{"status", 500}}},
		{"malformedRate", "malformed", object{}},
		{"rateLimitRate", "too-many", object{}},
		{"disconnectRate", "abort", object{{"event", 0}}},
	} {
		rate := p.chances[one.rate]
		if rate == 0 {
			continue
		}
		hits++
		if one.fault == "malformed" {
			c.warn("chaos: malformedRate breaks an event of the stream; there it is the whole body")
		}
		percent := max(1, int(math.Round(100*rate)))
		if float64(percent) != math.Round(1e6*rate)/1e4 {
			c.warn("chaos: %s %v is %d percent: chances are whole percents", one.rate, rate, percent)
		}
		if percent < 100 {
			one.set.set("chance", percent)
		}
		add(one.fault, one.set)
	}
	if hits > 1 {
		c.warn("chaos: each strikes by its own chance; there the first that strikes spares the others")
	}
	if r.status != nil && len(all) > 0 {
		c.warn("what would happen to the stream is left out: the answer is an error, not a stream")
		return
	}
	if len(all) > 0 {
		rule.set("faults", all)
	}
}
