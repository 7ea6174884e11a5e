package reference

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/onsi/gomega"
	"github.com/onsi/gomega/gleak"

	"github.com/streamassay/streamassay/spec"
)

// TestCutsEverywhere checks that each of a hundred clients receives every event of a long run once
// and in order, although each loses its connection at random positions, during the run and
// afterwards, and resumes.
func TestCutsEverywhere(t *testing.T) {
	const deltas, readers = 10_000, 100
	good := gleak.Goroutines()
	s := New(mustDialect(t, "runs@2026-04"), Scripted, Config{})
	srv := httptest.NewServer(s)
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: readers}}
	r := &reader{t: t, client: client, base: srv.URL + s.dialect.Base, s: s}
	r.post(fmt.Sprint("conformance:many ", deltas))
	done := make(chan error, readers)
	for i := range readers {
		go func() { done <- r.readRun(rand.New(rand.NewPCG(7, uint64(i))), deltas) }()
	}
	for range readers {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	client.CloseIdleConnections()
	srv.Close()
	if err := s.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	gomega.NewWithT(t).Eventually(gleak.Goroutines, 10*time.Second).ShouldNot(gleak.HaveLeaked(good))
}

// A reader is a client that reads the stream of the run run-1 of the first thread.
type reader struct {
	t      *testing.T
	client *http.Client
	base   string
	s      *Server
}

func (r *reader) do(ctx context.Context, req spec.Request) (*http.Response, error) {
	out, err := http.NewRequestWithContext(ctx, req.Method, r.base+req.Target, strings.NewReader(string(req.Body)))
	if err != nil {
		return nil, err
	}
	for _, f := range req.Header {
		out.Header.Set(f.Name, f.Value)
	}
	out.Header.Set("Authorization", "Bearer ada")
	return r.client.Do(out)
}

func (r *reader) post(text string) {
	req, err := r.s.dialect.BuildRequest("prompt", spec.Event{Thread: firstThread, Run: "run-1", Text: text})
	if err != nil {
		r.t.Fatal(err)
	}
	res, err := r.do(r.t.Context(), req)
	if err != nil || res.StatusCode != http.StatusAccepted {
		r.t.Fatal(res, err)
	}
	res.Body.Close()
}

// readRun reads the stream of the whole run. It cuts the connection after random numbers of deltas
// and resumes. It returns an error unless it has read exactly the given number of deltas.
func (r *reader) readRun(dice *rand.Rand, deltas int) error {
	heard, last := 0, ""
	for cuts := 0; ; cuts++ {
		most := 1 + dice.IntN(deltas/4)
		cursor, n, over, err := r.readPiece(last, heard, most)
		if err != nil {
			return fmt.Errorf("after %d cuts and %d deltas: %w", cuts, heard, err)
		}
		if last, heard = cursor, heard+n; over {
			if heard != deltas {
				return fmt.Errorf("%d deltas in all", heard)
			}
			return nil
		}
	}
}

// readPiece reads up to most deltas of the stream after cursor and cuts the connection. It checks
// that each is the next one, where before is the number of deltas read earlier. It returns the
// cursor of the last event, the number of deltas read, and whether the run has ended.
func (r *reader) readPiece(cursor string, before, most int) (last string, n int, over bool, err error) {
	ctx, cut := context.WithTimeout(r.t.Context(), time.Minute)
	defer cut()
	req, err := r.s.dialect.BuildRequest("listen", spec.Event{Thread: firstThread, Run: "run-1", Cursor: cursor})
	if err != nil {
		return cursor, 0, false, err
	}
	res, err := r.do(ctx, req)
	if err != nil {
		return cursor, 0, false, err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return cursor, 0, false, fmt.Errorf("status %s", res.Status)
	}
	last = cursor
	id := ""
	for in := bufio.NewScanner(res.Body); n < most && in.Scan(); {
		line := in.Text()
		switch {
		case strings.HasPrefix(line, "id: "):
			id = line[4:]
		case line == "" && id != "": // the event is complete
			last, id = id, ""
		case strings.Contains(line, `"TEXT_MESSAGE_CONTENT"`):
			if n++; !strings.Contains(line, fmt.Sprintf(`"delta":"%d "`, before+n)) {
				return last, n, false, fmt.Errorf("delta %d is %s", before+n, line)
			}
			if n == most {
				last = id // received, whether or not the rest of the piece is
			}
		case strings.Contains(line, `"RUN_FINISHED"`):
			over = true
		}
	}
	return last, n, over, nil
}
