package dialect

import (
	"maps"
	"slices"
	"strconv"

	"github.com/streamassay/streamassay/spec"
)

// An omittedValue stands for the value of a member that is to be removed (see withBodyValue).
type omittedValue struct{}

// withBodyValue returns a copy of r in which one value of the JSON body is replaced with v, or
// removed if v is omittedValue{}. The argument at is the location of the value, as in replaceAt.
// If the body is not JSON, withBodyValue returns r unchanged.
func withBodyValue(r spec.Request, at []string, v any) spec.Request {
	body, err := decode(r.Body)
	if err != nil {
		return r // not JSON
	}
	r.Body = []byte(compactJSON(replaceAt(body, at, v)))
	return r
}

// replaceAt returns a copy of in, a decoded JSON value, in which the value at a location is
// replaced with v. The elements of the argument at, the location, are names of members and indexes
// of array items, from 0. All but the last element must identify existing objects and arrays. If
// the last element names a member that does not exist, or is the index after the last item of an
// array, v is added. If v is omittedValue{}, the last element must name a member, and the copy
// lacks that member. The copy shares all other values with in.
func replaceAt(in any, at []string, v any) any {
	if len(at) == 0 {
		return v
	}
	switch in := in.(type) {
	case map[string]any:
		out := maps.Clone(in)
		if member := replaceAt(in[at[0]], at[1:], v); member == (omittedValue{}) {
			delete(out, at[0])
		} else {
			out[at[0]] = member
		}
		return out
	case []any:
		out := slices.Clone(in)
		switch i, err := strconv.Atoi(at[0]); {
		case err == nil && i < len(out):
			out[i] = replaceAt(in[i], at[1:], v)
		case err == nil && len(at) == 1: // appended
			out = append(out, v)
		}
		return out
	}
	return in
}
