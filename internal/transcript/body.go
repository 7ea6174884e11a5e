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

// A said is what a section says after its head.
type said struct {
	body    []byte
	reads   []spec.Arrival
	cues    []Cue
	end     error
	trailer spec.Header
}

// A bodyParser takes a body and its directions apart. What it collects is appended
// to one slice that never grows beyond the section, so a body is copied once at
// most: not at all where no direction interrupts it.
type bodyParser struct {
	place
	stream, crlf, answer bool

	said
	from    int           // where the piece begins that is being said
	clock   time.Duration // when that arrived
	timed   bool
	ended   bool
	plain   bool // the last line was neither raw nor base64
	settled bool // a direction said where the body ends
}

// parse reads all of a section after its head.
func (b *bodyParser) parse(data []byte) error {
	if !b.crlf && !bytes.HasPrefix(data, []byte(directive)) && !bytes.Contains(data, []byte("\n"+directive)) {
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
		n := nextDirection(data)
		if err := b.text(data[:n]); err != nil {
			return err
		}
		b.line += bytes.Count(data[:n], []byte("\n"))
		if data = data[n:]; len(data) == 0 {
			break
		}
		line, rest, _ := bytes.Cut(data, []byte("\n"))
		if err := b.direct(bytes.TrimRight(line, " \t\r")); err != nil {
			return err
		}
		b.line++
		data = rest
	}
	b.finish()
	return nil
}

// nextDirection is where the next direction begins, or the end.
func nextDirection(data []byte) int {
	if bytes.HasPrefix(data, []byte(directive)) {
		return 0
	}
	if i := bytes.Index(data, []byte("\n"+directive)); i >= 0 {
		return i + 1
	}
	return len(data)
}

func (b *bodyParser) text(lines []byte) error {
	if len(lines) == 0 {
		return nil
	}
	if b.ended {
		return b.errorf("the body has ended above: nothing but :@ trailer can follow")
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

// direct follows one direction.
func (b *bodyParser) direct(line []byte) error {
	if data, ok := bytes.CutPrefix(line, []byte(directive+" "+base64Word+" ")); ok && !b.ended {
		return b.decode(data) // there may be a million of these
	}
	word, arg, err := b.direction(string(line))
	if err != nil {
		return err
	}
	if b.ended && word != "trailer" {
		return b.errorf("%s: the body has ended above: nothing but :@ trailer can follow", short(string(line)))
	}
	switch word {
	case rawWord:
		return b.unquote(arg)
	case base64Word:
		return b.decode([]byte(arg))
	case "wait":
		return b.wait(arg)
	case "trailer":
		return b.addTrailer(arg)
	}
	return b.finale(word, arg)
}

// direction takes the line of a direction apart, if it has a place in this section.
func (b *bodyParser) direction(line string) (word, arg string, err error) {
	word, arg, _ = strings.Cut(strings.TrimPrefix(line, directive+" "), " ")
	if known := b.words(); !slices.Contains(known, word) {
		where := "a request's body"
		if b.answer {
			where = "a response's body"
		}
		return "", "", b.errorf("%s: no such direction in %s: there are %s (\":@ raw\" spells out a line that only looks like one)",
			short(line), where, strings.Join(known, ", "))
	}
	return word, strings.TrimSpace(arg), nil
}

var (
	requestWords  = []string{rawWord, base64Word, "end"}
	responseWords = slices.Concat(requestWords, []string{"wait", "trailer"}, endWords())
)

// words are the directions that a body may hold.
func (b *bodyParser) words() []string {
	if b.answer {
		return responseWords
	}
	return requestWords
}

func (b *bodyParser) unquote(arg string) error {
	text, err := strconv.Unquote(arg)
	if err != nil || arg[0] != '"' {
		return b.errorf(":@ raw %s: it takes one string in double quotes, with the escapes of Go", short(arg))
	}
	b.body, b.plain = append(b.body, text...), false
	return nil
}

func (b *bodyParser) decode(data []byte) (err error) {
	b.plain = false
	if b.body, err = base64.StdEncoding.AppendDecode(b.body, bytes.TrimSpace(data)); err != nil {
		return b.errorf(":@ base64 %s: it takes standard base64, padded: %w", short(string(data)), err)
	}
	return nil
}

func (b *bodyParser) wait(arg string) error {
	arg, midLine := cutMidLine(arg)
	d, err := time.ParseDuration(arg)
	if err != nil || d < 0 {
		return b.errorf(":@ wait %s: it takes a duration like 50ms, and perhaps mid-line", short(arg))
	}
	if err := b.midLine(midLine); err != nil {
		return err
	}
	b.say()
	b.cues = append(b.cues, Cue{Do: "wait", Arg: arg})
	b.clock += d
	b.timed = true
	return nil
}

// finale follows a direction that ends the body.
func (b *bodyParser) finale(word, arg string) error {
	why, midLine := cutMidLine(arg)
	if inner, ok := strings.CutPrefix(why, "("); why != "" {
		inner, closed := strings.CutSuffix(inner, ")")
		if !ok || !closed || word == "end" {
			return b.errorf(":@ %s %s: an end takes nothing but mid-line, and those that are no good a reason in parentheses", word, short(arg))
		}
		why = inner
	}
	if err := b.midLine(midLine); err != nil {
		return err
	}
	b.say()
	b.end, _ = endErr(word, why)
	b.cues = append(b.cues, Cue{Do: word, Arg: why})
	b.ended, b.settled = true, true
	return nil
}

func (b *bodyParser) addTrailer(arg string) error {
	if !b.ended {
		return b.errorf(":@ trailer %s: trailers come after the end, so :@ end must precede them", short(arg))
	}
	field, err := parseField(arg)
	if err != nil {
		return b.errorf(":@ trailer %s: %w", short(arg), err)
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

// midLine takes back the newline before a direction.
func (b *bodyParser) midLine(wanted bool) error {
	if !wanted {
		return nil
	}
	if len(b.body) == b.from || !b.plain {
		return b.errorf("mid-line: no line of the body stands before the direction")
	}
	b.chop()
	return nil
}

// chop takes the last newline off.
func (b *bodyParser) chop() {
	if b.crlf {
		b.body = bytes.TrimSuffix(b.body, []byte("\r\n"))
		return
	}
	b.body = bytes.TrimSuffix(b.body, []byte("\n"))
}

// say makes a cue of what has been collected since the last one.
func (b *bodyParser) say() {
	end := len(b.body)
	if end == b.from {
		return
	}
	b.cues = append(b.cues, Cue{Say: b.body[b.from:end:end]})
	b.reads = append(b.reads, spec.Arrival{End: end, At: b.clock})
	b.from = end
}

func (b *bodyParser) finish() {
	if !b.settled && !b.stream && b.plain && len(b.body) > b.from {
		b.chop() // the archive's newline
	}
	b.say()
	if !b.timed {
		b.reads = nil
	}
}
