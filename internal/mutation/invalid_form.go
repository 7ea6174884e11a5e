package mutation

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
)

// invalidForms lists forms of invalid requests that a server may wrongly accept although it refuses
// other requests with the same violation. The field defect is a part of the names of mutants, doc
// describes the form in the Doc of mutants, and matches reports whether a request has the form.
var invalidForms = []struct {
	defect, doc string
	matches     func(parsedRequest) bool
}{
	{"null-accepted", "with null in place of one of several values", isNullForEnum},
	{"later-item-accepted", "with the violation in the second of two similar list items", isInLaterItem},
	{"get-accepted", "with the method GET", func(v parsedRequest) bool {
		return v.raw.Method == "GET" && v.dialect.Operation(v.raw) == nil
	}},
	{"xml-accepted", "with the content type application/xml", func(v parsedRequest) bool {
		return v.raw.Header.MediaType() == "application/xml"
	}},
}

// addInvalidForms adds the mutants that wrongly accept invalid requests, but only those that have
// one of the forms in invalidForms.
func (g *generator) addInvalidForms() {
	for _, o := range g.dialect.Operations() {
		seen := &dialect.DerivedInvalidRequests{}
		for _, template := range o.TemplatesBySimplicity() {
			valid, err := g.dialect.BuildRequest(template, sampleEvent)
			if err != nil {
				continue
			}
			for _, m := range g.dialect.UnseenInvalidRequests(valid, seen) {
				e := g.dialect.ParseRequest(m.Request)
				if len(e.Violations) == 1 {
					g.addInvalidForm(parsedRequest{
						dialect: g.dialect, raw: m.Request, parsed: func() *spec.Event { return &e },
					})
				}
			}
		}
	}
}

// addInvalidForm adds the mutants that wrongly accept invalid requests of the same form as v, a
// request with exactly one violation. There is one mutant for each form in invalidForms that v has
// and each requirement on the refusal of v. Requirements that allow a successful response are left
// out.
func (g *generator) addInvalidForm(v parsedRequest) {
	for _, form := range invalidForms {
		if !form.matches(v) {
			continue
		}
		for _, r := range v.parsed().Violations[0].Refusals {
			if r.Accept {
				continue
			}
			g.add(r.Requirement, form.defect, Mutant{
				Doc:       "accepts invalid requests " + form.doc + " that " + r.Requirement + " requires it to refuse",
				KilledBy:  map[string]string{refusesAsDocumented: string(spec.HTTPRequest)},
				AlsoFails: contentChecks, // an accepted request gets the response to another one
				defect: func(occurred func()) middleware {
					return acceptInvalidForm(occurred, r.Requirement, form.matches)
				},
			})
		}
	}
}

// violatedPlace returns the tokens of the JSON pointer to the only violation of the request v, and
// the decoded values on the way to it. The element values[0] is the body, and values[i+1] is the
// value that tokens[i] identifies in values[i]. If a value does not exist, values ends before it.
// Both results are nil if v does not have exactly one violation, or if the violation is not in a
// JSON body.
func violatedPlace(v parsedRequest) (tokens []string, values []any) {
	violations := v.parsed().Violations
	var at any
	if len(violations) != 1 || violations[0].Pointer == "" || json.Unmarshal(v.raw.Body, &at) != nil {
		return nil, nil
	}
	tokens, values = strings.Split(violations[0].Pointer, "/")[1:], []any{at}
	for _, token := range tokens {
		switch in := at.(type) {
		case map[string]any:
			var ok bool
			if at, ok = in[token]; !ok {
				return tokens, values
			}
		case []any:
			i, err := strconv.Atoi(token)
			if err != nil || i < 0 || i >= len(in) {
				return tokens, values
			}
			at = in[i]
		}
		values = append(values, at)
	}
	return tokens, values
}

// isNullForEnum reports whether the only violation of the request v is a null in its JSON body
// where the schema requires one of several listed values (enum).
func isNullForEnum(v parsedRequest) bool {
	tokens, values := violatedPlace(v)
	return len(tokens) > 0 && len(values) > len(tokens) && values[len(tokens)] == nil &&
		strings.HasSuffix(v.parsed().Violations[0].SchemaPath, "/enum")
}

// isInLaterItem reports whether the only violation of the request v is in the second item of a list
// of exactly two items that are similar (see areSimilar).
func isInLaterItem(v parsedRequest) bool {
	tokens, values := violatedPlace(v)
	for i, token := range tokens[:min(len(tokens), len(values))] {
		in, _ := values[i].([]any)
		if len(in) == 2 && token == "1" && areSimilar(in[0], in[1], tokens[i+1:]) {
			return true
		}
	}
	return false
}

// areSimilar reports whether first and second are decoded JSON objects of which the second could be
// a variant of the first, that is, whether first has all members of second, and each string in
// first is a prefix of the string that is the value of the same member of second.
//
// The argument tokens contains the tokens of the JSON pointer from second to the violation. If it
// is not empty, the values of the member tokens[0] are not compared.
func areSimilar(first, second any, tokens []string) bool {
	a, isObject := first.(map[string]any)
	b, areObjects := second.(map[string]any)
	if !isObject || !areObjects {
		return false
	}
	for name, value := range b {
		one, ok := a[name]
		text, _ := value.(string)
		begin, _ := one.(string)
		isViolated := len(tokens) > 0 && tokens[0] == name
		if !ok || !isViolated && !strings.HasPrefix(text, begin) {
			return false
		}
	}
	return true
}
