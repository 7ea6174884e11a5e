package dialect

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/streamassay/streamassay/spec"
)

// An Operation is one operation of a dialect's document: one method on one path.
type Operation struct {
	Name                string // method and path, such as "POST /runs"
	IsStream            bool   // its successful response is an event stream
	StartsRun           bool   // it takes a prompt, and thus starts a run
	RequiresCredentials bool   // its requests need credentials
	AcceptsFiles        bool   // its body may contain a file

	// OptionalHeaders lists the request headers that may be left out (x-without). The value of each
	// is the id of the requirement that is exercised if a request without the header is accepted.
	OptionalHeaders spec.Header

	method, path     string
	node             node                    // the operation object
	requirement      string                  // id of the requirement on the operation (x-requirement), or ""
	promised         spec.StreamRequirements // what the document states about its stream (x-stream)
	omissions        spec.Header             // members of its body with x-absent; values: requirements on their absence
	denials          []denialRule            // how requests without permission are refused (x-denied)
	parameters       []parameter
	bodyRequired     bool
	bodies           []documentedRequestBody // by media type, in alphabetical order
	requestVariants  []*variant              // the variants of its body
	templates        map[string]any          // bodies by template name; nil for a request without a body
	bodylessTemplate string                  // template of requests without a JSON body (x-says)

	frameVariants     []*variant                    // the variants of the frames of its stream
	needsMessageTypes bool                          // the variant of a frame may depend on the type of an earlier message
	carriers          map[spec.Kind]spec.Kind       // kind of the frames that carry events of a kind; see Carrier
	nameMembers       []string                      // members that name frames, most frequent first; see initWireNames
	wireNames         map[spec.Kind]string          // names of frames by kind
	sentinel          string                        // in-band terminator of the stream; "" if there is none
	foreignSentinel   string                        // terminator of other protocols that the document forbids; "" if none
	writesSentinel    bool                          // the reference server ends the stream with the sentinel
	eventField        string                        // the member that is also sent as SSE event field; "" if there is none
	eventSuffices     bool                          // the member eventField may be sent only as SSE event field
	cursorAsID        bool                          // the cursor is sent as SSE id
	responses         map[string]documentedResponse // by documented status: "200", "4XX", "default"
	successStatus     int                           // the lowest documented status from 200 to 299; 0 if there is none
	anySuccess        bool                          // further statuses from 200 to 299 are documented
	successMediaType  string                        // media type of successStatus
	replyKind         spec.Kind                     // kind of an unstreamed successful response; "" if there is none
}

// A documentedRequestBody describes the body of a request in one media type.
type documentedRequestBody struct {
	mediaType string
	node      node                // the media type object
	validate  func(any) error     // validates a decoded body; nil if there is no schema
	judged    *bodyViolationCache // violations of JSON bodies that were validated before
	limit     bodySizeLimit
	files     map[string]formFileProperty // files of a form, by field name
}

// A documentedResponse describes the body of a response with one status.
type documentedResponse struct {
	mediaType string     // spec.EventStream if documented, else the first media type; "" without a body
	variants  []*variant // the variants of the body or, in an event stream, of the frames
	example   string     // an example of a body that is not JSON
}

// A parameter is one documented parameter of an operation, in its path, query or header.
type parameter struct {
	name, in string // in is "path", "query" or "header"
	slot     string // the slot that it carries; "" if it carries none
	required bool
	omission string          // x-absent: id of the requirement on requests that omit it; "" if there is none
	node     node            // the parameter object
	schema   node            // its schema
	validate func(any) error // validates a value against the schema
}

var httpMethods = []string{"get", "put", "post", "delete", "options", "head", "patch", "trace"}

// addPath adds the operations of the given path to d.operations. The argument item is the path item
// object that the document has for the path.
func (d *Dialect) addPath(path string, item node) {
	for _, method := range httpMethods {
		op := item.get(method)
		if !op.exists() {
			continue
		}
		o := &Operation{
			Name: strings.ToUpper(method) + " " + path, requirement: d.document.requirementAt(op),
			method: strings.ToUpper(method), path: path, node: op,
			templates: map[string]any{}, responses: map[string]documentedResponse{}, bodylessTemplate: op.get("x-says").text(),
			RequiresCredentials: requiresCredentials(op),
		}
		o.addDenials(op.get("x-denied"))
		if o.bodylessTemplate != "" {
			o.templates[o.bodylessTemplate] = nil
		}
		for name, requirement := range op.get("x-without").members() {
			o.OptionalHeaders = append(o.OptionalHeaders, spec.HeaderField{Name: name, Value: requirement.text()})
		}
		o.addParameters(slices.Concat(item.get("parameters").items(), op.get("parameters").items()))
		o.addBodies(op.get("requestBody"))
		o.addResponses(op)
		d.operations = append(d.operations, o)
	}
}

// requiresCredentials reports whether the requests for an operation must have credentials,
// according to the keyword security of the operation object op. If op lacks that keyword, it uses
// the one of the document. The result is false if credentials are optional.
func requiresCredentials(op node) bool {
	list := op.get("security")
	if !list.exists() {
		list = node{op.doc, "", op.doc.root}.get("security")
	}
	all := list.items()
	return len(all) > 0 && !slices.ContainsFunc(all, func(n node) bool { return len(n.object()) == 0 })
}

// addParameters adds the given parameters to o.parameters. Each item of list is a parameter object
// or a reference to one.
func (o *Operation) addParameters(list []node) {
	for _, n := range list {
		p := parameter{
			name: n.get("name").text(), in: n.get("in").text(), slot: n.get("x-slot").text(),
			node: n.deref(), schema: n.get("schema"), required: n.get("required").value == true,
			omission: n.deref().get("x-absent").text(),
		}
		p.validate = n.doc.validator(p.schema.pointer)
		o.parameters = append(o.parameters, p)
	}
}

// omittedRequirements returns the ids of the requirements that r exercises by leaving out a
// parameter or a member of its body (x-absent). The argument body is the decoded body of r, and
// path holds the path parameters of r by name. If body is not an object, only parameters are
// considered.
func (o *Operation) omittedRequirements(r spec.Request, body any, path map[string]string) (ids []string) {
	for _, p := range o.parameters {
		if _, present := p.get(r, path); !present && p.omission != "" {
			ids = append(ids, p.omission)
		}
	}
	if object, ok := body.(map[string]any); ok {
		for _, omission := range o.omissions {
			if !has(object, omission.Name) {
				ids = append(ids, omission.Value)
			}
		}
	}
	return ids
}

const jsonMediaType = "application/json"

// addBodies adds what a requestBody object describes to o: the media types, the templates and the
// members whose absence has a documented meaning (x-absent). The argument request has no value if
// the operation has no body.
func (o *Operation) addBodies(request node) {
	o.bodyRequired = request.get("required").value == true
	for media, content := range request.get("content").members() {
		schema := content.get("schema")
		for name, p := range schema.get("properties").members() {
			if requirement := p.get("x-absent").text(); requirement != "" {
				o.omissions = append(o.omissions, spec.HeaderField{Name: name, Value: requirement})
			}
		}
		b := documentedRequestBody{
			mediaType: media, node: content, limit: bodyLimitOf(content), judged: &bodyViolationCache{},
		}
		if media == formMediaType {
			b.files = fileParts(content)
			o.AcceptsFiles = len(b.files) > 0
		}
		if schema.exists() {
			b.validate = request.doc.validator(schema.pointer)
			if media == jsonMediaType || media == formMediaType {
				o.requestVariants = request.doc.parseVariants(schema, "")
			}
		}
		o.bodies = append(o.bodies, b)
		for name, example := range content.get("examples").members() {
			o.templates[name] = example.get("value").value
		}
	}
	_, o.StartsRun = o.templates["prompt"]
}

// addResponses sets the fields of o that describe its responses. They depend on the responses of
// the operation object op and on its extension x-stream, which describes an event stream.
func (o *Operation) addResponses(op node) {
	if stream := op.get("x-stream"); stream.exists() {
		o.IsStream = true
		requirements := stream.get("requirements")
		o.promised = spec.StreamRequirements{
			Status: requirements.get("status").text(), MediaType: requirements.get("content-type").text(),
			ContentCoding: requirements.get("content-coding").text(), JSONLines: stream.get("json-lines").strings(),
			KeepAlive: stream.get("keep-alive").text(), FailureStatus: stream.get("failure-status").strings(),
			MayReorder: stream.get("reorders").value == true, Fields: stream.get("fields").strings(),
		}
		o.sentinel, o.foreignSentinel = stream.get("sentinel").text(), stream.get("foreign-sentinel").text()
		o.writesSentinel = o.sentinel != "" && stream.get("sends").value != false
		o.eventField, o.cursorAsID = stream.get("event").text(), stream.get("id").value == true
		o.eventSuffices = o.eventField != "" && stream.get("event-suffices").value == true
	}
	for status, response := range op.get("responses").members() {
		r := documentedResponse{}
		code, _ := strconv.Atoi(status)
		for media, content := range response.get("content").members() {
			schema := content.get("schema")
			if item := content.get("itemSchema"); item.exists() {
				schema = item
			}
			variants := op.doc.parseVariants(schema, "")
			if media == spec.EventStream {
				o.frameVariants = variants
				o.needsMessageTypes = slices.ContainsFunc(variants, func(w *variant) bool { return len(w.messageTypes) > 0 })
				for _, w := range variants {
					w.siblings = variants
				}
				o.initCarriers()
				o.promised.HasEndEvent = slices.ContainsFunc(variants, func(w *variant) bool { return w.kind == spec.RunEnd })
			}
			if r.mediaType == "" || media == spec.EventStream {
				r.mediaType, r.variants, r.example = media, variants, content.get("example").text()
			}
		}
		switch success := code >= 200 && code < 300; {
		case success && o.successStatus == 0:
			o.successStatus, o.successMediaType = code, r.mediaType
			if len(r.variants) > 0 && r.mediaType != spec.EventStream {
				o.replyKind = r.variants[0].kind
			}
		case success:
			o.anySuccess = true
		}
		o.responses[status] = r
	}
	o.initWireNames()
}

// responseFor returns what the document specifies for responses with the given status. It uses the
// entry for the status itself, the entry for its class, such as 4XX, or the entry "default", in
// this order. The second result is false if the document has none of them.
func (o *Operation) responseFor(status int) (documentedResponse, bool) {
	for _, key := range []string{strconv.Itoa(status), strconv.Itoa(status/100) + "XX", "default"} {
		if r, ok := o.responses[key]; ok {
			return r, true
		}
	}
	return documentedResponse{}, false
}

// Operation returns the operation that r requests. It returns nil if the document has no operation
// for the method and the path of r.
func (d *Dialect) Operation(r spec.Request) *Operation {
	o, _ := d.findOperation(r)
	return o
}

// operationsAt returns the operations whose path matches that of r, whatever their method, in the
// order of the dialect's operations.
func (d *Dialect) operationsAt(r spec.Request) (all []*Operation) {
	for _, o := range d.operations {
		if _, ok := o.matchPath(r); ok {
			all = append(all, o)
		}
	}
	return all
}

// findOperation returns the operation that r requests and the values of its path parameters, by
// name. Both are nil if the document has no such operation.
func (d *Dialect) findOperation(r spec.Request) (*Operation, map[string]string) {
	for _, o := range d.operationsAt(r) {
		if o.method == r.Method {
			values, _ := o.matchPath(r)
			return o, values
		}
	}
	return nil, nil
}

// matchPath reports whether the path of the request r matches the documented path of o. If it does,
// matchPath also returns the percent-decoded values of the path parameters by name, or nil if o has
// no path parameters.
func (o *Operation) matchPath(r spec.Request) (values map[string]string, ok bool) {
	path, _, _ := strings.Cut(r.Target, "?")
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

// set returns a copy of r in which the parameter has the value *v or, if v is nil, is absent. For a
// path parameter, set replaces the placeholder, such as {threadId}, in the target. If v is nil, or
// if the target has no placeholder because it was replaced before, a path parameter does not
// change.
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

// get returns the value of the parameter in r. The argument path holds the path parameters of r by
// name. The second result is false if the parameter is absent or an empty header field.
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

// CursorIsID reports whether the cursors in the stream of the operation are sent as SSE ids.
func (o *Operation) CursorIsID() bool { return o.cursorAsID }
