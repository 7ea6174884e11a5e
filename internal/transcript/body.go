package transcript

import (
	"bytes"
	"encoding/base64"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/streamassay/streamassay/spec"
)

// A parsedBody is the result of parsing the body of a request or a response.
type parsedBody struct {
	body    []byte
	reads   []spec.Arrival // arrivals of the pieces of the body; nil if the timing is unknown
	steps   []PlaybackStep // steps to send the body again
	end     error          // why the body is incomplete; nil if it is complete
	trailer spec.Header
}

// A bodySectionParser separates the body in a section of a transcript from the directives in that
// section. It does not copy a body without directives.
type bodySectionParser struct {
	position        // the current line, for errors
	stream     bool // the body is an event stream
	crlf       bool // the lines of the body end with CR LF
	isResponse bool // the body is that of a response

	parsedBody
	pieceStart int               // offset of the current piece in the body
	clock      time.Duration     // time from the request to the arrival of the current piece
	isTimed    bool              // a wait directive states when pieces arrived
	ended      bool              // the body has ended, so that only trailer directives may follow
	plain      bool              // the last line of the body so far is not encoded as raw or base64
	endGiven   bool              // a directive marks the end of the body
	wants      []ExpectedFinding // findings of the want directives; the caller of parse sets their field Exchange
}

// parse parses data, the part of a section after its head, and sets b.parsedBody to the result. If
// a directive is invalid, or if a line of the body follows the end of the body, parse returns an
// error with the position of that directive or line.
func (b *bodySectionParser) parse(data []byte) error {
	if !b.crlf && nextDirective(data) == len(data) {
		b.body, b.plain = data[:len(data):len(data)], true
		b.finish()
		return nil
	}
	capacity := len(data)
	if b.crlf {
		capacity += bytes.Count(data, []byte("\n"))
	}
	b.body = make([]byte, 0, capacity)
	for len(data) > 0 {
		n := nextDirective(data)
		if err := b.addLines(data[:n]); err != nil {
			return err
		}
		b.line += bytes.Count(data[:n], []byte("\n"))
		if data = data[n:]; len(data) == 0 {
			break
		}
		line, rest, _ := bytes.Cut(data, []byte("\n"))
		if err := b.applyDirective(bytes.TrimRight(line, " \t\r")); err != nil {
			return err
		}
		b.line++
		data = rest
	}
	b.finish()
	return nil
}

// nextDirective returns the offset of the first line of data that is a directive, or the length of
// data if there is none.
func nextDirective(data []byte) int {
	if bytes.HasPrefix(data, []byte(directivePrefix)) {
		return 0
	}
	if i := bytes.Index(data, []byte("\n"+directivePrefix)); i >= 0 {
		return i + 1
	}
	return len(data)
}

// addLines adds lines that are not directives to the body. It returns an error if a directive has
// already ended the body.
func (b *bodySectionParser) addLines(lines []byte) error {
	if len(lines) == 0 {
		return nil
	}
	if b.ended {
		return b.errorAt("the body ended above: only :@ trailer may follow")
	}
	b.plain = true
	if !b.crlf {
		b.body = append(b.body, lines...)
		return nil
	}
	for line := range bytes.Lines(lines) {
		text, _ := bytes.CutSuffix(line, []byte("\n"))
		b.body = append(append(b.body, text...), "\r\n"...)
	}
	return nil
}

// applyDirective executes the directive in line, which has no line ending. It returns an error if
// the directive is invalid or out of place.
func (b *bodySectionParser) applyDirective(line []byte) error {
	if data, ok := bytes.CutPrefix(line, []byte(directivePrefix+" "+base64Directive+" ")); ok && !b.ended {
		return b.addBase64(data) // fast path: there may be a million of these
	}
	word, arg, err := b.parseDirective(string(line))
	if err != nil {
		return err
	}
	if b.ended && word != "trailer" {
		return b.errorAt("%s: the body ended above: only :@ trailer may follow", excerpt(string(line)))
	}
	switch word {
	case rawDirective:
		return b.addRaw(arg)
	case base64Directive:
		return b.addBase64([]byte(arg))
	case "wait":
		return b.addWait(arg)
	case "want":
		if arg == "" {
			return b.errorAt(":@ want: want the ID of a check")
		}
		b.wants = append(b.wants, ExpectedFinding{Check: arg, Part: PartBody, Offset: len(b.body)})
		return nil
	case "trailer":
		return b.addTrailer(arg)
	}
	return b.addEnd(word, arg)
}

// parseDirective splits line, a directive. The result word is the name of the directive, and arg is
// its argument, or "" if it has none. parseDirective returns an error if the directive is not
// allowed in the body.
func (b *bodySectionParser) parseDirective(line string) (word, arg string, err error) {
	word, arg, _ = strings.Cut(strings.TrimPrefix(line, directivePrefix+" "), " ")
	where, known := "a request's body", requestDirectives
	if b.isResponse {
		where, known = "a response's body", responseDirectives
	}
	if !slices.Contains(known, word) {
		return "", "", b.errorAt("%s: unknown directive in %s: want %s "+
			"(\":@ raw\" encodes a line that only looks like a directive)",
			excerpt(line), where, strings.Join(known, ", "))
	}
	return word, strings.TrimSpace(arg), nil
}

// The directives that the bodies of requests and of responses may contain.
var (
	requestDirectives  = []string{rawDirective, base64Directive, "end"}
	responseDirectives = slices.Concat(requestDirectives, []string{"wait", "want", "trailer"}, endDirectiveNames())
)

// addRaw executes a raw directive: it decodes arg, a Go string in double quotes, and appends the
// decoded bytes to the body. It returns an error if arg is not such a string.
func (b *bodySectionParser) addRaw(arg string) error {
	text, err := strconv.Unquote(arg)
	if err != nil || arg[0] != '"' {
		return b.errorAt(":@ raw %s: want one Go string in double quotes", excerpt(arg))
	}
	b.body, b.plain = append(b.body, text...), false
	return nil
}

// addBase64 executes a base64 directive: it decodes data and appends the decoded bytes to the body.
// It returns an error if data is not standard base64 with padding.
func (b *bodySectionParser) addBase64(data []byte) (err error) {
	b.plain = false
	if b.body, err = base64.StdEncoding.AppendDecode(b.body, bytes.TrimSpace(data)); err != nil {
		return b.errorAt(":@ base64 %s: want standard base64 with padding: %w", excerpt(string(data)), err)
	}
	return nil
}

// addWait executes a wait directive: it ends the current piece of the body, so that the next line
// begins a new piece. The parameter arg begins with a duration: the time between the arrivals of
// the two pieces or, for the first piece, the time since the request. The word mid-line may
// follow, which removes the newline before the directive from the body. addWait returns an error
// if arg is invalid.
func (b *bodySectionParser) addWait(arg string) error {
	arg, midLine := cutMidLine(arg)
	d, err := time.ParseDuration(arg)
	if err != nil || d < 0 {
		return b.errorAt(":@ wait %s: want a duration (e.g. 50ms), optionally with mid-line", excerpt(arg))
	}
	if err := b.trimBeforeMidLine(midLine); err != nil {
		return err
	}
	b.flushPiece()
	b.steps = append(b.steps, PlaybackStep{Directive: "wait", Argument: arg})
	b.clock += d
	b.isTimed = true
	return nil
}

// addEnd executes a directive that ends the body. The parameter word is the name of the directive,
// such as cut. The parameter arg may contain the word mid-line, which removes the newline before
// the directive from the body, and a reason in parentheses. The directive end has no reason.
// addEnd returns an error if arg is invalid.
func (b *bodySectionParser) addEnd(word, arg string) error {
	why, midLine := cutMidLine(arg)
	if inner, ok := strings.CutPrefix(why, "("); why != "" {
		inner, closed := strings.CutSuffix(inner, ")")
		if !ok || !closed || word == "end" {
			return b.errorAt(":@ %s %s: want nothing but mid-line and, except for end, a reason in parentheses",
				word, excerpt(arg))
		}
		why = inner
	}
	if err := b.trimBeforeMidLine(midLine); err != nil {
		return err
	}
	b.flushPiece()
	b.end, _ = endError(word, why)
	b.steps = append(b.steps, PlaybackStep{Directive: word, Argument: why})
	b.ended, b.endGiven = true, true
	return nil
}

// addTrailer executes a trailer directive: it parses arg as a header field and adds the field to
// the trailer. It returns an error if arg is invalid or the body has not ended.
func (b *bodySectionParser) addTrailer(arg string) error {
	if !b.ended {
		return b.errorAt(":@ trailer %s: :@ end must precede trailers", excerpt(arg))
	}
	field, err := parseField(arg)
	if err != nil {
		return b.errorAt(":@ trailer %s: %w", excerpt(arg), err)
	}
	b.trailer = append(b.trailer, field)
	return nil
}

// cutMidLine returns arg, the argument of a directive, without the word mid-line. The result ok
// reports whether the argument contained the word.
func cutMidLine(arg string) (rest string, ok bool) {
	if rest, ok = strings.CutPrefix(arg, "mid-line"); ok { // ":@ cut mid-line (why)"
		return strings.TrimSpace(rest), true
	}
	rest, ok = strings.CutSuffix(arg, " mid-line") // ":@ wait 5ms mid-line"
	return strings.TrimSpace(rest), ok
}

// trimBeforeMidLine removes the newline at the end of the body if midLine is true. The parameter
// midLine states whether the directive that follows the body contains the word mid-line.
// trimBeforeMidLine returns an error if midLine is true, but the line before the directive is
// encoded or not part of the body.
func (b *bodySectionParser) trimBeforeMidLine(midLine bool) error {
	if !midLine {
		return nil
	}
	if len(b.body) == b.pieceStart || !b.plain {
		return b.errorAt("mid-line: no line of the body precedes the directive")
	}
	b.trimNewline()
	return nil
}

// trimNewline removes the line ending at the end of the body, if there is one.
func (b *bodySectionParser) trimNewline() {
	b.body = bytes.TrimSuffix(b.body, []byte(newline(b.crlf)))
}

// flushPiece ends the current piece of the body: it appends to b.reads the arrival of the piece,
// and to b.steps a step that sends the piece. It does nothing if the piece is empty.
func (b *bodySectionParser) flushPiece() {
	end := len(b.body)
	if end == b.pieceStart {
		return
	}
	b.steps = append(b.steps, PlaybackStep{Data: b.body[b.pieceStart:end:end]})
	b.reads = append(b.reads, spec.Arrival{End: end, At: b.clock})
	b.pieceStart = end
}

// finish ends the body at the end of the section. The newline at the end of a section usually only
// ends the section, so finish removes it from the body. The newline is part of the body, however,
// if the body is an event stream, if a directive marks the end of the body, or if the last line is
// encoded.
func (b *bodySectionParser) finish() {
	if !b.endGiven && !b.stream && b.plain && len(b.body) > b.pieceStart {
		b.trimNewline() // it belongs to the archive
	}
	b.flushPiece()
	if !b.isTimed {
		b.reads = nil
	}
}
