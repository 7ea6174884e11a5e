package diff

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/streamassay/streamassay/internal/printable"
	"github.com/streamassay/streamassay/spec"
)

// A comparisonRule states how two values of a fact are compared. A fact is a property of an event.
type comparisonRule int

// The ways in which the values of a fact are compared.
const (
	compareEqual    comparisonRule = iota // values match if they are equal
	compareAsID                           // ids match if they correspond one to one; see comparer.matchIDs
	comparePresence                       // any two values match, such as two times
)

// A comparedProperty is a fact: one property of an event that is compared.
type comparedProperty struct {
	name, value string
	comparison  comparisonRule // how the value is compared
}

// relevantHeaders lists the response header fields that are compared, because they matter to
// clients.
var relevantHeaders = []string{
	"Content-Type", "Content-Encoding", "Cache-Control", "X-Accel-Buffering", "Location", "Retry-After",
	"WWW-Authenticate", "Allow", "Access-Control-Allow-Origin",
}

// maxDepth is the maximum depth of the parts of an event that are compared. The parts of an event
// have depth 1, their parts have depth 2, and so on.
const maxDepth = 8

// facts returns the properties of e and of its parts that are compared, in a fixed order. It omits
// properties without a value.
func facts(e spec.Event) []comparedProperty { return appendFacts(nil, "", e, 0) }

// appendFacts appends the facts of e and of its parts to all, and returns the result. The names of
// the facts begin with prefix. The argument depth is 0 for an event, 1 for a part of an event, and
// so on.
func appendFacts(all []comparedProperty, prefix string, e spec.Event, depth int) []comparedProperty {
	add := func(name, value string, by comparisonRule) {
		if value != "" {
			all = append(all, comparedProperty{prefix + name, value, by})
		}
	}
	if e.StatusCode != 0 {
		add("http", strconv.Itoa(e.StatusCode), compareEqual)
	}
	if e.Kind == spec.HTTPResponse {
		for _, name := range relevantHeaders {
			add(strings.ToLower(name), header(e, name), compareEqual)
		}
	} else {
		add("media", e.MediaType, compareEqual)
	}
	cursor := compareAsID
	if e.Kind.Phase() == "delta" { // deltas were merged, so their cursors cannot be matched
		cursor = comparePresence
	}
	for _, slot := range []comparedProperty{
		{"status", e.Status, compareEqual}, {"code", e.Code, compareEqual}, {"name", e.Name, compareEqual},
		{"role", e.Role, compareEqual}, {"type", e.Type, compareEqual}, {"index", e.Index, compareEqual},
		{"text", canonical(e.Text), compareEqual}, {"more", e.HasMore, compareEqual},
		{"about", e.Description, compareEqual}, {"limit", e.PollLimit, compareEqual},
		{"end", endText(e), compareEqual}, {"breaks", violationText(e), compareEqual}, {"cursor", e.Cursor, cursor},
		{"thread", e.Thread, compareAsID}, {"run", e.Run, compareAsID}, {"message", e.Message, compareAsID},
		{"call", e.Call, compareAsID}, {"id", e.ID, compareAsID}, {"day", e.Day, comparePresence},
		{"seq", e.Seq, comparePresence}, {"created", e.Created, comparePresence}, {"completed", e.Completed, comparePresence},
	} {
		add(slot.name, slot.value, slot.comparison)
	}
	if depth < maxDepth && len(e.Parts) > 0 {
		kinds := make([]string, len(e.Parts))
		for i, p := range e.Parts {
			kinds[i] = string(p.Kind)
		}
		add("parts", strings.Join(kinds, " "), compareEqual)
		for i, p := range e.Parts {
			all = appendFacts(all, fmt.Sprintf("%sparts[%d].", prefix, i), p, depth+1)
		}
	}
	return all
}

// header returns the values of all header fields of e with the given name as one list, separated by
// ", ", with white space normalized. It returns "" if e has no such field.
func header(e spec.Event, name string) string {
	var values []string
	for _, f := range e.Header {
		if !strings.EqualFold(f.Name, name) {
			continue
		}
		for v := range strings.SplitSeq(f.Value, ",") {
			values = append(values, strings.Join(strings.Fields(strings.ReplaceAll(v, ";", "; ")), " "))
		}
	}
	return strings.Join(values, ", ")
}

// canonical returns a JSON object or array in canonical form: without insignificant white space,
// and with members sorted by name. It returns any other text unchanged.
func canonical(text string) string {
	if t := strings.TrimSpace(text); !strings.HasPrefix(t, "{") && !strings.HasPrefix(t, "[") {
		return text
	}
	sorted, ok := printable.SortJSON(text)
	if !ok {
		return text
	}
	return sorted
}

// endErrors lists the errors with which a body can end early.
var endErrors = []error{
	spec.ErrClientLeft, spec.ErrStillOpen,
	spec.ErrTruncated, spec.ErrReset, spec.ErrIdleTimeout, spec.ErrLimitExceeded, spec.ErrInvalidCoding, spec.ErrNotHTTP,
}

// endText returns a description of how the body ended if e is of kind [spec.BodyEnd]. The
// description has no details that depend on the machine. If e is any other event with an error,
// except one of kind [spec.HTTPResponse], endText returns "cannot be decoded". For all remaining
// events, it returns "".
func endText(e spec.Event) string {
	switch {
	case e.Kind != spec.BodyEnd && e.Kind != spec.HTTPResponse && e.Err != nil:
		return "cannot be decoded"
	case e.Kind != spec.BodyEnd:
		return ""
	case e.Err == nil:
		return "complete"
	}
	if i := slices.IndexFunc(endErrors, func(err error) bool { return errors.Is(e.Err, err) }); i >= 0 {
		return endErrors[i].Error()
	}
	return "no response"
}

// violationText returns the locations of e.Violations and the kinds of e.Flaws, sorted, without
// duplicates and separated by ", ". It returns "" if e has neither violations nor flaws.
func violationText(e spec.Event) string {
	var all []string
	for _, b := range e.Violations {
		all = append(all, b.Location)
	}
	for _, f := range e.Flaws {
		all = append(all, string(f.Kind))
	}
	slices.Sort(all)
	return strings.Join(slices.Compact(all), ", ")
}

// describeEvent returns the facts of e on one line, separated by ", ". It omits facts whose values
// are not compared, such as times, and all ids except that of a tool call.
func describeEvent(e spec.Event) string {
	var all []string
	for _, f := range facts(e) {
		if f.comparison != comparePresence && (f.comparison != compareAsID || f.name == "call") {
			all = append(all, f.name+" "+quoteValue(f.value))
		}
	}
	return strings.Join(all, ", ")
}

// maxQuoted is the maximum number of bytes of one value that describeEvent shows.
const maxQuoted = 200

// quoteValue returns v as a Go string literal. If v has more than maxQuoted bytes, the literal
// contains only the first of these, and is followed by an ellipsis and the length of v in bytes.
func quoteValue(v string) string {
	if len(v) > maxQuoted {
		return fmt.Sprintf("%q… (%d bytes)", v[:maxQuoted], len(v))
	}
	return strconv.Quote(v)
}
