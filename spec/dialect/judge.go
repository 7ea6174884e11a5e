package dialect

import (
	"cmp"
	"encoding/json"
	"fmt"
	"mime"
	"slices"
	"strconv"
	"strings"

	"github.com/streamassay/streamassay/spec"
)

// Judge says where r breaks the document, and how the document wants it refused.
// A request for something that the document does not have is broken without
// demands.
func (d *Dialect) Judge(r spec.Request) []spec.Violation {
	_, broken := d.judge(r)
	return broken
}

// judge is Judge, and the decoded body where there was one to decode.
func (d *Dialect) judge(r spec.Request) (value any, broken []spec.Violation) {
	o, path := d.find(r)
	if o == nil {
		b := spec.Violation{Location: r.Method + " " + r.Target, Message: "the document has no operation " + cut(strconv.QuoteToGraphic(r.Method+" "+r.Target), maxPath)}
		if item, ok := d.beside(r); ok {
			b.Location, b.SchemaPath = "method "+r.Method, item.at+"/method"
			b.Message = "the method is " + r.Method + ": expected " + orList(methodsOf(item))
			if r.Method != "OPTIONS" && r.Method != "HEAD" { // a preflight, or what HTTP itself allows
				b.Refusals = d.source.demands(breach{places: []place{{item.at, 0}}, keyword: "method"})
			}
		}
		return nil, []spec.Violation{b}
	}
	for _, p := range o.parameters {
		broken = append(broken, d.judgeParameter(o, p, r, path)...)
	}
	value, more := d.judgeBody(o, r)
	slices.SortStableFunc(more, func(a, b spec.Violation) int {
		return cmp.Or(cmp.Compare(a.Location, b.Location), cmp.Compare(a.Message, b.Message))
	})
	return value, append(broken, more...)
}

func (d *Dialect) judgeParameter(o *Operation, p parameter, r spec.Request, path map[string]string) (broken []spec.Violation) {
	where := p.in + " " + p.name
	v, ok := p.get(r, path)
	outer := []place{{p.node.at, 0}, {o.node.at, -1}}
	switch {
	case ok:
		for _, b := range d.source.breaches(p.typed(v), p.validate(p.typed(v)), outer) {
			broken = append(broken, d.because(where, b))
		}
	case p.required:
		broken = append(broken, d.because(where, breach{places: outer, keyword: "required"}))
	}
	return broken
}

// because is what a breach of a request means, with what the document demands.
func (d *Dialect) because(where string, b breach) spec.Violation {
	broken := b.broken(where, rootOf(where))
	broken.Refusals = d.source.demands(b)
	for i, demand := range broken.Refusals {
		if j := slices.IndexFunc(d.Requirements, func(r spec.Requirement) bool { return r.ID == demand.Requirement }); j >= 0 {
			broken.Refusals[i].Level = d.Requirements[j].Level
		}
		if broken.Requirement == "" {
			broken.Requirement = demand.Requirement
		}
	}
	return broken
}

// rootOf is what the whole of a part of a request is called.
func rootOf(where string) string {
	in, name, _ := strings.Cut(where, " ")
	switch in {
	case "query", "path", "cookie":
		return in + " parameter " + name
	case "body":
		return theRequest
	}
	return where
}

func (d *Dialect) judgeBody(o *Operation, r spec.Request) (any, []spec.Violation) {
	request := o.node.get("requestBody")
	if len(o.bodies) == 0 {
		return nil, nil
	}
	if len(r.Body) == 0 && !o.needsBody {
		return nil, nil
	}
	outer := []place{{o.node.at, -1}}
	b := o.bodies[0]
	if content := r.Header.Get("Content-Type"); content != "" {
		media, _, err := mime.ParseMediaType(content)
		i := slices.IndexFunc(o.bodies, func(b body) bool { return sameMedia(b.media, media) })
		if err != nil || i < 0 {
			return nil, []spec.Violation{d.because("header Content-Type", breach{
				places: append([]place{{request.deref().at, 0}}, outer...), keyword: "content-type", got: content, want: "expected " + orList(mediaOf(o.bodies)),
			})}
		}
		b = o.bodies[i]
	}
	if b.media == formMedia && b.validate != nil {
		return d.judgeForm(b, r, append([]place{{b.node.at, 0}}, outer...))
	}
	if b.media != jsonMedia || b.validate == nil {
		return nil, nil
	}
	inside := append([]place{{b.node.at, 0}}, outer...)
	if b.maximum.broken(r.Body) {
		at := append([]place{{b.node.at + "/x-max-bytes", 0}}, inside...)
		return nil, []spec.Violation{d.because("body", breach{
			places: at, keyword: "x-max-bytes", seen: "has " + counted(len(r.Body), "byte"), want: fmt.Sprintf("expected at most %d", b.maximum.limit),
		})}
	}
	v, err := decode(r.Body)
	if err != nil {
		return nil, []spec.Violation{d.because("body", breach{places: inside, keyword: "json", seen: "is " + err.Error()})}
	}
	var broken []spec.Violation
	for _, br := range d.source.breaches(v, b.validate(v), inside) {
		broken = append(broken, d.because("body", br))
	}
	return v, broken
}

// methodsOf are the methods that a path has.
func methodsOf(path node) (all []string) {
	for _, method := range []string{"get", "post", "put", "patch", "delete", "query"} {
		if path.get(method).exists() {
			all = append(all, strings.ToUpper(method))
		}
	}
	return all
}

func mediaOf(bodies []body) (all []string) {
	for _, b := range bodies {
		all = append(all, b.media)
	}
	return all
}

// sameMedia takes every +json type for JSON, as servers do.
func sameMedia(documented, got string) bool {
	return documented == got || documented == jsonMedia && strings.HasSuffix(got, "+json")
}

// laws are the requirements of the parameter and its schema.
func (p parameter) laws() (ids []string) {
	for _, at := range slices.Compact([]string{p.node.at, p.schema.at, p.schema.deref().at}) {
		ids = append(ids, idsIn(p.node.s.laws[at])...)
	}
	return ids
}

// typed is a parameter's value as its schema would see it.
func (p parameter) typed(v string) any {
	types := p.schema.get("type").strings()
	switch {
	case slices.Contains(types, "string") || len(types) == 0:
		return v
	case slices.Contains(types, "boolean") && (v == "true" || v == "false"):
		return v == "true"
	case json.Valid([]byte(v)):
		return json.Number(v)
	}
	return v
}

// Hear says what r means: the request as an event, with what the document
// promises it (HTTP and Media).
func (d *Dialect) Hear(r spec.Request) spec.Event {
	e := spec.Event{Kind: spec.HTTPRequest, Frame: -1, Line: 1, Raw: r.Body, Header: r.Header, Principal: r.Principal}
	if r.Method == "" { // nobody wrote down what was asked: the first that streams
		e.Err = spec.ErrRequestNotRecorded
		if i := slices.IndexFunc(d.operations, func(o *Operation) bool { return o.Streams }); i >= 0 {
			o := d.operations[i]
			e.Operation, e.StatusCode, e.MediaType, e.Promised, e.WireNames = o.Name, o.status, o.answer, o.promised, o.spelled
		}
		return e
	}
	o, path := d.find(r)
	var v any
	v, e.Violations = d.judge(r)
	if o == nil {
		if e.Operation = d.neighbour(r); isLink(r) {
			e.ID = r.Target
		}
		return e
	}
	e.Operation, e.StatusCode, e.MediaType, e.Name, e.Requirement, e.WireNames = o.Name, o.status, o.answer, o.says, o.law, o.spelled
	if o.either {
		e.StatusCode = 0
	}
	if v != nil {
		for _, w := range o.asks {
			if w.marksOf(v) {
				inner := spec.Event{}
				w.read(d.source, &inner, v, (*word).trust)
				inner.Kind, inner.Frame, inner.Line, inner.Raw = e.Kind, e.Frame, e.Line, e.Raw
				inner.Operation, inner.StatusCode, inner.MediaType, inner.Header, inner.Violations, inner.Requirement = e.Operation, e.StatusCode, e.MediaType, e.Header, e.Violations, e.Requirement
				inner.WireNames = e.WireNames
				e = inner
				for _, b := range o.bodies {
					files, upheld := b.hearFiles(v)
					e.Parts, e.Exercised = append(e.Parts, files...), append(e.Exercised, upheld...)
					if len(files) > 0 {
						e.Name = cmp.Or(e.Name, o.says)
					}
				}
				break
			}
		}
	}
	e.Principal = r.Principal
	for _, p := range o.parameters {
		v, ok := p.get(r, path)
		if ok && p.slot != "" {
			*slotOf(&e, p.slot) = v
		}
		if ok {
			e.Exercised = append(e.Exercised, p.laws()...)
		}
	}
	if r.Header != nil {
		for _, f := range o.Spares {
			if !r.Header.Has(f.Name) {
				e.Exercised = append(e.Exercised, f.Value)
			}
		}
	}
	e.Denials, e.Promised = o.deniedTo(&e), o.promised
	e.Omitted = o.omits(r, v, path)
	if !e.Valid() {
		e.Exercised = nil
	} else if o.law != "" && !slices.Contains(e.Exercised, o.law) {
		e.Exercised = append(e.Exercised, o.law)
	}
	if text, ok := e.Prompt(); ok {
		e.Text = text
	}
	return e
}
