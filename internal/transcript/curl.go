package transcript

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/streamassay/streamassay/spec"
)

// A curlInvocation is what is known about how curl was called, and how it ended.
type curlInvocation struct {
	request  spec.Request
	exitCode *int // nil: nobody wrote it down
	note     string
}

// curlExitErrors are curl's exit codes for answers that did not end well, or not in full.
// The codes of a shell (timeout, signals) mean that somebody stopped curl.
var curlExitErrors = map[int]error{
	1:  spec.ErrNotHTTP,    // unsupported protocol: what came is HTTP/0.9
	8:  spec.ErrNotHTTP,    // weird server reply
	16: spec.ErrNotHTTP,    // HTTP/2 framing
	18: spec.ErrTruncated,  // the body was longer
	23: spec.ErrClientLeft, // nobody took what curl wrote
	28: spec.ErrClientLeft, // our time limit
	42: spec.ErrClientLeft, // called off
	52: spec.ErrTruncated,  // nothing came
	55: spec.ErrReset,      // sending failed
	56: spec.ErrReset,      // receiving failed
	63: spec.ErrClientLeft, // our size limit
	92: spec.ErrReset,      // HTTP/2 stream

	124: spec.ErrClientLeft, 130: spec.ErrClientLeft, 137: spec.ErrClientLeft, 141: spec.ErrClientLeft, 143: spec.ErrClientLeft,
}

// endError is how the answer ended.
func (c curlInvocation) endError() error {
	if c.exitCode == nil {
		return nil
	}
	return curlExitErrors[*c.exitCode]
}

// parseCurl reads what "curl -i" printed: one or several heads, and the body of
// the last, its transfer coding already removed. Interim answers, and those to
// which curl itself reacted (a redirect with -L, a challenge, a proxy's word), are
// dropped, as curl drops their bodies. Trailers cannot be told from the body.
func parseCurl(name string, data []byte, run curlInvocation) (*Transcript, error) {
	p := &curlParser{position: position{name, 1}, data: bytes.TrimPrefix(data, []byte("\ufeff"))}
	x := spec.Exchange{Request: run.request, Response: spec.Response{End: run.endError()}}
	if len(p.data) == 0 && x.Response.End == nil {
		return nil, p.errorAt(`the file is empty: curl -i prints a status line first; if no answer came, NAME.request.json beside it says why by "curl_exit"`)
	}
	for len(p.data) > 0 {
		r, whole, err := p.head(x.Response.End)
		if err != nil {
			return nil, err
		}
		interim := whole && r.Status < 200 && r.Status != 101
		if !interim && !(whole && mayBeFollowed(r) && startsWithHead(p.data)) {
			r.End = x.Response.End
			x.Response = r
			break
		}
		if len(p.data) == 0 && x.Response.End == nil {
			return nil, p.errorAt("the answer ends with the interim status %d: the head of the final answer is missing", r.Status)
		}
	}
	x.Response.Body = p.data[:len(p.data):len(p.data)]
	notes := finishCurlExchange(&x, run)
	t := singleExchange(name, x)
	t.Comment, t.Notes = run.note, notes
	return t, nil
}

// mayBeFollowed says whether curl may have gone on after this head and printed another.
func mayBeFollowed(r spec.Response) bool {
	return r.Status >= 300 && r.Status < 400 || r.Status == 401 || r.Status == 407 ||
		strings.EqualFold(r.Reason, "Connection established") // a proxy's word
}

func startsWithHead(data []byte) bool {
	line, _, _ := bytes.Cut(data[:min(len(data), 1<<10)], []byte("\n"))
	_, err := splitCurlStatus(string(bytes.TrimSuffix(line, []byte("\r"))))
	return err == nil
}

// finishCurlExchange adds what follows from head and body together.
func finishCurlExchange(x *spec.Exchange, run curlInvocation) (notes []string) {
	r := &x.Response
	if r.Status == 0 {
		return nil
	}
	r.Framing = framingOf(x.Request.Method, *r)
	if r.Framing == spec.FramingUnknown && strings.HasPrefix(r.Proto, "HTTP/1.") {
		r.Framing = spec.FramingClose
	}
	if coding := r.Header.Get("Content-Encoding"); coding != "" && coding != "identity" && len(r.Body) > 0 && utf8.Valid(r.Body) {
		r.Header = r.Header.Without("Content-Encoding")
		return []string{fmt.Sprintf("Content-Encoding: %s is left out, for the body was written down decoded", coding)}
	}
	if r.Framing != spec.FramingLength {
		return nil
	}
	length, err := strconv.Atoi(lastHeaderValue(r.Header, "Content-Length"))
	switch {
	case err != nil || len(r.Body) == length:
	case run.exitCode == nil && len(r.Body) > 0 && len(r.Body) < length:
		r.End = fmt.Errorf("%w: %d of %d bytes came", spec.ErrTruncated, len(r.Body), length)
	case r.End == nil:
		return []string{fmt.Sprintf("the body has %d bytes where Content-Length says %d", len(r.Body), length)}
	}
	return nil
}

// A curlParser reads heads.
type curlParser struct {
	position
	data []byte
}

// nextLine takes a line off; ok is whether it has an end.
func (p *curlParser) nextLine() (line string, ok bool) {
	b, rest, ok := bytes.Cut(p.data, []byte("\n"))
	p.data = rest
	p.line++
	return string(bytes.TrimSuffix(b, []byte("\r"))), ok
}

// head reads a status line and fields. If the answer ended badly, the head may end
// early, and whole is false.
func (p *curlParser) head(end error) (r spec.Response, whole bool, err error) {
	at := p.position
	line, ended := p.nextLine()
	parts, err := splitCurlStatus(line)
	if err != nil {
		if end != nil && !ended || errors.Is(end, spec.ErrNotHTTP) {
			p.data = nil
			return r, false, nil
		}
		return r, false, at.errorAt("%w", err)
	}
	if r.Proto, r.Status, r.Reason, err = statusLine(parts); err != nil {
		return r, false, at.errorAt("%w", err)
	}
	for {
		at = p.position
		line, ended := p.nextLine()
		switch {
		case line == "" && ended:
			return r, true, nil
		case !ended && end != nil:
			return r, false, nil
		case !ended:
			return r, false, at.errorAt("the head has no end: an empty line must follow the header fields")
		}
		if err := appendHeaderLine(&r.Header, line); err != nil {
			return r, false, at.errorAt("%w", err)
		}
	}
}

// appendHeaderLine adds a field, or an obsolete folded line to the one before (RFC 9112
// section 5.2).
func appendHeaderLine(h *spec.Header, line string) error {
	if n := len(*h); n > 0 && (line[0] == ' ' || line[0] == '\t') {
		(*h)[n-1].Value += " " + strings.Trim(line, " \t")
		return nil
	}
	name, value, ok := strings.Cut(line, ":")
	if !ok || name == "" || strings.ContainsAny(name, " \t") {
		return fmt.Errorf("%q is no header field: that is NAME: VALUE, and an empty line ends the head", excerpt(line))
	}
	*h = append(*h, spec.Field{Name: name, Value: strings.Trim(value, " \t")})
	return nil
}

// splitCurlStatus takes a status line apart as it came over the wire: the status
// has three digits, the protocol is known.
func splitCurlStatus(line string) ([]string, error) {
	proto, rest, _ := strings.Cut(line, " ")
	status, reason, _ := strings.Cut(rest, " ")
	if n, err := strconv.ParseUint(status, 10, 16); err != nil || len(status) != 3 || n < 100 ||
		!httpVersion.MatchString(proto) || proto == "HTTP/?" {
		return nil, fmt.Errorf("%q is no status line: the first line is like HTTP/1.1 200 OK, as curl -i prints it (a body alone belongs in a .sse file)", excerpt(line))
	}
	return []string{canonicalProto(proto), status, reason}, nil
}
