package dialect

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/streamassay/streamassay/spec"
)

// chunkedDocument is a document with frames that decode to several events.
const chunkedDocument = `
openapi: 3.2.0
info: {title: Chunks, version: "1"}
paths:
  /run:
    post:
      x-stream: {}
      requestBody: {content: {application/json: {schema: {type: object, x-kind: ask.user}}}}
      responses:
        "200":
          description: the events
          content:
            text/event-stream:
              itemSchema:
                oneOf:
                  - x-kind: run.end
                    type: object
                    required: [type]
                    properties:
                      type: {enum: [end]}
                      interrupts:
                        type: array
                        x-parts: events
                        items:
                          x-kind: interrupt
                          type: object
                          required: [id]
                          properties:
                            id: {type: string, x-slot: id}
                  - x-kind: message.delta
                    x-chunk: {of: message, start: message.start, end: message.end}
                    type: object
                    properties:
                      type: {enum: [text]}
                      id: {type: string, x-slot: message}
                      text: {type: string, x-slot: text}
                  - x-kind: tool.delta
                    x-chunk: {of: call, start: tool.start, end: tool.end}
                    type: object
                    properties:
                      type: {enum: [call]}
                      id: {type: string, x-slot: call}
                      tool: {type: string, x-slot: name}
                      text: {type: string, x-slot: text}
                  - x-kind: message.end
                    type: object
                    properties:
                      type: {enum: [text-end]}
                      id: {type: string, x-slot: message}
                  - x-kind: run.progress
                    type: object
                    properties:
                      type: {enum: [more]}
`

// openText opens the dialect that a document defines, with a catalogue without requirements.
func openText(document string) (*Dialect, error) {
	return load(fstest.MapFS{
		"test/1.yaml":              {Data: []byte(document)},
		"test/1.requirements.yaml": {Data: []byte("[]")},
	}, "test", "1")
}

func openChunkedDialect(t *testing.T) *Dialect {
	t.Helper()
	d, err := openText(chunkedDocument)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestSeveralEvents checks to which events frames decode: their own, those that chunks imply, and
// those that a frame carries.
func TestSeveralEvents(t *testing.T) {
	d := openChunkedDialect(t)
	for name, test := range map[string]struct {
		frames []string
		want   []string // "FRAME KIND ID TEXT", implied ones with a star
	}{
		"one message": {
			[]string{`{"type":"text","id":"m","text":"a"}`, `{"type":"text","text":"b"}`, `{"type":"end"}`},
			[]string{"0 message.start* m", "0 message.delta m a", "1 message.delta m b", "2 message.end* m", "2 run.end"},
		},
		"two messages": {
			[]string{`{"type":"text","id":"m"}`, `{"type":"text","id":"n"}`},
			[]string{"0 message.start* m", "0 message.delta m", "1 message.end* m", "1 message.start* n", "1 message.delta n"},
		},
		"a message and a call": {
			[]string{`{"type":"text","id":"m"}`, `{"type":"call","id":"c","tool":"t","text":"{}"}`, `{"type":"more"}`},
			[]string{
				"0 message.start* m", "0 message.delta m", "1 message.end* m", "1 tool.start* c", "1 tool.delta c {}",
				"2 tool.end* c", "2 run.progress",
			},
		},
		"an end of its own": {
			[]string{`{"type":"text","id":"m"}`, `{"type":"text-end","id":"m"}`},
			[]string{"0 message.start* m", "0 message.delta m", "1 message.end m"},
		},
		"a first chunk without an id": {[]string{`{"type":"text","text":"a"}`}, []string{"0 message.delta a"}},
		"what cannot be read": {
			[]string{`{"type":"text","id":"m"}`, `{`, `{"type":"text","text":"b"}`},
			[]string{"0 message.start* m", "0 message.delta m", "1 ?", "2 message.delta m b"},
		},
		"carried events": {
			[]string{`{"type":"end","interrupts":[{"id":"i"},{"id":"j"}]}`},
			[]string{"0 interrupt i", "0 interrupt j", "0 run.end"},
		},
	} {
		var got []string
		body := "data: " + strings.Join(test.frames, "\n\ndata: ") + "\n\n"
		for _, e := range decodeStream(d, body) {
			kind := string(e.Kind)
			if e.Implied {
				kind += "*"
			}
			got = append(got, strings.Join(strings.Fields(fmt.Sprint(e.Frame, " ", kind, " ", e.Message, e.Call, e.ID, " ", e.Text)), " "))
			if len(e.Raw) == 0 || e.Line == 0 {
				t.Errorf("%s: %s has no position", name, kind)
			}
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s:\ngot  %q\nwant %q", name, got, test.want)
		}
	}
}

// decodeStream returns the events in the body of a stream.
func decodeStream(d *Dialect, body string) (events []spec.Event) {
	for e := range d.Events(spec.Trace{Exchanges: []spec.Exchange{{
		Request: spec.Request{Method: "POST", Target: "/run"},
		Response: spec.Response{
			Status: 200, Header: spec.Header{{Name: "Content-Type", Value: spec.EventStream}}, Body: []byte(body),
		},
	}}}) {
		if e.Frame >= 0 {
			events = append(events, e)
		}
	}
	return events
}

// envelopeDocument is a document with frames that stand for the events that they carry.
const envelopeDocument = `
openapi: 3.2.0
info: {title: Envelopes, version: "1"}
paths:
  /run:
    post:
      x-stream: {}
      requestBody: {content: {application/json: {schema: {type: object, x-kind: ask.user}}}}
      responses:
        "200":
          description: the events
          content:
            text/event-stream:
              itemSchema:
                x-requirement: a
                oneOf:
                  - x-kind: run.end
                    x-after: tool.start
                    properties: {list: {type: array, x-parts: single, items: {properties: {end: {x-slot: status, enum: [calls]}}}}}
                  - x-kind: run.end
                    properties:
                      list:
                        type: array
                        x-parts: single
                        items:
                          properties:
                            end: {x-slot: status, x-mark: present, enum: [stop, length], x-write: stop}
                            delta: {$ref: "#/components/schemas/Delta"}
                  - required: [id]
                    properties:
                      id: {type: string, x-slot: run}
                      list:
                        type: array
                        x-parts: single
                        items: {properties: {delta: {$ref: "#/components/schemas/Delta"}}}
components:
  schemas:
    Delta:
      type: object
      properties:
        content: {x-kind: message.delta, x-parts: events, type: [string, "null"], x-slot: text}
        pieces:
          type: array
          x-parts: events
          items:
            x-kind: tool.delta
            x-chunk: {of: call, by: index, start: tool.start, end: tool.end, until: run.end}
            type: object
            properties:
              index: {type: integer, x-slot: index}
              id: {type: string, x-slot: call}
              name: {type: string, x-slot: name}
              text: {type: string, x-slot: text}
`

func openEnvelopes(t *testing.T) (*Dialect, *Operation) {
	t.Helper()
	d, err := openText(envelopeDocument)
	if err != nil {
		t.Fatal(err)
	}
	return d, d.Operation(spec.Request{Method: "POST", Target: "/run"})
}

// TestEnvelopes checks which events envelopes stand for, with several calls open at once.
func TestEnvelopes(t *testing.T) {
	d, _ := openEnvelopes(t)
	body := `{"id":"r","list":[{"delta":{"content":"a","pieces":[{"index":0,"id":"c","name":"t"}]}}]}
{"id":"r","list":[{"delta":{"pieces":[{"index":1,"id":"d","text":"{"},{"index":0,"text":"{}"}]}}]}
{"id":"r","list":[{"delta":{"pieces":[{"index":1,"text":"}"},{"index":2,"text":"x"}]}}]}
{"id":"r","list":[{"delta":{"content":null}}]}
{"list":[{"delta":{"content":"b"}}]}
{"id":"r","list":[{"end":"calls"}]}
{"id":"r","list":[{"end":"length","delta":{"content":"c"}}]}`
	var got []string
	for _, e := range decodeStream(d, "data: "+strings.ReplaceAll(body, "\n", "\n\ndata: ")+"\n\n") {
		got = append(got, fmt.Sprintf("%d %s%s %s %s%s%s%s %d", e.Frame, e.Kind, map[bool]string{true: "*"}[e.Implied],
			e.Run, e.Call, e.Name, e.Status, e.Text, len(e.Violations)))
	}
	want := []string{
		"0 message.delta r a 0", "0 tool.start* r ct 0", "0 tool.delta r ct 0",
		"1 tool.start* r d 0", "1 tool.delta r d{ 0", "1 tool.delta r c{} 0",
		"2 tool.delta r d} 0", "2 tool.delta r x 0", "3 other r  0", "4 message.delta  b 1",
		"5 tool.end*  ct 0", "5 tool.end*  d 0", "5 run.end  calls 0",
		"6 message.delta  c 0", "6 run.end  length 0",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for _, k := range []spec.Kind{spec.ToolStart, spec.ToolEnd} {
		if !slices.Contains(d.Kinds(), k) {
			t.Errorf("the dialect lacks the kind %s, which its chunks imply", k)
		}
	}
}

// TestEncodedEnvelopes checks how events are sent that only envelopes can carry.
func TestEncodedEnvelopes(t *testing.T) {
	_, o := openEnvelopes(t)
	for _, c := range []struct {
		event spec.Event
		want  string
	}{
		{spec.Event{Kind: spec.MessageDelta, Run: "r", Text: "a"}, `{"id":"r","list":[{"delta":{"content":"a"}}]}`},
		{
			spec.Event{Kind: spec.ToolStart, Run: "r", Call: "c", Name: "t", Index: "0"},
			`{"id":"r","list":[{"delta":{"pieces":[{"id":"c","index":0,"name":"t"}]}}]}`,
		},
		{
			spec.Event{Kind: spec.ToolDelta, Run: "r", Call: "c", Index: "0", Text: "{}"},
			`{"id":"r","list":[{"delta":{"pieces":[{"index":0,"text":"{}"}]}}]}`,
		},
		{spec.Event{Kind: spec.RunEnd, Status: "calls"}, `{"list":[{"end":"calls"}]}`},
		{spec.Event{Kind: spec.RunEnd, Status: "stop"}, `{"list":[{"end":"stop"}]}`},
	} {
		got, err := o.AppendEvent(nil, &c.event)
		if err != nil || string(got) != "data: "+c.want+"\n\n" || !o.CanEncode(c.event) {
			t.Errorf("%s: got %s (error %v), want %s", c.event.Kind, got, err, c.want)
		}
	}
	for _, k := range []spec.Kind{spec.ToolEnd, spec.Interrupt} {
		if o.CanEncode(spec.Event{Kind: k}) || o.Carrier(k) != "" {
			t.Errorf("an event of the kind %s can be encoded", k)
		}
	}
	for had, want := range map[spec.Kind]string{spec.ToolStart: "calls", spec.MessageDelta: "stop"} {
		if got := o.EndStatus(func(k spec.Kind) bool { return k == had }); got != want {
			t.Errorf("a run with %s ends with the status %q, want %q", had, got, want)
		}
	}
}

// TestCarriedEventsRoundTrip checks that events that a frame carries are encoded in that frame.
func TestCarriedEventsRoundTrip(t *testing.T) {
	d := openChunkedDialect(t)
	o := d.Operation(spec.Request{Method: "POST", Target: "/run"})
	if got := o.Carrier(spec.Interrupt); got != spec.RunEnd || !o.CanEncode(spec.Event{Kind: spec.Interrupt}) {
		t.Errorf("frames of kind %q carry interrupts, want %q", got, spec.RunEnd)
	}
	e := spec.Event{Kind: spec.RunEnd, Parts: []spec.Event{{Kind: spec.Interrupt, ID: "i"}, {Kind: spec.Interrupt, ID: "j"}}}
	body, err := o.AppendEvent(nil, &e)
	if err != nil {
		t.Fatal(err)
	}
	var kinds []spec.Kind
	for _, e := range decodeStream(d, string(body)) {
		kinds = append(kinds, e.Kind)
	}
	if want := []spec.Kind{spec.Interrupt, spec.Interrupt, spec.RunEnd}; !slices.Equal(kinds, want) {
		t.Errorf("%s decodes to %v, want %v", body, kinds, want)
	}
}

// TestBrokenChunk checks the errors of an x-chunk that lacks a member, and that they name its line.
func TestBrokenChunk(t *testing.T) {
	const whole = "{of: message, start: message.start, end: message.end}"
	line := 1 + strings.Count(chunkedDocument[:strings.Index(chunkedDocument, whole)], "\n")
	for broken, want := range map[string]string{
		"{start: message.start, end: message.end}":                          "x-chunk: needs a slot (of)",
		"{of: message, end: message.end}":                                   "x-chunk: needs a slot (of)",
		"{of: nothing}":                                                     `x-chunk: unknown slot "nothing"`,
		"{of: message, start: message.start, end: message.end, by: index}":  "x-chunk: needs both or neither",
		"{of: message, start: message.start, end: message.end, until: end}": `x-chunk: unknown kind "end"`,
	} {
		d, err := openText(strings.Replace(chunkedDocument, whole, broken, 1))
		if err != nil {
			t.Fatal(err)
		}
		e, ok := errors.AsType[*FileError](d.checkExtensions())
		if !ok || !strings.HasPrefix(e.Message, want) || e.Line != line {
			t.Errorf("%s: %v, want an error in line %d that begins with %q", broken, e, line, want)
		}
	}
}
