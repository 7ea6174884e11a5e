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

// Names of values that have no path of their own.
const (
	eventName        = "the event"
	responseBodyName = "the response body"
	requestBodyName  = "the request body"
)

// Limits of what a message shows.
const (
	maxShown  = 60  // characters of a value
	maxPath   = 120 // characters of a path
	maxListed = 20  // allowed values
)

// text returns what was found and what is expected as one sentence. root is the name of the
// whole value.
func (b schemaError) text(root string) string {
	var seen string
	switch {
	case len(b.alternatives) > 0:
		return b.alternativesText(root)
	case b.keyword == "required" && len(b.location) == 0: // a parameter
		seen = "the request has no " + root
	case b.missing != "":
		seen = locationName(root, b.path) + " has no " + strconv.Quote(b.missing)
	case b.problem != "":
		seen = locationName(root, b.path) + " " + b.problem
	default:
		seen = locationName(root, b.path) + " is " + displayValue(b.got)
	}
	if b.expected == "" {
		return seen
	}
	return seen + ": " + b.expected
}

// maxAlternatives is the maximum number of alternatives whose errors a message lists.
const maxAlternatives = 3

// alternativesText returns the first error of each of several schemas, one of which had to
// match, shortest first.
func (b schemaError) alternativesText(root string) string {
	texts := make([]string, 0, len(b.alternatives))
	for _, alternative := range b.alternatives {
		if text := alternative[0].text(root); !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	slices.SortStableFunc(texts, func(a, b string) int { return len(a) - len(b) })
	more := ""
	if n := len(texts) - maxAlternatives; n > 0 {
		texts, more = texts[:maxAlternatives], fmt.Sprintf(" (or %d more)", n)
	}
	return strings.Join(texts, ", or ") + more
}

// locationName returns a location for a message: root for the whole value, a quoted member
// name, or a path.
func locationName(root, path string) string {
	switch {
	case path == "":
		return root
	case strings.ContainsAny(path, ".["):
		return path
	}
	return strconv.Quote(path)
}

// displayPath returns a location within v as a path expression: messages[0].role.
func displayPath(v any, at []string) string {
	var path strings.Builder
	for _, token := range at {
		list, isList := v.([]any)
		switch {
		case isList:
			path.WriteString("[" + token + "]")
		case !isBareWord(token):
			path.WriteString("[" + displayValue(token) + "]")
		case path.Len() > 0:
			path.WriteString("." + token)
		default:
			path.WriteString(token)
		}
		v = childAt(v, list, token)
		if path.Len() > maxPath {
			return truncate(path.String(), maxPath)
		}
	}
	return path.String()
}

// childAt returns the item or member of v that a token of a location refers to, or nil. list
// is v if that is an array.
func childAt(v any, list []any, token string) any {
	if list == nil {
		m, _ := v.(map[string]any)
		return m[token]
	}
	if i, err := strconv.Atoi(token); err == nil && i >= 0 && i < len(list) {
		return list[i]
	}
	return nil
}

// valueAtLocation returns the value at a location within v, or nil.
func valueAtLocation(v any, at []string) any {
	for _, token := range at {
		list, _ := v.([]any)
		v = childAt(v, list, token)
	}
	return v
}

// isBareWord reports whether a text needs no quotes in a path or a list of values.
func isBareWord(s string) bool {
	return s != "" && len(s) <= maxShown && strings.IndexFunc(s, func(r rune) bool {
		return r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("_-/:+", r)
	}) < 0
}

// displayValue returns a value as JSON on one line, truncated to maxShown characters.
func displayValue(v any) string {
	var b strings.Builder
	writeValue(&b, v)
	return truncate(b.String(), maxShown)
}

// writeValue writes a value as JSON, or as much of it as displayValue shows.
func writeValue(b *strings.Builder, v any) {
	if b.Len() > 4*maxShown {
		return
	}
	switch v := v.(type) {
	case string:
		b.WriteString(strconv.Quote(truncate(v, maxShown)))
	case json.Number:
		b.WriteString(truncate(v.String(), maxShown))
	case formFile:
		fmt.Fprintf(b, "a file of %d bytes", len(v.data))
	case []any:
		b.WriteByte('[')
		for i, item := range v {
			if i > 0 {
				b.WriteByte(',')
			}
			if writeValue(b, item); b.Len() > 4*maxShown {
				return
			}
		}
		b.WriteByte(']')
	case map[string]any:
		writeObject(b, v)
	default:
		b.WriteString(compactJSON(v))
	}
}

// writeObject writes an object as JSON, members ordered by name.
func writeObject(b *strings.Builder, v map[string]any) {
	b.WriteByte('{')
	names, _ := node{value: v}.members()
	for i, name := range names {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.Quote(truncate(name, maxShown)) + ":")
		if writeValue(b, v[name]); b.Len() > 4*maxShown {
			return
		}
	}
	b.WriteByte('}')
}

// truncate returns s, cut after n characters with an ellipsis.
func truncate(s string, n int) string {
	i := 0
	for at := range s {
		if i == n {
			return s[:at] + "…"
		}
		i++
	}
	return s
}

// listValues lists alternative values: "user, assistant or tool".
func listValues(values []any) string {
	words := make([]string, 0, len(values))
	for _, v := range values {
		word := displayValue(v)
		if text, ok := v.(string); ok && isBareWord(text) {
			word = text
		}
		words = append(words, word)
	}
	if n := len(words) - maxListed; n > 1 {
		words = append(words[:maxListed], fmt.Sprintf("one of %d more", n))
	}
	return joinOr(words)
}

// joinOr joins alternatives: "a, b or c".
func joinOr(items []string) string {
	switch n := len(items); n {
	case 0:
		return ""
	case 1:
		return items[0]
	default:
		return strings.Join(items[:n-1], ", ") + " or " + items[n-1]
	}
}

// typeNames holds the names of JSON Schema types in messages.
var typeNames = map[string]string{
	"string": "a string", "integer": "an integer", "number": "a number", "boolean": "true or false",
	"array": "an array", "object": "an object", "null": "null",
}

// describeTypes lists the types that a value may have, null last.
func describeTypes(types []string) string {
	var words []string
	for _, t := range slices.SortedStableFunc(slices.Values(types), nullLast) {
		if word := typeNames[t]; !slices.Contains(words, word) {
			words = append(words, word)
		}
	}
	return joinOr(words)
}

// nullLast compares types for a stable sort that puts null last.
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

// formatNames holds the names of JSON Schema formats in messages.
var formatNames = map[string]string{
	"uuid":      "a UUID",
	"date":      "a date as in 2026-01-31",
	"date-time": "a date and time as in 2026-01-31T12:00:00Z",
	"time":      "a time as in 12:00:00Z",
	"uri":       "an absolute URI",
	"email":     "a mail address",
}

// pluralize returns a count with its noun: "1 byte", "2 bytes".
func pluralize(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return strconv.Itoa(n) + " " + thing + "s"
}

// formatRat returns a number of the schema in decimal.
func formatRat(r *big.Rat) string {
	if r.IsInt() {
		return r.Num().String()
	}
	f, _ := r.Float64()
	return strconv.FormatFloat(f, 'g', -1, 64)
}

// describe sets problem and expected for the keyword of a validation error.
func (b *schemaError) describe(e *jsonschema.ValidationError) {
	switch k := e.ErrorKind.(type) {
	case *kind.Type:
		b.expected = "expected " + describeTypes(k.Want)
	case *kind.Enum:
		b.expected = "expected " + listValues(k.Want)
	case *kind.Const:
		b.expected = "expected " + listValues([]any{k.Want})
	case *kind.Format:
		b.expected = "expected " + formatNames[k.Want]
		if formatNames[k.Want] == "" {
			b.expected = "expected the format " + k.Want
		}
	case *kind.Pattern:
		b.expected = "expected text that matches " + truncate(k.Want, maxShown)
	case *kind.Minimum:
		b.expected = "expected at least " + formatRat(k.Want)
	case *kind.Maximum:
		b.expected = "expected at most " + formatRat(k.Want)
	case *kind.ExclusiveMinimum:
		b.expected = "expected more than " + formatRat(k.Want)
	case *kind.ExclusiveMaximum:
		b.expected = "expected less than " + formatRat(k.Want)
	case *kind.MultipleOf:
		b.expected = "expected a multiple of " + formatRat(k.Want)
	case *kind.FalseSchema:
		b.expected = "it must not be there"
	case *kind.AdditionalProperties:
		b.problem = "has " + quoteNames(k.Properties)
		b.expected = "the document has no such member"
	default:
		b.describeSize(e)
	}
}

// describeSize implements describe for the keywords that count.
func (b *schemaError) describeSize(e *jsonschema.ValidationError) {
	unit := "character"
	if _, file := b.got.(formFile); file {
		unit = "byte"
	}
	switch k := e.ErrorKind.(type) {
	case *kind.MinLength:
		b.expected = "expected at least " + pluralize(k.Want, unit)
	case *kind.MaxLength:
		b.problem, b.expected = "has "+pluralize(k.Got, unit), "expected at most "+strconv.Itoa(k.Want)
		if f, file := b.got.(formFile); file {
			b.problem = "has " + pluralize(len(f.data), unit)
		}
	case *kind.MinItems:
		b.problem, b.expected = "has "+pluralize(k.Got, "item"), "expected at least "+strconv.Itoa(k.Want)
	case *kind.MaxItems:
		b.problem, b.expected = "has "+pluralize(k.Got, "item"), "expected at most "+strconv.Itoa(k.Want)
	case *kind.MinProperties:
		b.problem, b.expected = "has "+pluralize(k.Got, "member"), "expected at least "+strconv.Itoa(k.Want)
	case *kind.MaxProperties:
		b.problem, b.expected = "has "+pluralize(k.Got, "member"), "expected at most "+strconv.Itoa(k.Want)
	case *kind.UniqueItems:
		b.problem = fmt.Sprintf("has the same item at %d and at %d", k.Duplicates[0], k.Duplicates[1])
		b.expected = "expected no two alike"
	default:
		b.expected = e.ErrorKind.LocalizedString(message.NewPrinter(language.English))
	}
}

// quoteNames lists names in quotes: `"a" and "b"`.
func quoteNames(names []string) string {
	all := make([]string, 0, len(names))
	for _, name := range names[:min(len(names), maxListed)] {
		all = append(all, strconv.Quote(truncate(name, maxShown)))
	}
	slices.Sort(all)
	return strings.Join(all, " and ")
}
