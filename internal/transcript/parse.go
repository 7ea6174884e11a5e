package transcript

import (
	"bytes"
	"fmt"
	"strconv"

	"golang.org/x/tools/txtar"

	"github.com/streamassay/streamassay/spec"
)

// Parse reads a transcript. The name is for errors, which say where in the file
// something is wrong and what would be right. Bodies and cues may be parts of data,
// which must not change afterwards.
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
		return nil, position{name, line}.errorAt("there is no exchange: a transcript has sections that begin with the lines -- 1.request --, -- 1.response -- and so on")
	}
	for i, f := range ar.Files {
		want := strconv.Itoa(i/2+1) + [...]string{".request", ".response"}[i%2]
		if f.Name != want {
			return nil, position{name, line}.errorAt("-- %s -- is out of turn: here comes -- %s --", excerpt(f.Name), want)
		}
		s := &section{position{name, line + 1}, f.Name, f.Data}
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
		return nil, position{name, line}.errorAt("-- %d.response -- is missing: each request has a response, if only with a direction like :@ cut", len(ar.Files)/2+1)
	}
	return t, nil
}

// normalizeLineEnds is a file without what an editor or a version control system may have
// done to it: a byte order mark, and a CR at the end of each and every line.
func normalizeLineEnds(data []byte) []byte {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if n := bytes.Count(data, []byte("\r\n")); n > 0 && n == bytes.Count(data, []byte("\n")) {
		return bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))
	}
	return data
}

func (t *Transcript) parseRequest(s *section) error {
	h, err := s.parseHead(splitRequest)
	if err != nil {
		return err
	}
	if h.framing != nil {
		return s.lastLineAt().errorAt("%s: :@ framing is for responses", s.name)
	}
	x := spec.Exchange{At: h.at, Request: spec.Request{Header: h.header, Principal: h.principal}}
	switch {
	case h.startLine == nil && len(bytes.TrimSpace(s.data)) > 0:
		return s.errorAt("%s: there is no start line: it is METHOD TARGET HTTP/1.1", s.name)
	case h.startLine != nil && len(h.startLine) != 2:
		return s.errorAt("%s: a start line spelled out is method and target, as two strings", s.name)
	case h.startLine != nil:
		x.Request.Method, x.Request.Target = h.startLine[0], h.startLine[1]
	}
	b := bodyParser{position: s.position, stream: isEventStream(h.header), crlf: h.crlf}
	if err := b.parse(s.data); err != nil {
		return err
	}
	x.Request.Body = b.body
	t.Trace.Exchanges = append(t.Trace.Exchanges, x)
	return nil
}

func (t *Transcript) parseResponse(s *section) error {
	h, err := s.parseHead(splitResponse)
	if err != nil {
		return err
	}
	x := &t.Trace.Exchanges[len(t.Trace.Exchanges)-1]
	if h.at != 0 {
		return s.lastLineAt().errorAt("%s: :@ at is for requests", s.name)
	}
	if h.principal != "" {
		return s.lastLineAt().errorAt("%s: :@ who is for requests", s.name)
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
	b := bodyParser{position: s.position, stream: isEventStream(h.header), crlf: h.crlf, isResponse: true}
	if err := b.parse(s.data); err != nil {
		return err
	}
	if h.startLine == nil && (len(b.body) > 0 || !b.ended) {
		return s.errorAt("%s: there is no start line: it is HTTP/1.1 STATUS REASON, or if no answer came, a direction like :@ cut and nothing else", s.name)
	}
	r.Body, r.Arrivals, r.End, r.Trailer = b.body, b.reads, b.end, b.trailer
	x.Response = r
	t.Playback = append(t.Playback, b.steps)
	return nil
}

// statusLine reads the parts of a start line.
func statusLine(parts []string) (proto string, status int, reason string, err error) {
	if len(parts) != 3 {
		return "", 0, "", fmt.Errorf("a start line spelled out is protocol, status and reason, as three strings")
	}
	if status, err = strconv.Atoi(parts[1]); err != nil {
		return "", 0, "", fmt.Errorf("the status is %q: it is a number", excerpt(parts[1]))
	}
	return parts[0], status, parts[2], nil
}
