package transcript

import (
	"bytes"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"github.com/streamassay/streamassay/spec"
)

// allocated returns the number of bytes that f allocates.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// TestLargeBodies checks that a large body is not copied more often than necessary.
func TestLargeBodies(t *testing.T) {
	const size = 2 << 20
	event := []byte("data: {\"type\":\"TEXT_MESSAGE_CONTENT\",\"delta\":\"some words\"}\n\n")
	text := bytes.Repeat(event, size/len(event))
	noise := make([]byte, size)
	random := rand.NewChaCha8([32]byte{})
	_, _ = random.Read(noise)
	var reads []spec.Arrival
	for end := 4096; end < len(text); end += 4096 {
		reads = append(reads, spec.Arrival{End: end, At: time.Duration(end) * time.Microsecond})
	}
	reads = append(reads, spec.Arrival{End: len(text), At: time.Hour})
	for name, c := range map[string]struct {
		r             spec.Response
		format, parse float64 // limits, as multiples of the body
	}{
		"untimed":       {spec.Response{Body: text}, 1.1, 0.1},
		"timed":         {spec.Response{Body: text, Arrivals: reads}, 1.3, 1.3},
		"CR LF":         {spec.Response{Body: bytes.ReplaceAll(text, []byte("\n"), []byte("\r\n"))}, 1.1, 1.2},
		"binary":        {spec.Response{Body: noise}, 2.1, 2.1},
		"a single line": {spec.Response{Body: bytes.Repeat([]byte("x"), size)}, 1.1, 1.1},
	} {
		t.Run(name, func(t *testing.T) {
			c.r.Status, c.r.Header = 200, spec.Header{{Name: "Content-Type", Value: "text/event-stream"}}
			tr := &Transcript{Secrets: []string{"none of this"}, Trace: spec.Trace{Exchanges: []spec.Exchange{{Response: c.r}}}}
			var file []byte
			var err error
			format := float64(allocated(func() { file = Format(tr) })) / float64(len(c.r.Body))
			parse := float64(allocated(func() { tr, err = Parse("large", file) })) / float64(len(c.r.Body))
			if err != nil || !bytes.Equal(tr.Trace.Exchanges[0].Response.Body, c.r.Body) {
				t.Fatalf("the body is another one: %v", err)
			}
			if format > c.format || parse > c.parse {
				t.Errorf("Format took %.2f times the body, Parse %.2f; at most %.2f and %.2f are needed", format, parse, c.format, c.parse)
			}
		})
	}
}
