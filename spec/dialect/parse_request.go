package dialect

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"mime"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/streamassay/streamassay/spec"
)

// ValidateRequest returns the violations of the request r, each with the refusals that the document
// requires for it. It returns nil if r is valid.
//
// If the document has no operation for r, this is the only violation. It has refusals only if
// another operation has the same path and the method is neither OPTIONS nor HEAD.
func (d *Dialect) ValidateRequest(r spec.Request) []spec.Violation {
	_, violations := d.validateRequest(r)
	return violations
}

// validateRequest returns the violations of r (see [Dialect.ValidateRequest]) and, as value, the
// decoded body of r. The value is nil if the document has no operation for r, if r has no body, or
// if validateBody does not decode the body.
func (d *Dialect) validateRequest(r spec.Request) (value any, violations []spec.Violation) {
	o, path := d.findOperation(r)
	if o == nil {
		target := r.Method + " " + r.Target
		b := spec.Violation{
			Location: target,
			Message:  "the document has no operation " + truncate(strconv.QuoteToGraphic(target), maxPath),
		}
		if others := d.operationsAt(r); len(others) > 0 {
			item := d.document.lookup("/paths/" + escape(others[0].path))
			b.Location, b.SchemaPath = "method "+r.Method, item.pointer+"/method"
			b.Message = "the method is " + r.Method + ": expected " + joinOr(allowedMethods(item))
			if r.Method != "OPTIONS" && r.Method != "HEAD" { // those may be answered by the HTTP server itself
				places := []documentLocation{{item.pointer, 0}}
				b.Refusals = d.document.refusalsFor(schemaError{documentLocations: places, keyword: "method"})
			}
		}
		return nil, []spec.Violation{b}
	}
	for _, p := range o.parameters {
		where := p.in + " " + p.name
		outer := []documentLocation{{p.node.pointer, 0}, {o.node.pointer, -1}}
		if text, ok := p.get(r, path); ok {
			v := p.typedValue(text)
			violations = append(violations, d.violations(where, v, p.validate(v), outer)...)
		} else if p.required {
			violations = append(violations, d.newViolation(where, schemaError{documentLocations: outer, keyword: "required"}))
		}
	}
	value, more := d.validateBody(o, r)
	sort.SliceStable(more, func(i, j int) bool { // see ResponseDefects for why package sort
		a, b := &more[i], &more[j]
		return a.Location < b.Location || a.Location == b.Location && a.Message < b.Message
	})
	return value, append(violations, more...)
}

// violations returns the violations that err describes. The argument err is the result of
// validating v, a value in a request; it may be nil. The argument location is the part of the
// request that contains v, such as "query runId" or "body". The argument outer lists the objects of
// the document that use the schema, innermost first, such as a parameter and its operation. They
// may have an x-error, which states how an invalid request is refused.
func (d *Dialect) violations(location string, v any, err error, outer []documentLocation) (all []spec.Violation) {
	for _, b := range d.document.schemaErrors(v, err, outer) {
		all = append(all, d.newViolation(location, b))
	}
	return all
}

// newViolation returns the violation for b, a schema error in a request. The Refusals of the
// violation are those that the document requires, with their levels. Its Requirement is that of the
// first refusal. The argument location is the part of the request, such as "query runId" or "body".
func (d *Dialect) newViolation(location string, b schemaError) spec.Violation {
	violation := b.violation(location, partName(location))
	violation.Refusals = d.document.refusalsFor(b)
	for i, refusal := range violation.Refusals {
		violation.Refusals[i].Level = d.requirement(refusal.Requirement).Level
		violation.Requirement = cmp.Or(violation.Requirement, refusal.Requirement)
	}
	return violation
}

// partName returns the name that messages use for the part of a request at the given location. For
// example, it returns "query parameter runId" if location is "query runId".
func partName(location string) string {
	in, name, _ := strings.Cut(location, " ")
	switch in {
	case "query", "path", "cookie":
		return in + " parameter " + name
	case "body":
		return requestBodyName
	}
	return location
}

// validateBody decodes and validates the body of r, a request for o. It returns the decoded body
// and the violations of the body, including those of its media type and size. If r has no
// Content-Type, validateBody assumes the first documented media type.
//
// The decoded body is nil if there is no body, or if the body is too large or malformed. It is also
// nil if its media type is not documented, has no schema, or is neither JSON nor that of a form.
func (d *Dialect) validateBody(o *Operation, r spec.Request) (any, []spec.Violation) {
	if len(o.bodies) == 0 || len(r.Body) == 0 && !o.bodyRequired {
		return nil, nil
	}
	outer := []documentLocation{{o.node.pointer, -1}}
	b := o.bodies[0]
	if content := r.Header.Get("Content-Type"); content != "" {
		media, _, err := mime.ParseMediaType(content)
		i := slices.IndexFunc(o.bodies, func(b documentedRequestBody) bool {
			return b.mediaType == media || b.mediaType == jsonMediaType && isJSON(media) // servers accept every +json
		})
		if err != nil || i < 0 {
			var known []string
			for _, b := range o.bodies {
				known = append(known, b.mediaType)
			}
			return nil, []spec.Violation{d.newViolation("header Content-Type", schemaError{
				documentLocations: append([]documentLocation{{o.node.get("requestBody").deref().pointer, 0}}, outer...),
				keyword:           "content-type", got: content, expected: "expected " + joinOr(known),
			})}
		}
		b = o.bodies[i]
	}
	inside := append([]documentLocation{{b.node.pointer, 0}}, outer...)
	switch {
	case b.validate == nil:
		return nil, nil
	case b.mediaType == formMediaType:
		return d.validateForm(b, r, inside)
	case b.mediaType != jsonMediaType:
		return nil, nil
	}
	if b.limit.isExceeded(r.Body) {
		at := append([]documentLocation{{b.node.pointer + "/x-max-bytes", 0}}, inside...)
		return nil, []spec.Violation{d.newViolation("body", schemaError{
			documentLocations: at, keyword: "x-max-bytes",
			problem:  "has " + pluralize(len(r.Body), "byte"),
			expected: fmt.Sprintf("expected at most %d", b.limit.maxBytes),
		})}
	}
	v, err := decode(r.Body)
	if err != nil {
		return nil, []spec.Violation{d.newViolation("body", schemaError{
			documentLocations: inside, keyword: "json", problem: "is " + err.Error(),
		})}
	}
	if bytes.HasPrefix(r.Body, []byte("\ufeff")) { // a parser may ignore it or refuse the body (RFC 8259, 8.1)
		message := requestBodyName + " begins with a byte order mark: expected none"
		return v, []spec.Violation{{Location: "body", Message: message}}
	}
	violations, ok := b.judged.lookup(r.Body)
	if ok {
		return v, violations
	}
	violations = d.violations("body", v, b.validate(v), inside)
	b.judged.store(r.Body, violations)
	return v, violations
}

// allowedMethods returns the methods, in upper case, that the document has for the given path item,
// except OPTIONS, HEAD and TRACE.
func allowedMethods(path node) (all []string) {
	for _, method := range []string{"get", "post", "put", "patch", "delete", "query"} {
		if path.get(method).exists() {
			all = append(all, strings.ToUpper(method))
		}
	}
	return all
}

// exercisedBy returns the ids of the requirements on the parameter and its schema that a request
// exercises if the parameter has the value v. A requirement on the keyword minimum or maximum is
// exercised only if v equals that bound. The ids are in no particular order.
func (p parameter) exercisedBy(v string) (ids []string) {
	for _, at := range slices.Compact([]string{p.node.pointer, p.schema.pointer, p.schema.deref().pointer}) {
		byKeyword, ok := p.node.doc.requirements[at].(map[string]any)
		if !ok {
			ids = append(ids, requirementIDs(p.node.doc.requirements[at])...)
			continue
		}
		for keyword, id := range byKeyword {
			end, isNumber := intValue(p.schema.deref().get(keyword))
			// A value other than the bound proves nothing about the end of the range.
			isEnd := keyword == "minimum" || keyword == "maximum"
			if !isEnd || isNumber && v == strconv.Itoa(end) {
				ids = append(ids, requirementIDs(id)...)
			}
		}
	}
	return ids
}

// typedValue converts v, the text of the parameter in a request, to a decoded JSON value for
// validation. The result is v itself if the schema of the parameter allows strings or names no
// type. Otherwise, it is a bool if the schema allows booleans and v is true or false, and a
// json.Number if v is a JSON number. It is v in all other cases.
func (p parameter) typedValue(v string) any {
	types := p.schema.get("type").strings()
	switch {
	case slices.Contains(types, "string") || len(types) == 0:
		return v
	case slices.Contains(types, "boolean") && (v == "true" || v == "false"):
		return v == "true"
	case isNumber(v):
		return json.Number(v)
	}
	return v
}

// ParseRequest decodes r as an event of kind [spec.HTTPRequest]. The Violations of the event are
// those of r. Its StatusCode and MediaType are those that the document specifies for a successful
// response. StatusCode is 0 if the document specifies several successful statuses, or if it has no
// operation for r.
//
// If the Method of r is "", the request was not recorded. The Err of the event is then
// [spec.ErrRequestNotRecorded], and its Operation is the first one whose response is an event
// stream.
func (d *Dialect) ParseRequest(r spec.Request) spec.Event {
	facts := &spec.RequestFacts{Method: r.Method, Target: r.Target}
	e := spec.Event{
		Kind: spec.HTTPRequest, Frame: -1, Line: 1, Raw: r.Body, Header: r.Header, Principal: r.Principal, Request: facts,
	}
	if r.Method == "" {
		e.Err = spec.ErrRequestNotRecorded
		if o := d.probableOperation(r); o != nil {
			e.Operation, e.StatusCode, e.MediaType = o.Name, o.successStatus, o.successMediaType
			facts.Promised, facts.WireNames = o.promised, o.wireNames
		}
		return e
	}
	o, path := d.findOperation(r)
	var v any
	v, e.Violations = d.validateRequest(r)
	if o == nil {
		if others := d.operationsAt(r); len(others) > 0 { // how it is handled shows whether the path is supported
			e.Operation = others[0].Name
		}
		if isAbsoluteLink(r) {
			e.ID = r.Target
		}
		return e
	}
	e.Operation, e.StatusCode, e.MediaType = o.Name, o.successStatus, o.successMediaType
	e.Name, e.Requirement, facts.WireNames = o.bodylessTemplate, o.requirement, o.wireNames
	if o.anySuccess {
		e.StatusCode = 0
	}
	if w := matchVariant(o.requestVariants, v); v != nil && w != nil {
		e.Name = "" // unless the body has a name or a file
		w.decode(&e, v, withRequirements)
		e.Kind = spec.HTTPRequest
		for _, b := range o.bodies {
			files, exercised := b.fileEvents(v)
			e.Parts, e.Exercised = append(e.Parts, files...), append(e.Exercised, exercised...)
			if len(files) > 0 {
				e.Name = cmp.Or(e.Name, o.bodylessTemplate)
			}
		}
	}
	for _, p := range o.parameters {
		v, ok := p.get(r, path)
		if ok && p.slot != "" {
			*slotField(&e, p.slot) = v
		}
		if ok {
			e.Exercised = append(e.Exercised, p.exercisedBy(v)...)
		}
	}
	if r.Header != nil {
		for _, f := range o.OptionalHeaders {
			if !r.Header.Has(f.Name) {
				e.Exercised = append(e.Exercised, f.Value)
			}
		}
	}
	facts.Denials, facts.Promised, facts.Reply = o.denialsFor(&e), o.promised, o.replyKind
	facts.Omitted = o.omittedRequirements(r, v, path)
	facts.Features = func() []spec.RequestFeature { return d.requestFeatures(o, r, v) }
	if !e.Valid() {
		e.Exercised = nil
	} else if o.requirement != "" && !slices.Contains(e.Exercised, o.requirement) {
		e.Exercised = append(e.Exercised, o.requirement)
	}
	if text, ok := e.Prompt(); ok {
		e.Text = text
	}
	return e
}
