package reports

import (
	_ "embed"
	"html/template"
	"io"
	"time"

	"github.com/streamassay/streamassay/spec"
)

//go:embed report.html.tmpl
var page string

// mostOnPage is how many findings of one check the page shows.
const mostOnPage = 20

// WriteHTML writes the report as one page that needs nothing but itself: no
// script, no style sheet, no picture and no network.
func WriteHTML(w io.Writer, r *Report) error {
	t, err := template.New("report").Funcs(template.FuncMap{
		"word":       func() string { return r.word() },
		"conclusion": func() string { return r.conclusion() },
		"mood":       func() spec.Verdict { return r.mood() },
		"started":    func() string { return r.Started.UTC().Format(time.RFC3339) },
		"seconds":    func() float64 { return float64(r.DurationMS) / 1000 },
		"verdicts":   func() []spec.Verdict { return worstFirst },
		"shown":      func(v spec.Verdict) bool { return v == spec.Failed || v == spec.Warned || v == spec.Error },
		"groups":     Dialect.onPage,
		"worst":      Dialect.worst,
		"broken":     func(d Dialect, g group) []Requirement { return d.broken(g.Check) },
		"tally": func(d Dialect) string {
			var t tally
			t.count(d)
			return t.String()
		},
		"place":   Finding.place,
		"first":   func(f []Finding) []Finding { return f[:min(len(f), mostOnPage)] },
		"further": func(c Check) int { return max(0, len(c.Findings)-mostOnPage) + c.Dropped },
		"flips":   Check.flips,
		"raw":     func(s string) []string { return rawLines(s, MostRaw, 60) },
		"visible": visible,
		"target":  func() string { return visible(clip(r.Target, 200)) },
	}).Parse(page)
	if err != nil {
		return err
	}
	return t.Execute(w, r)
}

// worstFirst are the verdicts in the order in which people want to read of them.
var worstFirst = []spec.Verdict{spec.Failed, spec.Warned, spec.Error, spec.Silent, spec.Skipped, spec.Passed}

// onPage are all checks of a dialect, the worst first.
func (d Dialect) onPage() (all []group) {
	for _, v := range worstFirst {
		all = append(all, d.groups(v)...)
	}
	return all
}
