package transcript

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/streamassay/streamassay/spec"
)

// Format writes a conversation down. Parse makes the same Trace of it: bodies and
// fields byte for byte, times to the [Tick], ends by errors.Is; but for what is
// kept secret (see the package comment). It takes one copy of the bodies.
func Format(t *Transcript) []byte {
	b := bytes.NewBuffer(make([]byte, 0, size(t)))
	hide := newRedactor(t)
	writeComment(b, t, hide)
	for i, x := range t.Trace.Exchanges {
		fmt.Fprintf(b, "-- %d.request --\n", i+1)
		if at := x.At.Truncate(Tick); at > 0 {
			fmt.Fprintf(b, "%s at %v\n", directive, at)
		}
		if slices.Contains(others, x.Request.Principal) {
			fmt.Fprintf(b, "%s who %s\n", directive, x.Request.Principal)
		}
		writeRequest(b, x.Request, hide)
		fmt.Fprintf(b, "-- %d.response --\n", i+1)
		writeResponse(b, x.Request.Method, x.Response, hide)
	}
	return b.Bytes()
}

// size estimates how long a file is going to be.
func size(t *Transcript) int {
	n := 512 + len(t.Comment)
	for _, x := range t.Trace.Exchanges {
		n += 512 + 24*len(x.Response.Arrivals)
		for _, body := range [][]byte{x.Request.Body, x.Response.Body} {
			if n += len(body); !utf8.Valid(body) {
				n += len(body) / 2 // base64
			}
		}
		for _, h := range []spec.Header{x.Request.Header, x.Response.Header} {
			for _, f := range h {
				n += len(f.Name) + len(f.Value) + 4
			}
		}
	}
	return n
}

func writeRequest(b *bytes.Buffer, r spec.Request, hide redactor) {
	if r.Method == "" && r.Target == "" && len(r.Header) == 0 && len(r.Body) == 0 {
		return
	}
	target, header := hide.text(r.Target), hide.header(r.Header)
	body := hide.body(r.Body)
	w := writer{b, mostlyCRLF(body)}
	w.lines()
	method := r.Method
	if method == "" {
		method = "?"
	}
	switch {
	case r.Method != "" && !isToken(r.Method) || !clearTarget(target):
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
	w.end(ending{word: "end", tail: writeLines(b, body, w.crlf), stream: streams(header)})
}

// clearTarget says whether a start line can hold a target as it is.
func clearTarget(s string) bool { return clearText(s) && len(strings.Fields(s)) <= 1 }

func writeResponse(b *bytes.Buffer, method string, r spec.Response, hide redactor) {
	word, why := endWord(r.End)
	why = hide.text(why)
	header, trailer := hide.header(r.Header), hide.header(r.Trailer)
	body := hide.body(r.Body)
	w := writer{b, mostlyCRLF(body)}
	w.framing(r.Framing, framingOf(method, spec.Response{Proto: r.Proto, Status: r.Status, Header: header}))
	e := ending{word: word, why: why, stream: streams(header), trailer: trailer, always: len(trailer) > 0}
	w.lines()
	if r.Status == 0 && r.Proto == "" && r.Reason == "" && len(header) == 0 && len(body) == 0 {
		e.always = true
		w.end(e)
		return
	}
	w.status(r.Proto, r.Status, hide.text(r.Reason))
	w.fields(header)
	if len(body) == 0 && word == "end" && !e.always {
		return
	}
	b.WriteByte('\n')
	e.tail = w.pieces(body, arrivals(spec.Response{Body: body, Arrivals: r.Arrivals}))
	w.end(e)
}

// A writer writes the parts of a section.
type writer struct {
	*bytes.Buffer
	crlf bool
}

func (w writer) framing(f, evident spec.Framing) {
	switch f {
	case evident:
	case spec.FramingUnknown:
		w.WriteString(directive + " framing unknown\n")
	default:
		for _, known := range framings {
			if f == known {
				w.WriteString(directive + " framing " + string(f) + "\n")
			}
		}
	}
}

func (w writer) lines() {
	if w.crlf {
		w.WriteString(directive + " lines crlf\n")
	}
}

// plainProto is a protocol that a start line can hold as it is.
var plainProto = regexp.MustCompile(`^HTTP/[0-9]\.[0-9]$`)

func (w writer) status(proto string, status int, reason string) {
	if proto != "" && !plainProto.MatchString(proto) || status < 0 || status > 999 || !clearText(reason) {
		w.raw(proto, strconv.Itoa(status), reason)
		return
	}
	if proto == "" {
		proto = "HTTP/?"
	}
	if reason != "" {
		reason = " " + reason
	}
	fmt.Fprintf(w, "%s %d%s\n", proto, status, reason)
}

func (w writer) raw(parts ...string) {
	w.WriteString(directive + " " + rawWord)
	for _, p := range parts {
		w.WriteString(" " + strconv.Quote(p))
	}
	w.WriteByte('\n')
}

func (w writer) fields(h spec.Header) {
	for _, f := range h {
		switch {
		case !isToken(f.Name) || !clearText(f.Value):
			w.raw(f.Name, f.Value)
		case f.Value == "":
			w.WriteString(f.Name + ":\n")
		default:
			w.WriteString(f.Name + ": " + f.Value + "\n")
		}
	}
}

// pieces writes a body, and when each piece of it arrived.
func (w writer) pieces(body []byte, reads []spec.Arrival) (last tail) {
	done, clock := 0, time.Duration(0)
	for _, read := range reads {
		w.WriteString(directive + " wait " + (read.At - clock).String())
		if last.added {
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

// An ending is how a body ends, and what has to be known to say so.
type ending struct {
	word, why string
	tail
	stream  bool
	always  bool // a direction is needed even if it says nothing new
	trailer spec.Header
}

// end writes the direction that ends a body, if one is needed.
func (w writer) end(e ending) {
	assumed := e.word == "end" && (!e.plain || e.added != e.stream)
	if assumed && !e.always {
		return
	}
	w.WriteString(directive + " " + e.word)
	if e.added {
		w.WriteString(" mid-line")
	}
	if e.why != "" {
		w.WriteString(" (" + e.why + ")")
	}
	w.WriteByte('\n')
	for _, f := range e.trailer {
		w.WriteString(directive + " trailer ")
		if !isToken(f.Name) || !clearText(f.Value) {
			w.WriteString(strconv.Quote(f.Name) + " " + strconv.Quote(f.Value) + "\n")
			continue
		}
		w.WriteString(f.Name + ": " + f.Value + "\n")
	}
}
