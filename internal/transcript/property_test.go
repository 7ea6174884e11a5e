package transcript

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/streamassay/streamassay/internal/redact"
	"github.com/streamassay/streamassay/spec"
)

// awkward lists parts of bodies that a careless format would not preserve.
var awkward = []string{
	"data: {\"a\":1}\n\n", "id: 1\n", "x", " ", "\t", "\n", "\r\n", "\r", ":\n", ":@", ":@ cut\n", ":@ raw \"x\"\n",
	"\n:@ wait 5ms mid-line\n", "-- 1.response --\n", "-- 2.request --", "\n-- x --\r\n", "-- ", " --", "--\n",
	"\x00", "\xff\xfe", "\xc3", "é", "😀", "\ufeff", "\u2028", "\ufffd", "\x7f", "\"", "\\", "%", "HTTP/1.1 200 OK\n",
}

func bodies() *rapid.Generator[[]byte] {
	return rapid.OneOf(
		rapid.Just([]byte(nil)),
		rapid.SliceOfN(rapid.Byte(), 0, 400),
		rapid.Map(rapid.SliceOfN(rapid.SampledFrom(awkward), 0, 30), func(parts []string) []byte {
			return []byte(strings.Join(parts, ""))
		}),
	)
}

func strs() *rapid.Generator[string] {
	return rapid.OneOf(rapid.SampledFrom(awkward), rapid.SampledFrom([]string{"", "a", "a b", " a", "?", "HTTP/1.1", "POST"}), rapid.String())
}

func headers() *rapid.Generator[[]spec.HeaderField] {
	name := rapid.OneOf(rapid.SampledFrom([]string{
		"Content-Type", "content-type", "X-Twice", "x-twice", "Date", "Content-Length", "Transfer-Encoding", "-- a", ":path", "", "a:b",
	}), strs())
	value := rapid.OneOf(rapid.SampledFrom([]string{
		"text/event-stream", "application/json", "chunked", "gzip, Chunked", "0", "", " v ", "caf\xe9", "a\r\nb", `"quoted"`,
	}), strs())
	field := rapid.Custom(func(t *rapid.T) spec.HeaderField {
		return spec.HeaderField{Name: name.Draw(t, "name"), Value: value.Draw(t, "value")}
	})
	return rapid.SliceOfN(field.Filter(func(f spec.HeaderField) bool {
		return !redact.IsCredential(f.Name)
	}), 0, 4)
}

func readsOf(t *rapid.T, body []byte) (reads []spec.Arrival) {
	if len(body) == 0 || rapid.Bool().Draw(t, "untimed") {
		return nil
	}
	at := time.Duration(0)
	for end := 0; end < len(body); {
		end = rapid.IntRange(end+1, len(body)).Draw(t, "end")
		at += time.Duration(rapid.IntRange(0, 5e6).Draw(t, "µs")) * time.Microsecond
		reads = append(reads, spec.Arrival{End: end, At: at})
	}
	return reads
}

func responses(t *rapid.T) spec.Response {
	r := spec.Response{
		Proto:   rapid.SampledFrom([]string{"HTTP/1.1", "HTTP/1.0", "HTTP/2.0", "", "HTTP/2", "ICY"}).Draw(t, "proto"),
		Status:  rapid.SampledFrom([]int{0, 200, 202, 204, 304, 404, 999, 7, 1000}).Draw(t, "status"),
		Reason:  rapid.OneOf(rapid.Just(""), rapid.Just("Not Found"), strs()).Draw(t, "reason"),
		Header:  headers().Draw(t, "header"),
		Body:    bodies().Draw(t, "body"),
		Framing: rapid.SampledFrom(append([]spec.BodyFraming{spec.FramingUnknown}, framings...)).Draw(t, "framing"),
		Trailer: headers().Draw(t, "trailer"),
	}
	r.Arrivals = readsOf(t, r.Body)
	r.End = rapid.SampledFrom([]error{
		nil, nil, spec.ErrClientLeft, spec.ErrTruncated, spec.ErrReset, spec.ErrIdleTimeout, spec.ErrLimitExceeded, spec.ErrNotHTTP,
		fmt.Errorf("%w: for (some) reason\n", spec.ErrIdleTimeout), errors.New("nobody knows mid-line"),
	}).Draw(t, "end")
	if rapid.IntRange(0, 9).Draw(t, "silence") == 0 {
		r = spec.Response{End: spec.ErrReset, Framing: r.Framing}
	}
	return r
}

func transcripts(t *rapid.T) *Transcript {
	setting := rapid.SampledFrom([]string{"", "runs@2026-04", "a: b", "-- x --"})
	tr := &Transcript{
		Name:          "drawn",
		Comment:       rapid.OneOf(rapid.SampledFrom([]string{"", "A sentence.", "dialect: x", "Want: x\n\n-- x --\nmore", "note: x", "Note: x"}), strs()).Draw(t, "comment"),
		Dialect:       setting.Draw(t, "dialect"),
		Target:        rapid.SampledFrom([]string{"", "http://127.0.0.1:1/x"}).Draw(t, "target"),
		Scenario:      setting.Draw(t, "scenario"),
		FailingChecks: rapid.SliceOfN(rapid.SampledFrom([]string{"a.b", "c.d"}), 0, 3).Draw(t, "want"),
	}
	tr.Trace.Scripted = rapid.Bool().Draw(t, "scripted")
	tr.Trace.StreamLimit = rapid.IntRange(0, 2).Draw(t, "streams")
	for range rapid.IntRange(1, 3).Draw(t, "exchanges") {
		x := spec.Exchange{At: time.Duration(rapid.IntRange(0, 1e6).Draw(t, "at")) * time.Millisecond}
		if rapid.IntRange(0, 4).Draw(t, "written down") > 0 {
			x.Request = spec.Request{
				Method: rapid.OneOf(rapid.SampledFrom([]string{"POST", "GET", "HEAD", "", "--"}), strs()).Draw(t, "method"),
				Target: rapid.OneOf(rapid.SampledFrom([]string{"/runs", "", "/a b", "/?q=1"}), strs()).Draw(t, "target"),
				Header: headers().Draw(t, "header"),
				Body:   bodies().Draw(t, "body"),
			}
		}
		x.Request.Principal = rapid.SampledFrom(append(otherPrincipals, spec.PrimaryUser)).Draw(t, "who")
		x.Response = responses(t)
		tr.Trace.Exchanges = append(tr.Trace.Exchanges, x)
	}
	return tr
}

// differ returns a description of the first difference between two conversations, or "" if they are
// equal.
func differ(a, b spec.Trace) string {
	if a.Scripted != b.Scripted || a.StreamLimit != b.StreamLimit || len(a.Exchanges) != len(b.Exchanges) {
		return "scripted, streams, or the number of exchanges"
	}
	for i := range a.Exchanges {
		x, y := a.Exchanges[i], b.Exchanges[i]
		rx, ry := x.Response, y.Response
		for what, same := range map[string]bool{
			"at":      x.At.Truncate(TimeResolution) == y.At,
			"who":     x.Request.Principal == y.Request.Principal,
			"request": x.Request.Method == y.Request.Method && x.Request.Target == y.Request.Target && slices.Equal(x.Request.Header, y.Request.Header),
			"asked":   bytes.Equal(x.Request.Body, y.Request.Body),
			"status":  rx.Proto == ry.Proto && rx.Status == ry.Status && rx.Reason == ry.Reason,
			"header":  slices.Equal(rx.Header, ry.Header),
			"trailer": slices.Equal(rx.Trailer, ry.Trailer),
			"framing": rx.Framing == ry.Framing,
			"body":    bytes.Equal(rx.Body, ry.Body),
			"end":     sameEnd(rx.End, ry.End),
			"reads": slices.EqualFunc(rx.Arrivals, ry.Arrivals, func(a, b spec.Arrival) bool {
				return a.End == b.End && a.At.Truncate(TimeResolution) == b.At
			}),
		} {
			if !same {
				return fmt.Sprintf("exchange %d: %s:\n%s\n%s", i, what, show(x), show(y))
			}
		}
	}
	return ""
}

// show returns a summary of an exchange.
func show(x spec.Exchange) string {
	q, r := x.Request, x.Response
	return fmt.Sprintf("at %v %q %q %q %.500q: %q %d %q %q %s %.500q %v %v %q",
		x.At, q.Method, q.Target, q.Header, q.Body, r.Proto, r.Status, r.Reason, r.Header, r.Framing, r.Body, r.Arrivals, r.End, r.Trailer)
}

func sameEnd(a, b error) bool {
	for _, e := range []error{spec.ErrClientLeft, spec.ErrTruncated, spec.ErrReset, spec.ErrIdleTimeout, spec.ErrLimitExceeded, spec.ErrNotHTTP} {
		if errors.Is(a, e) {
			return errors.Is(b, e)
		}
	}
	return a == nil && b == nil || a != nil && errors.Is(b, spec.ErrTruncated)
}

func TestFormatIsLossless(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		want := transcripts(rt)
		file := Format(want)
		if !utf8.Valid(file) || bytes.ContainsAny(file, "\r\x00") {
			rt.Fatalf("no text file:\n%q", file)
		}
		got, err := Parse("drawn", file)
		if err != nil {
			rt.Fatalf("%v\n%s", err, file)
		}
		if d := differ(want.Trace, got.Trace); d != "" {
			rt.Fatalf("%s\n%s", d, file)
		}
		if want.Dialect != got.Dialect || want.Target != got.Target || want.Scenario != got.Scenario || !slices.Equal(want.FailingChecks, got.FailingChecks) {
			rt.Fatalf("settings: %#v, %#v", want, got)
		}
		if again := Format(got); !bytes.Equal(file, again) {
			rt.Fatalf("written a second time, it is another file:\n%s\n%s", file, again)
		}
		for i, x := range got.Trace.Exchanges {
			var all []byte
			for _, c := range got.Playback[i] {
				all = append(all, c.Data...)
			}
			if !bytes.Equal(all, x.Response.Body) {
				rt.Fatalf("the cues of %d say %q, the body is %q", i, all, x.Response.Body)
			}
		}
	})
}

// TestLineEndsOfTheFile checks that a transcript whose lines were converted to CR LF is parsed as
// the same conversation.
func TestLineEndsOfTheFile(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		want := transcripts(rt)
		file := bytes.ReplaceAll(Format(want), []byte("\n"), []byte("\r\n"))
		got, err := Parse("drawn", file)
		if err != nil {
			rt.Fatalf("%v\n%q", err, file)
		}
		if d := differ(want.Trace, got.Trace); d != "" {
			rt.Fatalf("%s\n%q", d, file)
		}
	})
}

func TestSecretsAreNotWritten(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		tr := transcripts(rt)
		secret := rapid.StringMatching(`[a-z]{2}[0-9"\\/ ]{1,3}qq[a-z0-9]{3,9}`).Draw(rt, "secret")
		tr.Secrets = []string{secret, "tok-" + secret}
		for i := range tr.Trace.Exchanges {
			x := &tr.Trace.Exchanges[i]
			for _, s := range []*string{&x.Request.Target, &x.Response.Reason, &tr.Comment, &tr.Scenario, &tr.Target} {
				*s += rapid.SampledFrom([]string{"", secret, "tok-" + secret + "!"}).Draw(rt, "spot")
			}
			for _, b := range []*[]byte{&x.Request.Body, &x.Response.Body} {
				at := rapid.IntRange(0, len(*b)).Draw(rt, "offset")
				*b = slices.Insert(slices.Clone(*b), at, []byte(secret)...)
			}
			x.Response.Arrivals = readsOf(rt, x.Response.Body)
			x.Response.Header = append(x.Response.Header, spec.HeaderField{Name: "X-Echo", Value: "it is " + secret})
			if x.Response.End != nil {
				x.Response.End = fmt.Errorf("%w: %s", x.Response.End, secret)
			}
		}
		file := Format(tr)
		got, err := Parse("drawn", file)
		if err != nil {
			rt.Fatalf("%v\n%s", err, file)
		}
		if bytes.Contains(file, []byte(secret)) {
			rt.Fatalf("%q in\n%s", secret, file)
		}
		for i, x := range got.Trace.Exchanges {
			body := tr.Trace.Exchanges[i].Response.Body
			if d := unlike(body, x.Response.Body, secret); d != "" {
				rt.Fatalf("%s: body %q, was %q", d, x.Response.Body, body)
			}
			if n := len(x.Response.Arrivals); n > 0 && x.Response.Arrivals[n-1].End != len(body) {
				rt.Fatalf("the reads end at %d of %d", x.Response.Arrivals[n-1].End, len(body))
			}
		}
	})
}

// unlike checks that clean is body with nothing but the secret overwritten. It returns a
// description of the first other difference, or "" if there is none.
func unlike(body, clean []byte, secret string) string {
	if len(body) != len(clean) {
		return fmt.Sprintf("%d bytes, not %d", len(clean), len(body))
	}
	hidden := make([]bool, len(body))
	for from := 0; ; from++ {
		i := bytes.Index(body[from:], []byte(secret))
		if i < 0 {
			break
		}
		from += i
		start := from
		if bytes.HasSuffix(body[:from], []byte("tok-")) {
			start -= len("tok-")
		}
		if start > 0 && body[start-1] == '\\' { // half an escape would remain
			start--
		}
		for k := start; k < from+len(secret); k++ {
			hidden[k] = true
		}
	}
	for i := range body {
		if body[i] != clean[i] && !hidden[i] {
			return fmt.Sprintf("byte %d is %q, not %q", i, clean[i], body[i])
		}
	}
	return ""
}
