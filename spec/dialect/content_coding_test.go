package dialect_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
)

// TestContentCoding checks that a compressed stream is decoded as far as possible, and that one
// that cannot be decoded counts as left by the client.
func TestContentCoding(t *testing.T) {
	d, err := dialect.Open("agkit")
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	w.Write([]byte("data: {\"type\":\"text\",\"content\":\"a\"}\n\n"))
	w.Flush()
	first := b.Len() // length of the compressed first frame
	w.Write([]byte("data: [DONE]\n\n"))
	w.Close()
	for _, c := range []struct {
		name, coding string
		body         []byte
		end          error
		want         []spec.Kind
		left         bool
	}{
		{"whole", "gzip", b.Bytes(), nil, []spec.Kind{spec.MessageDelta, spec.Done}, false},
		{"capitals", "GZIP", b.Bytes(), nil, []spec.Kind{spec.MessageDelta, spec.Done}, false},
		{"cut off", "gzip", b.Bytes()[:first], spec.ErrTruncated, []spec.Kind{spec.MessageDelta}, false},
		{"not what it says", "gzip", []byte("data: [DONE]\n\n"), spec.ErrInvalidCoding, nil, false},
		{"without its end", "gzip", b.Bytes()[:first], spec.ErrInvalidCoding, []spec.Kind{spec.MessageDelta}, false},
		{"not only what it says", "gzip", append(bytes.Clone(b.Bytes()), "data: [DONE]\n\n"...), spec.ErrInvalidCoding, []spec.Kind{spec.MessageDelta, spec.Done}, false},
		{"unknown", "br", []byte{11, 2, 128}, nil, nil, true},
		{"empty", "br", nil, nil, nil, false},
		{"none", "identity", []byte("data: [DONE]\n\n"), nil, []spec.Kind{spec.Done}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			end := c.end
			if errors.Is(end, spec.ErrInvalidCoding) {
				end = nil // the transfer is complete
			}
			x := spec.Exchange{
				Request: spec.Request{Method: "POST", Target: "/send-message", Body: []byte(`{"conversationId":"c"}`)},
				Response: spec.Response{
					Status: 200, Body: c.body, End: end,
					Header: spec.Header{{Name: "Content-Type", Value: spec.EventStream}, {Name: "Content-Encoding", Value: c.coding}},
				},
			}
			var got []spec.Kind
			var closed spec.Event
			for e := range d.Events(spec.Trace{Exchanges: []spec.Exchange{x}}) {
				if e.IsFrame() {
					got = append(got, e.Kind)
				}
				closed = e
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("heard %v, want %v", got, c.want)
			}
			if left := errors.Is(closed.Err, spec.ErrClientLeft); left != c.left || left && !strings.Contains(closed.Err.Error(), c.coding) {
				t.Errorf("the body ended with %v", closed.Err)
			}
			if c.end != nil && !errors.Is(closed.Err, c.end) {
				t.Errorf("the body ended with %v, want %v", closed.Err, c.end)
			}
		})
	}
}

// TestArrivalsOfCompressed checks that the events of a compressed stream have the times at which
// they could be decoded.
func TestArrivalsOfCompressed(t *testing.T) {
	d, err := dialect.Open("agkit")
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	response := spec.Response{
		Status: 200,
		Header: spec.Header{{Name: "Content-Type", Value: spec.EventStream}, {Name: "Content-Encoding", Value: "gzip"}},
	}
	arrived := func(at time.Duration) {
		response.Arrivals = append(response.Arrivals, spec.Arrival{End: b.Len(), At: at})
	}
	w.Write([]byte("data: {\"type\":\"text\",\"content\":\"a\"}\n\n"))
	w.Flush()
	arrived(time.Second)
	w.Write([]byte("data: {\"type\":\"text\",\"content\":\"b\"}\n\n")) // stays in the buffer of the compressor
	arrived(2 * time.Second)
	w.Write([]byte("data: [DONE]\n\n"))
	w.Close()
	arrived(3 * time.Second)
	response.Body = b.Bytes()
	request := spec.Request{Method: "POST", Target: "/send-message", Body: []byte(`{"conversationId":"c"}`)}
	var got []time.Duration
	for e := range d.Events(spec.Trace{Exchanges: []spec.Exchange{{Request: request, Response: response}}}) {
		if e.IsFrame() {
			got = append(got, e.At)
		}
	}
	if want := []time.Duration{time.Second, 3 * time.Second, 3 * time.Second}; !slices.Equal(got, want) {
		t.Errorf("the events arrived at %v, want %v", got, want)
	}
}
