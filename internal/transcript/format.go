package transcript

import (
	"bytes"
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/streamassay/streamassay/internal/redact"
	"github.com/streamassay/streamassay/spec"
)

// Format returns the conversation t as text in the format of transcripts. Parse returns an equal
// Trace for this text, with three exceptions: secrets are replaced (see the package comment),
// times are truncated to [TimeResolution], and the error with which a body ended becomes one that
// wraps the same error of package spec.
func Format(t *Transcript) []byte {
	size := 512 + len(t.Comment) // an estimate, so that large bodies are rarely copied
	for _, x := range t.Trace.Exchanges {
		size += 2048 + 24*len(x.Response.Arrivals)
		for _, body := range [][]byte{x.Request.Body, x.Response.Body} {
			if size += len(body); !utf8.Valid(body) {
				size += len(body) / 2 // base64
			}
		}
	}
	b := bytes.NewBuffer(make([]byte, 0, size))
	hide := secretRedactor{redact.New(t.Secrets...), t.RedactHeaders}
	writeComment(b, t, hide)
	for i, x := range t.Trace.Exchanges {
		fmt.Fprintf(b, "-- %d.request --\n", i+1)
		if at := x.At.Truncate(TimeResolution); at > 0 {
			fmt.Fprintf(b, "%s at %v\n", directivePrefix, at)
		}
		if slices.Contains(otherPrincipals, x.Request.Principal) {
			fmt.Fprintf(b, "%s who %s\n", directivePrefix, x.Request.Principal)
		}
		writeRequest(b, x.Request, hide)
		fmt.Fprintf(b, "-- %d.response --\n", i+1)
		writeResponse(b, x.Request.Method, x.Response, hide)
	}
	return b.Bytes()
}

// writeRequest writes to b the section of the request r, without the marker line. It uses hide to
// replace secrets. It writes nothing for a request that was not recorded.
func writeRequest(b *bytes.Buffer, r spec.Request, hide secretRedactor) {
	if r.Method == "" && r.Target == "" && len(r.Header) == 0 && len(r.Body) == 0 {
		return
	}
	target, header := hide.String(r.Target), hide.header(r.Header)
	body := hide.Bytes(r.Body)
	w := sectionWriter{b, usesCRLF(body)}
	w.lineEnds()
	method := cmp.Or(r.Method, "?")
	switch {
	case r.Method != "" && !isToken(r.Method) || !isCleanValue(target) || len(strings.Fields(target)) > 1:
		w.raw(r.Method, target)
	case target == "":
		b.WriteString(method + " HTTP/1.1\n")
	default:
		b.WriteString(method + " " + target + " HTTP/1.1\n")
	}
	w.fields(header)
	if len(body) == 0 {
		return
	}
	b.WriteByte('\n')
	w.end(bodyEnd{word: "end", lastLineEncoding: writeLines(b, body, w.crlf), stream: isEventStream(header)})
}

// writeResponse writes to b the section of the response r, without the marker line. It uses hide to
// replace secrets. The argument method is the method of the request. The framing is written only if
// the method and the head do not imply it.
func writeResponse(b *bytes.Buffer, method string, r spec.Response, hide secretRedactor) {
	word, why := endDirective(r.End)
	why = hide.String(why)
	header, trailer := hide.header(r.Header), hide.header(r.Trailer)
	body := hide.Bytes(r.Body)
	w := sectionWriter{b, usesCRLF(body)}
	w.framing(r.Framing, framingOf(method, spec.Response{Proto: r.Proto, Status: r.Status, Header: header}))
	e := bodyEnd{word: word, why: why, stream: isEventStream(header), trailer: trailer, required: len(trailer) > 0}
	w.lineEnds()
	if r.Status == 0 && r.Proto == "" && r.Reason == "" && len(header) == 0 && len(body) == 0 {
		e.required = true
		w.end(e)
		return
	}
	w.status(r.Proto, r.Status, hide.String(r.Reason))
	w.fields(header)
	if len(body) == 0 && word == "end" && !e.required {
		return
	}
	b.WriteByte('\n')
	e.lastLineEncoding = w.timedBody(body, recordableArrivals(spec.Response{Body: body, Arrivals: r.Arrivals}))
	w.end(e)
}

// A sectionWriter writes the parts of one section to a buffer. If crlf is true, the lines of the
// body end with CR LF.
type sectionWriter struct {
	*bytes.Buffer
	crlf bool
}

// framing writes a directive that states the framing f. It writes nothing if f equals implied, the
// framing that the head of the response implies, or if no directive can state f.
func (w sectionWriter) framing(f, implied spec.BodyFraming) {
	switch {
	case f == implied:
	case f == spec.FramingUnknown:
		w.WriteString(directivePrefix + " framing unknown\n")
	case slices.Contains(framings, f):
		w.WriteString(directivePrefix + " framing " + string(f) + "\n")
	}
}

// lineEnds writes the directive that states that the lines of the body end with CR LF. It does
// nothing if w.crlf is false.
func (w sectionWriter) lineEnds() {
	if w.crlf {
		w.WriteString(directivePrefix + " lines crlf\n")
	}
}

// plainProto matches a protocol that a status line can contain as it is.
var plainProto = regexp.MustCompile(`^HTTP/[0-9]\.[0-9]$`)

// status writes the status line of a response. If proto is "", it writes HTTP/? as the protocol. A
// status line that Parse would not read back exactly is written as a raw directive.
func (w sectionWriter) status(proto string, status int, reason string) {
	if proto != "" && !plainProto.MatchString(proto) || status < 0 || status > 999 || !isCleanValue(reason) {
		w.raw(proto, strconv.Itoa(status), reason)
		return
	}
	if reason != "" {
		reason = " " + reason
	}
	fmt.Fprintf(w, "%s %d%s\n", cmp.Or(proto, "HTTP/?"), status, reason)
}

// raw writes a raw directive that encodes a line with the given parts. Each part is written as a Go
// string literal in double quotes.
func (w sectionWriter) raw(parts ...string) {
	w.WriteString(directivePrefix + " " + rawDirective)
	for _, p := range parts {
		w.WriteString(" " + strconv.Quote(p))
	}
	w.WriteByte('\n')
}

// fields writes the header fields of h, one per line. A field that a line NAME: VALUE cannot
// represent exactly is written as a raw directive.
func (w sectionWriter) fields(h spec.Header) {
	for _, f := range h {
		switch {
		case !isToken(f.Name) || !isCleanValue(f.Value):
			w.raw(f.Name, f.Value)
		case f.Value == "":
			w.WriteString(f.Name + ":\n")
		default:
			w.WriteString(f.Name + ": " + f.Value + "\n")
		}
	}
}

// timedBody writes body in pieces, each after a wait directive. Each element of reads holds the
// end and the arrival time of a piece. The bytes of body after the last piece are written without
// a directive. The result describes how the last line was written.
func (w sectionWriter) timedBody(body []byte, reads []spec.Arrival) (last lastLineEncoding) {
	done, clock := 0, time.Duration(0)
	for _, read := range reads {
		w.WriteString(directivePrefix + " wait " + (read.At - clock).String())
		if last.newlineAdded {
			w.WriteString(" mid-line")
		}
		w.WriteByte('\n')
		last = writeLines(w.Buffer, body[done:read.End], w.crlf)
		done, clock = read.End, read.At
	}
	if done < len(body) {
		last = writeLines(w.Buffer, body[done:], w.crlf)
	}
	return last
}

// A bodyEnd describes the end of a body, and whether a directive must state it.
type bodyEnd struct {
	word, why string // name and reason of the directive
	lastLineEncoding
	stream   bool // the body is an event stream
	required bool // the directive must be written even if Parse would assume this end without it
	trailer  spec.Header
}

// end writes the directive for e, the end of a body, followed by the trailer. It writes nothing if
// Parse assumes this end when there is no directive, unless e.required is true. If there is a
// trailer, e.required must be true.
func (w sectionWriter) end(e bodyEnd) {
	assumed := e.word == "end" && (!e.plain || e.newlineAdded != e.stream)
	if assumed && !e.required {
		return
	}
	w.WriteString(directivePrefix + " " + e.word)
	if e.newlineAdded {
		w.WriteString(" mid-line")
	}
	if e.why != "" {
		w.WriteString(" (" + e.why + ")")
	}
	w.WriteByte('\n')
	for _, f := range e.trailer {
		w.WriteString(directivePrefix + " trailer ")
		if !isToken(f.Name) || !isCleanValue(f.Value) {
			w.WriteString(strconv.Quote(f.Name) + " " + strconv.Quote(f.Value) + "\n")
			continue
		}
		w.WriteString(f.Name + ": " + f.Value + "\n")
	}
}
