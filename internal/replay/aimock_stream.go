package replay

import (
	"cmp"
	"encoding/json"
	"math"
	"strconv"
	"time"
)

// An aimockStreamOptions holds the members of an aimock fixture that define timing and faults.
// Pointers are nil for members that the fixture does not set.
type aimockStreamOptions struct {
	latency, disconnect    *float64           // latency and disconnectAfterMs, in milliseconds
	chunk, truncate        *int               // chunkSize in characters, and truncateAfterChunks
	speed                  *float64           // replaySpeed: 2 means twice as fast
	hasProfile, hasTimings bool               // streamingProfile and recordedTimings are present
	profileTTFT            *float64           // ttft of streamingProfile: time to the first token, in milliseconds
	profileRate            *float64           // tps of streamingProfile: tokens per second
	profileJitter          *float64           // jitter of streamingProfile, from 0 to 1
	ttft, meanGap          float64            // from recordedTimings, in milliseconds; see readTimings
	faultRates             map[string]float64 // members of chaos that are probabilities, from 0 to 1, by name
	delay                  *float64           // latencyMs of chaos, in milliseconds
}

// The maximum values of members of an aimock fixture.
const (
	maxMilliseconds = 24 * 3600 * 1000 // of a duration, in milliseconds
	maxChunks       = 1_000_000        // of chunkSize and truncateAfterChunks
)

// readStreamOptions adds functions to known that decode the members of a fixture for timing and
// faults, and store their values in *p.
func (c *fixtureConverter) readStreamOptions(known memberDecoders, p *aimockStreamOptions) {
	known["latency"] = readNumber(c, &p.latency, "latency", 0, maxMilliseconds)
	known["chunkSize"] = readNumber(c, &p.chunk, "chunkSize", 1, maxChunks)
	known["truncateAfterChunks"] = readNumber(c, &p.truncate, "truncateAfterChunks", 0, maxChunks)
	known["disconnectAfterMs"] = readNumber(c, &p.disconnect, "disconnectAfterMs", 0, maxMilliseconds)
	known["replaySpeed"] = readNumber(c, &p.speed, "replaySpeed", 0.001, 1000)
	known["streamingProfile"] = func(raw json.RawMessage) {
		p.hasProfile = true
		c.readObject("streamingProfile", raw, memberDecoders{
			"ttft":   readNumber(c, &p.profileTTFT, "ttft", 0, maxMilliseconds),
			"tps":    readNumber(c, &p.profileRate, "tps", 0, 1e6),
			"jitter": readNumber(c, &p.profileJitter, "jitter", 0, 1),
		})
	}
	known["recordedTimings"] = func(raw json.RawMessage) { c.readTimings(raw, p) }
	known["chaos"] = func(raw json.RawMessage) {
		p.faultRates = map[string]float64{}
		all := memberDecoders{"latencyMs": readNumber(c, &p.delay, "chaos: latencyMs", 0, 30_000)}
		for _, name := range []string{"dropRate", "malformedRate", "disconnectRate", "rateLimitRate"} {
			all[name] = func(raw json.RawMessage) {
				var rate *float64
				if readNumber(c, &rate, "chaos: "+name, 0, 1)(raw); rate != nil {
					p.faultRates[name] = *rate
				}
			}
		}
		c.readObject("chaos", raw, all)
	}
}

// readTimings decodes raw, the member recordedTimings of a fixture. It stores the time to the first
// token in p.ttft and the mean interval between chunks in p.meanGap, both in milliseconds. They are
// 0 if raw does not contain them. If raw is invalid, readTimings records an error.
func (c *fixtureConverter) readTimings(raw json.RawMessage, p *aimockStreamOptions) {
	first := new(0.0)
	var gaps []float64
	c.readObject("recordedTimings", raw, memberDecoders{
		"ttftMs": readNumber(c, &first, "ttftMs", 0, maxMilliseconds),
		"interChunkDelaysMs": func(raw json.RawMessage) {
			if json.Unmarshal(raw, &gaps) != nil {
				c.errorf("recordedTimings: interChunkDelaysMs must be a list of numbers")
			}
		},
		"totalDurationMs": func(json.RawMessage) {}, // the sum of the others
	})
	p.hasTimings, p.ttft = true, *first
	for _, gap := range gaps {
		p.meanGap += gap / float64(len(gaps))
	}
}

// setPace sets the pace of a rule, which is the timing of its reply, from the timing members in p.
// It records warnings about timing members that it ignores. If no timing member has an effect, the
// rule gets no pace.
func (c *fixtureConverter) setPace(rule *scriptObject, p aimockStreamOptions) {
	var o scriptObject
	switch {
	case p.hasTimings:
		times := *cmp.Or(p.speed, new(1.0))
		if p.hasProfile || p.latency != nil {
			c.warnf("streamingProfile and latency are ignored: recordedTimings take precedence")
		}
		c.warnf("recordedTimings become a steady rate: the chunks of a script differ from those of the recording")
		o.set("first", milliseconds(p.ttft/times))
		if p.meanGap > 0 {
			o.set("rate", roundDigits(1000*times/p.meanGap))
		}
	case p.hasProfile:
		if p.latency != nil {
			c.warnf("latency is ignored: streamingProfile takes precedence")
		}
		if p.profileTTFT != nil {
			o.set("first", milliseconds(*p.profileTTFT))
		}
		if p.profileRate != nil && *p.profileRate > 0 {
			o.set("rate", *p.profileRate)
			if p.profileJitter != nil && *p.profileJitter > 0 {
				o.set("jitter", scriptObject{{"uniform", *p.profileJitter}})
			}
		}
	case p.latency != nil && *p.latency > 0:
		o.set("first", milliseconds(*p.latency))
		o.set("rate", roundDigits(1000 / *p.latency))
	}
	if p.speed != nil && !p.hasTimings {
		c.warnf("replaySpeed is ignored: the fixture lacks recordedTimings")
	}
	if p.chunk != nil {
		o.set("chunk", *p.chunk)
	}
	if len(o) > 0 {
		rule.set("pace", o)
	}
}

// roundDigits returns n rounded to six significant digits, which keeps rates in scripts short.
func roundDigits(n float64) float64 {
	short, _ := strconv.ParseFloat(strconv.FormatFloat(n, 'g', 6, 64), 64)
	return short
}

// milliseconds returns ms, a number of milliseconds, as a duration in Go's notation, such as
// "1.5s".
func milliseconds(ms float64) string {
	return time.Duration(ms * float64(time.Millisecond)).String()
}

// setFaults sets the faults of a rule from the fault members in p, and records a warning where the
// faults of a script differ from those of aimock. If isError is true, the reply of the rule is an
// error status, and setFaults sets no faults.
func (c *fixtureConverter) setFaults(rule *scriptObject, p aimockStreamOptions, isError bool) {
	var all []any
	add := func(name string, set scriptObject) {
		all = append(all, scriptObject{{name, set}})
	}
	if p.truncate != nil {
		c.warnf("truncateAfterChunks %v becomes an abort before event %v: scripts count all events, not only chunks",
			*p.truncate, *p.truncate)
		add("abort", scriptObject{{"event", *p.truncate}})
	}
	if p.disconnect != nil {
		add("abort", scriptObject{{"time", milliseconds(*p.disconnect)}})
	}
	if p.delay != nil && *p.delay > 0 {
		add("slow-head", scriptObject{{"for", milliseconds(*p.delay)}})
	}
	chaosFaults := 0
	for _, one := range []struct {
		rate, fault string
		set         scriptObject
	}{
		{"dropRate", "http-error", scriptObject{{"status", 500}}},
		{"malformedRate", "malformed", scriptObject{}},
		{"rateLimitRate", "too-many", scriptObject{}},
		{"disconnectRate", "abort", scriptObject{{"event", 0}}},
	} {
		rate := p.faultRates[one.rate]
		if rate == 0 {
			continue
		}
		chaosFaults++
		if one.fault == "malformed" {
			c.warnf("chaos: malformedRate corrupts one event of the stream, not the whole body")
		}
		percent := max(1, int(math.Round(100*rate)))
		if float64(percent) != math.Round(1e6*rate)/1e4 {
			c.warnf("chaos: %s %v is rounded to %d percent", one.rate, rate, percent)
		}
		if percent < 100 {
			one.set.set("chance", percent)
		}
		add(one.fault, one.set)
	}
	if chaosFaults > 1 {
		c.warnf("chaos: the faults occur independently of each other; in aimock at most one of them does")
	}
	if isError && len(all) > 0 {
		c.warnf("faults of the stream are ignored: the response is an error, not a stream")
		return
	}
	if len(all) > 0 {
		rule.set("faults", all)
	}
}
