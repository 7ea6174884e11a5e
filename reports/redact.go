package reports

import (
	"bytes"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
)

const redacted = "REDACTED"

// leastCut is how many bytes of a secret give something away.
const leastCut = 4

// Redact replaces secrets wherever they occur in the report, as they are and as a
// URL, a JSON string or a shell command spells them. What it replaces in a command
// makes the command useless and harmless.
func (r *Report) Redact(secrets []string) {
	var all []string
	for _, s := range secrets {
		if s != "" {
			all = append(all, spellings(s)...)
		}
	}
	if len(all) == 0 {
		return
	}
	slices.Sort(all)
	all = slices.Compact(all)
	slices.SortStableFunc(all, func(a, b string) int { return len(b) - len(a) })
	var pairs []string
	for _, s := range all {
		pairs = append(pairs, s, redacted)
	}
	replacer := strings.NewReplacer(pairs...)
	plain := func(s string) string { return replacer.Replace(s) }
	cut := func(s string) string { return withoutCutSecret(replacer.Replace(s), all) }
	r.Target = plain(r.Target)
	for i := range r.Harness {
		r.Harness[i] = plain(r.Harness[i])
	}
	for _, d := range r.Dialects {
		for i := range d.Checks {
			c := &d.Checks[i]
			c.Note, c.Curl, c.Transcript = cut(c.Note), plain(c.Curl), plain(c.Transcript)
			for k := range c.Findings {
				f := &c.Findings[k]
				f.Message, f.Raw, f.Pointer = cut(f.Message), cut(f.Raw), cut(f.Pointer)
			}
		}
	}
}

// withoutCutSecret takes away the first part of a secret, where the bound on what
// is shown cut it in two.
func withoutCutSecret(s string, secrets []string) string {
	shown, note := untilLeftOut(s)
	if note == "" {
		return s
	}
	for _, secret := range secrets {
		for n := min(len(secret)-1, len(shown)); n >= leastCut; n-- {
			if strings.HasSuffix(shown, secret[:n]) {
				return shown[:len(shown)-n] + redacted + note
			}
		}
	}
	return s
}

// spellings are the ways a secret can stand in a report.
func spellings(s string) []string {
	return []string{
		s, url.QueryEscape(s), url.PathEscape(s), inJSON(s, true), inJSON(s, false),
		inQuotes(s), inQuotes(inJSON(s, true)), inQuotes(inJSON(s, false)), inQuotes(printf([]byte(s))), inQuotes(printf([]byte(inJSON(s, false)))),
	}
}

// inJSON is how JSON spells a string between its quotes. Some writers spell <, >
// and & out too.
func inJSON(s string, html bool) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(html)
	if e.Encode(s) != nil {
		return s
	}
	return strings.TrimSuffix(strings.TrimPrefix(b.String(), `"`), "\"\n")
}
