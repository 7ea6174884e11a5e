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

// A parsedBody is what a section says after its head.
type parsedBody struct {
	body    []byte
	reads   []spec.Arrival
	steps   []PlaybackStep
	end     error
	trailer spec.Header
}

// A bodyParser takes a body and its directions apart. What it collects is appended
// to one slice that never grows beyond the section, so a body is copied once at
// most: not at all where no direction interrupts it.
type bodyParser struct {
	position
	stream, crlf, isResponse bool

	parsedBody
	pieceStart int           // where the piece begins that is being said
	clock      time.Duration // when that arrived
	isTimed    bool
	ended      bool
	plain      bool // the last line was neither raw nor base64
	endGiven   bool // a direction said where the body ends
}

// parse reads all of a section after its head.
func (b *bodyParser) parse(data []byte) error {
	if !b.crlf && !bytes.HasPrefix(data, []byte(directivePrefix)) && !bytes.Contains(data, []byte("\n"+directivePrefix)) {
		b.body, b.plain = data[:len(data):len(data)], true
		b.finish()
		return nil
	}
	room := len(data)
	if b.crlf {
		room += bytes.Count(data, []byte("\n"))
	}
	b.body = make([]byte, 0, room)
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

// nextDirective is where the next direction begins, or the end.
func nextDirective(data []byte) int {
	if bytes.HasPrefix(data, []byte(directivePrefix)) {
		return 0
	}
	if i := bytes.Index(data, []byte("\n"+directivePrefix)); i >= 0 {
		return i + 1
	}
	return len(data)
}

func (b *bodyParser) addLines(lines []byte) error {
	if len(lines) == 0 {
		return nil
	}
	if b.ended {
		return b.errorAt("the body has ended above: nothing but :@ trailer can follow")
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

// applyDirective follows one direction.
func (b *bodyParser) applyDirective(line []byte) error {
	if data, ok := bytes.CutPrefix(line, []byte(directivePrefix+" "+base64Directive+" ")); ok && !b.ended {
		return b.addBase64(data) // there may be a million of these
	}
	word, arg, err := b.parseDirective(string(line))
	if err != nil {
		return err
	}
	if b.ended && word != "trailer" {
		return b.errorAt("%s: the body has ended above: nothing but :@ trailer can follow", excerpt(string(line)))
	}
	switch word {
	case rawDirective:
		return b.addRaw(arg)
	case base64Directive:
		return b.addBase64([]byte(arg))
	case "wait":
		return b.addWait(arg)
	case "trailer":
		return b.addTrailer(arg)
	}
	return b.addEnd(word, arg)
}

// parseDirective takes the line of a direction apart, if it has a place in this section.
func (b *bodyParser) parseDirective(line string) (word, arg string, err error) {
	word, arg, _ = strings.Cut(strings.TrimPrefix(line, directivePrefix+" "), " ")
	if known := b.allowedDirectives(); !slices.Contains(known, word) {
		where := "a request's body"
		if b.isResponse {
			where = "a response's body"
		}
		return "", "", b.errorAt("%s: no such direction in %s: there are %s (\":@ raw\" spells out a line that only looks like one)",
			excerpt(line), where, strings.Join(known, ", "))
	}
	return word, strings.TrimSpace(arg), nil
}

var (
	requestDirectives  = []string{rawDirective, base64Directive, "end"}
	responseDirectives = slices.Concat(requestDirectives, []string{"wait", "trailer"}, endDirectiveNames())
)

// allowedDirectives are the directions that a body may hold.
func (b *bodyParser) allowedDirectives() []string {
	if b.isResponse {
		return responseDirectives
	}
	return requestDirectives
}

func (b *bodyParser) addRaw(arg string) error {
	text, err := strconv.Unquote(arg)
	if err != nil || arg[0] != '"' {
		return b.errorAt(":@ raw %s: it takes one string in double quotes, with the escapes of Go", excerpt(arg))
	}
	b.body, b.plain = append(b.body, text...), false
	return nil
}

func (b *bodyParser) addBase64(data []byte) (err error) {
	b.plain = false
	if b.body, err = base64.StdEncoding.AppendDecode(b.body, bytes.TrimSpace(data)); err != nil {
		return b.errorAt(":@ base64 %s: it takes standard base64, padded: %w", excerpt(string(data)), err)
	}
	return nil
}

func (b *bodyParser) addWait(arg string) error {
	arg, midLine := cutMidLine(arg)
	d, err := time.ParseDuration(arg)
	if err != nil || d < 0 {
		return b.errorAt(":@ wait %s: it takes a duration like 50ms, and perhaps mid-line", excerpt(arg))
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

// addEnd follows a direction that ends the body.
func (b *bodyParser) addEnd(word, arg string) error {
	why, midLine := cutMidLine(arg)
	if inner, ok := strings.CutPrefix(why, "("); why != "" {
		inner, closed := strings.CutSuffix(inner, ")")
		if !ok || !closed || word == "end" {
			return b.errorAt(":@ %s %s: an end takes nothing but mid-line, and those that are no good a reason in parentheses", word, excerpt(arg))
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

func (b *bodyParser) addTrailer(arg string) error {
	if !b.ended {
		return b.errorAt(":@ trailer %s: trailers come after the end, so :@ end must precede them", excerpt(arg))
	}
	field, err := parseField(arg)
	if err != nil {
		return b.errorAt(":@ trailer %s: %w", excerpt(arg), err)
	}
	b.trailer = append(b.trailer, field)
	return nil
}

func cutMidLine(arg string) (rest string, ok bool) {
	if rest, ok = strings.CutPrefix(arg, "mid-line"); ok { // ":@ cut mid-line (why)"
		return strings.TrimSpace(rest), true
	}
	rest, ok = strings.CutSuffix(arg, " mid-line") // ":@ wait 5ms mid-line"
	return strings.TrimSpace(rest), ok
}

// trimBeforeMidLine takes back the newline before a direction.
func (b *bodyParser) trimBeforeMidLine(wanted bool) error {
	if !wanted {
		return nil
	}
	if len(b.body) == b.pieceStart || !b.plain {
		return b.errorAt("mid-line: no line of the body stands before the direction")
	}
	b.trimNewline()
	return nil
}

// trimNewline takes the last newline off.
func (b *bodyParser) trimNewline() {
	if b.crlf {
		b.body = bytes.TrimSuffix(b.body, []byte("\r\n"))
		return
	}
	b.body = bytes.TrimSuffix(b.body, []byte("\n"))
}

// flushPiece makes a cue of what has been collected since the last one.
func (b *bodyParser) flushPiece() {
	end := len(b.body)
	if end == b.pieceStart {
		return
	}
	b.steps = append(b.steps, PlaybackStep{Data: b.body[b.pieceStart:end:end]})
	b.reads = append(b.reads, spec.Arrival{End: end, At: b.clock})
	b.pieceStart = end
}

func (b *bodyParser) finish() {
	if !b.endGiven && !b.stream && b.plain && len(b.body) > b.pieceStart {
		b.trimNewline() // the archive's newline
	}
	b.flushPiece()
	if !b.isTimed {
		b.reads = nil
	}
}
