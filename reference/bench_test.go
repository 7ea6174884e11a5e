package reference

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/onsi/gomega"
	"github.com/tmaxmax/go-sse"

	"github.com/streamassay/streamassay/internal/state"
	"github.com/streamassay/streamassay/internal/state/durable"
	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
)

// A discardResponse is a ResponseWriter that discards the response.
type discardResponse struct {
	header http.Header
	status int
	ends   int // RUN_FINISHED events
}

func (w *discardResponse) Header() http.Header    { return w.header }
func (w *discardResponse) WriteHeader(status int) { w.status = status }
func (w *discardResponse) Flush()                 {}
func (w *discardResponse) Write(data []byte) (int, error) {
	w.ends += bytes.Count(data, []byte(`"RUN_FINISHED"`))
	return len(data), nil
}

// stores has one store of each kind.
var stores = []struct {
	name string
	open func(testing.TB) state.Store
}{
	{"memory", func(testing.TB) state.Store { return state.NewMemory(state.Config{}) }},
	{"sqlite", func(t testing.TB) state.Store {
		return opened(t)(durable.OpenSQLite(filepath.Join(t.TempDir(), "state.db"), state.Config{}))
	}},
	{"redis", func(t testing.TB) state.Store {
		return opened(t)(durable.OpenRedis(t.Context(), redisServer(t), state.Config{}))
	}},
}

// opened returns a function that returns the store it is passed, or ends the test if its argument
// err is not nil.
func opened(t testing.TB) func(state.Store, error) state.Store {
	return func(store state.Store, err error) state.Store {
		if err != nil {
			t.Fatal(err)
		}
		return store
	}
}

// BenchmarkRuns measures starting a run of 12 events and reading its stream to the end, for 64 runs
// at a time.
func BenchmarkRuns(b *testing.B) {
	for _, c := range stores {
		b.Run(c.name, func(b *testing.B) {
			store := c.open(b)
			d, err := dialect.Open("runs")
			if err != nil {
				b.Fatal(err)
			}
			s := New(d, Scripted, Config{Store: store})
			var n atomic.Int64
			b.SetParallelism(32)
			b.ResetTimer()
			b.RunParallel(func(p *testing.PB) {
				for p.Next() {
					benchRun(b, s, n.Add(1))
				}
			})
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "runs/s")
			b.StopTimer()
			if err := s.Shutdown(b.Context()); err != nil {
				b.Error(err)
			}
			if err := store.Close(); err != nil {
				b.Error(err)
			}
		})
	}
}

func benchRun(b *testing.B, s *Server, n int64) {
	e := spec.Event{Thread: fmt.Sprintf("550e8400-e29b-41d4-a716-%012d", n%1000), Run: "run-" + strconv.FormatInt(n, 10), Text: "conformance:many 8"}
	for _, phrase := range []string{"prompt", "listen"} {
		req, err := s.dialect.BuildRequest(phrase, e)
		if err != nil {
			b.Fatal(err)
		}
		r, err := http.NewRequestWithContext(b.Context(), req.Method, s.dialect.Base+req.Target, bytes.NewReader(req.Body))
		if err != nil {
			b.Fatal(err)
		}
		for _, f := range req.Header {
			r.Header.Set(f.Name, f.Value)
		}
		r.Header.Set("Authorization", "Bearer ada")
		w := &discardResponse{header: http.Header{}}
		s.ServeHTTP(w, r)
		if w.status/100 != 2 || phrase == "listen" && w.ends != 1 {
			b.Errorf("%s: %d, %d ends", phrase, w.status, w.ends)
		}
	}
}

// redisServer starts a Redis server for the test and returns its URL.
func redisServer(b testing.TB) string {
	path, err := exec.LookPath("redis-server")
	if err != nil {
		b.Skip("NOT RUN: redis-server is not installed (Debian: apt-get install redis-server): the Redis store was not measured")
	}
	dir := b.TempDir()
	socket := filepath.Join(dir, "redis.sock")
	server := exec.Command(path, "--port", "0", "--unixsocket", socket, "--save", "", "--dir", dir)
	if err := server.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = server.Process.Kill()
		_ = server.Wait()
	})
	gomega.NewWithT(b).Eventually(func() error { return exec.Command("redis-cli", "-s", socket, "ping").Run() }).Should(gomega.Succeed())
	return "unix://" + socket
}

// A waitingResponse is a discardResponse that calls flushed when the stream is flushed for the
// first time, which is before its run waits.
type waitingResponse struct {
	discardResponse
	once    sync.Once
	flushed func()
}

func (w *waitingResponse) Flush() { w.once.Do(w.flushed) }

// BenchmarkWaitingRuns measures the stacks of 1,000 runs that wait, without those of net/http.
func BenchmarkWaitingRuns(b *testing.B) {
	const n = 1000
	for _, inline := range []bool{true, false} {
		b.Run(fmt.Sprintf("inline=%t", inline), func(b *testing.B) {
			s := New(mustDialect(b, "agkit"), Scripted, Config{Inline: inline})
			req, err := s.dialect.BuildRequest("prompt", spec.Event{Text: "conformance:slow 2 60000"})
			if err != nil {
				b.Fatal(err)
			}
			template := httptest.NewRequest(req.Method, s.dialect.Base+req.Target, nil)
			template.Header.Set("Authorization", "Bearer ada")
			var before, after runtime.MemStats
			for b.Loop() {
				ctx, cancel := context.WithCancel(b.Context())
				var waiting, streams sync.WaitGroup
				runtime.GC()
				runtime.ReadMemStats(&before)
				waiting.Add(n)
				for range n {
					streams.Go(func() {
						r := template.Clone(ctx)
						r.Body = io.NopCloser(bytes.NewReader(req.Body))
						s.ServeHTTP(&waitingResponse{discardResponse: discardResponse{header: http.Header{}}, flushed: waiting.Done}, r)
					})
				}
				waiting.Wait()
				runtime.GC() // shrinks stacks that waiting runs do not use
				runtime.ReadMemStats(&after)
				cancel()
				streams.Wait()
			}
			b.ReportMetric((float64(after.StackInuse)-float64(before.StackInuse))/n, "stack-B/run")
			if err := s.Shutdown(b.Context()); err != nil {
				b.Error(err)
			}
		})
	}
}

// BenchmarkFrame measures encoding an event as a frame and writing the frame: as the server does,
// and with go-sse after the same encoding of the data (docs/adr/0012-frames-are-appended.md).
func BenchmarkFrame(b *testing.B) {
	op := streamOperation(mustDialect(b, "agkit"))
	e := &spec.Event{Kind: spec.MessageDelta, Message: "run-1-m1", Run: "run-1", Thread: "thread-1", Seq: "7", Text: "Hello, world."}
	want, err := op.AppendEvent(nil, e)
	if err != nil {
		b.Fatal(err)
	}
	write := map[string]func(w *bytes.Buffer, frame []byte) error{
		"append": func(w *bytes.Buffer, frame []byte) error {
			_, err := w.Write(frame)
			return err
		},
		"go-sse": func(w *bytes.Buffer, frame []byte) error {
			data := bytes.TrimSuffix(bytes.TrimPrefix(frame, []byte("data: ")), []byte("\n\n"))
			var message sse.Message
			message.AppendData(string(data))
			_, err := message.WriteTo(w)
			return err
		},
	}
	for _, name := range []string{"append", "go-sse"} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			var buf []byte
			var out bytes.Buffer
			for b.Loop() {
				out.Reset()
				buf, err = op.AppendEvent(buf[:0], e)
				if err := errors.Join(err, write[name](&out, buf)); err != nil {
					b.Fatal(err)
				}
			}
			if !bytes.Equal(out.Bytes(), want) {
				b.Errorf("got %q, want %q", out.Bytes(), want)
			}
		})
	}
}
