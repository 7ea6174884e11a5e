package reports

import (
	"encoding/json"
	"io"
	"slices"
	"time"
)

// WriteJSON writes the complete report as JSON in the format of docs/report.md. Empty lists are
// written as [], never as null. It returns any error from writing to w.
func WriteJSON(w io.Writer, r *Report) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", " ")
	enc.SetEscapeHTML(false)
	return enc.Encode(r.normalized())
}

// normalized returns a copy of the report in which the start time is in UTC and whole seconds, and
// nil lists that JSON would encode as null are replaced by empty lists. The report itself is not
// modified.
func (r *Report) normalized() *Report {
	all := *r
	all.Started = r.Started.UTC().Truncate(time.Second)
	all.Dialects = nonNilCopy(r.Dialects)
	for i := range all.Dialects {
		d := &all.Dialects[i]
		d.Causes, d.Requirements, d.Checks = nonNilCopy(d.Causes), nonNilCopy(d.Requirements), nonNilCopy(d.Checks)
		for k := range d.Requirements {
			d.Requirements[k].Checks = nonNilCopy(d.Requirements[k].Checks)
		}
		for k := range d.Checks {
			c := &d.Checks[k]
			c.Findings, c.Requirements = nonNilCopy(c.Findings), nonNilCopy(c.Requirements)
		}
	}
	return &all
}

// nonNilCopy returns a shallow copy of s. The copy of nil is an empty slice, which JSON encodes as
// [].
func nonNilCopy[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return slices.Clone(s)
}
