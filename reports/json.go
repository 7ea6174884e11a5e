package reports

import (
	"encoding/json"
	"io"
	"slices"
	"time"
)

// WriteJSON writes the report as JSON: all of it, in the order of the report, and
// every list as a list even if nothing is in it.
func WriteJSON(w io.Writer, r *Report) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", " ")
	enc.SetEscapeHTML(false)
	return enc.Encode(r.normalized())
}

// normalized is a copy of the report in which no list is nil, and the time has the form
// of RFC 3339 that everybody can read.
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

// nonNilCopy is a copy that is never nil.
func nonNilCopy[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return slices.Clone(s)
}
