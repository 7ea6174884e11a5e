package script

import (
	"bytes"
	"encoding/json"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/streamassay/streamassay/spec"
)

// The values of the condition "last", which states what the last input of a request must be: a
// message of the user, the result of a tool that the client ran, or the answer to an interrupt.
const (
	lastUser   = "user"
	lastTool   = "tool"
	lastResume = "resume"
)

// analyze sets f.lastInput and f.userText. If the request starts a run, analyze also counts a turn
// in st, and sets f.turn and f.undoTurn. Only the first call has an effect. A request that is
// passed to several rule sets is therefore counted once.
func (f *RequestContext) analyze(st *State) {
	if f.analyzed {
		return
	}
	f.analyzed = true
	if f.Parsed == nil {
		f.Parsed = &spec.Event{}
	}
	var info turnEvidence
	answered := false
	for _, part := range f.Parsed.Parts {
		switch part.Kind {
		case spec.InputUser:
			info.hasHistory = info.hasHistory || answered
			info.userMessages++
			f.lastInput, f.userText = lastUser, part.Text
		case spec.InputAssistant:
			answered = info.userMessages > 0
		case spec.InputToolResult:
			f.lastInput = lastTool
		case spec.InputResume:
			f.lastInput = lastResume
		}
	}
	if f.Operation != "run" {
		return
	}
	info.endsWithUser = f.lastInput == lastUser
	thread := f.Parsed.Thread
	if thread != "" && f.Dialect != nil {
		thread = f.Dialect.Name + "/" + thread
	}
	f.turn, f.undoTurn = st.recordTurn(thread, f.Parsed.Run, info)
}

// toolResults returns the results of client tools that follow the user's last message in the
// request, in the order of the request. It returns nil if there are none.
func (f *RequestContext) toolResults() (all []spec.Event) {
	for _, part := range f.Parsed.Parts {
		switch part.Kind {
		case spec.InputUser:
			all = nil
		case spec.InputToolResult:
			all = append(all, part)
		}
	}
	return all
}

// bodyJSON returns the request body as decoded by decodeJSON, or nil if it is not valid JSON. It
// caches the result.
func (f *RequestContext) bodyJSON() any {
	if !f.bodyParsed {
		f.bodyParsed = true
		f.parsedBody = decodeJSON(f.Request.Body)
	}
	return f.parsedBody
}

// decodeJSON returns the value of data, which must be a single JSON value. The numbers in the
// result have the type json.Number and are in canonical form (see canonicalNumbers). decodeJSON
// returns nil if data is not valid JSON.
func decodeJSON(data []byte) (v any) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	if dec.Decode(&v) != nil {
		return nil
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil
	}
	return canonicalNumbers(v)
}

// canonicalNumbers returns v, a decoded JSON value, with its numbers in canonical form, so that 1,
// 1.0 and 1e0 are equal. An integer keeps all its digits. A number with a fraction or an exponent
// gets its shortest form, which has an exponent if its absolute value is 1e15 or more. The numbers
// in v must have the type json.Number. Lists and objects in v are modified in place.
func canonicalNumbers(v any) any {
	switch v := v.(type) {
	case json.Number:
		n, err := v.Float64()
		if isInteger := !strings.ContainsAny(v.String(), ".eE"); isInteger || err != nil {
			return v
		}
		if math.Abs(n) < 1e15 {
			return json.Number(strconv.FormatFloat(n, 'f', -1, 64))
		}
		return json.Number(strconv.FormatFloat(n, 'g', -1, 64))
	case []any:
		for i := range v {
			v[i] = canonicalNumbers(v[i])
		}
	case map[string]any:
		for key := range v {
			v[key] = canonicalNumbers(v[key])
		}
	}
	return v
}

// lookupPointer returns the value in v, a decoded JSON value, to which the JSON pointer refers (RFC
// 6901). The pointer must be valid. The second result reports whether there is such a value. If v
// is nil, it is false even for the pointer "".
func lookupPointer(v any, pointer string) (any, bool) {
	if pointer == "" {
		return v, v != nil
	}
	for step := range strings.SplitSeq(pointer[1:], "/") {
		step = strings.NewReplacer("~1", "/", "~0", "~").Replace(step)
		switch in := v.(type) {
		case map[string]any:
			member, ok := in[step]
			if !ok {
				return nil, false
			}
			v = member
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i < 0 || i >= len(in) || strconv.Itoa(i) != step {
				return nil, false
			}
			v = in[i]
		default:
			return nil, false
		}
	}
	return v, true
}

// isJSONPointer reports whether text is a JSON pointer (RFC 6901, section 3).
var isJSONPointer = regexp.MustCompile(`^(/([^~]|~[01])*)?$`).MatchString
