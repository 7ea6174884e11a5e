package dialect

import (
	"encoding/json"
	"fmt"
	"maps"
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

// Names that messages use for a whole value, which has no path of its own.
const (
	eventName        = "the event"
	responseBodyName = "the response body"
	requestBodyName  = "the request body"
)

// Limits on how much of a value a message shows. They keep messages short; a finding also contains
// the bytes of the whole event.
const (
	maxShown  = 60  // characters of a value
	maxPath   = 120 // characters of a path
	maxListed = 20  // allowed values
)

// text returns a message that states the problem and what is expected. The argument root is the
// noun phrase for the whole value, such as "the request body".
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

// maxAlternatives is the maximum number of alternatives whose errors a message lists, to keep it
// short.
const maxAlternatives = 3

// alternativesText returns the message for an error with alternatives. It joins the first message
// of each alternative with ", or ", without duplicates and the shortest first. If there are more
// than maxAlternatives, the message ends with the number of the others. The argument root is as in
// [schemaError.text].
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

// locationName returns the name by which messages refer to the location with the given path
// expression. If path is "", the result is root, such as "the request body". If path is a single
// name, the result is path in quotes. Otherwise, the result is path itself, such as
// messages[0].role.
func locationName(root, path string) string {
	switch {
	case path == "":
		return root
	case strings.ContainsAny(path, ".["):
		return path
	}
	return strconv.Quote(path)
}

// displayPath returns the path expression for the given location within v, such as
// "messages[0].role", truncated to maxPath characters. The location consists of member names and
// array indexes.
func displayPath(v any, at []string) (path string) {
	for _, token := range at {
		if _, isList := v.([]any); isList {
			path += "[" + token + "]"
		} else {
			path = joinPath(path, token)
		}
		if v = childAt(v, token); len(path) > maxPath {
			break
		}
	}
	return truncate(path, maxPath)
}

// isBareWord reports whether messages show s without quotes in a path or in a list of values. Such
// a string has 1 to maxShown characters, all of them ASCII letters, digits or one of _-/:+.
func isBareWord(s string) bool {
	return s != "" && len(s) <= maxShown && strings.IndexFunc(s, func(r rune) bool {
		return r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("_-/:+", r)
	}) < 0
}

// displayWord returns v in the form in which messages show names and allowed values. A bare word
// (see isBareWord) is unchanged; for anything else, the result is that of displayValue.
func displayWord(v any) string {
	if s, ok := v.(string); ok && isBareWord(s) {
		return s
	}
	return displayValue(v)
}

// displayValue returns a value as JSON on one line, truncated to maxShown characters.
func displayValue(v any) string {
	var b strings.Builder
	writeValue(&b, v)
	return truncate(b.String(), maxShown)
}

// writeValue writes v to b as JSON, with the members of objects ordered by name. It writes a
// formFile as "a file of 10 bytes". It writes only as much of v as displayValue may show: it
// shortens long strings, arrays and objects, and writes nothing once b has more than 4*maxShown
// bytes.
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
		separator := "["
		for _, item := range v[:min(len(v), maxShown)] {
			b.WriteString(separator)
			writeValue(b, item)
			separator = ","
		}
		b.WriteString(strings.TrimSuffix(separator, ",") + "]")
	case map[string]any:
		separator := "{"
		for _, name := range slices.Sorted(maps.Keys(v))[:min(len(v), maxShown)] {
			b.WriteString(separator + strconv.Quote(truncate(name, maxShown)) + ":")
			writeValue(b, v[name])
			separator = ","
		}
		b.WriteString(strings.TrimSuffix(separator, ",") + "}")
	default:
		b.WriteString(compactJSON(v))
	}
}

// truncate returns s unchanged if it has at most n characters. Otherwise it returns the first n
// characters of s, followed by an ellipsis.
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

// listValues returns alternative values as one string, such as "user, assistant or tool". If there
// are more than maxListed+1 values, it shows the first maxListed and the number of the others.
func listValues(values []any) string {
	words := make([]string, 0, len(values))
	for _, v := range values {
		words = append(words, displayWord(v))
	}
	if n := len(words) - maxListed; n > 1 {
		words = append(words[:maxListed], fmt.Sprintf("one of %d more", n))
	}
	return joinOr(words)
}

// joinOr returns alternatives as one string, such as "a, b or c". It returns "" if there are none.
func joinOr(items []string) string { return joinWords(items, " or ") }

// joinWords returns the items as one string, such as "a, b or c" if last is " or ". The string last
// separates the last two items, and ", " separates the others. The result is "" if there are no
// items.
func joinWords(items []string, last string) string {
	n := len(items) - 1
	if n < 1 {
		return strings.Join(items, "")
	}
	return strings.Join(items[:n], ", ") + last + items[n]
}

// typeNames maps each JSON Schema type to the phrase that messages use for a value of that type.
var typeNames = map[string]string{
	"string": "a string", "integer": "an integer", "number": "a number", "boolean": "true or false",
	"array": "an array", "object": "an object", "null": "null",
}

// describeTypes returns the types that a value may have as one string, such as "a string or null",
// with null last.
func describeTypes(types []string) string {
	var words []string
	for _, t := range types {
		if word := typeNames[t]; t != "null" && !slices.Contains(words, word) {
			words = append(words, word)
		}
	}
	if slices.Contains(types, "null") {
		words = append(words, typeNames["null"])
	}
	return joinOr(words)
}

// formatNames maps JSON Schema formats to the phrases that messages use for values of these
// formats.
var formatNames = map[string]string{
	"uuid":      "a UUID",
	"date":      "a date as in 2026-01-31",
	"date-time": "a date and time as in 2026-01-31T12:00:00Z",
	"time":      "a time as in 12:00:00Z",
	"uri":       "an absolute URI",
	"email":     "a mail address",
	"regex":     "a regular expression",
}

// pluralize returns n followed by the noun thing, such as "1 byte" or "2 bytes".
func pluralize(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return strconv.Itoa(n) + " " + thing + "s"
}

// formatRat returns r, a number in a schema, as text. An integer is written in full, and any other
// number as the nearest float64.
func formatRat(r *big.Rat) string {
	if r.IsInt() {
		return r.Num().String()
	}
	f, _ := r.Float64()
	return strconv.FormatFloat(f, 'g', -1, 64)
}

// describe sets b.expected and, for some keywords, b.problem according to e, the validator's error.
func (b *schemaError) describe(e *jsonschema.ValidationError) {
	unit, size := "character", 0
	file, isFile := b.got.(formFile)
	if isFile { // the validator sees a text of the same length or shorter
		unit, size = "byte", len(file.data)
	}
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
	case *kind.MinLength:
		b.expected = "expected at least " + pluralize(k.Want, unit)
	case *kind.MaxLength:
		if !isFile {
			size = k.Got
		}
		b.problem, b.expected = "has "+pluralize(size, unit), "expected at most "+strconv.Itoa(k.Want)
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

// quoteNames returns the names in quotes, sorted, as one string such as `"a", "b" and "c"`. If
// there are more than maxListed+1 names, it shows the first maxListed and the number of the others.
func quoteNames(names []string) string {
	words := make([]string, 0, len(names))
	for _, name := range slices.Sorted(slices.Values(names)) {
		words = append(words, strconv.Quote(truncate(name, maxShown)))
	}
	if n := len(words) - maxListed; n > 1 {
		words = append(words[:maxListed], fmt.Sprintf("%d more", n))
	}
	return joinWords(words, " and ")
}
