package suites

import (
	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
)

// ForeignEvents reports whether the event streams in the recording t are not those of dialect d:
// there is at least one event, and in each stream that has any, either none is known in d, or most
// are unknown in d or are those of another dialect. Streams with an event that is too large to be
// decoded do not count. The result like is the name of the dialect that the events look like, or ""
// if they look like none of the embedded dialects.
func ForeignEvents(d *dialect.Dialect, t spec.Trace) (like string, foreign bool) {
	var list []exchangeSummary
	for range summarizeExchanges(d, t, d.Events(t), &list) {
		continue // only the summaries matter
	}
	for i, o := range list {
		switch {
		case o.frames == 0 || o.tooLarge:
			continue
		case o.knownFrames > 0 && o.symptom != symptomOtherDialect:
			return "", false
		case like == "":
			like = similarDialect(d, prefixOf(dialect.DecodeContent(t.Exchanges[i].Response).Body))
		}
		foreign = true
	}
	return like, foreign
}
