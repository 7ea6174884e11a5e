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

// pageTemplate is the template of the HTML page.
//
//go:embed report.html.tmpl
var pageTemplate string

// maxPageFindings is the maximum number of similar findings of one check that the HTML page shows.
const maxPageFindings = 20

// WriteHTML writes the report as one self-contained HTML page without scripts. It returns any error
// from executing the template or from writing to w.
func WriteHTML(w io.Writer, r *Report) error {
	t, err := template.New("report").Funcs(template.FuncMap{
		"word":       func() string { return r.exitWord() },
		"conclusion": func() string { return r.conclusionLine() },
		"mood":       func() spec.Verdict { return r.overallVerdict() },
		"started":    func() string { return r.Started.UTC().Format(time.RFC3339) },
		"seconds":    func() float64 { return float64(r.DurationMS) / 1000 },
		"verdicts":   func() []spec.Verdict { return verdictsWorstFirst },
		"shown":      func(v spec.Verdict) bool { return v == spec.Failed || v == spec.Warned || v == spec.Error },
		"groups":     DialectResults.pageGroups,
		"worst":      DialectResults.worstVerdict,
		"broken":     func(d DialectResults, g checkResultGroup) []RequirementResult { return d.violatedRequirements(g.Check) },
		"beside": func(d DialectResults, g checkResultGroup) (all []string) {
			for _, v := range d.furtherViolations(g) {
				all = append(all, v.text(4000))
			}
			return all
		},
		"tally":     DialectResults.summaryLine,
		"place":     Finding.locationText,
		"further":   func(f similarFindings) int { return max(0, len(f.Findings)-maxPageFindings) },
		"rest":      func(f similarFindings) []Finding { return f.Findings[1:min(len(f.Findings), maxPageFindings)] },
		"faults":    Check.findingGroups,
		"headline":  Check.headline,
		"again":     func(c Check) string { return c.reproduceCommand(maxCommand) },
		"statement": func(r RequirementResult) string { return r.quotedText(4000) },
		"follows":   func(c Cause) string { return c.consequenceText(true) },
		"about":     func(f Finding) bool { return f.Event != nil || f.Request+f.Response == "" },
		"slug":      anchor,
		"judged":    DialectResults.countJudged,
		"number":    func(v spec.Verdict) int { return r.countOnPage(v) },
		"flips":     Check.flakyText,
		"raw":       func(s string) []string { return displayLines(s, MaxRaw, 60) },
		"visible":   safeText,
		"target":    func() string { return truncateText(safeText(r.Target), 200) },
	}).Parse(pageTemplate)
	if err != nil {
		return err
	}
	return t.Execute(w, r)
}

// verdictsWorstFirst lists all verdicts in the order in which the HTML page shows checks: those
// that most need attention first.
var verdictsWorstFirst = []spec.Verdict{spec.Failed, spec.Warned, spec.Error, spec.Silent, spec.Skipped, spec.Passed}

// pageGroups returns the results of the dialect that the HTML page shows, in the order of
// [verdictsWorstFirst]. Failed and warned results are grouped by failedGroups. All others are
// grouped by check. Results that a [Cause] explains are omitted, and so are silent and skipped
// results of checks that were judged in another scenario.
func (d DialectResults) pageGroups() []checkResultGroup {
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

// countOnPage returns how many entries with verdict v the HTML page has, for all dialects together
// (see pageGroups).
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

// anchor returns the id of an element of the HTML page, for use in links to the element. The id
// consists of the given parts, joined by hyphens; characters that an id should not contain are
// replaced by hyphens.
func anchor(parts ...string) string {
	return strings.Map(func(r rune) rune {
		if r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("-_.@", r) {
			return '-'
		}
		return r
	}, strings.Join(parts, "-"))
}

// judgedCounts holds how many requirements of a dialect have certain verdicts. Judged counts the
// verdicts passed, failed and warned, Silent the verdicts silent and error, and Skipped the verdict
// skipped. Excluded counts the requirements that no check can judge; the other fields do not count
// them.
type judgedCounts struct{ Judged, Silent, Skipped, Excluded int }

// countJudged counts the requirements of the dialect, including those of the test prompts, by
// verdict.
func (d DialectResults) countJudged() judgedCounts {
	var t requirementCounts
	t.addDialect(d)
	count := func(v spec.Verdict) int { return t.byVerdict[v] + t.promptsByVerdict[v] }
	return judgedCounts{
		Judged: count(spec.Passed) + count(spec.Warned) + count(spec.Failed), Silent: count(spec.Silent) + count(spec.Error),
		Skipped: count(spec.Skipped), Excluded: t.excluded,
	}
}
