package rules

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strconv"

	"github.com/streamassay/streamassay/spec"
)

var refusalFormChecks = []*spec.Check{RefusalsArePlain, RefusalsAgree}

// RefusalsArePlain judges whether responses with an error status are plain responses, not event
// streams.
var RefusalsArePlain = &spec.Check{
	ID: "refuse.no-stream",
	Doc: `a response with an error status is not an event stream

The statuses 401, 403 and 429 are not judged if the document has another requirement that denials by
this operation are not event streams.`,
	AllPrincipals: true,
	Watch: eachExchange(func(p *spec.Pass) func(exchange) {
		return func(x exchange) {
			isDenial := slices.Contains([]int{401, 403, 429}, x.status())
			denials := slices.Concat(slices.Collect(maps.Values(x.request.Facts().Denials))...)
			saysPlain := slices.ContainsFunc(denials, func(r spec.RefusalRequirement) bool { return r.Plain })
			if x.status() >= 400 && x.request.Operation != "" && !(isDenial && saysPlain) {
				p.Judge(x.response, !x.response.IsStream(),
					"got status %d with an event stream; expected a refusal that is not one", x.status())
			}
		}
	}),
}

// RefusalsAgree judges whether all operations refuse requests in the same form: with the same media
// type, and with the error code at the same place in the body.
var RefusalsAgree = &spec.Check{
	ID: "refuse.same-form",
	Doc: `all operations refuse requests in the same form

Refusals with the same status (401, 403 or 422) must have the same media type, and the error code at
the same place in the body. Other statuses, such as 404 and 413, are not compared, because a router
or a proxy may return them before any operation is called.`,
	AllPrincipals: true,
	Watch: eachExchange(func(p *spec.Pass) func(exchange) {
		refusals := map[refusalKey]spec.Event{} // the first of each form
		p.AtEnd(func() {
			for _, status := range []int{401, 403, 422} {
				judgeForms(p, refusals, status)
			}
		})
		return func(x exchange) {
			if x.request.Operation == "" || x.bodyEnd.Err != nil {
				return
			}
			key := refusalKey{x.status(), x.request.Operation, refusalForm(x)}
			if _, known := refusals[key]; !known {
				refusals[key] = x.response
			}
		}
	}),
}

// A refusalKey identifies the refusals of one operation that have the same status and the same
// form. The form is a description returned by refusalForm.
type refusalKey struct {
	status          int
	operation, form string
}

// judgeForms judges whether all refusals with the given status have the same form. The map refusals
// contains, for each key, the head of the first response with that key. The expected form is the
// one that most operations use or, if several forms are equally frequent, the one of them that was
// seen first. If fewer than two operations returned the status, nothing is judged.
func judgeForms(p *spec.Pass, refusals map[refusalKey]spec.Event, status int) {
	var keys []refusalKey
	operations, count := map[string]bool{}, map[string]int{} // count is by form
	for _, key := range slices.SortedFunc(maps.Keys(refusals), func(a, b refusalKey) int {
		return cmp.Compare(refusals[a].Exchange, refusals[b].Exchange)
	}) {
		if key.status == status {
			keys = append(keys, key)
			operations[key.operation] = true
			count[key.form]++
		}
	}
	if len(operations) < 2 {
		return
	}
	usual := keys[0]
	for _, key := range keys {
		if count[key.form] > count[usual.form] {
			usual = key
		}
	}
	for _, key := range keys {
		p.Judge(refusals[key], key.form == usual.form, "refusal with status %d is %s; expected %s, as in the refusals of %s",
			status, key.form, usual.form, usual.operation)
	}
}

// refusalForm returns a description of the form of the refusal in x: the media type, and where in
// the body the error code is, such as "application/json with the code at /error/code".
func refusalForm(x exchange) string {
	media := cmp.Or(x.response.MediaType, "no content type")
	var body any
	if x.reply.Code == "" || json.Unmarshal(x.reply.Raw, &body) != nil {
		return media + " without a code"
	}
	return media + " with the code at " + findString(body, x.reply.Code)
}

// findString returns the location of the first string in v, a decoded JSON value, that equals s.
// The location is a JSON pointer, without escapes, or "?" if there is no such string. Members are
// searched in alphabetical order.
func findString(v any, s string) string {
	switch v := v.(type) {
	case string:
		if v == s {
			return ""
		}
	case []any:
		for i, item := range v {
			if at := findString(item, s); at != "?" {
				return "/" + strconv.Itoa(i) + at
			}
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if at := findString(v[name], s); at != "?" {
				return "/" + name + at
			}
		}
	}
	return "?"
}
