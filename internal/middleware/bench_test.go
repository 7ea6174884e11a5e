package middleware

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/streamassay/streamassay/internal/metrics"
)

// A discardResponse is a ResponseWriter that discards everything.
type discardResponse struct{ header http.Header }

func (n *discardResponse) Header() http.Header         { return n.header }
func (n *discardResponse) WriteHeader(int)             {}
func (n *discardResponse) Write(p []byte) (int, error) { return len(p), nil }
func (n *discardResponse) FlushError() error           { return nil }

// BenchmarkFront measures the overhead of the middleware for a response of twelve events.
func BenchmarkFront(b *testing.B) {
	event := []byte("data: {}\n\n")
	inside := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for range 12 {
			_, _ = w.Write(event)
			_ = http.NewResponseController(w).Flush()
		}
	})
	m := metrics.New("")
	for _, c := range []struct {
		name string
		h    http.Handler
	}{
		{"without", inside},
		{"quiet", New(inside, Config{Metrics: m, Log: slog.New(slog.NewTextHandler(io.Discard, &slog.HandlerOptions{Level: slog.LevelWarn}))})},
		{"cors", New(inside, Config{Metrics: m, AllowedOrigins: []string{"https://ann.example"}})},
		{"logged", New(inside, Config{Metrics: m, Log: slog.New(slog.NewTextHandler(io.Discard, nil))})},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			r := httptest.NewRequest(http.MethodPost, "/chat", nil)
			r.Header.Set("Origin", "https://ann.example")
			w := &discardResponse{http.Header{}}
			for b.Loop() {
				r.Header.Del(requestIDHeader)
				clear(w.header)
				c.h.ServeHTTP(w, r)
			}
		})
	}
}
