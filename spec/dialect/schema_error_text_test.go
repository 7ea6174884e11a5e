package dialect

import (
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/streamassay/streamassay/internal/sse"
	"github.com/streamassay/streamassay/spec"
)

// breachTexts holds, for each keyword, a schema, a value that violates it, and the message for the
// violation.
var breachTexts = []struct{ name, schema, value, want string }{
	{"required, of the whole", `{"required":["type"]}`, `{}`, `the event has no "type"`},
	{"required, inside", `{"properties":{"a":{"items":{"required":["b"]}}}}`, `{"a":[{}]}`, `a[0] has no "b"`},
	{"required, of one level", `{"properties":{"error":{"required":["code"]}}}`, `{"error":{}}`, `"error" has no "code"`},
	{"required, with a constant", `{"properties":{"type":{"enum":["x"]}},"required":["type"]}`, `{}`, `the event has no "type": expected x`},
	{"dependentRequired", `{"dependentRequired":{"a":["b"]}}`, `{"a":1}`, `the event has no "b"`},
	{"type", `{"properties":{"delta":{"type":"string"}}}`, `{"delta":7}`, `"delta" is 7: expected a string`},
	{"type, of the whole", `{"type":"object"}`, `[1]`, `the event is [1]: expected an object`},
	{"type, several", `{"properties":{"a":{"type":["null","integer","string"]}}}`, `{"a":[]}`, `"a" is []: expected an integer, a string or null`},
	{"type, boolean", `{"properties":{"a":{"type":"boolean"}}}`, `{"a":"true"}`, `"a" is "true": expected true or false`},
	{"type, inside", `{"properties":{"a":{"items":{"properties":{"b":{"type":"number"}}}}}}`, `{"a":[{},{"b":null}]}`, `a[1].b is null: expected a number`},
	{"enum", `{"properties":{"role":{"enum":["user","tool",null]}}}`, `{"role":"alien"}`, `"role" is "alien": expected user, tool or null`},
	{"enum, of odd words", `{"properties":{"a":{"enum":["", "a b", 1]}}}`, `{"a":2}`, `"a" is 2: expected "", "a b" or 1`},
	{"const", `{"properties":{"a":{"const":true}}}`, `{"a":null}`, `"a" is null: expected true`},
	{"pattern", `{"properties":{"a":{"pattern":"^[0-9]+$"}}}`, `{"a":"x"}`, `"a" is "x": expected text that matches ^[0-9]+$`},
	{"format", `{"properties":{"a":{"format":"uuid"}}}`, `{"a":"x"}`, `"a" is "x": expected a UUID`},
	{"format, another", `{"properties":{"a":{"format":"ipv4"}}}`, `{"a":"x"}`, `"a" is "x": expected the format ipv4`},
	{"minLength", `{"properties":{"a":{"minLength":1}}}`, `{"a":""}`, `"a" is "": expected at least 1 character`},
	{"maxLength", `{"properties":{"a":{"maxLength":3}}}`, `{"a":"äöüß"}`, `"a" has 4 characters: expected at most 3`},
	{"minimum", `{"properties":{"a":{"minimum":1}}}`, `{"a":0}`, `"a" is 0: expected at least 1`},
	{"maximum", `{"properties":{"a":{"maximum":3600}}}`, `{"a":3601}`, `"a" is 3601: expected at most 3600`},
	{"exclusiveMinimum", `{"properties":{"a":{"exclusiveMinimum":0.5}}}`, `{"a":0.5}`, `"a" is 0.5: expected more than 0.5`},
	{"exclusiveMaximum", `{"properties":{"a":{"exclusiveMaximum":2}}}`, `{"a":2}`, `"a" is 2: expected less than 2`},
	{"multipleOf", `{"properties":{"a":{"multipleOf":2}}}`, `{"a":3}`, `"a" is 3: expected a multiple of 2`},
	{"minItems", `{"properties":{"a":{"minItems":1}}}`, `{"a":[]}`, `"a" has 0 items: expected at least 1`},
	{"maxItems", `{"properties":{"a":{"maxItems":1}}}`, `{"a":[1,2]}`, `"a" has 2 items: expected at most 1`},
	{"uniqueItems", `{"properties":{"a":{"uniqueItems":true}}}`, `{"a":[1,2,1]}`, `"a" has the same item at 0 and at 2: expected no two alike`},
	{"minProperties", `{"minProperties":1}`, `{}`, `the event has 0 members: expected at least 1`},
	{"additionalProperties", `{"additionalProperties":false}`, `{"b":1}`, `the event has "b": the document has no such member`},
	{"additionalProperties, several", `{"additionalProperties":false}`, `{"c":1,"a":1,"b":1}`,
		`the event has "a", "b" and "c": the document has no such member`},
	{"additionalProperties, many", `{"additionalProperties":false}`, manyMembers,
		`the event has "m00", "m01", "m02", "m03", "m04", "m05", "m06", "m07", "m08", "m09", "m10", "m11", "m12", "m13", ` +
			`"m14", "m15", "m16", "m17", "m18", "m19" and 2 more: the document has no such member`},
	{"a member that is excluded", `{"properties":{"a":false}}`, `{"a":1}`, `"a" is 1: it must not be there`},
	{"not, anything", `{"properties":{"a":{"not":{}}}}`, `{"a":1}`, `"a" is 1: it must not be there`},
	{"not, a member", `{"not":{"required":["data"]}}`, `{"data":1}`, `the event has "data": it must not be there`},
	{"not, values", `{"properties":{"a":{"not":{"enum":["x","y"]}}}}`, `{"a":"x"}`, `"a" is "x": expected anything but x or y`},
	{"contains", `{"properties":{"a":{"contains":{"required":["data"],"properties":{"data":{"required":["output"]}}}}}}`, `{"a":[]}`, `"a" has no item with data.output: expected at least 1`},
	{"minContains", `{"properties":{"a":{"minContains":2,"contains":{"properties":{"role":{"enum":["user"]}}}}}}`, `{"a":[{"role":"user"},{"role":"x"}]}`, `"a" has 1 item with role user: expected at least 2`},
	{"maxContains", `{"properties":{"a":{"maxContains":1,"contains":{"properties":{"role":{"enum":["user"]}}}}}}`, `{"a":[{"role":"user"},{"role":"user"}]}`, `"a" has 2 items with role user: expected at most 1`},
	{"oneOf, by a constant", oneOfTwo, `{"m":[{"role":"alien"}]}`, `m[0].role is "alien": expected user or tool`},
	{"oneOf, without it", oneOfTwo, `{"m":[{}]}`, `m[0] has no "role": expected user or tool`},
	{"oneOf, the one that is meant", oneOfTwo, `{"m":[{"role":"tool"}]}`, `m[0] has no "id"`},
	{"oneOf, by type", oneOfTwo, `{"m":[7]}`, `m[0] is 7: expected an object`},
	{"oneOf, several of them",
		`{"properties":{"a":{"oneOf":[{"type":"object","required":["b"]},{"type":"object"}]}}}`, `{"a":{"b":1}}`,
		`"a" matches more than one of several forms: expected exactly one`},
	{"anyOf, by types", `{"properties":{"a":{"anyOf":[{"type":"string"},{"type":"array"}]}}}`, `{"a":7}`, `"a" is 7: expected a string or an array`},
	{"anyOf, of members", `{"anyOf":[{"required":["toolCallId"]},{"required":["id"]}]}`, `{}`, `the event has no "id", or the event has no "toolCallId"`},
	{"a long value", `{"properties":{"a":{"type":"integer"}}}`, `{"a":"` + strings.Repeat("x", 99) + `"}`, `"a" is "` + strings.Repeat("x", 59) + `…: expected an integer`},
	{"a hostile value", `{"properties":{"a":{"type":"integer"}}}`, `{"a":"\u202e\u001b[2J\n"}`, `"a" is "\u202e\x1b[2J\n": expected an integer`},
	{"an object", `{"properties":{"a":{"type":"integer"}}}`, `{"a":{"c":[1,null],"b":"x"}}`, `"a" is {"b":"x","c":[1,null]}: expected an integer`},
	{"an odd name", `{"additionalProperties":{"properties":{"b":{"type":"integer"}}}}`, `{"a b":{"b":"x"}}`, `["a b"].b is "x": expected an integer`},
}

// manyMembers is an object with 22 members.
const manyMembers = `{"m00":1,"m01":1,"m02":1,"m03":1,"m04":1,"m05":1,"m06":1,"m07":1,"m08":1,"m09":1,"m10":1,` +
	`"m11":1,"m12":1,"m13":1,"m14":1,"m15":1,"m16":1,"m17":1,"m18":1,"m19":1,"m20":1,"m21":1}`

const oneOfTwo = `{"properties":{"m":{"items":{"oneOf":[
	{"type":"object","required":["role"],"properties":{"role":{"enum":["user"]}}},
	{"type":"object","required":["role","id"],"properties":{"role":{"const":"tool"}}}]}}}}`

// TestBreachTexts checks that a message names the member, its value and what is expected.
func TestBreachTexts(t *testing.T) {
	for _, c := range breachTexts {
		t.Run(c.name, func(t *testing.T) {
			tree, err := jsonschema.UnmarshalJSON(strings.NewReader(c.schema))
			if err != nil {
				t.Fatal(err)
			}
			s := &openAPIDocument{url: "test:///schema", root: tree.(map[string]any), compiler: jsonschema.NewCompiler()}
			s.compiler.AssertFormat()
			if err := s.compiler.AddResource(s.url, tree); err != nil {
				t.Fatal(err)
			}
			v, err := decode([]byte(c.value))
			if err != nil {
				t.Fatal(err)
			}
			all := s.schemaErrors(v, s.validator("")(v), nil)
			if len(all) != 1 {
				t.Fatalf("%d breaches of one", len(all))
			}
			if got := all[0].text(eventName); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// TestRequestAndFrameTexts checks that the message for a request names the part of the request, and
// that the message for an unknown frame names the member that would identify the frame.
func TestRequestAndFrameTexts(t *testing.T) {
	runs, agkit := dialects(t, "runs@2026-04"), dialects(t, "agkit@0.0.10")
	for _, c := range []struct {
		d      *Dialect
		method string
		target string
		body   string
		want   string
	}{
		{agkit, "POST", "/send-message", `{"conversationId":"c","messages":[{"role":"alien"}]}`,
			`messages[0].role is "alien": expected user, assistant, tool or system`},
		{agkit, "POST", "/send-message", `{"messages":[]}`, `the request body has no "conversationId"`},
		{agkit, "POST", "/send-message", `{`, `the request body is not JSON: it ends too early, after 1 bytes`},
		{agkit, "PUT", "/send-message", `{}`, `the method is PUT: expected POST`},
		{runs, "GET", "/runs/550e8400-e29b-41d4-a716-446655440000/events?runId=", "", `query parameter runId is "": expected at least 1 character`},
		{runs, "GET", "/runs/550e8400-e29b-41d4-a716-446655440000/events", "", `the request has no query parameter runId`},
	} {
		r := spec.Request{Method: c.method, Target: c.target, Body: []byte(c.body), Header: spec.Header{{Name: "Content-Type", Value: jsonMediaType}}}
		if all := c.d.ValidateRequest(r); len(all) != 1 || all[0].String() != c.want {
			t.Errorf("%s %s %s: got %v, want %s", c.method, c.target, c.body, all, c.want)
		}
	}
	send := agkit.Operation(spec.Request{Method: "POST", Target: "/send-message"})
	known := *send
	known.frameVariants = slices.DeleteFunc(slices.Clone(send.frameVariants), func(w *variant) bool { return len(w.discriminators) == 0 })[:2]
	for _, c := range []struct {
		o          *Operation
		data, want string
	}{
		{send, `[]`, `the event is []: expected an object`},
		{send, `{`, `the event is not JSON: it ends too early, after 1 bytes`},
		{send, ``, `the event is not JSON: it is empty`},
		{&known, `{"type":"message"}`, `"type" is "message": expected text or tool-call-start`},
		{&known, `{"text":"x"}`, `the event has no "type": expected text or tool-call-start`},
		{agkit.Operation(spec.Request{Method: "GET", Target: "/healthz"}), `{}`, `GET /healthz was answered with an event stream: expected application/json`},
	} {
		e := spec.Event{}
		agkit.decodeFrameData(c.o, &e, sse.Item{Data: []byte(c.data)}, nil, withViolations)
		if e.Err == nil || e.Err.Error() != c.want {
			t.Errorf("%s: got %v, want %s", c.data, e.Err, c.want)
		}
	}
}

func dialects(t *testing.T, name string) *Dialect {
	t.Helper()
	d, err := Open(name)
	if err != nil {
		t.Fatal(err)
	}
	return d
}
