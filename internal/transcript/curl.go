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

// A recordedCurlCall describes a call of curl that was recorded.
type recordedCurlCall struct {
	request  spec.Request
	exitCode *int   // nil if unknown
	note     string // note of the person who made the recording; "" if there is none
}

// curlExitErrors maps exit codes of curl to the reason why the response is incomplete. Codes that
// are missing mean that the response is complete, or say nothing about its end. The codes above
// 100 are not from curl: 124 is the exit code of the timeout command, and shells return the others
// if a signal ended curl.
var curlExitErrors = map[int]error{
	1:  spec.ErrNotHTTP,    // unsupported protocol, such as HTTP/0.9
	8:  spec.ErrNotHTTP,    // weird server reply
	16: spec.ErrNotHTTP,    // error in HTTP/2 framing
	18: spec.ErrTruncated,  // partial file
	23: spec.ErrClientLeft, // curl could not write its output
	28: spec.ErrClientLeft, // timeout of the client
	42: spec.ErrClientLeft, // aborted by callback
	52: spec.ErrTruncated,  // empty reply
	55: spec.ErrReset,      // sending failed
	56: spec.ErrReset,      // receiving failed
	63: spec.ErrClientLeft, // size limit of the client
	92: spec.ErrReset,      // error in an HTTP/2 stream

	124: spec.ErrClientLeft, 130: spec.ErrClientLeft, 137: spec.ErrClientLeft,
	141: spec.ErrClientLeft, 143: spec.ErrClientLeft,
}

// parseCurl parses data, the output of "curl -i": the heads of one or several responses, followed
// by the body of the last response, without transfer coding. The parameter name is the name of the
// recording, and run describes the call of curl. parseCurl returns an error if a head is invalid.
// It also returns an error if there is no final response, unless the exit code in run is one of
// curlExitErrors.
//
// Only the last response is kept. The earlier ones are interim responses, and those that curl
// handled itself: redirects, authentication challenges and the responses of proxies. A trailer
// becomes part of the body, because the output does not separate the two.
func parseCurl(name string, data []byte, run recordedCurlCall) (*Transcript, error) {
	p := &sectionLineReader{position: position{name, 1}, data: bytes.TrimPrefix(data, []byte("\ufeff"))}
	x := spec.Exchange{Request: run.request}
	if run.exitCode != nil {
		x.Response.End = curlExitErrors[*run.exitCode]
	}
	if len(p.data) == 0 && x.Response.End == nil {
		return nil, p.errorAt("empty file: want the output of curl -i, which begins with a status line " +
			`(if there was no response, give the reason as "curl_exit" in NAME.request.json)`)
	}
	for len(p.data) > 0 {
		r, complete, err := p.parseCurlHead(x.Response.End)
		if err != nil {
			return nil, err
		}
		interim := complete && r.Status < 200 && r.Status != 101
		// Curl may have handled a response itself, and sent another request.
		handled := r.Status/100 == 3 || r.Status == 401 || r.Status == 407 ||
			strings.EqualFold(r.Reason, "Connection established") // from a proxy
		if !interim && !(complete && handled && startsWithHead(p.data)) {
			r.End = x.Response.End
			x.Response = r
			break
		}
		if len(p.data) == 0 && x.Response.End == nil {
			return nil, p.errorAt("no final response after the interim status %d", r.Status)
		}
	}
	x.Response.Body = p.data[:len(p.data):len(p.data)]
	notes := finishCurlExchange(&x, run)
	t := singleExchange(name, x)
	t.Comment, t.Notes = run.note, notes
	return t, nil
}

// startsWithHead reports whether data begins with a status line, and thus with the head of a
// response.
func startsWithHead(data []byte) bool {
	line, _, _ := bytes.Cut(data[:min(len(data), 1<<10)], []byte("\n"))
	_, err := splitCurlStatus(string(bytes.TrimSuffix(line, []byte("\r"))))
	return err == nil
}

// finishCurlExchange completes the response of x, an exchange that curl recorded; run describes the
// call of curl. It derives the framing from the header, and removes the field Content-Encoding if
// the body appears to be decoded. If the exit code is unknown and the body is shorter than
// Content-Length, it marks the response as truncated. The notes report a removed field, or a body
// whose length differs from Content-Length although the response is not marked as truncated.
func finishCurlExchange(x *spec.Exchange, run recordedCurlCall) (notes []string) {
	r := &x.Response
	if r.Status == 0 {
		return nil
	}
	r.Framing = framingOf(x.Request.Method, *r)
	if r.Framing == spec.FramingUnknown && strings.HasPrefix(r.Proto, "HTTP/1.") {
		r.Framing = spec.FramingClose
	}
	coding := r.Header.Get("Content-Encoding")
	if coding != "" && coding != "identity" && len(r.Body) > 0 && utf8.Valid(r.Body) {
		r.Header = r.Header.Without("Content-Encoding")
		return []string{fmt.Sprintf("Content-Encoding: %s is ignored: the body was recorded decoded", coding)}
	}
	if r.Framing != spec.FramingLength {
		return nil
	}
	length, err := strconv.Atoi(lastHeaderValue(r.Header, "Content-Length"))
	switch {
	case err != nil || len(r.Body) == length:
	case run.exitCode == nil && len(r.Body) > 0 && len(r.Body) < length:
		r.End = fmt.Errorf("%w: received %d of %d bytes", spec.ErrTruncated, len(r.Body), length)
	case r.End == nil:
		return []string{fmt.Sprintf("the body has %d bytes, Content-Length is %d", len(r.Body), length)}
	}
	return nil
}

// parseCurlHead parses the next head in the output of "curl -i", a status line with header fields,
// and removes it from s.data. The result complete reports whether the head ends with an empty line.
//
// The parameter end is the reason why the response is incomplete, or nil if none is known.
// parseCurlHead returns an error if the head is invalid or, if end is nil, incomplete. However, if
// end wraps spec.ErrNotHTTP, an invalid status line is not an error, and s.data then becomes empty.
func (s *sectionLineReader) parseCurlHead(end error) (r spec.Response, complete bool, err error) {
	line, ended := s.nextLine()
	parts, err := splitCurlStatus(line)
	if err != nil {
		if end != nil && !ended || errors.Is(end, spec.ErrNotHTTP) {
			s.data = nil
			return r, false, nil
		}
		return r, false, s.lastLineAt().errorAt("%w", err)
	}
	if r.Proto, r.Status, r.Reason, err = statusLine(parts); err != nil {
		return r, false, s.lastLineAt().errorAt("%w", err)
	}
	for {
		line, ended := s.nextLine()
		switch {
		case line == "" && ended:
			return r, true, nil
		case !ended && end != nil:
			return r, false, nil
		case !ended:
			return r, false, s.lastLineAt().errorAt("incomplete head: an empty line must follow the header fields")
		}
		if err := appendHeaderLine(&r.Header, line); err != nil {
			return r, false, s.lastLineAt().errorAt("%w", err)
		}
	}
}

// appendHeaderLine parses line, which must not be empty, as a header field "NAME: VALUE" and
// appends the field to h. A line that begins with a space or a tab continues the value of the last
// field in h, which is an obsolete syntax (RFC 9112, section 5.2). Any other line is an error.
func appendHeaderLine(h *spec.Header, line string) error {
	if n := len(*h); n > 0 && (line[0] == ' ' || line[0] == '\t') {
		(*h)[n-1].Value += " " + strings.Trim(line, " \t")
		return nil
	}
	name, value, ok := strings.Cut(line, ":")
	if !ok || name == "" || strings.ContainsAny(name, " \t") {
		return fmt.Errorf("invalid header field %q: want NAME: VALUE, or an empty line at the end of the head", excerpt(line))
	}
	*h = append(*h, spec.HeaderField{Name: name, Value: strings.Trim(value, " \t")})
	return nil
}

// splitCurlStatus splits a status line, as curl prints it, into three parts: protocol, status and
// reason. It returns an error if the protocol is not a version of HTTP, or if the status is not a
// number of three digits.
func splitCurlStatus(line string) ([]string, error) {
	proto, rest, _ := strings.Cut(line, " ")
	status, reason, _ := strings.Cut(rest, " ")
	if n, err := strconv.ParseUint(status, 10, 16); err != nil || len(status) != 3 || n < 100 ||
		!httpVersion.MatchString(proto) || proto == "HTTP/?" {
		return nil, fmt.Errorf("invalid status line %q: want e.g. HTTP/1.1 200 OK, as printed by curl -i "+
			"(a recording of the body alone must be named .sse)", excerpt(line))
	}
	return []string{canonicalProto(proto), status, reason}, nil
}
