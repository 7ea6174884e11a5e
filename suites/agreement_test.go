package suites_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/streamassay/streamassay/internal/rules"
	"github.com/streamassay/streamassay/internal/sse"
	"github.com/streamassay/streamassay/internal/transcript"
	"github.com/streamassay/streamassay/internal/wire"
	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
)

// folders maps each folder of recordings of other servers to the dialect in which they are judged.
var folders = map[string]string{
	"agentscope/1.1.5": "agentscope@1.1", "agentscope/1.1.5-text": "agentscope@1.1", "agentscope/0.1.6": "agentscope@0.1",
	"agentscope-java/1.0.0": "agentscope-java@1.0", "agentscope-java/1.0.0-unpaced": "agentscope-java@1.0",
	"agentscope-java/0.1.1-classes": "agentscope-java@0.1", "agkit/cloudbase-agent-server-0.1.1": "agkit@0.0.10",
	"agkit/cloudbase-agent-server-0.1.1+langgraph-adapter-0.1.1": "agkit@0.0.10",
}

// corpus returns all recorded conversations in the test data of the project.
func corpus(t *testing.T) (all []*transcript.Transcript) {
	const data = "../internal/rules/testdata"
	files, _ := filepath.Glob(data + "/*.txtar")
	list, err := transcript.OpenAll(files)
	if err != nil {
		t.Fatal(err)
	}
	all = list
	for folder, name := range folders {
		files, _ := filepath.Glob(filepath.Join(data, "recordings", folder, "*.http"))
		list, err := transcript.OpenAll(files)
		if err != nil {
			t.Fatal(err)
		}
		for _, tr := range list {
			tr.Dialect = name
			all = append(all, tr)
		}
	}
	return all
}

// TestDriversAgree checks that a recording and a live conversation with the same bytes lead to the
// same verdicts and findings, at the same events and positions.
func TestDriversAgree(t *testing.T) {
	t.Parallel()
	var replayed, findings atomic.Int64
	var wait sync.WaitGroup
	var mu sync.Mutex
	var again []*transcript.Transcript
	limit := make(chan struct{}, 8) // most of the time a replay waits, as the server did; more would be late
	for _, tr := range corpus(t) {
		if why := unplayable(tr); why != "" {
			t.Logf("%s is not replayed: %s", tr.Name, why)
			continue
		}
		wait.Go(func() {
			limit <- struct{}{}
			defer func() { <-limit }()
			read, live := readAndLive(t, tr)
			if !slices.Equal(read, live) {
				mu.Lock()
				defer mu.Unlock()
				again = append(again, tr)
			}
			replayed.Add(1)
			findings.Add(int64(len(slices.DeleteFunc(read, func(s string) bool { return !strings.HasPrefix(s, "finding") }))))
		})
	}
	wait.Wait()
	for _, tr := range again { // a busy machine sends requests too late for some checks to judge them
		var read, live []string
		for range 3 {
			if read, live = readAndLive(t, tr); slices.Equal(read, live) {
				break
			}
		}
		if !slices.Equal(read, live) {
			t.Errorf("%s: read and live differ:\n%s", filepath.Base(tr.Name), difference(read, live))
		}
	}
	t.Logf("%d conversations were replayed, with %d findings", replayed.Load(), findings.Load())
	if replayed.Load() < 400 || findings.Load() < 150 {
		t.Errorf("only %d conversations were replayed, with %d findings", replayed.Load(), findings.Load())
	}
}

// readAndLive returns the conclusions from a recorded conversation, and those from a replay of it.
func readAndLive(t *testing.T, tr *transcript.Transcript) (read, live []string) {
	d, err := dialect.Open(tr.Dialect)
	if err != nil {
		t.Errorf("%s: %v", tr.Name, err)
		return nil, nil
	}
	tr.StripBasePath(d.Base)
	trace, err := replay(t, d, tr)
	if err != nil {
		t.Errorf("%s: %v", tr.Name, err)
	}
	return conclusions(d, tr.Trace), conclusions(d, trace)
}

// unplayable returns the reason why a recorded conversation cannot be replayed, or "" if it can.
func unplayable(tr *transcript.Transcript) string {
	if base := filepath.Base(tr.Name); strings.HasPrefix(base, "script-bad-slow") || strings.HasPrefix(base, "script-bad-idle") {
		return "it is about what comes too early, and a busy machine sends it later"
	}
	for _, x := range tr.Trace.Exchanges {
		switch {
		case x.Request.Method == "":
			return "nobody wrote down what was asked"
		case strings.Contains(x.Request.Target, "://"):
			return "it asks another host for a link"
		case x.Response.Status == 0 && errors.Is(x.Response.End, spec.ErrNotHTTP):
			return "what came was not HTTP, and nobody wrote it down"
		case x.Response.Status > 0 && errors.Is(x.Response.End, spec.ErrClientLeft) && frames(x.Response.Body) == 0:
			return "the client left before the first event"
		case errors.Is(x.Response.End, spec.ErrLimitExceeded):
			return "it never ended"
		case errors.Is(x.Response.End, spec.ErrStillOpen), errors.Is(x.Response.End, spec.ErrLeftAfterEnd):
			return "the client left some time after the end of the run"
		case x.Response.Status/100 == 1:
			return "it was never answered"
		}
	}
	return ""
}

func frames(body []byte) (n int) {
	for item := range sse.NewDecoder(0).Feed(body) {
		if item.Kind == sse.Event {
			n++
		}
	}
	return n
}

var durations = regexp.MustCompile(`[0-9.]+(µs|ms|s)\b`)

// conclusions returns the verdicts and findings of all checks for a conversation, one line each,
// without durations.
func conclusions(d *dialect.Dialect, trace spec.Trace) (all []string) {
	h := spec.Run(d.Plan(rules.All), d.Events(trace), nil)
	for _, r := range spec.RequireCompleteExchange([]spec.Evaluation{h})[0].Results {
		all = append(all, fmt.Sprintf("%s is %s by %d judgements", r.PlannedCheck.Check.ID, r.Verdict, r.Judged))
		for _, f := range r.Findings {
			e := f.Event
			all = append(all, fmt.Sprintf("finding of %s: exchange %d event %d line %d offset %d: %s",
				r.PlannedCheck.Check.ID, e.Exchange, e.Frame, e.Line, e.Offset, durations.ReplaceAllString(f.Message, "T")))
		}
	}
	return all
}

func difference(a, b []string) string {
	var lines []string
	for _, s := range a {
		if !slices.Contains(b, s) {
			lines = append(lines, "read  "+s)
		}
	}
	for _, s := range b {
		if !slices.Contains(a, s) {
			lines = append(lines, "live  "+s)
		}
	}
	return strings.Join(lines, "\n")
}

// replay sends the requests of a recorded conversation again, to a server that responds as
// recorded, and returns the new recording.
func replay(t *testing.T, d *dialect.Dialect, tr *transcript.Transcript) (spec.Trace, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return spec.Trace{}, err
	}
	defer ln.Close()
	next := make(chan int, 1)
	go func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			go answer(conn, tr, <-next)
		}
	}()
	base, _ := url.Parse("http://" + ln.Addr().String() + d.Base)
	client, err := wire.NewClient(wire.Config{Base: base, IdleTimeout: eventSizeGuard(tr)})
	if err != nil {
		return spec.Trace{}, err
	}
	heard := spec.Trace{TargetFacts: tr.Trace.TargetFacts, Exchanges: make([]spec.Exchange, len(tr.Trace.Exchanges))}
	began := time.Now()
	var under sync.WaitGroup
	for i, x := range tr.Trace.Exchanges {
		if !meanwhile(tr.Trace.Exchanges[:i], x) {
			under.Wait()
		}
		if ahead := x.At - time.Since(began); ahead > 0 {
			<-time.After(ahead)
		}
		limit := wire.StopWhen{}
		if errors.Is(x.Response.End, spec.ErrClientLeft) {
			if limit.Frames = frames(x.Response.Body); x.Response.Status == 0 {
				limit.Elapsed = 100 * time.Millisecond
			}
		}
		next <- i
		under.Go(func() {
			got, err := client.Do(t.Context(), x.Request, limit)
			if err != nil {
				t.Error(err)
			}
			if x.Response.Arrivals == nil { // nobody timed the recording
				got.Response.Arrivals = nil
			}
			if x.At == 0 {
				got.At = 0
			}
			heard.Exchanges[i] = got
		})
	}
	under.Wait()
	return heard, nil
}

// meanwhile reports whether x was requested while the response of an earlier exchange was still
// arriving. before holds the earlier exchanges.
func meanwhile(before []spec.Exchange, x spec.Exchange) bool {
	return slices.ContainsFunc(before, func(y spec.Exchange) bool {
		reads := y.Response.Arrivals
		return len(reads) > 0 && y.At+reads[len(reads)-1].At > x.At && x.At > 0
	})
}

// eventSizeGuard returns an idle timeout for the replay of tr that is longer than any pause in the
// recording.
func eventSizeGuard(tr *transcript.Transcript) time.Duration {
	longest := time.Duration(0)
	for _, cues := range tr.Playback {
		for _, cue := range cues {
			if pause, err := time.ParseDuration(cue.Argument); err == nil && cue.Directive == "wait" {
				longest = max(longest, pause)
			}
		}
	}
	return longest + 1500*time.Millisecond
}

// answer reads a request from conn and sends the recorded response of exchange i, with its pauses
// and its kind of end. It closes conn.
func answer(conn net.Conn, tr *transcript.Transcript, i int) {
	defer conn.Close()
	r := bufio.NewReader(conn)
	req, err := http.ReadRequest(r)
	if err != nil {
		return
	}
	_, _ = io.Copy(io.Discard, req.Body)
	x := tr.Trace.Exchanges[i].Response
	chunked, length := false, false
	if x.Status > 0 {
		chunked, length = head(conn, x, req.Method)
	}
	for _, cue := range tr.Playback[i] {
		switch {
		case cue.Directive == "wait":
			pause, _ := time.ParseDuration(cue.Argument)
			<-time.After(pause)
		case len(cue.Data) > 0 && chunked:
			fmt.Fprintf(conn, "%x\r\n%s\r\n", len(cue.Data), cue.Data)
		case len(cue.Data) > 0 && length:
			_, _ = conn.Write(cue.Data)
		}
	}
	switch {
	case errors.Is(x.End, spec.ErrClientLeft) || errors.Is(x.End, spec.ErrIdleTimeout):
		_, _ = io.Copy(io.Discard, r) // until the client hangs up
	case errors.Is(x.End, spec.ErrReset):
		<-time.After(50 * time.Millisecond) // or what was said is lost on the way
		_ = conn.(*net.TCPConn).SetLinger(0)
	case errors.Is(x.End, spec.ErrTruncated):
	case chunked:
		_, _ = io.WriteString(conn, "0\r\n\r\n")
	}
}

// head writes the status line and the header fields of x, with a framing that can end as recorded.
// chunked and plain report whether the body must be sent in chunks or unchanged; both are false if
// there is no body.
func head(w io.Writer, x spec.Response, method string) (chunked, plain bool) {
	proto := x.Proto
	if !strings.HasPrefix(proto, "HTTP/1.") {
		proto = "HTTP/1.1"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s %d %s\r\n", proto, x.Status, x.Reason)
	bodyless := method == "HEAD" || x.Status == 204 || x.Status == 304
	for _, f := range x.Header {
		if name := strings.ToLower(f.Name); name != "content-length" && name != "transfer-encoding" {
			fmt.Fprintf(&b, "%s: %s\r\n", f.Name, f.Value)
		}
	}
	switch {
	case bodyless:
	case proto == "HTTP/1.0" || x.Framing == spec.FramingClose && x.End == nil:
		plain = true
	case x.End != nil || x.Framing == spec.FramingChunked || x.Header.MediaType() == spec.EventStream:
		chunked = true
		b.WriteString("Transfer-Encoding: chunked\r\n")
	default:
		plain = true
		fmt.Fprintf(&b, "Content-Length: %d\r\n", len(x.Body))
	}
	_, _ = io.WriteString(w, b.String()+"\r\n")
	return chunked, plain
}
