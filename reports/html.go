package reports

import (
	_ "embed"
	"html/template"
	"io"
	"strings"
	"time"
	"unicode"

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
		"tally":      Dialect.summary,
		"place":      Finding.place,
		"further":    func(f fault) int { return max(0, len(f.Findings)-mostOnPage) },
		"rest":       func(f fault) []Finding { return f.Findings[1:min(len(f.Findings), mostOnPage)] },
		"faults":     Check.faults,
		"headline":   Check.headline,
		"again":      func(c Check) string { return c.again(mostCommand) },
		"statement":  func(r Requirement) string { return r.statement(4000) },
		"follows":    func(c Cause) string { return c.follows(true) },
		"about":      func(f Finding) bool { return f.Event != nil || f.Request+f.Response == "" },
		"slug":       slug,
		"judged":     Dialect.accounted,
		"number":     func(v spec.Verdict) int { return r.onPageOf(v) },
		"flips":      Check.flips,
		"raw":        func(s string) []string { return rawLines(s, MostRaw, 60) },
		"visible":    visible,
		"target":     func() string { return clip(visible(r.Target), 200) },
	}).Parse(page)
	if err != nil {
		return err
	}
	return t.Execute(w, r)
}

// worstFirst are the verdicts in the order in which people want to read of them.
var worstFirst = []spec.Verdict{spec.Failed, spec.Warned, spec.Error, spec.Silent, spec.Skipped, spec.Passed}

// onPage are all checks of a dialect, the worst first.
func (d Dialect) onPage() []group {
	all := d.bad(false)
	judged := map[string]bool{}
	for _, c := range d.Checks {
		judged[c.ID] = judged[c.ID] || c.Verdict > spec.Skipped
	}
	for _, v := range worstFirst[2:] {
		for _, g := range d.groups(v, false) {
			if v > spec.Skipped || !judged[g.ID] { // silence in one scenario is nothing to speak of
				all = append(all, g)
			}
		}
	}
	return all
}

// onPageOf is how many checks stand on the page with a verdict.
func (r *Report) onPageOf(v spec.Verdict) (n int) {
	for _, d := range r.Dialects {
		for _, g := range d.onPage() {
			if g.Verdict == v {
				n++
			}
		}
	}
	return n
}

// slug is a name as an address within the page can hold it.
func slug(parts ...string) string {
	return strings.Map(func(r rune) rune {
		if r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("-_.@", r) {
			return '-'
		}
		return r
	}, strings.Join(parts, "-"))
}

// An account is what a page says was judged, and what was not, by requirement.
type account struct{ Judged, Silent, Skipped, Excluded int }

func (d Dialect) accounted() (a account) {
	for _, r := range d.Requirements {
		switch {
		case r.Excluded != nil:
			a.Excluded++
		case r.Verdict == spec.Silent || r.Verdict == spec.Error:
			a.Silent++
		case r.Verdict == spec.Skipped:
			a.Skipped++
		default:
			a.Judged++
		}
	}
	return a
}
