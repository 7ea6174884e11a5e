package script

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"text/template"
	"text/template/parse"
	"time"

	"github.com/streamassay/streamassay/internal/near"
	"github.com/streamassay/streamassay/reference"
)

// What one rendered text, and all texts of one reply, may have at most.
const (
	maxTextSize  = 1 << 20
	maxReplySize = 8 << 20

	maxTemplateActions = 1000 // of one text
)

// Words are a text of a script, which may be a template.
type textTemplate struct {
	node *yamlNode
	text string
	tmpl *template.Template // nil: the text is what it is
}

// A View is what templates see of a request. Its fields are what they may name.
type templateData struct {
	Text   string            // what the user said last
	Turn   int               // which message of the user that is, from 1
	Match  map[string]string // what the regular expressions of the rule found
	Thread string
	Run    string
	Tool   string // the name of the client's tool whose result came
	Call   string // its call
	Result string // what it gave
	Resume string // the answer to an interrupt

	request   *RequestContext
	state     *State
	remaining int // bytes that may still be made
}

func newTemplateData(p *matchContext) *templateData {
	v := &templateData{
		Text: p.request.userText, Turn: p.request.turn, Match: p.groups, Thread: p.request.Parsed.Thread, Run: p.request.Parsed.Run,
		request: p.request, state: p.state, remaining: maxReplySize,
	}
	if v.Match == nil {
		v.Match = map[string]string{}
	}
	if p.toolResult != nil {
		v.Tool, v.Call, v.Result = p.toolName(p.toolResult), p.toolResult.Call, p.toolResult.Text
	}
	for _, part := range p.request.Parsed.Parts {
		if part.Kind == "ask.resume" {
			v.Resume = part.Text
		}
	}
	return v
}

// funcs are what templates may call, besides comparisons. Each is bound to a view.
func (v *templateData) funcs() template.FuncMap {
	return template.FuncMap{
		"header":  func(name string) string { return v.request.Request.Header.Get(name) },
		"body":    v.bodyValue,
		"json":    func(of any) (string, error) { return encodeJSON(of) },
		"uuid":    v.uuid,
		"seq":     v.seq,
		"now":     v.now,
		"random":  v.random,
		"pick":    v.pick,
		"words":   v.randomWords,
		"repeat":  v.repeat,
		"upper":   strings.ToUpper,
		"lower":   strings.ToLower,
		"trim":    strings.TrimSpace,
		"default": defaultText,
		"add":     func(a, b int) int { return a + b },
	}
}

// builtinFuncs are the functions of the language that templates may call as well. Those that
// print can make any amount of text of little, and are left out.
var builtinFuncs = []string{"and", "or", "not", "eq", "ne", "lt", "le", "gt", "ge", "len", "index", "slice"}

func (v *templateData) bodyValue(pointer string) (string, error) {
	if !isJSONPointer(pointer) {
		return "", fmt.Errorf("%s is no JSON pointer: it begins with /", quoteTruncated(pointer))
	}
	found, ok := lookupPointer(v.request.bodyJSON(), pointer)
	if !ok || found == nil {
		return "", nil
	}
	return jsonToText(found), nil
}

func (v *templateData) rng() *rand.Rand {
	if v.request.Rand == nil {
		v.request.Rand = rand.New(rand.NewPCG(1, 1))
	}
	return v.request.Rand
}

// uuid is one of version 4 (RFC 9562).
func (v *templateData) uuid() string {
	var b [16]byte
	r := v.rng()
	binary.BigEndian.PutUint64(b[:8], r.Uint64())
	binary.BigEndian.PutUint64(b[8:], r.Uint64())
	return reference.UUIDv4(b)
}

// seq counts from 1, each name by itself.
func (v *templateData) seq(name ...string) int { return v.state.nextCount(strings.Join(name, " ")) }

// now is the time, as RFC 3339 or a layout of Go has it.
func (v *templateData) now(layout ...string) string {
	if len(layout) == 0 {
		return v.request.Now.UTC().Format(time.RFC3339)
	}
	return v.request.Now.UTC().Format(strings.Join(layout, " "))
}

func (v *templateData) random(low, high int) (int, error) {
	if high < low || high-low >= 1<<31 {
		return 0, fmt.Errorf("random %d %d: the second number is to be the larger one", low, high)
	}
	return low + v.rng().IntN(high-low+1), nil
}

func (v *templateData) pick(all ...string) (string, error) {
	if len(all) == 0 {
		return "", errors.New("pick: there is nothing to pick from")
	}
	return all[v.rng().IntN(len(all))], nil
}

// fillerWords is what long texts are made of.
var fillerWords = strings.Fields("a the one this every river stone light garden winter answer question letter table window morning " +
	"quiet small large early late green open slow and or but under over between after before says takes gives keeps finds holds turns")

// randomWords are so many words of no meaning.
func (v *templateData) randomWords(n int) (string, error) {
	if n < 0 || n > maxTextSize/10 {
		return "", fmt.Errorf("words %d: at most %d can be had", n, maxTextSize/10)
	}
	if v.remaining -= 6 * n; v.remaining < 0 {
		return "", errTooLong
	}
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(fillerWords[v.rng().IntN(len(fillerWords))])
	}
	return b.String(), nil
}

func (v *templateData) repeat(n int, text string) (string, error) {
	if n < 0 || n > maxTextSize || n*len(text) > maxTextSize {
		return "", fmt.Errorf("repeat %d: at most %d bytes can be made", n, maxTextSize)
	}
	if v.remaining -= n * len(text); v.remaining < 0 { // it costs, whether it is said or not
		return "", errTooLong
	}
	return strings.Repeat(text, n), nil
}

// defaultText is the text, or what stands in for one that is empty.
func defaultText(instead, text string) string {
	if text == "" {
		return instead
	}
	return text
}

// compileTemplate reads a text as a template if it is one.
func compileTemplate(text string) (textTemplate, error) {
	if !strings.Contains(text, "{{") {
		return textTemplate{text: text}, nil
	}
	if n := strings.Count(text, "{{"); n > maxTemplateActions {
		return textTemplate{}, fmt.Errorf("it has %d actions, and a text has %d at most", n, maxTemplateActions)
	}
	functions := (&templateData{}).funcs()
	t, err := template.New("").Option("missingkey=error").Funcs(functions).Parse(text)
	if err != nil {
		return textTemplate{}, simplifyTemplateError(err, slices.Concat(slices.Collect(maps.Keys(functions)), builtinFuncs))
	}
	for _, one := range t.Templates() {
		if one != t {
			return textTemplate{}, errors.New("define and block are not for scripts")
		}
	}
	known := map[string]bool{}
	for _, name := range builtinFuncs {
		known[name] = true
	}
	for name := range functions {
		known[name] = true
	}
	if t.Tree != nil {
		if err := checkNodes(t.Root, known); err != nil {
			return textTemplate{}, err
		}
	}
	return textTemplate{text: text, tmpl: t}, nil
}

// simplifyTemplateError is what the template's reader says, without the name that it gives it.
func simplifyTemplateError(err error, known []string) error {
	text := strings.TrimPrefix(err.Error(), "template: ")
	text = strings.TrimPrefix(text, ":")
	if _, name, ok := strings.Cut(text, "function \""); ok && strings.HasSuffix(name, "\" not defined") {
		name = strings.TrimSuffix(name, "\" not defined")
		return fmt.Errorf("there is no function %s%s", quoteTruncated(name), near.Suggest(name, known))
	}
	if _, at, ok := strings.Cut(text, "executing \"\" at "); ok {
		text = at
	}
	line, rest, ok := strings.Cut(text, ": ")
	if _, no := strconv.Atoi(line); ok && no == nil {
		text = rest
	}
	return errors.New(text)
}

// checkNodes refuses what could run for ever, or make much of little.
func checkNodes(n parse.Node, known map[string]bool) error {
	return walkNodes(reflect.ValueOf(n), func(n parse.Node) error {
		switch n := n.(type) {
		case *parse.RangeNode:
			return errors.New("range is not for scripts: write what is to be said")
		case *parse.TemplateNode:
			return errors.New("template is not for scripts")
		case *parse.IdentifierNode:
			if !known[n.Ident] {
				return fmt.Errorf("the function %s is not for scripts%s", n.Ident, near.Suggest(n.Ident, slices.Collect(maps.Keys(known))))
			}
		}
		return nil
	})
}

// walkNodes calls f for all nodes of a template.
func walkNodes(v reflect.Value, f func(parse.Node) error) error {
	for v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	if v.Kind() != reflect.Pointer || v.IsNil() {
		return nil
	}
	if n, ok := v.Interface().(parse.Node); ok {
		if err := f(n); err != nil {
			return err
		}
	}
	if v = v.Elem(); v.Kind() != reflect.Struct {
		return nil
	}
	for i := range v.NumField() {
		field, in := v.Type().Field(i), v.Field(i)
		if !field.IsExported() && !field.Anonymous {
			continue
		}
		switch in.Kind() {
		case reflect.Slice:
			for j := range in.Len() {
				if err := walkNodes(in.Index(j), f); err != nil {
					return err
				}
			}
		case reflect.Struct: // the branch that if and with have in common
			if in.CanAddr() && in.Addr().CanInterface() {
				if err := walkNodes(in.Addr(), f); err != nil {
					return err
				}
			}
		default:
			if err := walkNodes(in, f); err != nil {
				return err
			}
		}
	}
	return nil
}

// errTooLong says that a reply is larger than one can be.
var errTooLong = fmt.Errorf("it makes more than %d bytes of text, or a reply of more than %d", maxTextSize, maxReplySize)

// limitedBuilder holds what a template makes.
type limitedBuilder struct {
	strings.Builder
	remaining int
}

func (b *limitedBuilder) Write(data []byte) (int, error) {
	if b.remaining -= len(data); b.remaining < 0 {
		return 0, errTooLong
	}
	return b.Builder.Write(data)
}

// render is the text for a request.
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
		return "", simplifyTemplateError(err, nil)
	}
	v.remaining -= out.Len()
	return out.String(), nil
}
