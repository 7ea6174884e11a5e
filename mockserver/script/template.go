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
	mostText  = 1 << 20
	mostReply = 8 << 20

	mostActions = 1000 // of one text
)

// Words are a text of a script, which may be a template.
type words struct {
	at   *node
	text string
	tmpl *template.Template // nil: the text is what it is
}

// A View is what templates see of a request. Its fields are what they may name.
type view struct {
	Text   string            // what the user said last
	Turn   int               // which message of the user that is, from 1
	Match  map[string]string // what the regular expressions of the rule found
	Thread string
	Run    string
	Tool   string // the name of the client's tool whose result came
	Call   string // its call
	Result string // what it gave
	Resume string // the answer to an interrupt

	f    *Facts
	st   *State
	room int // bytes that may still be made
}

func viewOf(p *probe) *view {
	v := &view{
		Text: p.f.text, Turn: p.f.turn, Match: p.match, Thread: p.f.Ask.Thread, Run: p.f.Ask.Run,
		f: p.f, st: p.st, room: mostReply,
	}
	if v.Match == nil {
		v.Match = map[string]string{}
	}
	if p.call != nil {
		v.Tool, v.Call, v.Result = p.tool(p.call), p.call.Call, p.call.Text
	}
	for _, part := range p.f.Ask.Parts {
		if part.Kind == "ask.resume" {
			v.Resume = part.Text
		}
	}
	return v
}

// functions are what templates may call, besides comparisons. Each is bound to a view.
func (v *view) functions() template.FuncMap {
	return template.FuncMap{
		"header":  func(name string) string { return v.f.Request.Header.Get(name) },
		"body":    v.fromBody,
		"json":    func(of any) (string, error) { return asJSON(of) },
		"uuid":    v.uuid,
		"seq":     v.seq,
		"now":     v.now,
		"random":  v.random,
		"pick":    v.pick,
		"words":   v.words,
		"repeat":  v.repeat,
		"upper":   strings.ToUpper,
		"lower":   strings.ToLower,
		"trim":    strings.TrimSpace,
		"default": otherwise,
		"add":     func(a, b int) int { return a + b },
	}
}

// builtin are the functions of the language that templates may call as well. Those that
// print can make any amount of text of little, and are left out.
var builtin = []string{"and", "or", "not", "eq", "ne", "lt", "le", "gt", "ge", "len", "index", "slice"}

func (v *view) fromBody(pointer string) (string, error) {
	if !isPointer(pointer) {
		return "", fmt.Errorf("%s is no JSON pointer: it begins with /", quoted(pointer))
	}
	found, ok := point(v.f.json(), pointer)
	if !ok || found == nil {
		return "", nil
	}
	return asText(found), nil
}

func (v *view) chance() *rand.Rand {
	if v.f.Rand == nil {
		v.f.Rand = rand.New(rand.NewPCG(1, 1))
	}
	return v.f.Rand
}

// uuid is one of version 4 (RFC 9562).
func (v *view) uuid() string {
	var b [16]byte
	r := v.chance()
	binary.BigEndian.PutUint64(b[:8], r.Uint64())
	binary.BigEndian.PutUint64(b[8:], r.Uint64())
	return reference.UUID(b)
}

// seq counts from 1, each name by itself.
func (v *view) seq(name ...string) int { return v.st.count(strings.Join(name, " ")) }

// now is the time, as RFC 3339 or a layout of Go has it.
func (v *view) now(layout ...string) string {
	if len(layout) == 0 {
		return v.f.Now.UTC().Format(time.RFC3339)
	}
	return v.f.Now.UTC().Format(strings.Join(layout, " "))
}

func (v *view) random(low, high int) (int, error) {
	if high < low || high-low >= 1<<31 {
		return 0, fmt.Errorf("random %d %d: the second number is to be the larger one", low, high)
	}
	return low + v.chance().IntN(high-low+1), nil
}

func (v *view) pick(all ...string) (string, error) {
	if len(all) == 0 {
		return "", errors.New("pick: there is nothing to pick from")
	}
	return all[v.chance().IntN(len(all))], nil
}

// filler is what long texts are made of.
var filler = strings.Fields("a the one this every river stone light garden winter answer question letter table window morning " +
	"quiet small large early late green open slow and or but under over between after before says takes gives keeps finds holds turns")

// words are so many words of no meaning.
func (v *view) words(n int) (string, error) {
	if n < 0 || n > mostText/10 {
		return "", fmt.Errorf("words %d: at most %d can be had", n, mostText/10)
	}
	if v.room -= 6 * n; v.room < 0 {
		return "", errLong
	}
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(filler[v.chance().IntN(len(filler))])
	}
	return b.String(), nil
}

func (v *view) repeat(n int, text string) (string, error) {
	if n < 0 || n > mostText || n*len(text) > mostText {
		return "", fmt.Errorf("repeat %d: at most %d bytes can be made", n, mostText)
	}
	if v.room -= n * len(text); v.room < 0 { // it costs, whether it is said or not
		return "", errLong
	}
	return strings.Repeat(text, n), nil
}

// otherwise is the text, or what stands in for one that is empty.
func otherwise(instead, text string) string {
	if text == "" {
		return instead
	}
	return text
}

// compile reads a text as a template if it is one.
func compile(text string) (words, error) {
	if !strings.Contains(text, "{{") {
		return words{text: text}, nil
	}
	if n := strings.Count(text, "{{"); n > mostActions {
		return words{}, fmt.Errorf("it has %d actions, and a text has %d at most", n, mostActions)
	}
	functions := (&view{}).functions()
	t, err := template.New("").Option("missingkey=error").Funcs(functions).Parse(text)
	if err != nil {
		return words{}, plainer(err, slices.Concat(slices.Collect(maps.Keys(functions)), builtin))
	}
	for _, one := range t.Templates() {
		if one != t {
			return words{}, errors.New("define and block are not for scripts")
		}
	}
	known := map[string]bool{}
	for _, name := range builtin {
		known[name] = true
	}
	for name := range functions {
		known[name] = true
	}
	if t.Tree != nil {
		if err := permitted(t.Root, known); err != nil {
			return words{}, err
		}
	}
	return words{text: text, tmpl: t}, nil
}

// plainer is what the template's reader says, without the name that it gives it.
func plainer(err error, known []string) error {
	text := strings.TrimPrefix(err.Error(), "template: ")
	text = strings.TrimPrefix(text, ":")
	if _, name, ok := strings.Cut(text, "function \""); ok && strings.HasSuffix(name, "\" not defined") {
		name = strings.TrimSuffix(name, "\" not defined")
		return fmt.Errorf("there is no function %s%s", quoted(name), near.Suggest(name, known))
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

// permitted refuses what could run for ever, or make much of little.
func permitted(n parse.Node, known map[string]bool) error {
	return visit(reflect.ValueOf(n), func(n parse.Node) error {
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

// visit calls f for all nodes of a template.
func visit(v reflect.Value, f func(parse.Node) error) error {
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
				if err := visit(in.Index(j), f); err != nil {
					return err
				}
			}
		case reflect.Struct: // the branch that if and with have in common
			if in.CanAddr() && in.Addr().CanInterface() {
				if err := visit(in.Addr(), f); err != nil {
					return err
				}
			}
		default:
			if err := visit(in, f); err != nil {
				return err
			}
		}
	}
	return nil
}

// errLong says that a reply is larger than one can be.
var errLong = fmt.Errorf("it makes more than %d bytes of text, or a reply of more than %d", mostText, mostReply)

// bounded holds what a template makes.
type bounded struct {
	strings.Builder
	room int
}

func (b *bounded) Write(data []byte) (int, error) {
	if b.room -= len(data); b.room < 0 {
		return 0, errLong
	}
	return b.Builder.Write(data)
}

// say is the text for a request.
func (w words) say(v *view) (string, error) {
	if w.tmpl == nil {
		return w.text, nil
	}
	t, err := w.tmpl.Clone()
	if err != nil {
		return "", err
	}
	out := &bounded{room: min(mostText, v.room)}
	if err := t.Funcs(v.functions()).Execute(out, v); err != nil {
		if errors.Is(err, errLong) {
			return "", errLong
		}
		return "", plainer(err, nil)
	}
	v.room -= out.Len()
	return out.String(), nil
}
