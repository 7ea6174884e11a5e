package dialect

import (
	"bytes"
	"testing"

	"github.com/streamassay/streamassay/spec"
)

// FuzzEvents checks that any response can be decoded, and that each event consists of bytes of the
// request or of the response.
func FuzzEvents(f *testing.F) {
	names := Names()
	var all []*Dialect
	for i, name := range names {
		d, err := Open(name)
		if err != nil {
			f.Fatal(err)
		}
		all = append(all, d)
		for _, body := range []string{
			"data: {\"type\":\"RUN_STARTED\",\"threadId\":\"t\",\"runId\":\"r\"}\n\n", "data: {\"object\":\"response\",\"status\":\"created\",\"output\":[null,{}]}\n\n",
			"event: x\nid: 1\ndata: {\"type\":1,\"delta\":{\"text\":\"\\ud800\"}}\ndata: 2\n\n", "data: [DONE]\n\n", ": keep-alive\n\n", "data: 1e999\n\ndata: {\"a\":1,\"a\":2}\n\n", "data:\n\nretry: x\n\n",
			`{"detail":"no"}`, "\xff\xfe", "",
		} {
			f.Add(uint8(i), uint16(200), "text/event-stream", "answer me", []byte(body))
		}
	}
	f.Fuzz(func(t *testing.T, which uint8, status uint16, media, text string, body []byte) {
		d := all[int(which)%len(all)]
		for _, phrase := range []string{"prompt", "listen", "history"} {
			req, err := d.BuildRequest(phrase, spec.Event{Thread: "550e8400-e29b-41d4-a716-446655440000", Run: "r", Text: text})
			if err != nil {
				continue
			}
			x := spec.Exchange{Request: req, Response: spec.Response{
				Proto: "HTTP/1.1", Status: int(status), Header: spec.Header{{Name: "Content-Type", Value: media}}, Body: body,
			}}
			for e := range d.Events(spec.Trace{Exchanges: []spec.Exchange{x}}) {
				within(t, e, req.Body, body)
			}
		}
	})
}

// within checks that the position of an event is one in body, the body of the response, and that
// its bytes occur in body or in asked, the body of the request.
func within(t *testing.T, e spec.Event, asked, body []byte) {
	t.Helper()
	if e.Offset < 0 || e.Offset > len(body) || e.Line < 0 || e.Line > 1+bytes.Count(body, []byte("\n"))+bytes.Count(body, []byte("\r")) {
		t.Errorf("%s at line %d, offset %d of a body of %d bytes", e.Kind, e.Line, e.Offset, len(body))
	}
	if len(e.Raw) > 0 && !bytes.Contains(body, e.Raw) && !bytes.Contains(asked, e.Raw) {
		t.Errorf("%s: %q did not come in %q", e.Kind, e.Raw, body)
	}
}
