package dialect

import (
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// What a value is called that has no name of its own: all of an event, a response
// body or a request body.
const (
	theEvent   = "the event"
	theReply   = "the response body"
	theRequest = "the request body"
)

// Bounds on what a message shows.
const (
	maxShown  = 60  // characters of a value
	maxPath   = 120 // characters of a place
	maxListed = 20  // values that would be right
)

// text returns what was seen and what is required, in one sentence. root is what the
// whole value is called.
func (b breach) text(root string) string {
	var seen string
	switch {
	case len(b.either) > 0:
		return b.alternatives(root)
	case b.keyword == "required" && len(b.at) == 0: // a parameter
		seen = "the request has no " + root
	case b.absent != "":
		seen = placeName(root, b.path) + " has no " + strconv.Quote(b.absent)
	case b.seen != "":
		seen = placeName(root, b.path) + " " + b.seen
	default:
		seen = placeName(root, b.path) + " is " + shown(b.got)
	}
	if b.want == "" {
		return seen
	}
	return seen + ": " + b.want
}

// maxEither bounds how many forms are told that a value might have had.
const maxEither = 3

// alternatives tells what is wrong with a value by each of several schemas of which it
// has to fit one, shortest first.
func (b breach) alternatives(root string) string {
	texts := make([]string, 0, len(b.either))
	for _, one := range b.either {
		if text := one[0].text(root); !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	slices.SortStableFunc(texts, func(a, b string) int { return len(a) - len(b) })
	more := ""
	if n := len(texts) - maxEither; n > 0 {
		texts, more = texts[:maxEither], fmt.Sprintf(" (or %d more)", n)
	}
	return strings.Join(texts, ", or ") + more
}

// placeName is the name of a place: the root's for the whole, a quoted member name, or
// a path.
func placeName(root, path string) string {
	switch {
	case path == "":
		return root
	case strings.ContainsAny(path, ".["):
		return path
	}
	return strconv.Quote(path)
}

// pathOf spells the place at in v as programs do: messages[0].role.
func pathOf(v any, at []string) string {
	var path strings.Builder
	for _, token := range at {
		list, isList := v.([]any)
		switch {
		case isList:
			path.WriteString("[" + token + "]")
		case !isWord(token):
			path.WriteString("[" + shown(token) + "]")
		case path.Len() > 0:
			path.WriteString("." + token)
		default:
			path.WriteString(token)
		}
		v = step(v, list, token)
		if path.Len() > maxPath {
			return cut(path.String(), maxPath)
		}
	}
	return path.String()
}

func step(v any, list []any, token string) any {
	if list == nil {
		m, _ := v.(map[string]any)
		return m[token]
	}
	if i, err := strconv.Atoi(token); err == nil && i >= 0 && i < len(list) {
		return list[i]
	}
	return nil
}

// valueAt is the value at a place.
func valueAt(v any, at []string) any {
	for _, token := range at {
		list, _ := v.([]any)
		v = step(v, list, token)
	}
	return v
}

// isWord reports whether a text can stand bare: in a path, or in a list of values.
func isWord(s string) bool {
	return s != "" && len(s) <= maxShown && strings.IndexFunc(s, func(r rune) bool {
		return r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("_-/:+", r)
	}) < 0
}

// shown is a value as JSON, on one line, cut to what a reader needs of it.
func shown(v any) string {
	var b strings.Builder
	show(&b, v)
	return cut(b.String(), maxShown)
}

// show writes a value as JSON, or as much of it as will be shown.
func show(b *strings.Builder, v any) {
	if b.Len() > 4*maxShown {
		return
	}
	switch v := v.(type) {
	case string:
		b.WriteString(strconv.Quote(cut(v, maxShown)))
	case json.Number:
		b.WriteString(cut(v.String(), maxShown))
	case upload:
		fmt.Fprintf(b, "a file of %d bytes", len(v.data))
	case []any:
		b.WriteByte('[')
		for i, item := range v {
			if i > 0 {
				b.WriteByte(',')
			}
			if show(b, item); b.Len() > 4*maxShown {
				return
			}
		}
		b.WriteByte(']')
	case map[string]any:
		showObject(b, v)
	default:
		b.WriteString(compact(v))
	}
}

func showObject(b *strings.Builder, v map[string]any) {
	b.WriteByte('{')
	names, _ := node{v: v}.members()
	for i, name := range names {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.Quote(cut(name, maxShown)) + ":")
		if show(b, v[name]); b.Len() > 4*maxShown {
			return
		}
	}
	b.WriteByte('}')
}

// cut shortens a text to n characters.
func cut(s string, n int) string {
	i := 0
	for at := range s {
		if i == n {
			return s[:at] + "…"
		}
		i++
	}
	return s
}

// oneOf lists values of which one is right: user, assistant or tool.
func oneOf(values []any) string {
	words := make([]string, 0, len(values))
	for _, v := range values {
		word := shown(v)
		if text, ok := v.(string); ok && isWord(text) {
			word = text
		}
		words = append(words, word)
	}
	if n := len(words) - maxListed; n > 1 {
		words = append(words[:maxListed], fmt.Sprintf("one of %d more", n))
	}
	return orList(words)
}

func orList(words []string) string {
	switch n := len(words); n {
	case 0:
		return ""
	case 1:
		return words[0]
	default:
		return strings.Join(words[:n-1], ", ") + " or " + words[n-1]
	}
}

var typeNames = map[string]string{
	"string": "a string", "integer": "an integer", "number": "a number", "boolean": "true or false",
	"array": "an array", "object": "an object", "null": "null",
}

// typesOf says in words what a value may be; null, which stands for nothing, comes last.
func typesOf(types []string) string {
	var words []string
	for _, t := range slices.SortedStableFunc(slices.Values(types), nullLast) {
		if word := typeNames[t]; !slices.Contains(words, word) {
			words = append(words, word)
		}
	}
	return orList(words)
}

func nullLast(a, b string) int {
	switch {
	case a == b:
		return 0
	case a == "null":
		return 1
	case b == "null":
		return -1
	}
	return 0
}

var formats = map[string]string{
	"uuid":      "a UUID",
	"date":      "a date as in 2026-01-31",
	"date-time": "a date and time as in 2026-01-31T12:00:00Z",
	"time":      "a time as in 12:00:00Z",
	"uri":       "an absolute URI",
	"email":     "a mail address",
}

// counted is a number of things.
func counted(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return strconv.Itoa(n) + " " + thing + "s"
}

func rational(r *big.Rat) string {
	if r.IsInt() {
		return r.Num().String()
	}
	f, _ := r.Float64()
	return strconv.FormatFloat(f, 'g', -1, 64)
}

// describe fills in what is wrong, in words, for each keyword that says more than that a
// value is missing.
func (b *breach) describe(e *jsonschema.ValidationError) {
	switch k := e.ErrorKind.(type) {
	case *kind.Type:
		b.want = "expected " + typesOf(k.Want)
	case *kind.Enum:
		b.want = "expected " + oneOf(k.Want)
	case *kind.Const:
		b.want = "expected " + oneOf([]any{k.Want})
	case *kind.Format:
		b.want = "expected " + formats[k.Want]
		if formats[k.Want] == "" {
			b.want = "expected the format " + k.Want
		}
	case *kind.Pattern:
		b.want = "expected text that matches " + cut(k.Want, maxShown)
	case *kind.Minimum:
		b.want = "expected at least " + rational(k.Want)
	case *kind.Maximum:
		b.want = "expected at most " + rational(k.Want)
	case *kind.ExclusiveMinimum:
		b.want = "expected more than " + rational(k.Want)
	case *kind.ExclusiveMaximum:
		b.want = "expected less than " + rational(k.Want)
	case *kind.MultipleOf:
		b.want = "expected a multiple of " + rational(k.Want)
	case *kind.FalseSchema:
		b.want = "it must not be there"
	case *kind.AdditionalProperties:
		b.seen = "has " + quotedNames(k.Properties)
		b.want = "the document has no such member"
	default:
		b.size(e)
	}
}

// size is describe for the keywords that count.
func (b *breach) size(e *jsonschema.ValidationError) {
	unit := "character"
	if _, file := b.got.(upload); file {
		unit = "byte"
	}
	switch k := e.ErrorKind.(type) {
	case *kind.MinLength:
		b.want = "expected at least " + counted(k.Want, unit)
	case *kind.MaxLength:
		b.seen, b.want = "has "+counted(k.Got, unit), "expected at most "+strconv.Itoa(k.Want)
		if f, file := b.got.(upload); file {
			b.seen = "has " + counted(len(f.data), unit)
		}
	case *kind.MinItems:
		b.seen, b.want = "has "+counted(k.Got, "item"), "expected at least "+strconv.Itoa(k.Want)
	case *kind.MaxItems:
		b.seen, b.want = "has "+counted(k.Got, "item"), "expected at most "+strconv.Itoa(k.Want)
	case *kind.MinProperties:
		b.seen, b.want = "has "+counted(k.Got, "member"), "expected at least "+strconv.Itoa(k.Want)
	case *kind.MaxProperties:
		b.seen, b.want = "has "+counted(k.Got, "member"), "expected at most "+strconv.Itoa(k.Want)
	case *kind.UniqueItems:
		b.seen = fmt.Sprintf("has the same item at %d and at %d", k.Duplicates[0], k.Duplicates[1])
		b.want = "expected no two alike"
	default:
		b.want = e.ErrorKind.LocalizedString(message.NewPrinter(language.English))
	}
}

func quotedNames(names []string) string {
	all := make([]string, 0, len(names))
	for _, name := range names[:min(len(names), maxListed)] {
		all = append(all, strconv.Quote(cut(name, maxShown)))
	}
	slices.Sort(all)
	return strings.Join(all, " and ")
}
