package main

import (
	"time"

	"github.com/spf13/pflag"

	"github.com/streamassay/streamassay/spec/dialect"
	"github.com/streamassay/streamassay/suites"
)

// addLimitFlags adds the flags that bound what a target may cost.
func (t *targetOptions) addLimitFlags(f *pflag.FlagSet) {
	t.MaxBytes, t.MaxEvent = suites.DefaultMaxBytes, dialect.MaxEventBytes
	f.StringVar(&t.Timeout, "timeout", defaultTimeout, "how long one exchange may take as a whole (`DURATION`)")
	f.StringVar(&t.IdleTimeout, "idle-timeout", "", "how long an exchange may be silent (`DURATION`; default 15s, but no longer than --timeout)")
	f.StringVar(&t.MaxTime, "max-time", "", "how long the whole run may take (`DURATION`): then nothing more is asked, and the report is marked incomplete (default: no limit)")
	f.Var(&t.MaxBytes, "max-bytes", "the most bytes that one answer may have; all streams, or replies, together may have four times as many, and at least 256MiB")
	f.IntVar(&t.MaxEvents, "max-events", suites.DefaultMaxEvents, "the most events, comments included, that one stream may have (`NUMBER`); all streams together may have four times as many, and at least 800000")
	f.Var(&t.MaxEvent, "max-event", "the most bytes that one event may have")
}

// applyLimits reads what bounds the cost of a target.
func (t targetOptions) applyLimits(s *suites.Target) error {
	for _, d := range []struct {
		key, text string
		to        *time.Duration
	}{{"timeout", t.Timeout, &s.Timeout}, {"idle-timeout", t.IdleTimeout, &s.Limits.IdleTimeout}, {"max-time", t.MaxTime, &s.Limits.RunTimeout}} {
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
		return usageError("%s %d: it is a number from 1 to %d", t.source.settingName("max-events"), t.MaxEvents, maxLimit)
	}
	for key, n := range map[string]byteSize{"max-bytes": t.MaxBytes, "max-event": t.MaxEvent} {
		if n < 1 || n > maxLimit {
			return usageError("%s %s: it is from 1 byte to 1GiB", t.source.settingName(key), &n)
		}
	}
	s.Limits.MaxBytes, s.Limits.MaxEvents, s.MaxEventBytes = int(t.MaxBytes), t.MaxEvents, int(t.MaxEvent)
	return nil
}

// remainingTime is how much of --max-time is left of a run that began then; 0: there is no limit.
func remainingTime(limit time.Duration, began time.Time) time.Duration {
	if limit == 0 {
		return 0
	}
	return max(1, limit-time.Since(began))
}
