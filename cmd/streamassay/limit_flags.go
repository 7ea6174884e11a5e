package main

import (
	"time"

	"github.com/spf13/pflag"

	"github.com/streamassay/streamassay/spec/dialect"
	"github.com/streamassay/streamassay/suites"
)

// addLimitFlags adds to f the flags that limit the duration of a run and the duration and size of
// responses. It also sets their default values in t.
func (t *targetOptions) addLimitFlags(f *pflag.FlagSet) {
	t.MaxBytes, t.MaxEvent = suites.DefaultMaxBytes, dialect.MaxEventBytes
	f.StringVar(&t.Timeout, "timeout", defaultTimeout, "`DURATION` maximum duration of one exchange")
	f.StringVar(&t.IdleTimeout, "idle-timeout", "",
		"`DURATION` maximum time without a byte in one exchange (default 15s, at most --timeout)")
	f.StringVar(&t.MaxTime, "max-time", "",
		"`DURATION` maximum duration of the whole run; then no more requests are sent and the report is marked incomplete "+
			"(default: no limit)")
	f.Var(&t.MaxBytes, "max-bytes",
		"maximum size of one response body, at least 1KiB; the total of all event streams, and separately of all other "+
			"responses, is limited to four times this or 256MiB, whichever is larger")
	f.IntVar(&t.MaxEvents, "max-events", suites.DefaultMaxEvents,
		"`NUMBER` maximum number of events and comments in one stream; the total of all streams is limited to twice "+
			"this or 400000, whichever is larger")
	f.Var(&t.MaxEvent, "max-event", "maximum size of one event")
}

// minBodyLimit is the smallest valid value of --max-bytes, in bytes. A smaller limit would cut the
// responses of every server, and the report would blame the server for it.
const minBodyLimit = 1 << 10

// applyLimits parses and checks the limits of time and size in the options, and stores them in s.
// An error names the invalid flag or field.
func (t targetOptions) applyLimits(s *suites.Target) error {
	for _, d := range []struct {
		key, text string
		to        *time.Duration
	}{
		{"timeout", t.Timeout, &s.Timeout}, {"idle-timeout", t.IdleTimeout, &s.Limits.IdleTimeout},
		{"max-time", t.MaxTime, &s.Limits.RunTimeout},
	} {
		if d.text == "" && d.key != "timeout" {
			continue
		}
		span, err := parseTimeout(d.text)
		if err != nil {
			return usageError("%s %q: %v", t.source.settingName(d.key), d.text, err)
		}
		*d.to = span
	}
	const maxLimit = 1 << 30
	if t.MaxEvents < 1 || t.MaxEvents > maxLimit {
		return usageError("%s %d: must be from 1 to %d", t.source.settingName("max-events"), t.MaxEvents, maxLimit)
	}
	if t.MaxBytes < minBodyLimit || t.MaxBytes > maxLimit {
		return usageError("%s %s: must be from 1KiB to 1GiB", t.source.settingName("max-bytes"), &t.MaxBytes)
	}
	if t.MaxEvent < 1 || t.MaxEvent > maxLimit {
		return usageError("%s %s: must be from 1 byte to 1GiB", t.source.settingName("max-event"), &t.MaxEvent)
	}
	s.Limits.MaxBytes, s.Limits.MaxEvents, s.MaxEventBytes = int(t.MaxBytes), t.MaxEvents, int(t.MaxEvent)
	return nil
}

// remainingTime returns how much of limit is left for a run whose start time is began. The result
// is at least 1 ns, because 0 stands for no limit. If limit is 0, the result is 0.
func remainingTime(limit time.Duration, began time.Time) time.Duration {
	if limit == 0 {
		return 0
	}
	return max(1, limit-time.Since(began))
}
