package script

import (
	"bytes"
	"encoding/json"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/streamassay/streamassay/spec"
)

// What is to be answered: the values of last.
const (
	lastUser   = "user"
	lastTool   = "tool"
	lastResume = "resume"
)

// analyze finds out what rules ask for, once for a request.
func (f *RequestContext) analyze(st *State) {
	if f.analyzed {
		return
	}
	f.analyzed = true
	if f.Parsed == nil {
		f.Parsed = &spec.Event{}
	}
	var asks turnInfo
	answered := false
	for _, part := range f.Parsed.Parts {
		switch part.Kind {
		case spec.InputUser:
			asks.hasHistory = asks.hasHistory || answered
			asks.userMessages++
			f.lastInput, f.userText = lastUser, part.Text
		case spec.InputAssistant:
			answered = asks.userMessages > 0
		case spec.InputToolResult:
			f.lastInput = lastTool
		case spec.InputResume:
			f.lastInput = lastResume
		}
	}
	if f.Operation != "run" {
		return
	}
	asks.endsWithUser = f.lastInput == lastUser
	thread := f.Parsed.Thread
	if thread != "" && f.Dialect != nil {
		thread = f.Dialect.Name + "/" + thread
	}
	f.turn, f.undoTurn = st.recordTurn(thread, f.Parsed.Run, asks)
}

// toolResults are what the client's tools gave since the user spoke.
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

// bodyJSON is the body; nil where it is none.
func (f *RequestContext) bodyJSON() any {
	if !f.bodyParsed {
		f.bodyParsed = true
		f.parsedBody = decodeJSON(f.Request.Body)
	}
	return f.parsedBody
}

// decodeJSON is JSON with its numbers as they are written; nil is what is no JSON.
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

// canonicalNumbers has numbers as the shortest text that says them: 1, 1.0 and 1e0 are one number.
func canonicalNumbers(v any) any {
	switch v := v.(type) {
	case json.Number:
		n, err := v.Float64()
		if whole := !strings.ContainsAny(v.String(), ".eE"); whole || err != nil {
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

// lookupPointer is what stands at a JSON pointer (RFC 6901).
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

// isJSONPointer says whether a text is a JSON pointer.
func isJSONPointer(text string) bool {
	if text != "" && text[0] != '/' {
		return false
	}
	for i := range len(text) {
		if text[i] == '~' && (i+1 == len(text) || text[i+1] != '0' && text[i+1] != '1') {
			return false
		}
	}
	return true
}
