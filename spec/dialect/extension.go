package dialect

import (
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/streamassay/streamassay/internal/near"
	"github.com/streamassay/streamassay/spec"
)

// nameMaps lists the keywords whose values are objects with arbitrary member names, such as the
// names of properties. For x-requirement and the member requirement of an x-error, these are the
// names of keywords.
var nameMaps = []string{
	"properties", "patternProperties", "dependentSchemas", "dependentRequired", "$defs", "schemas", "headers", "responses",
	"examples", "parameters", "paths", "callbacks", "links", "requestBodies", "securitySchemes", "pathItems", "variables",
	"mapping", "content", "encoding", "scopes", "webhooks", "x-without", "x-settings", "x-requirement", "requirement",
}

// literals lists the keywords whose values are data, such as examples. The names of members in
// these values are not keywords, even if they are spelled like keywords.
var literals = []string{"example", "default", "enum", "const", "value", "x-write", "with"}

// keywords returns an iterator over the keywords in the document and their values. Within an
// object, they are ordered by name. It leaves out names that are not keywords: those in data, such
// as examples, and those that the author of the document chooses, such as the names of properties.
func (s *openAPIDocument) keywords() iter.Seq2[string, node] {
	return func(yield func(string, node) bool) { s.lookup("").walk(yield) }
}

// walk calls visit for each keyword in n, at any depth, in the order of
// [openAPIDocument.keywords]. It stops when visit returns false, and reports whether visit always
// returned true.
func (n node) walk(visit func(name string, member node) bool) bool {
	for _, item := range n.items() {
		if !item.walk(visit) {
			return false
		}
	}
	for name, member := range n.members() {
		if !visit(name, member) {
			return false
		}
		switch isObject := member.object() != nil; {
		case slices.Contains(literals, name) || name == "examples" && !isObject:
		case isObject && slices.Contains(nameMaps, name):
			for _, v := range member.members() {
				if !v.walk(visit) {
					return false
				}
			}
		case !member.walk(visit):
			return false
		}
	}
	return true
}

// An extensionValidator checks n, the value of an extension. It returns the JSON pointer of the first
// error in the value, and a message that describes the error. Both are "" if the value is valid.
type extensionValidator func(n node) (pointer, message string)

// extensions maps the name of each extension that this package defines to the check of its value.
// If the check is nil, checkExtensions accepts any value.
var extensions = map[string]extensionValidator{
	"x-absent": nil, "x-default": oneOfCheck(true, false), "x-extends": nil, "x-says": nil, "x-settings": settingsCheck,
	"x-requirement": nil, "x-without": nil, "x-unknown": nil, "x-tolerated": nil, "x-write": nil, "x-code": nil,
	"x-kind": kindCheck, "x-after": kindCheck, "x-slot": slotCheck,
	"x-mark":      oneOfCheck("present", "absent", "false", false),
	"x-in":        nil,
	"x-parts":     oneOfCheck(true, "named", "events", "single"),
	"x-snapshots": oneOfCheck(true, false),
	"x-utf-8":     oneOfCheck(true, false),
	"x-times":     nil,
	"x-chunk":     chunkCheck,
	"x-encloses":  oneOfCheck("reasoning"),
	"x-within":    memberCheck(nil, "type", "role"),
	"x-stream": memberCheck(map[string]extensionValidator{
		"requirements": memberCheck(nil, "status", "content-type", "content-coding"),
		"sentinel":     stringCheck, "foreign-sentinel": stringCheck, "keep-alive": stringCheck,
		"failure-status": statusCheck, "reorders": oneOfCheck(true, false), "event-suffices": oneOfCheck(true, false),
	}, "sends", "event", "id", "json-lines", "fields"),
	"x-max-bytes": memberCheck(nil, "limit", "over", "under", "with", "fill", "x-error"),
	"x-error":     refusalCheck(nil),
	"x-denied":    deniedCheck,
}

var (
	kindCheck = nameCheck("kind", spec.DocumentKinds)
	slotCheck = nameCheck("slot", slices.Collect(maps.Keys(slotFields)))
)

// nameCheck returns a check that accepts only the strings in names. The argument what, such as
// "kind", is the noun that messages use for such a string.
func nameCheck[T ~string](what string, names []T) extensionValidator {
	known := make([]string, len(names))
	for i, name := range names {
		known[i] = string(name)
	}
	return func(n node) (pointer, message string) {
		if slices.Contains(known, n.text()) {
			return "", ""
		}
		return n.pointer, fmt.Sprintf("unknown %s %s%s", what, displayValue(n.value), suggestName(n.text(), known))
	}
}

// suggestName returns the end of an error message about word, which is not one of the known names.
// If a known name is similar to word, the result is that of [near.Suggest], which names the most
// similar one. Otherwise the result lists the known names that begin as word does, up to its first
// dot, as in " (want one of tool.call, tool.delta, or another one)". If there are none, it lists
// all known names.
func suggestName(word string, known []string) string {
	if near.Similar(word, known) != "" {
		return near.Suggest(word, known)
	}
	all := slices.Sorted(slices.Values(known))
	group, _, dotted := strings.Cut(word, ".")
	like := slices.DeleteFunc(slices.Clone(all), func(name string) bool { return !strings.HasPrefix(name, group+".") })
	if dotted && len(like) > 0 {
		return " (want one of " + strings.Join(like, ", ") + ", or another one)"
	}
	return " (want one of " + strings.Join(all, ", ") + ")"
}

// oneOfCheck returns a check that accepts only the given values, each of which is a string or a
// boolean.
func oneOfCheck(values ...any) extensionValidator {
	return func(n node) (pointer, message string) {
		if slices.Contains(values, n.value) {
			return "", ""
		}
		var words []string
		for _, v := range values {
			words = append(words, displayValue(v))
		}
		return n.pointer, fmt.Sprintf("is %s: expected %s", displayValue(n.value), joinOr(words))
	}
}

// memberCheck returns a check that accepts only objects whose members are named in checked or in
// unchecked. The value of a member named in checked must pass the check that checked contains for
// the name. No member is required.
func memberCheck(checked map[string]extensionValidator, unchecked ...string) extensionValidator {
	known := slices.AppendSeq(slices.Clone(unchecked), maps.Keys(checked))
	return func(n node) (pointer, message string) {
		if n.object() == nil {
			return n.pointer, fmt.Sprintf("is %s: expected an object", displayValue(n.value))
		}
		for name, value := range n.members() {
			if !slices.Contains(known, name) {
				return value.pointer, fmt.Sprintf("unknown member %q%s", name, near.Suggest(name, known))
			}
			if check := checked[name]; check != nil {
				if pointer, message := check(value); message != "" {
					return pointer, message
				}
			}
		}
		return "", ""
	}
}

// stringCheck is an [extensionValidator] that accepts only strings.
func stringCheck(n node) (pointer, message string) {
	if _, ok := n.value.(string); !ok {
		return n.pointer, fmt.Sprintf("is %s: expected a string", displayValue(n.value))
	}
	return "", ""
}

// refusalStatus matches the status codes that a document may state for a refusal (x-error): codes
// of errors, such as 422, and the classes 4XX and 5XX.
var refusalStatus = regexp.MustCompile(`^[45]([0-9]{2}|XX)$`)

// statusCheck is an [extensionValidator] that accepts only a status code of an error, such as 422 or
// 4XX, and lists of them.
func statusCheck(n node) (pointer, message string) {
	all := n.strings()
	if len(all) == 0 || slices.ContainsFunc(all, func(s string) bool { return !refusalStatus.MatchString(s) }) {
		return n.pointer, fmt.Sprintf("is %s: expected status codes from 400 to 599, 4XX or 5XX", displayValue(n.value))
	}
	return "", ""
}

// settingsCheck is the [extensionValidator] of x-settings, which declares settings by name. Each
// setting must be an object with the member "default", which must be a string, a number or a
// boolean, and with no other members than "description". The names are arbitrary.
func settingsCheck(n node) (pointer, message string) {
	if n.object() == nil {
		return n.pointer, fmt.Sprintf("is %s: expected an object with settings by name", displayValue(n.value))
	}
	for name, setting := range n.members() {
		if pointer, message := memberCheck(nil, "default", "description")(setting); message != "" {
			return pointer, message
		}
		switch value := setting.get("default"); value.value.(type) {
		case string, json.Number, bool:
		case nil:
			const message = "the setting %s has no default: expected {default: VALUE, description: TEXT}"
			return setting.pointer, fmt.Sprintf(message, name)
		default:
			return value.pointer, fmt.Sprintf("is %s: expected a string, a number or a boolean", displayValue(value.value))
		}
	}
	return "", ""
}

// refusalCheck returns a check for one refusal requirement, such as an entry of x-error, or a list
// of them. Each refusal requirement must be an object that has the member "requirement" or
// "inherit: true". In addition to the members of an entry of x-error, the object may have the
// members named in checked. The value of such a member must pass the check that checked contains
// for the name.
func refusalCheck(checked map[string]extensionValidator) extensionValidator {
	boolean := oneOfCheck(true, false)
	checks := map[string]extensionValidator{
		"status": statusCheck, "in-band": boolean, "accept": boolean, "inherit": boolean,
	}
	maps.Copy(checks, checked)
	return func(n node) (pointer, message string) {
		for _, entry := range refusalList(n) {
			if pointer, message := memberCheck(checks, "requirement", "code", "text", "comment")(entry); message != "" {
				return pointer, message
			}
			if !entry.get("requirement").exists() && entry.get("inherit").value != true {
				return entry.pointer, "has no requirement"
			}
		}
		return "", ""
	}
}

// deniedCheck is the [extensionValidator] of x-denied, an object that maps reasons for a denial to
// refusal requirements.
func deniedCheck(n node) (pointer, message string) {
	reasons := map[string]extensionValidator{}
	members := map[string]extensionValidator{"with": slotCheck, "plain": oneOfCheck(true, false)}
	for _, reason := range denialReasons {
		reasons[string(reason)] = refusalCheck(members)
	}
	return memberCheck(reasons)(n)
}

// checkExtensions returns an error if the document has an extension that this package does not
// define, or an extension with an invalid value. The error is about the first of these.
func (d *Dialect) checkExtensions() error {
	for name, n := range d.document.keywords() {
		check, known := extensions[name]
		switch {
		case !strings.HasPrefix(name, "x-"):
		case !known:
			suggestion := suggestName(name, slices.Collect(maps.Keys(extensions)))
			return d.errorAt(n.pointer, "unknown extension %s%s", name, suggestion)
		case check != nil:
			if at, message := check(n); message != "" {
				return d.errorAt(at, "%s: %s", name, message)
			}
		}
	}
	return nil
}
