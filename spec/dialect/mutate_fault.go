package dialect

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A fault is a value that breaks one keyword, and one that just does not; nil if
// the value there was will do.
type fault struct {
	name      string
	bad, twin any
}

// nearly are texts that are almost of a format: whoever looks at the shape alone takes
// them for it.
var nearly = map[string]string{
	"uuid": "550e8400-e29b-41d4-a716-44665544000g",
	"date": "2026-02-30",
}

// faults are the ways to break what a schema itself says about v.
func (m *mutator) faults(n node, v any) (list []fault) {
	add := func(bad, twin any, format string, args ...any) {
		list = append(list, fault{fmt.Sprintf(format, args...), bad, twin})
	}
	if types := n.get("type").strings(); len(types) > 0 {
		for _, bad := range []any{json.Number("42"), "x", []any{}, nil} {
			if !fits(types, bad) {
				add(bad, nil, "is of type %s", kindOf(bad))
			}
		}
	} else if n.get("oneOf").exists() || n.get("anyOf").exists() {
		add(json.Number("42"), nil, "is a number")
	}
	if len(n.get("enum").items()) > 0 {
		add("alien", nil, "is %q", "alien")
	}
	if n.get("format").exists() || n.get("pattern").exists() {
		add("%%wrong%%", nil, "is %q", "%%wrong%%")
		if near, ok := nearly[n.get("format").text()]; ok {
			add(near, nil, "is %q", near)
		}
	}
	if k, ok := integer(n.get("minLength")); ok && k > 0 {
		add(strings.Repeat("a", k-1), strings.Repeat("a", k), "has %d characters", k-1)
	}
	if k, ok := integer(n.get("maxLength")); ok {
		add(strings.Repeat("a", k+1), strings.Repeat("a", k), "has %d characters", k+1)
	}
	if k, ok := integer(n.get("minimum")); ok {
		add(number(k-1), number(k), "is %d", k-1)
	}
	if k, ok := integer(n.get("maximum")); ok {
		add(number(k+1), number(k), "is %d", k+1)
	}
	if items, ok := v.([]any); ok {
		list = append(list, listFaults(n, items)...)
	}
	return list
}

func number(n int) json.Number { return json.Number(strconv.Itoa(n)) }

func integer(n node) (int, bool) {
	k, ok := n.v.(json.Number)
	if !ok {
		return 0, false
	}
	i, err := strconv.Atoi(canonical(k))
	return i, err == nil
}

// listFaults are the ways to break what a schema says about how many items there
// are, and which come first.
func listFaults(n node, items []any) (list []fault) {
	if k, ok := integer(n.get("maxItems")); ok && len(items) > 0 && k+1 > len(items) {
		many := slices.Concat(items, slices.Repeat(items[len(items)-1:], k+1-len(items)))
		list = append(list, fault{fmt.Sprintf("has %d items", k+1), many, many[:k]})
	}
	if k, ok := integer(n.get("minItems")); ok && k > 0 {
		list = append(list, fault{fmt.Sprintf("has %d items", k-1), items[:min(k-1, len(items))], nil})
	}
	if n.get("contains").exists() {
		list = append(list, fault{"is empty", []any{}, nil})
		if len(items) > 0 {
			list = append(list, fault{"has its first item twice", slices.Concat(items[:1], items), nil})
		}
	}
	if len(n.get("prefixItems").items()) > 0 && len(items) > 1 {
		swapped := slices.Clone(items)
		slices.Reverse(swapped)
		list = append(list, fault{"is in reverse order", swapped, nil})
	}
	return list
}
