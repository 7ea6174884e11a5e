package script

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/template"
	"time"

	"github.com/goccy/go-yaml/ast"
	"github.com/google/uuid"

	"github.com/streamassay/streamassay/internal/near"
	"github.com/streamassay/streamassay/spec"
)

// The maximum sizes of templates and of their results, which bound the memory for one request.
const (
	maxTextSize  = 1 << 20 // bytes in the result of one template
	maxReplySize = 8 << 20 // bytes in the results of all templates of one reply

	maxTemplateActions = 1000 // actions in one template
)

// A textTemplate is a text in a script that may contain template actions (see package
// text/template).
type textTemplate struct {
	node ast.Node           // the node of the text; nil if the script lacks the text
	text string             // the text in the script
	tmpl *template.Template // nil if the text has no template actions
}

// A templateData holds the data for the templates in the reply to one request. Templates can use
// its exported fields, and the functions that [templateData.funcs] returns.
type templateData struct {
	Text   string            // text of the last message of the user
	Turn   int               // number of the turn, from 1; 0 if unknown; see State.recordTurn
	Match  map[string]string // text of the capture groups of the rule's regular expressions, by name and number
	Thread string            // id of the thread; "" if the request names none
	Run    string            // id of the run; "" if the request names none
	Tool   string            // name of the client tool whose result the request contains; "" if none
	Call   string            // id of the tool call whose result the request contains; "" if none
	Result string            // text of the tool result; "" if none
	Resume string            // answer to an interrupt; "" if the request contains none

	request   *RequestContext
	state     *State
	remaining int   // number of bytes that further templates of the reply may return
	spare     int   // number of bytes that the functions repeat and words may still return
	err       error // error of the first template for which the method render failed; nil if none did
}

// newTemplateData returns the data for the templates of the reply to the request in p. The data
// includes the capture groups and the tool result that [Rule.match] stored in p.
func newTemplateData(p *matchContext) *templateData {
	v := &templateData{
		Text: p.request.userText, Turn: p.request.turn, Match: p.groups,
		Thread: p.request.Parsed.Thread, Run: p.request.Parsed.Run,
		request: p.request, state: p.state, remaining: maxReplySize, spare: maxReplySize,
	}
	if v.Match == nil {
		v.Match = map[string]string{}
	}
	if p.toolResult != nil {
		v.Tool, v.Call, v.Result = p.toolName(p.toolResult), p.toolResult.Call, p.toolResult.Text
	}
	answer, _ := p.request.Parsed.Last(spec.InputResume)
	v.Resume = answer.Text
	return v
}

// funcs returns the functions, by name, that templates may call in addition to those of
// text/template. They use the request and the state in v.
func (v *templateData) funcs() template.FuncMap {
	return template.FuncMap{
		"header":  func(name string) string { return v.request.Request.Header.Get(name) },
		"body":    v.bodyValue,
		"json":    encodeJSON,
		"uuid":    func() string { return NewUUID(v.rng()) },
		"seq":     v.seq,
		"now":     v.now,
		"random":  v.random,
		"pick":    v.pick,
		"words":   v.randomWords,
		"repeat":  v.repeat,
		"upper":   strings.ToUpper,
		"lower":   strings.ToLower,
		"trim":    strings.TrimSpace,
		"default": func(fallback, text string) string { return cmp.Or(text, fallback) }, // a template can pipe in text
		"add":     func(a, b int) int { return a + b },
	}
}

// bodyValue returns the value in the request body to which the JSON pointer refers, as text: a
// string without quotes, or any other value as JSON. It returns "" if the value is missing or null,
// or if the body is not JSON. It returns an error if pointer is not a valid JSON pointer.
func (v *templateData) bodyValue(pointer string) (string, error) {
	if !isJSONPointer(pointer) {
		return "", fmt.Errorf("%s is not a JSON pointer (e.g. /messages/0/role)", quoteTruncated(pointer))
	}
	found, ok := lookupPointer(v.request.bodyJSON(), pointer)
	if !ok || found == nil {
		return "", nil
	}
	return jsonToText(found), nil
}

// rng returns the source of randomness of the request. If v.request.Rand is nil, rng first sets it
// to a new source with a fixed seed.
func (v *templateData) rng() *rand.Rand {
	if v.request.Rand == nil {
		v.request.Rand = rand.New(rand.NewPCG(1, 1))
	}
	return v.request.Rand
}

// NewUUID returns a random UUID of version 4 (RFC 9562), in text form, whose bits are taken from r.
func NewUUID(r *rand.Rand) string {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:8], r.Uint64())
	binary.BigEndian.PutUint64(b[8:], r.Uint64())
	id, _ := uuid.NewRandomFromReader(bytes.NewReader(b[:])) // 16 bytes are enough
	return id.String()
}

// seq increments the counter with the given name and returns its new value, which is 1 the first
// time. The name consists of all arguments, joined with spaces; it may be empty.
func (v *templateData) seq(name ...string) int { return v.state.nextCount(strings.Join(name, " ")) }

// now returns the time of the request in UTC. The arguments, joined with spaces, are the layout for
// [time.Time.Format]. Without arguments, the layout is [time.RFC3339].
func (v *templateData) now(layout ...string) string {
	if len(layout) == 0 {
		return v.request.Now.UTC().Format(time.RFC3339)
	}
	return v.request.Now.UTC().Format(strings.Join(layout, " "))
}

// random returns a random integer from low to high, both inclusive. It returns an error if high is
// less than low, or if high-low is 1<<31 or more.
func (v *templateData) random(low, high int) (int, error) {
	if high < low || uint(high)-uint(low) >= 1<<31 {
		return 0, fmt.Errorf("random %d %d: the second number must be the larger one, by less than 2147483648", low, high)
	}
	return low + v.rng().IntN(high-low+1), nil
}

// pick returns one of its arguments, chosen at random. It returns an error if there are none.
func (v *templateData) pick(all ...string) (string, error) {
	if len(all) == 0 {
		return "", errors.New("pick needs at least one argument")
	}
	return all[v.rng().IntN(len(all))], nil
}

// fillerWords lists the words from which the template function "words" chooses.
var fillerWords = strings.Fields("a the one this every river stone light garden winter answer question " +
	"letter table window morning quiet small large early late green open slow and or but " +
	"under over between after before says takes gives keeps finds holds turns")

// randomWords returns n random words, separated by spaces. It subtracts 6 bytes per word, an
// estimate, from v.spare, the number of bytes that randomWords and repeat may still return. It
// returns an error if v.spare becomes negative, if n is negative, or if n exceeds maxTextSize/10.
func (v *templateData) randomWords(n int) (string, error) {
	if n < 0 || n > maxTextSize/10 {
		return "", fmt.Errorf("words %d: the number must be from 0 to %d", n, maxTextSize/10)
	}
	if v.spare -= 6 * n; v.spare < 0 {
		return "", errTooLong
	}
	words := make([]string, n)
	for i := range words {
		words[i] = fillerWords[v.rng().IntN(len(fillerWords))]
	}
	return strings.Join(words, " "), nil
}

// repeat returns n copies of text, without a separator. It subtracts their length from v.spare, the
// number of bytes that repeat and randomWords may still return. It returns an error if v.spare
// becomes negative, if n is negative, or if the result would exceed maxTextSize.
func (v *templateData) repeat(n int, text string) (string, error) {
	if n < 0 || n > maxTextSize || n*len(text) > maxTextSize {
		return "", fmt.Errorf("repeat %d: the result must have at most %d bytes", n, maxTextSize)
	}
	if v.spare -= n * len(text); v.spare < 0 {
		return "", errTooLong
	}
	return strings.Repeat(text, n), nil
}

// compileTemplate compiles text to a textTemplate. It returns an error if the template does not
// parse, has more than maxTemplateActions actions, or contains a define or block action. The caller
// must set the node of the result and check the template with a templateChecker.
func compileTemplate(text string) (textTemplate, error) {
	if !strings.Contains(text, "{{") {
		return textTemplate{text: text}, nil
	}
	if n := strings.Count(text, "{{"); n > maxTemplateActions {
		return textTemplate{}, fmt.Errorf("too many actions: %d, at most %d are allowed", n, maxTemplateActions)
	}
	t, err := template.New("").Option("missingkey=error").Funcs((&templateData{}).funcs()).Parse(text)
	if err != nil {
		if strings.HasSuffix(err.Error(), ": unexpected EOF") {
			return textTemplate{}, fmt.Errorf("{{%s}} without {{end}}", unclosedBlock(text))
		}
		return textTemplate{}, simplifyTemplateError(err)
	}
	if slices.ContainsFunc(t.Templates(), func(other *template.Template) bool { return other != t }) {
		return textTemplate{}, errors.New("define and block are not allowed in scripts")
	}
	return textTemplate{text: text, tmpl: t}, nil
}

// blockKeyword matches the beginning of an action that begins or ends a block. Its group is the
// keyword.
var blockKeyword = regexp.MustCompile(`{{(?:- )?\s*(if|with|range|define|block|end)\b`)

// unclosedBlock returns the keyword of the innermost block, such as "with", that the template text
// begins and does not end. If it finds no such block, it returns "if".
func unclosedBlock(text string) string {
	open := []string{"if"} // in case that no block is found
	for _, m := range blockKeyword.FindAllStringSubmatch(text, -1) {
		if m[1] != "end" {
			open = append(open, m[1])
		} else if len(open) > 1 {
			open = open[:len(open)-1]
		}
	}
	return open[len(open)-1]
}

// simplifyTemplateError returns an error with the message of err, an error from text/template, but
// without the name of the template and the line number. If a template calls an unknown function,
// the message suggests a function with a similar name.
func simplifyTemplateError(err error) error {
	text := strings.TrimPrefix(err.Error(), "template: ")
	text = strings.TrimPrefix(text, ":")
	if _, name, ok := strings.Cut(text, "function \""); ok && strings.HasSuffix(name, "\" not defined") {
		name = strings.TrimSuffix(name, "\" not defined")
		return fmt.Errorf("unknown function %s%s", quoteTruncated(name), near.Suggest(name, allowedFuncs))
	}
	if _, at, ok := strings.Cut(text, "executing \"\" at "); ok {
		text = at
	}
	if strings.Contains(text, ": unclosed action") {
		return errors.New(`"{{" without "}}"`)
	}
	line, rest, ok := strings.Cut(text, ": ")
	if _, err := strconv.Atoi(line); ok && err == nil {
		text = rest
	}
	return errors.New(text)
}

// errTooLong is the error for a reply whose templates return too much text: more than maxTextSize
// bytes in one result, or more than maxReplySize bytes in total.
var errTooLong = fmt.Errorf("too much text: more than %d bytes in one text, or %d in the reply",
	maxTextSize, maxReplySize)

// A limitedBuilder is a [strings.Builder] with a limited number of bytes. A call of Write that
// exceeds the limit, and each call after it, writes nothing and returns errTooLong.
type limitedBuilder struct {
	strings.Builder
	remaining int // number of bytes that can still be written; negative once a write has failed
}

func (b *limitedBuilder) Write(data []byte) (int, error) {
	if b.remaining -= len(data); b.remaining < 0 {
		return 0, errTooLong
	}
	return b.Builder.Write(data)
}

// render returns the result of the template w for the data in v. If w fails, render sets v.err to
// the error and returns "". If v.err is already set, render returns "" and does not execute w.
func (v *templateData) render(w interface {
	render(*templateData) (string, error)
}) (text string) {
	if v.err == nil {
		text, v.err = w.render(v)
	}
	return text
}

// render executes the template with the data in v and returns its result, whose length it subtracts
// from v.remaining. If the text has no template actions, the result is the text itself, and v is
// not changed. render returns an error if the template fails, or if the result exceeds maxTextSize
// or v.remaining.
func (w textTemplate) render(v *templateData) (string, error) {
	if w.tmpl == nil {
		return w.text, nil
	}
	t, err := w.tmpl.Clone()
	if err != nil {
		return "", err
	}
	out := &limitedBuilder{remaining: min(maxTextSize, v.remaining)}
	if err := t.Funcs(v.funcs()).Execute(out, v); err != nil {
		if errors.Is(err, errTooLong) {
			return "", errTooLong
		}
		return "", simplifyTemplateError(err)
	}
	v.remaining -= out.Len()
	return out.String(), nil
}
