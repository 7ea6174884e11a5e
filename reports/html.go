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
var pageTemplate string

// maxPageFindings is how many similar findings of one check the HTML page shows at most.
const maxPageFindings = 20

// WriteHTML writes the report as one self-contained page without scripts.
func WriteHTML(w io.Writer, r *Report) error {
	t, err := template.New("report").Funcs(template.FuncMap{
		"word":       func() string { return r.exitWord() },
		"conclusion": func() string { return r.conclusionLine() },
		"mood":       func() spec.Verdict { return r.overallVerdict() },
		"started":    func() string { return r.Started.UTC().Format(time.RFC3339) },
		"seconds":    func() float64 { return float64(r.DurationMS) / 1000 },
		"verdicts":   func() []spec.Verdict { return verdictsWorstFirst },
		"shown":      func(v spec.Verdict) bool { return v == spec.Failed || v == spec.Warned || v == spec.Error },
		"groups":     DialectReport.pageGroups,
		"worst":      DialectReport.worstVerdict,
		"broken":     func(d DialectReport, g checkGroup) []RequirementResult { return d.violatedRequirements(g.Check) },
		"tally":      DialectReport.summaryLine,
		"place":      Finding.locationText,
		"further":    func(f findingGroup) int { return max(0, len(f.Findings)-maxPageFindings) },
		"rest":       func(f findingGroup) []Finding { return f.Findings[1:min(len(f.Findings), maxPageFindings)] },
		"faults":     Check.findingGroups,
		"headline":   Check.headline,
		"again":      func(c Check) string { return c.reproduceCommand(maxCommand) },
		"statement":  func(r RequirementResult) string { return r.quotedText(4000) },
		"follows":    func(c Cause) string { return c.consequenceText(true) },
		"about":      func(f Finding) bool { return f.Event != nil || f.Request+f.Response == "" },
		"slug":       anchor,
		"judged":     DialectReport.countJudged,
		"number":     func(v spec.Verdict) int { return r.countOnPage(v) },
		"flips":      Check.flakyText,
		"raw":        func(s string) []string { return displayLines(s, MaxRaw, 60) },
		"visible":    safeText,
		"target":     func() string { return truncateText(safeText(r.Target), 200) },
	}).Parse(pageTemplate)
	if err != nil {
		return err
	}
	return t.Execute(w, r)
}

// verdictsWorstFirst are all verdicts in the order in which the HTML page shows checks.
var verdictsWorstFirst = []spec.Verdict{spec.Failed, spec.Warned, spec.Error, spec.Silent, spec.Skipped, spec.Passed}

// pageGroups returns all checks of a dialect for the HTML page, in the order of
// [verdictsWorstFirst]. Checks that were judged in some scenario are not shown as silent or skipped
// in others.
func (d DialectReport) pageGroups() []checkGroup {
	all := d.failedGroups(false)
	judged := map[string]bool{}
	for _, c := range d.Checks {
		judged[c.ID] = judged[c.ID] || c.Verdict > spec.Skipped
	}
	for _, v := range verdictsWorstFirst[2:] {
		for _, g := range d.checkGroups(v, false) {
			if v > spec.Skipped || !judged[g.ID] { // a check that is silent in one scenario may be judged in another
				all = append(all, g)
			}
		}
	}
	return all
}

// countOnPage returns how many checks, of all dialects, the HTML page shows with verdict v.
func (r *Report) countOnPage(v spec.Verdict) (n int) {
	for _, d := range r.Dialects {
		for _, g := range d.pageGroups() {
			if g.Verdict == v {
				n++
			}
		}
	}
	return n
}

// anchor returns the id of an element of the HTML page, made of the given parts, for links to the
// element.
func anchor(parts ...string) string {
	return strings.Map(func(r rune) rune {
		if r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("-_.@", r) {
			return '-'
		}
		return r
	}, strings.Join(parts, "-"))
}

// judgedCounts holds how many requirements of a dialect were judged, and how many were silent,
// skipped or excluded. Those with the verdict error count as silent.
type judgedCounts struct{ Judged, Silent, Skipped, Excluded int }

// countJudged counts the requirements of a dialect by whether they were judged.
func (d DialectReport) countJudged() (a judgedCounts) {
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
