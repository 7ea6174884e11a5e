package dialect

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/streamassay/streamassay/spec"
)

// An Operation is one thing a client can ask for.
type Operation struct {
	Name    string // "POST /runs"
	Summary string
	Streams bool // its answer is a stream
	Asks    bool // it takes a prompt, and so opens a run
	Secured bool // it wants credentials
	Uploads bool // its body carries a file

	// Spares are request headers that it can do without, each with the requirement that is
	// upheld where a request without it is accepted (x-without).
	Spares spec.Header

	method, path string
	node         node
	law          string // x-requirement of the operation
	promised     spec.StreamRequirements
	omitted      []omission // what can be left out of a request (x-absent)
	denied       []denial   // x-denied
	parameters   []parameter
	needsBody    bool
	bodies       []body
	asks         []*word        // what its JSON body may be
	phrases      map[string]any // what a client can say with it, by name
	says         string         // the phrase of an operation without a body

	frames   []*word
	labels   []string             // the members that tell frames apart
	spelled  map[spec.Kind]string // what frames of a kind are called
	sentinel string
	tells    telling
	replies  map[string]reply // by documented status, or class of it
	status   int              // what the document promises a request without fault
	either   bool             // and so it does others, any of which is right
	answer   string           // likewise, the media type
}

// A telling is how a server of ours writes the frames of a stream, beyond data.
type telling struct {
	sentinel bool   // it closes with the sentinel
	event    string // the member that becomes the SSE event field
	id       bool   // the cursor becomes the SSE id
}

// A body is one media type that a request may have.
type body struct {
	media    string
	node     node
	validate func(any) error
	maximum  maximum
	slips    map[string]slip // of a form: its files
}

// A reply is what may come back with one status.
type reply struct {
	media   string
	words   []*word
	example string // of a text
}

type parameter struct {
	name, in string
	slot     string
	required bool
	node     node
	schema   node
	validate func(any) error
}

var methods = []string{"get", "put", "post", "delete", "options", "head", "patch", "trace"}

func (d *Dialect) addPath(path string, item node) error {
	for _, method := range methods {
		op := item.get(method)
		if !op.exists() {
			continue
		}
		o := &Operation{
			Name: strings.ToUpper(method) + " " + path, Summary: op.get("summary").text(),
			method: strings.ToUpper(method), path: path, node: op,
			phrases: map[string]any{}, replies: map[string]reply{},
		}
		o.Secured = secured(op)
		o.law, _ = d.source.lawAt(op)
		if err := o.addDenied(op.get("x-denied")); err != nil {
			return err
		}
		o.says = op.get("x-says").text()
		names, laws := op.get("x-without").members()
		for i, name := range names {
			o.Spares = append(o.Spares, spec.Field{Name: name, Value: laws[i].text()})
		}
		if err := o.addParameters(slices.Concat(item.get("parameters").items(), op.get("parameters").items())); err != nil {
			return err
		}
		if err := o.addBodies(op.get("requestBody")); err != nil {
			return err
		}
		if err := o.addReplies(op); err != nil {
			return err
		}
		d.operations = append(d.operations, o)
	}
	return nil
}

// secured says whether an operation, or else its document, has security requirements
// and none of them is the empty one.
func secured(op node) bool {
	list := op.get("security")
	if !list.exists() {
		list = node{op.s, "", op.s.tree}.get("security")
	}
	all := list.items()
	return len(all) > 0 && !slices.ContainsFunc(all, func(n node) bool { return len(n.object()) == 0 })
}

func (o *Operation) addParameters(list []node) (err error) {
	for _, n := range list {
		p := parameter{
			name: n.get("name").text(), in: n.get("in").text(), slot: n.get("x-slot").text(),
			node: n.deref(), schema: n.get("schema"),
		}
		p.required, _ = n.get("required").v.(bool)
		if p.slot != "" && knownSlot(p.slot) != nil {
			return knownSlot(p.slot)
		}
		if law := p.node.get("x-absent").text(); law != "" {
			o.omitted = append(o.omitted, omission{parameter: p, law: law})
		}
		p.validate = n.s.validator(p.schema.at)
		o.parameters = append(o.parameters, p)
	}
	return nil
}

// An omission is what a request of an operation can leave out: a member of its body, or a
// parameter. The requirement says what it means that it is not there.
type omission struct {
	member    string // "": the parameter
	parameter parameter
	law       string
}

// omits returns the requirements on what r, with this body, leaves out.
func (o *Operation) omits(r spec.Request, body any, path map[string]string) (laws []string) {
	object, _ := body.(map[string]any)
	for _, left := range o.omitted {
		_, there := object[left.member]
		if left.member == "" {
			_, there = left.parameter.get(r, path)
		} else if object == nil {
			continue
		}
		if !there {
			laws = append(laws, left.law)
		}
	}
	return laws
}

const jsonMedia = "application/json"

func (o *Operation) addBodies(request node) (err error) {
	o.needsBody, _ = request.get("required").v.(bool)
	medias, contents := request.get("content").members()
	for i, media := range medias {
		names, properties := contents[i].get("schema").get("properties").members()
		for j, p := range properties {
			if law := p.get("x-absent").text(); law != "" {
				o.omitted = append(o.omitted, omission{member: names[j], law: law})
			}
		}
		b := body{media: media, node: contents[i], maximum: maximumOf(contents[i])}
		if media == formMedia {
			b.slips = slipsOf(contents[i])
			o.Uploads = len(b.slips) > 0
		}
		if schema := contents[i].get("schema"); schema.exists() {
			b.validate = request.s.validator(schema.at)
			if media == jsonMedia || media == formMedia {
				if o.asks, err = request.s.words(schema, ""); err != nil {
					return err
				}
			}
		}
		o.bodies = append(o.bodies, b)
		phrases, examples := contents[i].get("examples").members()
		for j, name := range phrases {
			o.phrases[name] = examples[j].get("value").v
		}
	}
	_, o.Asks = o.phrases["prompt"]
	return nil
}

func (o *Operation) addReplies(op node) error {
	if stream := op.get("x-stream"); stream.exists() {
		o.Streams = true
		laws := stream.get("requirements")
		o.promised = spec.StreamRequirements{Status: laws.get("status").text(), MediaType: laws.get("content-type").text(), ContentCoding: laws.get("content-coding").text()}
		o.sentinel = stream.get("sentinel").text()
		o.tells = telling{sentinel: stream.get("sends").v != false, event: stream.get("event").text(), id: stream.get("id").v == true}
	}
	statuses, responses := op.get("responses").members()
	for i, status := range statuses {
		r := reply{}
		code, _ := strconv.Atoi(status)
		medias, contents := responses[i].get("content").members()
		for j, media := range medias {
			schema := contents[j].get("schema")
			if item := contents[j].get("itemSchema"); item.exists() {
				schema = item
			}
			words, err := op.s.words(schema, "")
			if err != nil {
				return fmt.Errorf("%s: %w", status, err)
			}
			if media == spec.EventStream {
				o.frames = words
				o.promised.HasEndEvent = slices.ContainsFunc(words, func(w *word) bool { return w.kind == spec.RunEnd })
			}
			if r.media == "" || media == spec.EventStream {
				r.media, r.words, r.example = media, words, contents[j].get("example").text()
			}
		}
		switch success := code >= 200 && code < 300; {
		case success && o.status == 0:
			o.status, o.answer = code, r.media
		case success:
			o.either = true
		}
		o.replies[status] = r
	}
	o.labelling()
	return nil
}

// reply is what the document says of a status, or of its class.
func (o *Operation) reply(status int) (reply, bool) {
	r, ok := o.replies[strconv.Itoa(status)]
	if !ok {
		r, ok = o.replies[fmt.Sprintf("%dXX", status/100)]
	}
	if !ok {
		r, ok = o.replies["default"]
	}
	return r, ok
}

// Operation finds what r asks for, or nil.
func (d *Dialect) Operation(r spec.Request) *Operation {
	o, _ := d.find(r)
	return o
}

// find is the operation that r asks for and the values that its path carries.
func (d *Dialect) find(r spec.Request) (*Operation, map[string]string) {
	path, _, _ := strings.Cut(r.Target, "?")
	for _, o := range d.operations {
		if values, ok := o.match(path); ok && o.method == r.Method {
			return o, values
		}
	}
	return nil, nil
}

// beside is the path item of r's target, where the document has one and only the
// method is not in it.
func (d *Dialect) beside(r spec.Request) (node, bool) {
	path, _, _ := strings.Cut(r.Target, "?")
	for _, o := range d.operations {
		if _, ok := o.match(path); ok {
			return d.source.lookup("/paths/" + escape(o.path)), true
		}
	}
	return node{}, false
}

// neighbour is the operation that r would ask for with another method, "" if there
// is none: how that one is dealt with tells whether the path is served at all.
func (d *Dialect) neighbour(r spec.Request) string {
	path, _, _ := strings.Cut(r.Target, "?")
	for _, o := range d.operations {
		if _, ok := o.match(path); ok {
			return o.Name
		}
	}
	return ""
}

// match says whether a path is o's, and what stands in it for the names in braces.
func (o *Operation) match(path string) (values map[string]string, ok bool) {
	if !strings.Contains(o.path, "{") {
		return nil, o.path == path
	}
	values = map[string]string{}
	want, got := strings.Split(o.path, "/"), strings.Split(path, "/")
	if len(want) != len(got) {
		return nil, false
	}
	for i := range want {
		if name, ok := strings.CutPrefix(want[i], "{"); ok {
			v, err := url.PathUnescape(got[i])
			if err != nil || v == "" {
				return nil, false
			}
			values[strings.TrimSuffix(name, "}")] = v
		} else if want[i] != got[i] {
			return nil, false
		}
	}
	return values, true
}

// set gives the parameter a value, or takes it out of r.
func (p parameter) set(r spec.Request, v *string) spec.Request {
	path, query, _ := strings.Cut(r.Target, "?")
	switch p.in {
	case "header":
		r.Header = r.Header.Without(p.name)
		if v != nil {
			r.Header = r.Header.With(p.name, *v)
		}
	case "query":
		values, _ := url.ParseQuery(query)
		if values.Del(p.name); v != nil {
			values.Set(p.name, *v)
		}
		if r.Target = path; len(values) > 0 {
			r.Target += "?" + values.Encode()
		}
	case "path":
		if v != nil {
			r.Target = strings.ReplaceAll(r.Target, "{"+p.name+"}", url.PathEscape(*v))
		}
	}
	return r
}

// get is the parameter's value in r. An empty header counts as none.
func (p parameter) get(r spec.Request, path map[string]string) (string, bool) {
	switch p.in {
	case "header":
		v := r.Header.Get(p.name)
		return v, v != ""
	case "query":
		_, query, _ := strings.Cut(r.Target, "?")
		values, _ := url.ParseQuery(query)
		return values.Get(p.name), values.Has(p.name)
	case "path":
		v, ok := path[p.name]
		return v, ok
	}
	return "", false
}
