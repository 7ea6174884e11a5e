package dialect

import (
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

func openChunkedDialect(t *testing.T) *Dialect {
	t.Helper()
	d, err := load(fstest.MapFS{
		"chunks/1.yaml":              {Data: []byte(chunkedDocument)},
		"chunks/1.requirements.yaml": {Data: []byte("[]")},
	}, "chunks", "1")
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

// TestBrokenChunk checks the errors of an x-chunk that lacks a member.
func TestBrokenChunk(t *testing.T) {
	for _, broken := range []string{"{start: message.start, end: message.end}", "{of: message, end: message.end}", "{of: nothing}"} {
		text := strings.Replace(chunkedDocument, "{of: message, start: message.start, end: message.end}", broken, 1)
		_, err := load(fstest.MapFS{
			"chunks/1.yaml": {Data: []byte(text)}, "chunks/1.requirements.yaml": {Data: []byte("[]")},
		}, "chunks", "1")
		if err == nil || !strings.Contains(err.Error(), "x-chunk") {
			t.Errorf("%s: %v, want an error that names x-chunk", broken, err)
		}
	}
}
