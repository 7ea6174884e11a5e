package transcript

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/streamassay/streamassay/internal/redact"
	"github.com/streamassay/streamassay/spec"
)

// TestRedactedBodyKeepsItsOffsets checks that a redacted body keeps its size, so that offsets,
// lines and Content-Length stay valid.
func TestRedactedBodyKeepsItsOffsets(t *testing.T) {
	hide := secretRedactor{Redactor: redact.New("abcd", "cdef0123")}
	if body := string(hide.Bytes([]byte("--abcd\n-_abcdef0123--"))); body != "--****\n-_REDACTED**--" {
		t.Errorf("body: %s", body)
	}
	whole := []byte("nothing to hide")
	if same := hide.Bytes(whole); &same[0] != &whole[0] {
		t.Error("a body without secrets was copied")
	}
}

// TestSecretsInOtherSpellings checks that a secret is recognized if a server repeats it in another
// encoding, such as a JSON escape, a URL escape, an HTML entity or base64.
func TestSecretsInOtherSpellings(t *testing.T) {
	const secret = "s3cr3t-of/ours+1"
	body := `data: {"json":"s3cr3t\u002Dof\/ours\u002b1","url":"q=s3cr3t-of%2fours%2B1","basic":"` +
		base64.StdEncoding.EncodeToString([]byte("a:"+secret+"!")) + `","page":"s3cr3t&#45;of&#x2F;ours&plus;1"}` + "\n\n"
	tr := &Transcript{Secrets: []string{secret}}
	tr.Trace.Exchanges = []spec.Exchange{{Response: spec.Response{
		Proto: "HTTP/1.1", Status: 200, Framing: spec.FramingLength, Body: []byte(body),
		Header: spec.Header{
			{Name: "Content-Length", Value: strconv.Itoa(len(body))}, {Name: "Api-Key", Value: "another"}, {Name: "X-Echo", Value: url.QueryEscape(secret)},
			{Name: "X-Basic", Value: base64.URLEncoding.EncodeToString([]byte("ab:" + secret))},
		},
	}}}
	file := string(Format(tr))
	for _, left := range []string{"s3cr3t", "ours", "another", base64.RawStdEncoding.EncodeToString([]byte("a:" + secret))[4:20]} {
		if strings.Contains(file, left) {
			t.Errorf("%q is left in\n%s", left, file)
		}
	}
	again, err := Parse("x", []byte(file))
	if err != nil || len(again.Notes) > 0 || len(again.Trace.Exchanges[0].Response.Body) != len(body) {
		t.Errorf("%v, %v, %s", err, again.Notes, again.Trace.Exchanges[0].Response.Body)
	}
	var data any
	if err := json.Unmarshal(again.Trace.Exchanges[0].Response.Body[len("data: "):], &data); err != nil {
		t.Error(err)
	}
}

// TestRedactedFraming checks that the framing is preserved even if the header field that implies it
// is redacted.
func TestRedactedFraming(t *testing.T) {
	tr := &Transcript{RedactHeaders: []string{"Transfer-Encoding"}}
	tr.Trace.Exchanges = []spec.Exchange{{Response: spec.Response{
		Proto: "HTTP/1.1", Status: 200, Framing: spec.FramingChunked, Header: spec.Header{{Name: "Transfer-Encoding", Value: "chunked"}},
	}}}
	again, err := Parse("x", Format(tr))
	if err != nil || again.Trace.Exchanges[0].Response.Framing != spec.FramingChunked {
		t.Errorf("%+v, %v", again, err)
	}
}

// TestEvidentFraming checks that the framing is derived from the head (RFC 9112 section 6.3),
// unless a directive states it.
func TestEvidentFraming(t *testing.T) {
	for head, want := range map[string]spec.BodyFraming{
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

// TestErrorsAreShort checks that errors repeat only a short excerpt of the file.
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
	if _, err := parseCurl("some.http", []byte(long), recordedCurlCall{}); err == nil || len(err.Error()) > 500 {
		t.Errorf("%.600v", err)
	}
}
