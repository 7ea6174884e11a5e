// gobase: the plain net/http server that the reference and the mock are measured against.
//
//	POST /agui        parse JSON RunAgentInput, substring match, 12 AG-UI events, json.Marshal + Flush each
//	POST /agui-id     as /agui with an SSE "id:" line, in-memory journal append (ring 1000) and metrics counter
//	POST /pre         12 pre-encoded events, one Write + Flush each
//	POST /one         12 pre-encoded events, one Write, one flush at the end (what a buffering mock does)
//	POST /v1/chat/completions   12 data: lines (role + 9 content + finish + [DONE]), Marshal + Flush each
//	POST /paced?n=20&ms=500     paced: absolute schedule (start + i*ms), Marshal + Flush each
//	GET  /json        plain JSON, marshalled per request
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// A Message is a message in a [RunAgentInput].
type Message struct {
	ID      string `json:"id"`
	Role    string `json:"role"`
	Content string `json:"content"`
}

// A RunAgentInput is the body of a request, as AG-UI defines it.
type RunAgentInput struct {
	ThreadID string          `json:"threadId"`
	RunID    string          `json:"runId"`
	Messages []Message       `json:"messages"`
	Tools    json.RawMessage `json:"tools"`
	State    json.RawMessage `json:"state"`
}

// An Event is an AG-UI event.
type Event struct {
	Type      string `json:"type"`
	ThreadID  string `json:"threadId,omitempty"`
	RunID     string `json:"runId,omitempty"`
	MessageID string `json:"messageId,omitempty"`
	Role      string `json:"role,omitempty"`
	Delta     string `json:"delta,omitempty"`
	Timestamp int64  `json:"timestamp,omitempty"` // time of sending, in Unix milliseconds
}

// script returns the 12 events of the run that input, the body of a request, starts. The timestamps
// of the events are not set.
func script(input *RunAgentInput) []Event {
	ev := make([]Event, 0, 12)
	ev = append(ev, Event{Type: "RUN_STARTED", ThreadID: input.ThreadID, RunID: input.RunID},
		Event{Type: "TEXT_MESSAGE_START", MessageID: "m1", Role: "assistant"})
	for i := 0; i < 8; i++ {
		ev = append(ev, Event{Type: "TEXT_MESSAGE_CONTENT", MessageID: "m1", Delta: "some words of text "})
	}
	return append(ev, Event{Type: "TEXT_MESSAGE_END", MessageID: "m1"},
		Event{Type: "RUN_FINISHED", ThreadID: input.ThreadID, RunID: input.RunID})
}

// pre holds the encoded frames of the events of a run. It is set before the server starts.
var pre [][]byte

// preAll holds the frames in pre, concatenated.
var preAll []byte

// head sends status 200 and the header of an event stream to w, and returns a controller for w.
func head(w http.ResponseWriter) *http.ResponseController {
	h := w.Header()
	h["Content-Type"] = []string{"text/event-stream"}
	h["Cache-Control"] = []string{"no-cache"}
	w.WriteHeader(200)
	return http.NewResponseController(w)
}

// bufPool holds buffers for encoding frames, as values of type *[]byte.
var bufPool = sync.Pool{New: func() any { b := make([]byte, 0, 1024); return &b }}

// sse writes a frame to w, with v as JSON in its data, and flushes it with rc. The frame has the
// given id, or no id if id is negative. sse returns the first error from encoding, writing or
// flushing.
func sse(w http.ResponseWriter, rc *http.ResponseController, id int, v any) error {
	j, err := json.Marshal(v)
	if err != nil {
		return err
	}
	bp := bufPool.Get().(*[]byte)
	b := (*bp)[:0]
	if id >= 0 {
		b = append(b, "id: "...)
		b = strconv.AppendInt(b, int64(id), 10)
		b = append(b, '\n')
	}
	b = append(b, "data: "...)
	b = append(b, j...)
	b = append(b, '\n', '\n')
	_, err = w.Write(b)
	*bp = b
	bufPool.Put(bp)
	if err != nil {
		return err
	}
	return rc.Flush()
}

// read decodes the body of r and returns it and true. If the body is malformed or larger than 1
// MiB, read responds with status 400. If the last message does not contain "hello", or there is no
// message, it responds with status 404. After an error response, it returns nil and false.
func read(w http.ResponseWriter, r *http.Request) (*RunAgentInput, bool) {
	b, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
	var in RunAgentInput
	if err == nil {
		err = json.Unmarshal(b, &in)
	}
	if err != nil {
		http.Error(w, `{"error":"bad input"}`, 400)
		return nil, false
	}
	if n := len(in.Messages); n == 0 || !strings.Contains(in.Messages[n-1].Content, "hello") {
		http.Error(w, `{"error":"no match"}`, 404)
		return nil, false
	}
	return &in, true
}

// The journal and the metrics of POST /agui-id. The ring jrn holds the bodies of the latest
// requests, of type *RunAgentInput, and jn is the number of bodies added to it; jmu protects both.
// The number of requests is in reqs.
var (
	jmu  sync.Mutex
	jrn  [1000]any
	jn   int
	reqs atomic.Int64
)

func main() {
	addr := flag.String("addr", "127.0.0.1:7101", "")
	gogc := flag.Int("gogc", 100, "")
	raw := flag.String("raw", "", "also listen raw TCP here")
	flag.Parse()
	debug.SetGCPercent(*gogc)
	for _, e := range script(&RunAgentInput{ThreadID: "t", RunID: "r"}) {
		j, _ := json.Marshal(e)
		b := []byte("data: " + string(j) + "\n\n")
		pre = append(pre, b)
		preAll = append(preAll, b...)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /agui", func(w http.ResponseWriter, r *http.Request) {
		in, ok := read(w, r)
		if !ok {
			return
		}
		rc := head(w)
		for _, e := range script(in) {
			e.Timestamp = time.Now().UnixMilli()
			if sse(w, rc, -1, e) != nil {
				return
			}
		}
	})
	mux.HandleFunc("POST /agui-id", func(w http.ResponseWriter, r *http.Request) {
		in, ok := read(w, r)
		if !ok {
			return
		}
		rc := head(w)
		for i, e := range script(in) {
			e.Timestamp = time.Now().UnixMilli()
			if sse(w, rc, i, e) != nil {
				return
			}
		}
		reqs.Add(1)
		jmu.Lock()
		jrn[jn%len(jrn)] = in
		jn++
		jmu.Unlock()
	})
	// as /agui, but events with no delay between them are coalesced into one Write + Flush
	mux.HandleFunc("POST /agui-co", func(w http.ResponseWriter, r *http.Request) {
		in, ok := read(w, r)
		if !ok {
			return
		}
		rc := head(w)
		bp := bufPool.Get().(*[]byte)
		b := (*bp)[:0]
		for _, e := range script(in) {
			e.Timestamp = time.Now().UnixMilli()
			j, _ := json.Marshal(e)
			b = append(b, "data: "...)
			b = append(b, j...)
			b = append(b, '\n', '\n')
		}
		w.Write(b)
		rc.Flush()
		*bp = b
		bufPool.Put(bp)
	})
	mux.HandleFunc("POST /pre", func(w http.ResponseWriter, r *http.Request) {
		if _, ok := read(w, r); !ok {
			return
		}
		rc := head(w)
		for _, b := range pre {
			if _, err := w.Write(b); err != nil {
				return
			}
			rc.Flush()
		}
	})
	mux.HandleFunc("POST /one", func(w http.ResponseWriter, r *http.Request) {
		if _, ok := read(w, r); !ok {
			return
		}
		rc := head(w)
		w.Write(preAll)
		rc.Flush()
	})
	type delta struct {
		Role    string `json:"role,omitempty"`
		Content string `json:"content,omitempty"`
	}
	type choice struct {
		Index  int     `json:"index"`
		Delta  delta   `json:"delta"`
		Finish *string `json:"finish_reason"`
	}
	type chunk struct {
		ID      string   `json:"id"`
		Object  string   `json:"object"`
		Created int64    `json:"created"`
		Model   string   `json:"model"`
		Choices []choice `json:"choices"`
	}
	mux.HandleFunc("POST /v1/chat/completions", func(w http.ResponseWriter, r *http.Request) {
		in, ok := read(w, r)
		if !ok {
			return
		}
		_ = in
		rc := head(w)
		now := time.Now().Unix()
		mk := func(d delta, fin *string) chunk {
			return chunk{"chatcmpl-1", "chat.completion.chunk", now, "gpt-4o", []choice{{0, d, fin}}}
		}
		sse(w, rc, -1, mk(delta{Role: "assistant"}, nil))
		for i := 0; i < 9; i++ {
			if sse(w, rc, -1, mk(delta{Content: "some words of text .."}, nil)) != nil {
				return
			}
		}
		stop := "stop"
		sse(w, rc, -1, mk(delta{}, &stop))
		io.WriteString(w, "data: [DONE]\n\n")
		rc.Flush()
	})
	mux.HandleFunc("POST /paced", func(w http.ResponseWriter, r *http.Request) {
		in, ok := read(w, r)
		if !ok {
			return
		}
		n, _ := strconv.Atoi(r.URL.Query().Get("n"))
		m, _ := strconv.Atoi(r.URL.Query().Get("ms"))
		rc := head(w)
		start := time.Now()
		t := time.NewTimer(0)
		defer t.Stop()
		for i := 0; i < n; i++ {
			if d := time.Until(start.Add(time.Duration(i*m) * time.Millisecond)); d > 0 {
				t.Reset(d)
				select {
				case <-t.C:
				case <-r.Context().Done():
					return
				}
			}
			if sse(w, rc, i, Event{Type: "TEXT_MESSAGE_CONTENT", MessageID: in.RunID, Delta: "some words of text ", Timestamp: time.Now().UnixMilli()}) != nil {
				return
			}
		}
	})
	type item struct {
		ID    int      `json:"id"`
		Name  string   `json:"name"`
		Tags  []string `json:"tags"`
		Price float64  `json:"price"`
	}
	items := []item{{1, "alpha", []string{"a", "b"}, 1.5}, {2, "beta", []string{"c"}, 2.5}, {3, "gamma", []string{"d", "e"}, 3.5}}
	mux.HandleFunc("GET /json", func(w http.ResponseWriter, r *http.Request) {
		w.Header()["Content-Type"] = []string{"application/json"}
		j, _ := json.Marshal(items)
		w.Write(j)
	})
	// floor: raw TCP, minimal HTTP/1.1 request framing, one pre-encoded chunked response per request
	if *raw != "" {
		rl, err := net.Listen("tcp", *raw)
		if err != nil {
			panic(err)
		}
		resp := []byte("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
		each := [][]byte{}
		for _, p := range pre {
			c := append([]byte(fmt.Sprintf("%x\r\n", len(p))), p...)
			c = append(c, '\r', '\n')
			each = append(each, c)
			resp = append(resp, c...)
		}
		resp = append(resp, "0\r\n\r\n"...)
		go func() {
			for {
				c, err := rl.Accept()
				if err != nil {
					return
				}
				go func() {
					defer c.Close()
					br := bufio.NewReaderSize(c, 4096)
					for {
						n := 0
						for {
							l, err := br.ReadSlice('\n')
							if err != nil {
								return
							}
							if len(l) <= 2 {
								break
							}
							if len(l) > 16 && strings.EqualFold(string(l[:15]), "content-length:") {
								n, _ = strconv.Atoi(strings.TrimSpace(string(l[15:])))
							}
						}
						br.Discard(n)
						if _, err := c.Write(resp); err != nil {
							return
						}
					}
				}()
			}
		}()
	}
	ln, err := net.Listen("tcp", *addr)
	if err != nil {
		panic(err)
	}
	fmt.Printf("listening http://%s\n", ln.Addr())
	panic((&http.Server{Handler: mux}).Serve(ln))
}
