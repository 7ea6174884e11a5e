package transcript

import (
	"reflect"
	"strings"
	"testing"

	"github.com/streamassay/streamassay/spec"
)

// Reads end where they ended; one that ended inside a secret ends after it.
func TestRedactedReads(t *testing.T) {
	hide := newRedactor(&Transcript{Secrets: []string{"abc", "cde"}})
	reads := []spec.Read{{End: 1}, {End: 3}, {End: 6}, {End: 8}, {End: 9}, {End: 14}}
	body, got := hide.body([]byte("--abc-_abcde--"), reads)
	if string(body) != "--REDACTED-_REDACTED--" {
		t.Errorf("body: %s", body)
	}
	//                        -      inside      -_       inside    inside    the end
	want := []spec.Read{{End: 1}, {End: 10}, {End: 11}, {End: 20}, {End: 20}, {End: 22}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("reads: %v, not %v", got, want)
	}
	if reads[1].End != 3 {
		t.Error("the reads of the conversation itself have changed")
	}
	whole := []byte("nothing to hide")
	if same, _ := hide.body(whole, nil); &same[0] != &whole[0] {
		t.Error("a body without secrets was copied")
	}
}

// What the reader concludes from a head is concluded from the head as written.
func TestRedactedFraming(t *testing.T) {
	tr := &Transcript{Redact: []string{"Transfer-Encoding"}}
	tr.Trace.Exchanges = []spec.Exchange{{Response: spec.Response{
		Proto: "HTTP/1.1", Status: 200, Framing: spec.FramingChunked, Header: spec.Header{{Name: "Transfer-Encoding", Value: "chunked"}},
	}}}
	again, err := Parse("x", Format(tr))
	if err != nil || again.Trace.Exchanges[0].Response.Framing != spec.FramingChunked {
		t.Errorf("%+v, %v", again, err)
	}
}

// A head says how its body is framed (RFC 9112 section 6.3), so far as it is whole.
func TestEvidentFraming(t *testing.T) {
	for head, want := range map[string]spec.Framing{
		"HTTP/1.1 200 OK\n":                                                spec.FramingUnknown,
		"HTTP/1.1 200 OK\nContent-Length: 3\n":                             spec.FramingLength,
		"HTTP/1.1 200 OK\nContent-Length: 3\nTransfer-Encoding: chunked\n": spec.FramingChunked,
		"HTTP/1.1 200 OK\nTransfer-Encoding: gzip\n":                       spec.FramingClose,
		"HTTP/1.1 200 OK\nTransfer-Encoding: chunked, gzip\n":              spec.FramingClose,
		"HTTP/1.1 204 No Content\nTransfer-Encoding: chunked\n":            spec.FramingNone,
		"HTTP/1.1 101 Switching Protocols\n":                               spec.FramingNone,
		"HTTP/2 200\n":                                                     spec.FramingHTTP2,
		":@ framing unknown\nHTTP/2 200\n":                                 spec.FramingUnknown,
		":@ framing close\nHTTP/1.1 200 OK\nContent-Length: 3\n":           spec.FramingClose,
	} {
		tr, err := Parse("x", []byte("\ufeff-- 1.request --\nGET /x\n-- 1.response --\n"+head))
		if err != nil {
			t.Errorf("%q: %v", head, err)
			continue
		}
		if got := tr.Trace.Exchanges[0].Response.Framing; got != want {
			t.Errorf("%q: %q, not %q", head, got, want)
		}
	}
}

// An error repeats no more of a file than a reader can take in.
func TestErrorsAreShort(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	for _, in := range []string{
		long + ":\n", strings.ToLower(long) + ": y\n" + ok, "-- " + long + " --\n", "-- 1.request --\n" + long + "\n-- 1.response --\n",
		answer + long + "\n", answer + "HTTP/1.1 200 OK\n" + long + "\n", answer + "HTTP/1.1 200 OK\n\n:@ " + long + "\n",
		answer + "HTTP/1.1 200 OK\n\n:@ cut " + long + "\n", answer + "HTTP/1.1 200 OK\n\n:@ raw " + long + "\n",
	} {
		if _, err := Parse("some.txtar", []byte(in)); err == nil || len(err.Error()) > 500 {
			t.Errorf("%.600v", err)
		}
	}
	if _, err := parseCurl("some.http", []byte(long), curlRun{}); err == nil || len(err.Error()) > 500 {
		t.Errorf("%.600v", err)
	}
}
