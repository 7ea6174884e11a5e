package fault_test

import (
	"compress/gzip"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/streamassay/streamassay/internal/fault"
)

// sent contains the frames of a short stream: four frames with data, and a comment.
var sent = []string{"id: 1\ndata: {\"a\":1}\n\n", "data: {\"b\":\"€\"}\n\n", ": hm\n\n", "id: 3\ndata: {\"c\":3}\n\n", "id: 4\ndata: {\"d\":4}\n\n"}

// wireCases lists the segments in which each fault sends the frames in sent, one frame per second,
// and how the fault ends the stream. If neither is given, the frames are sent unchanged.
var wireCases = []struct {
	use      string
	segments []string
	ending   fault.StreamEnd
	took     time.Duration // 0: five seconds
}{
	{use: "clean-end; event=2", segments: sent[:3], ending: fault.Clean, took: 3 * time.Second},
	{use: "abort; event=0", segments: nil, ending: fault.Abort, took: -1},
	{use: "abort; event=100"},
	{use: "abort; byte=25", segments: []string{sent[0], "data"}, ending: fault.Abort, took: time.Second},
	{use: "abort; byte=0", ending: fault.Abort, took: -1},
	{use: "abort; time=2500ms", segments: sent[:3], ending: fault.Abort, took: 3 * time.Second},
	{use: "abort-late", segments: sent, ending: fault.Abort},
	{use: "reset; event=1", segments: sent[:1], ending: fault.Reset, took: time.Second},
	{use: "torn; event=1", segments: []string{sent[0], "data: {\"b"}, ending: fault.Torn, took: time.Second},
	{use: "torn; event=0", segments: []string{"id: 1\ndata: {"}, ending: fault.Torn, took: -1},
	{use: "torn; byte=21", segments: []string{sent[0]}, ending: fault.Torn, took: time.Second},
	{use: "torn-utf8; event=1", segments: []string{sent[0], "data: {\"b\":\"\xe2"}, ending: fault.Torn, took: time.Second},
	{use: "torn-utf8; event=0", segments: []string{"id: 1\ndata: {\"a\xe2\x82"}, ending: fault.Torn, took: -1},
	{use: "stall; event=2", segments: sent[:3], ending: fault.Stall, took: 3 * time.Second},
	{use: "stall; time=1s", segments: sent[:1], ending: fault.Stall, took: time.Second},
	{use: "stall; event=2; for=7s", took: 12 * time.Second},
	{use: "stall; time=1500ms; for=7s", took: 12 * time.Second},
	{use: "drip; bytes=8; every=1s; event=3", segments: append(slices.Clone(sent[:4]), "id: 4\nda", "ta: {\"d\"", ":4}\n\n"), took: 8 * time.Second},
	{use: "drip; bytes=10; every=1s; byte=5; for=10", segments: []string{"id: 1", "\ndata: {\"a", "\":1}\n\n", sent[1], sent[2], sent[3], sent[4]}, took: 6 * time.Second},
	{use: "split; at=1 -1; every=0s; event=3", segments: append(slices.Clone(sent[:4]), "i", "d: 4\ndata: {\"d\":4}\n", "\n")},
	{use: "split; bytes=15; every=0s; event=3", segments: append(slices.Clone(sent[:4]), "id: 4\ndata: {\"d", "\":4}\n\n")},
	{use: "together; events=2", segments: []string{sent[0] + sent[1], sent[2] + sent[3] + sent[4]}},
	{use: "together; events=2; event=1", segments: []string{sent[0], sent[1] + sent[2] + sent[3], sent[4]}},
	{use: "gathered", segments: []string{strings.Join(sent, "")}},
	{use: "no-last-blank-line", segments: []string{sent[0][:len(sent[0])-1], "\n" + sent[1][:len(sent[1])-1], "\n" + sent[2], sent[3][:len(sent[3])-1], "\n" + sent[4][:len(sent[4])-1]}},
	{use: "garbage; event=2; bytes=4", segments: []string{sent[0], sent[1], sent[2], "data: \u0000\n\n" + sent[3], sent[4]}},
	{use: "oversize; event=3; bytes=30", segments: append(slices.Clone(sent[:4]), "id: 4\ndata: "+strings.Repeat(" ", 9)+"{\"d\":4}\n\n")},
	{use: "oversize; event=3; bytes=21"}, // the size of the event
	{use: "oversize; event=3; bytes=9"},
	{use: "linger; for=7s", took: 12 * time.Second},
	{use: "no-keep-alive", segments: slices.Delete(slices.Clone(sent), 2, 3)},
	{use: "other-keep-alive", segments: []string{sent[0], sent[1], ": still here\n\n", sent[3], sent[4]}},
	{use: "cursor-missing", segments: []string{"data: {\"a\":1}\n\n", sent[1], sent[2], "data: {\"c\":3}\n\n", "data: {\"d\":4}\n\n"}},
	{use: "cursor-missing; event=3", segments: append(slices.Clone(sent[:4]), "data: {\"d\":4}\n\n")},
	{use: "cursor-repeated", segments: []string{sent[0], sent[1], sent[2], "id: 1\ndata: {\"c\":3}\n\n", sent[4]}},
	{use: "cursor-repeated; event=3", segments: append(slices.Clone(sent[:4]), "id: 3\ndata: {\"d\":4}\n\n")},
	{use: "told-differently; event=3", segments: append(slices.Clone(sent[:4]), "id: 4\ndata: {\"d\":4,\"toldBefore\":true}\n\n")},
	{use: "redirect", ending: fault.Clean, took: -1},
}

func TestTravels(t *testing.T) {
	for _, c := range wireCases {
		t.Run(c.use, func(t *testing.T) {
			w := &recordingWriter{}
			effect, hasApplied := newReportingEffect(t, c.use)
			w.send(effect.WrapBody(w), time.Second, sent...)
			if isSame := slices.Equal(w.segments, sent) && w.ending == "" && w.now == 5*time.Second; hasApplied() == isSame &&
				c.use != "redirect" { // which reports that it changes the head
				t.Errorf("it reports a change: %v; the stream is the same: %v", !isSame, isSame)
			}
			want, took := c.segments, max(c.took, 0)
			if want == nil && c.ending == "" {
				want = sent
			}
			if c.took == 0 {
				took = 5 * time.Second
			}
			if strings.HasPrefix(c.use, "garbage") { // which bytes is up to the seed
				noise := strings.TrimSuffix(strings.TrimPrefix(w.segments[3], "data: "), "\n\n"+sent[3])
				if len(noise) != 4 || strings.ContainsFunc(noise, func(r rune) bool { return r < 0x80 }) {
					t.Errorf("the noise is %q", noise)
				}
				w.segments[3] = want[3]
			}
			if !slices.Equal(w.segments, want) {
				t.Errorf("it sends %q, want %q", w.segments, want)
			}
			if w.ending != c.ending || w.now != took {
				t.Errorf("it ends with %q after %v, want %q after %v", w.ending, w.now, c.ending, took)
			}
		})
	}
}

// TestAnywhere checks that a fault without a trigger is injected early in the stream, at a position
// that the seed determines, or at the end of a shorter stream.
func TestAnywhere(t *testing.T) {
	seen := map[int]bool{}
	for seed := range uint64(20) {
		n := endOffset(t, seed)
		if n < 1 || n > 3 || n != endOffset(t, seed) {
			t.Errorf("seed %d cuts after %d, and after %d", seed, n, endOffset(t, seed))
		}
		seen[n] = true
	}
	if len(seen) < 3 {
		t.Errorf("it is cut only after %v", seen)
	}
	w := &recordingWriter{}
	w.send(newEffect(t, "abort").WrapBody(w), 0, sent[0])
	if w.ending != fault.Abort || w.sent() != sent[0] {
		t.Errorf("%q ends with %q", w.sent(), w.ending)
	}
}

func endOffset(t *testing.T, seed uint64) int {
	uses, err := fault.Parse("abort")
	if err != nil {
		t.Fatal(err)
	}
	w := &recordingWriter{}
	w.send(uses[0].NewEffect(fault.ResponseContext{Rand: rand.New(rand.NewPCG(seed, 0)), Applied: func() {}}).WrapBody(w), 0, sent[0], sent[1], sent[3], sent[4])
	return len(w.segments)
}

// TestNothingLeftToChange checks that a fault that comes after the last frame of a short stream reports
// a change only if it makes one.
func TestNothingLeftToChange(t *testing.T) {
	for use, want := range map[string]bool{"clean-end": false, "oversize": false, "abort": true, "garbage": true, "stall; for=1s": true} {
		w := &recordingWriter{}
		effect, hasApplied := newReportingEffect(t, use)
		w.send(effect.WrapBody(w), 0, sent[0])
		if hasApplied() != want || !strings.HasPrefix(w.sent(), sent[0]) {
			t.Errorf("%s: it sends %q and reports a change: %v; want %v", use, w.sent(), hasApplied(), want)
		}
	}
}

// TestGzip checks that the gzip fault compresses a stream if it has set Content-Encoding, also if
// another fault has changed the content type, and that it does not change a stream whose head was
// sent before.
func TestGzip(t *testing.T) {
	for _, contentType := range []string{"text/event-stream", "text/plain", ""} {
		w, h := &recordingWriter{}, fault.ResponseHead{Status: 200, Header: http.Header{"Content-Type": {contentType}}}
		effect := newEffect(t, "gzip")
		effect.OnHead(&h)
		w.send(effect.WrapBody(w), 0, sent...)
		z, err := gzip.NewReader(strings.NewReader(w.sent()))
		if err != nil {
			t.Fatal(err)
		}
		out, err := io.ReadAll(z)
		if err != nil || string(out) != strings.Join(sent, "") || len(w.segments) < len(sent) {
			t.Errorf("%q in %d segments: %v", out, len(w.segments), err)
		}
		if got := h.Header.Get("Content-Encoding"); got != "gzip" {
			t.Errorf("Content-Type %q: Content-Encoding %q, want gzip", contentType, got)
		}
	}
	w := &recordingWriter{}
	effect, hasApplied := newReportingEffect(t, "gzip")
	w.send(effect.WrapBody(w), 0, sent...)
	if w.sent() != strings.Join(sent, "") || hasApplied() {
		t.Errorf("after the head, it sends %q and reports a change: %v", w.sent(), hasApplied())
	}
}
