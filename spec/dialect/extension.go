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

// walk calls visit for the members of v, the value to which the pointer at refers, and for all
// members within them. It visits those of an object in the order of their names. It omits members
// whose names the author of the document chooses, and data such as examples. When visit returns
// false, walk stops and returns false. Otherwise it returns true.
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

// walkMember calls visit, as walk does, for the members within v. The parameter v is the value of
// the member with the given name at the pointer at; OpenAPI or this package defines the name.
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

// An extensionCheck checks n, the value of an extension. It returns a message that describes the
// first error in the value, and the pointer to the error. The message is "" if the value is valid.
type extensionCheck func(n node) (pointer, message string)

// extensions maps the names of the extensions that package dialect defines to the checks of their
// values. The check is nil if only the name of the extension is checked here.
var extensions = map[string]extensionCheck{
	"x-absent": nil, "x-default": nil, "x-extends": nil, "x-says": nil, "x-settings": eachMember("default", "description"),
	"x-requirement": nil, "x-without": nil, "x-write": nil, "x-code": nil,
	"x-kind": kindCheck, "x-after": kindCheck, "x-slot": slotCheck,
	"x-mark":      oneOfCheck("present", "false", false),
	"x-parts":     oneOfCheck(true, "named", "events", "single"),
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

var chunkMembers = map[string]extensionCheck{
	"of": slotCheck, "start": kindCheck, "end": kindCheck, "by": slotCheck, "until": kindCheck,
}

// kindCheck is the check of an x-kind, whose value must be the name of a kind.
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

// slotCheck is the check of an x-slot, whose value must be the name of a slot.
func slotCheck(n node) (pointer, message string) {
	if slotFields[n.text()] != nil {
		return "", ""
	}
	names := slices.Collect(maps.Keys(slotFields))
	return n.pointer, fmt.Sprintf("unknown slot %s%s", displayValue(n.value), near.Suggest(n.text(), names))
}

// oneOfCheck returns a check that requires one of the given values.
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

// memberCheck returns a check that requires an object with no members other than the given ones.
// The parameter members maps the name of each member to the check of its value, or to nil.
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

// eachMember returns a check for an object whose members may have any names. The value of each
// member must be an object with no members other than the given ones.
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

// refusalCheck returns a check for one refusal requirement or a list of them. A refusal requirement
// may have the members of x-error and those with the given names.
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

// deniedCheck is the check of an x-denied.
func deniedCheck(n node) (pointer, message string) {
	reasons := map[string]extensionCheck{}
	for _, reason := range denialReasons {
		reasons[string(reason)] = refusalCheck("with", "plain")
	}
	return memberCheck(reasons)(n)
}

// checkExtensions returns an error if the document has an extension that this package does not
// define, or an extension with an invalid value.
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
