package dialect

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/streamassay/streamassay/internal/near"
	"github.com/streamassay/streamassay/spec"
)

// nameMaps lists the keywords whose members have names that the author of a document chooses.
var nameMaps = []string{
	"properties", "patternProperties", "dependentSchemas", "dependentRequired", "$defs", "schemas", "headers", "responses",
	"examples", "parameters", "paths", "callbacks", "links", "requestBodies", "securitySchemes", "pathItems", "variables",
	"mapping", "content", "encoding", "scopes", "webhooks", "x-without", "x-settings",
}

// literals lists the keywords whose values are data and not part of the description.
var literals = []string{"example", "default", "enum", "const", "value", "x-write"}

// walk calls visit for the members of v, a value of the document at a pointer, and for the members
// within them, those of an object in order of their names. Members whose names the author chooses, and
// data such as examples, are left out. It ends when visit returns false, and reports whether it did not.
func (s *document) walk(at string, v any, visit func(pointer, name string, v any) bool) bool {
	switch v := v.(type) {
	case []any:
		for i, item := range v {
			if !s.walk(at+"/"+strconv.Itoa(i), item, visit) {
				return false
			}
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			pointer := at + "/" + escape(name)
			if !visit(pointer, name, v[name]) || !s.walkMember(pointer, name, v[name], visit) {
				return false
			}
		}
	}
	return true
}

// walkMember is walk for the value v of a member with a name that OpenAPI or this package defines.
func (s *document) walkMember(at, name string, v any, visit func(pointer, name string, v any) bool) bool {
	chosen, isObject := v.(map[string]any)
	switch {
	case slices.Contains(literals, name) || name == "examples" && !isObject:
		return true
	case !isObject || !slices.Contains(nameMaps, name):
		return s.walk(at, v, visit)
	}
	for _, key := range slices.Sorted(maps.Keys(chosen)) {
		if !s.walk(at+"/"+escape(key), chosen[key], visit) {
			return false
		}
	}
	return true
}

// An extensionCheck returns what is wrong with n, the value of an extension, and where. The message is
// "" if nothing is.
type extensionCheck func(n node) (pointer, message string)

// extensions lists the extensions that package dialect defines, as its documentation describes them.
// The value is nil for those of which only the name is checked here.
var extensions = map[string]extensionCheck{
	"x-absent": nil, "x-default": nil, "x-extends": nil, "x-says": nil, "x-settings": eachMember("default", "description"),
	"x-requirement": nil, "x-without": nil, "x-write": nil, "x-code": nil,
	"x-kind": kindCheck, "x-slot": slotCheck,
	"x-mark":      oneOfCheck("present", "false", false),
	"x-parts":     oneOfCheck(true, "named", "events"),
	"x-snapshots": oneOfCheck(true, false),
	"x-times":     nil,
	"x-chunk":     memberCheck(chunkMembers),
	"x-within":    memberCheck(map[string]extensionCheck{"type": nil, "role": nil}),
	"x-stream": memberCheck(map[string]extensionCheck{
		"sentinel": nil, "sends": nil, "event": nil, "id": nil, "keep-alive": nil,
		"requirements": memberCheck(map[string]extensionCheck{"status": nil, "content-type": nil, "content-coding": nil}),
	}),
	"x-max-bytes": memberCheck(map[string]extensionCheck{
		"limit": nil, "over": nil, "under": nil, "with": nil, "fill": nil, "x-error": nil,
	}),
	"x-error":  refusalCheck(),
	"x-denied": deniedCheck,
}

var chunkMembers = map[string]extensionCheck{"of": slotCheck, "start": kindCheck, "end": kindCheck}

// kindCheck checks the name of a kind.
func kindCheck(n node) (pointer, message string) {
	if slices.Contains(spec.DocumentKinds, spec.Kind(n.text())) {
		return "", ""
	}
	names := make([]string, len(spec.DocumentKinds))
	for i, k := range spec.DocumentKinds {
		names[i] = string(k)
	}
	return n.pointer, fmt.Sprintf("unknown kind %s%s", displayValue(n.value), near.Suggest(n.text(), names))
}

// slotCheck checks the name of a slot.
func slotCheck(n node) (pointer, message string) {
	if slotFields[n.text()] != nil {
		return "", ""
	}
	names := slices.Collect(maps.Keys(slotFields))
	return n.pointer, fmt.Sprintf("unknown slot %s%s", displayValue(n.value), near.Suggest(n.text(), names))
}

// oneOfCheck returns a check for an extension with one of the given values.
func oneOfCheck(values ...any) extensionCheck {
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

// memberCheck returns a check for an object with no other members than the given ones, each with the
// check of its value or nil.
func memberCheck(members map[string]extensionCheck) extensionCheck {
	return func(n node) (pointer, message string) {
		if n.object() == nil {
			return n.pointer, fmt.Sprintf("is %s: expected an object", displayValue(n.value))
		}
		names, values := n.members()
		for i, name := range names {
			check, known := members[name]
			if !known {
				return values[i].pointer, fmt.Sprintf("unknown member %q%s", name,
					near.Suggest(name, slices.Collect(maps.Keys(members))))
			}
			if check == nil {
				continue
			}
			if pointer, message := check(values[i]); message != "" {
				return pointer, message
			}
		}
		return "", ""
	}
}

// eachMember returns a check for an object whose members, of any name, are objects with no other
// members than the given ones.
func eachMember(members ...string) extensionCheck {
	known := map[string]extensionCheck{}
	for _, name := range members {
		known[name] = nil
	}
	return func(n node) (pointer, message string) {
		_, values := n.members()
		for _, v := range values {
			if pointer, message := memberCheck(known)(v); message != "" {
				return pointer, message
			}
		}
		return "", ""
	}
}

// refusalCheck returns a check for one refusal requirement or a list of them, which may have the
// members of x-error and those with the given names.
func refusalCheck(more ...string) extensionCheck {
	members := map[string]extensionCheck{}
	for _, name := range slices.Concat(more, []string{
		"requirement", "status", "code", "text", "in-band", "inherit", "comment",
	}) {
		members[name] = nil
	}
	return func(n node) (pointer, message string) {
		for _, entry := range refusalList(n) {
			if pointer, message := memberCheck(members)(entry); message != "" {
				return pointer, message
			}
			if !entry.get("requirement").exists() && !entry.get("inherit").exists() {
				return entry.pointer, "has no requirement"
			}
		}
		return "", ""
	}
}

// deniedCheck checks an x-denied.
func deniedCheck(n node) (pointer, message string) {
	reasons := map[string]extensionCheck{}
	for _, reason := range denialReasons {
		reasons[string(reason)] = refusalCheck("with", "plain")
	}
	return memberCheck(reasons)(n)
}

// checkExtensions returns an error if the document has an extension that this package does not define,
// or one with a value that it may not have.
func (d *Dialect) checkExtensions() (err error) {
	d.document.walk("", d.document.root, func(pointer, name string, v any) bool {
		if !strings.HasPrefix(name, "x-") {
			return true
		}
		check, known := extensions[name]
		if !known {
			err = d.errorAt(pointer, "unknown extension %s%s", name, near.Suggest(name, slices.Collect(maps.Keys(extensions))))
			return false
		}
		if check != nil {
			if at, message := check(node{d.document, pointer, v}); message != "" {
				err = d.errorAt(at, "%s: %s", name, message)
				return false
			}
		}
		return true
	})
	return err
}
