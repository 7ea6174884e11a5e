package mutation

import (
	"bytes"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/streamassay/streamassay/spec"
)

// formDefects are the kinds of forms of valid requests that a server may wrongly refuse: the name of
// the defect, and the prefix of the names of the forms.
var formDefects = []struct{ defect, prefix string }{
	{"null-refused", "with null "}, {"absence-refused", "without "}, {"unknown-refused", "with the unknown "},
}

// addFormRejections adds the servers that refuse valid requests with a form that the plain prompt
// does not have: with null, without an optional member, with an unknown member.
func (g *generator) addFormRejections() {
	plain := map[string]bool{}
	for _, form := range g.templateForms("prompt") {
		plain[form.Name] = true
	}
	for _, o := range g.dialect.Operations() {
		if !o.StartsRun {
			continue
		}
		for _, template := range o.Templates() {
			r, err := g.dialect.BuildRequest(template, sampleEvent)
			if err != nil {
				continue
			}
			base := g.dialect.ParseRequest(r)
			asks := func(p spec.Event) bool { return p.Kind == spec.InputUser && p.Text == sampleEvent.Text }
			if !slices.ContainsFunc(base.Parts, asks) || base.Facts().Forms == nil {
				continue // a reply, which needs something to reply to
			}
			own, known := base.Requirement, maps.Clone(plain)
			for _, form := range base.Facts().Forms() {
				known[form.Name] = true
			}
			for _, variant := range g.dialect.RequestVariants(r) {
				e := g.dialect.ParseRequest(variant.Request)
				for _, form := range e.Facts().Forms() {
					if !known[form.Name] {
						g.addFormRejection(form, own, plain)
					}
				}
			}
		}
	}
}

// sampleEvent holds values for the templates of requests.
var sampleEvent = spec.Event{
	Text: "conformance:text one", Thread: "550e8400-e29b-41d4-a716-446655440000", Run: "r", Name: "paint", Call: "c", ID: "i",
}

// templateForms returns the forms that a request built from the named template has, such as an
// optional member that is left out. It returns nil if the dialect does not have the template.
func (g *generator) templateForms(template string) []spec.RequestForm {
	r, err := g.dialect.BuildRequest(template, sampleEvent)
	if err != nil {
		return nil
	}
	if forms := g.dialect.ParseRequest(r).Facts().Forms; forms != nil {
		return forms()
	}
	return nil
}

// addFormRejection adds the server that refuses valid requests with forms like the given one: of
// the same kind in formDefects, with the same requirement, and not among the names in plain. The
// mutant violates that requirement or, if the form has none, own.
func (g *generator) addFormRejection(form spec.RequestForm, own string, plain map[string]bool) {
	requirement := form.Requirement
	for _, kind := range formDefects {
		if !strings.HasPrefix(form.Name, kind.prefix) {
			continue
		}
		about := requirement
		if about == "" {
			about = own
		}
		g.add(about, kind.defect, Mutant{
			Doc:       "valid requests " + strings.TrimSpace(kind.prefix) + " members that " + about + " is about are refused",
			KilledBy:  map[string]string{acceptsAsDocumented: string(spec.HTTPRequest)},
			AlsoFails: append([]string{refusesAsDocumented}, contentChecks...), // as for any refused request
			defect: func(occurred func()) middleware {
				return refuseForms(occurred, func(v parsedRequest) bool {
					return slices.ContainsFunc(v.parsed().Facts().Forms(), func(f spec.RequestForm) bool {
						return f.Requirement == requirement && strings.HasPrefix(f.Name, kind.prefix) && !plain[f.Name]
					})
				})
			},
		})
	}
}

// refuseForms returns a middleware that makes the server refuse the valid requests to start a run
// for which refuses returns true, and that calls occurred for each of them.
func refuseForms(occurred func(), refuses func(parsedRequest) bool) middleware {
	return interceptRequests(func(w http.ResponseWriter, v parsedRequest, next http.Handler) {
		r := v.httpRequest
		if v.startsRun() && v.parsed().Valid() && v.parsed().Facts().Forms != nil && refuses(v) {
			if bad, ok := v.withDefect(); ok {
				occurred()
				r = v.withRequest(bad)
			}
		}
		next.ServeHTTP(w, r)
	})
}

// requestFormMutants are servers that refuse valid prompts in forms that HTTP and JSON define as
// equivalent to others.
var requestFormMutants = []*Mutant{
	formMutant("refuses-media-type-parameters", "with a parameter in its Content-Type", func(v parsedRequest) bool {
		return strings.Contains(v.httpRequest.Header.Get("Content-Type"), "charset=utf-8")
	}),
	formMutant("refuses-accept-lists", "with a list in its Accept field", func(v parsedRequest) bool {
		return strings.Contains(v.httpRequest.Header.Get("Accept"), ",")
	}),
	formMutant("refuses-escapes", "with escaped characters in its JSON", func(v parsedRequest) bool {
		return bytes.Contains(v.raw.Body, []byte(`\u0063`))
	}),
	formMutant("refuses-white-space", "with white space before its JSON", func(v parsedRequest) bool {
		return bytes.HasPrefix(v.raw.Body, []byte("\r\n\t"))
	}),
	formMutant("refuses-two-tools", "with two tools", func(v parsedRequest) bool {
		isTool := func(p spec.Event) bool { return p.Kind == spec.InputTool }
		return slices.ContainsFunc(v.parsed().Parts, isTool) && bytes.Contains(v.raw.Body, []byte(`_2"`))
	}).needing(spec.InputTool),
}

// needing restricts m to dialects with the given kinds and returns m.
func (m *Mutant) needing(kinds ...spec.Kind) *Mutant {
	m.Needs = kinds
	return m
}

// formMutant returns the mutant that refuses the valid prompts for which refuses returns true.
func formMutant(name, form string, refuses func(parsedRequest) bool) *Mutant {
	return &Mutant{
		Name: name, Doc: "a valid prompt " + form + " is refused",
		KilledBy:   map[string]string{acceptsAsDocumented: string(spec.HTTPRequest)},
		AlsoFails:  append([]string{refusesAsDocumented}, contentChecks...), // as for any refused request
		Middleware: refuseForms(func() {}, refuses),
	}
}
