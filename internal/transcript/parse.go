package transcript

import (
	"bytes"
	"fmt"
	"strconv"

	"golang.org/x/tools/txtar"

	"github.com/streamassay/streamassay/spec"
)

// Parse parses data, the content of a transcript. The parameter name becomes the name of the
// transcript and is used in errors. If data is invalid or larger than [MaxFileBytes], Parse returns
// an error. An error about invalid data states the line and what is expected there. Bodies and
// playback steps may alias data, so the caller must not modify data afterwards.
func Parse(name string, data []byte) (*Transcript, error) {
	if len(data) > MaxFileBytes {
		return nil, tooLarge(name)
	}
	ar := txtar.Parse(normalizeLineEnds(data))
	t := &Transcript{Name: name}
	if err := t.parseComment(string(ar.Comment)); err != nil {
		return nil, err
	}
	line := 1 + bytes.Count(ar.Comment, []byte("\n"))
	if len(ar.Files) == 0 {
		return nil, position{name, line}.errorAt(
			"no exchanges: want sections that begin with -- 1.request --, -- 1.response -- and so on")
	}
	for i, f := range ar.Files {
		want := strconv.Itoa(i/2+1) + [...]string{".request", ".response"}[i%2]
		if f.Name != want {
			return nil, position{name, line}.errorAt("unexpected section -- %s --: want -- %s --", excerpt(f.Name), want)
		}
		s := &sectionLineReader{position{name, line + 1}, f.Name, f.Data}
		line += 1 + bytes.Count(f.Data, []byte("\n"))
		var err error
		if i%2 == 0 {
			err = t.parseRequest(s)
		} else {
			err = t.parseResponse(s)
		}
		if err != nil {
			return nil, err
		}
	}
	if len(ar.Files)%2 == 1 {
		return nil, position{name, line}.errorAt("-- %d.response -- is missing: want a response to each request, "+
			"if only with a directive like :@ cut", len(ar.Files)/2+1)
	}
	return t, nil
}

// normalizeLineEnds returns data without what an editor or version control may have added: a byte
// order mark and, if every line ends with CR LF, the CR of each line. It does not modify data.
func normalizeLineEnds(data []byte) []byte {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if n := bytes.Count(data, []byte("\r\n")); n > 0 && n == bytes.Count(data, []byte("\n")) {
		return bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))
	}
	return data
}

// parseRequest parses s, the section of a request, and adds a new exchange with the request to t.
// It returns an error if the section is invalid.
func (t *Transcript) parseRequest(s *sectionLineReader) error {
	h, err := s.parseHead(splitRequest)
	if err != nil {
		return err
	}
	if h.framing != nil {
		return s.lastLineAt().errorAt("%s: :@ framing is only for responses", s.name)
	}
	x := spec.Exchange{At: h.at, Request: spec.Request{Header: h.header, Principal: h.principal}}
	switch {
	case h.startLine == nil && len(bytes.TrimSpace(s.data)) > 0:
		return s.errorAt("%s: start line is missing: want METHOD TARGET HTTP/1.1", s.name)
	case h.startLine != nil && len(h.startLine) != 2:
		return s.errorAt("%s: want method and target of the start line as two strings", s.name)
	case h.startLine != nil:
		x.Request.Method, x.Request.Target = h.startLine[0], h.startLine[1]
	}
	b := bodySectionParser{position: s.position, stream: isEventStream(h.header), crlf: h.crlf}
	if err := b.parse(s.data); err != nil {
		return err
	}
	x.Request.Body = b.body
	t.Trace.Exchanges = append(t.Trace.Exchanges, x)
	t.expect(PartRequest, h.wants)
	return nil
}

// parseResponse parses s, the section of a response, and sets the response of the last exchange of
// t. It returns an error if the section is invalid.
func (t *Transcript) parseResponse(s *sectionLineReader) error {
	h, err := s.parseHead(splitResponse)
	if err != nil {
		return err
	}
	x := &t.Trace.Exchanges[len(t.Trace.Exchanges)-1]
	if h.at != 0 {
		return s.lastLineAt().errorAt("%s: :@ at is only for requests", s.name)
	}
	if h.principal != "" {
		return s.lastLineAt().errorAt("%s: :@ who is only for requests", s.name)
	}
	r := spec.Response{Header: h.header}
	if h.startLine != nil {
		if r.Proto, r.Status, r.Reason, err = statusLine(h.startLine); err != nil {
			return s.errorAt("%s: %w", s.name, err)
		}
	}
	r.Framing = framingOf(x.Request.Method, r)
	if h.framing != nil {
		r.Framing = *h.framing
	}
	b := bodySectionParser{position: s.position, stream: isEventStream(h.header), crlf: h.crlf, isResponse: true}
	if err := b.parse(s.data); err != nil {
		return err
	}
	if h.startLine == nil && (len(b.body) > 0 || !b.ended) {
		return s.errorAt("%s: start line is missing: want HTTP/1.1 STATUS REASON, "+
			"or only a directive like :@ cut if there was no response",
			s.name)
	}
	r.Body, r.Arrivals, r.End, r.Trailer = b.body, b.reads, b.end, b.trailer
	x.Response = r
	t.Playback = append(t.Playback, b.steps)
	t.expect(PartHead, h.wants)
	for _, want := range b.wants {
		want.Exchange, want.Offset = len(t.Trace.Exchanges)-1, min(want.Offset, len(b.body))
		t.ExpectedFindings = append(t.ExpectedFindings, want)
	}
	return nil
}

// expect adds an expected finding for each id in checks, the checks of want directives. The
// findings are at the given part of the last exchange.
func (t *Transcript) expect(part ExchangePart, checks []string) {
	for _, check := range checks {
		t.ExpectedFindings = append(t.ExpectedFindings, ExpectedFinding{
			Check: check, Exchange: len(t.Trace.Exchanges) - 1, Part: part,
		})
	}
}

// statusLine returns the three elements of parts, which come from a status line: the protocol, the
// status and the reason. It returns an error if parts has another length or the status is not a
// number.
func statusLine(parts []string) (proto string, status int, reason string, err error) {
	if len(parts) != 3 {
		return "", 0, "", fmt.Errorf("want protocol, status and reason of the start line as three strings")
	}
	if status, err = strconv.Atoi(parts[1]); err != nil {
		return "", 0, "", fmt.Errorf("invalid status %q: want a number", excerpt(parts[1]))
	}
	return parts[0], status, parts[2], nil
}
