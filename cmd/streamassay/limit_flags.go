package main

import (
	"time"

	"github.com/spf13/pflag"

	"github.com/streamassay/streamassay/spec/dialect"
	"github.com/streamassay/streamassay/suites"
)

// addLimitFlags adds the flags that limit the time and the bytes spent on a target.
func (t *targetOptions) addLimitFlags(f *pflag.FlagSet) {
	t.MaxBytes, t.MaxEvent = suites.DefaultMaxBytes, dialect.MaxEventBytes
	f.StringVar(&t.Timeout, "timeout", defaultTimeout, "maximum `DURATION` of one exchange")
	f.StringVar(&t.IdleTimeout, "idle-timeout", "",
		"maximum `DURATION` without a byte in one exchange (default 15s, at most --timeout)")
	f.StringVar(&t.MaxTime, "max-time", "",
		"maximum `DURATION` of the whole run; then no more requests are sent and the report is marked incomplete (default: no limit)")
	f.Var(&t.MaxBytes, "max-bytes",
		"maximum size of one response body; all event streams, and all other responses, together may have four times as much, but at least 256MiB")
	f.IntVar(&t.MaxEvents, "max-events", suites.DefaultMaxEvents,
		"maximum `NUMBER` of events and comments in one stream; all streams together may have four times as many, but at least 800000")
	f.Var(&t.MaxEvent, "max-event", "maximum size of one event")
}

// applyLimits parses and checks the limits of a target and stores them in s.
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
	for key, n := range map[string]byteSize{"max-bytes": t.MaxBytes, "max-event": t.MaxEvent} {
		if n < 1 || n > maxLimit {
			return usageError("%s %s: must be from 1 byte to 1GiB", t.source.settingName(key), &n)
		}
	}
	s.Limits.MaxBytes, s.Limits.MaxEvents, s.MaxEventBytes = int(t.MaxBytes), t.MaxEvents, int(t.MaxEvent)
	return nil
}

// remainingTime returns how much of limit is left for a run that started at began, at least
// 1 ns; 0 if there is no limit.
func remainingTime(limit time.Duration, began time.Time) time.Duration {
	if limit == 0 {
		return 0
	}
	return max(1, limit-time.Since(began))
}
