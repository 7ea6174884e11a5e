package mockserver_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/streamassay/streamassay/mockserver"
)

// A sink is an http.ResponseWriter that counts and discards the body.
type sink struct {
	header http.Header
	bytes  int
}

func (s *sink) Header() http.Header         { return s.header }
func (s *sink) WriteHeader(int)             {}
func (s *sink) Write(p []byte) (int, error) { s.bytes += len(p); return len(p), nil }
func (s *sink) FlushError() error           { return nil }

// BenchmarkStream measures a stream of twelve events without the network.
func BenchmarkStream(b *testing.B) {
	for _, c := range []struct{ name, dialect, path, body string }{
		{"agkit", "agkit@0.0.10", "/send-message", `{"conversationId":"c1","messages":[{"role":"user","content":"conformance:many 11"}]}`},
	} {
		b.Run(c.name, func(b *testing.B) {
			m := made(b, mockserver.Config{}, c.dialect)
			b.ReportAllocs()
			for b.Loop() {
				r, _ := http.NewRequest(http.MethodPost, c.path, strings.NewReader(c.body))
				r.Header.Set("Content-Type", "application/json")
				w := &sink{header: http.Header{}}
				m.ServeHTTP(w, r)
				if w.bytes < 400 {
					b.Fatalf("%d bytes", w.bytes)
				}
			}
		})
	}
}
