package transcript

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/streamassay/streamassay/spec"
)

// A curlRequestFile is NAME.request.json.
type curlRequestFile struct {
	Method   *string         `json:"method"`
	Path     *string         `json:"path"`    // and query
	Headers  json.RawMessage `json:"headers"` // an object; see parseHeaders
	Body     json.RawMessage `json:"body"`    // see parseBody
	BodyRaw  *string         `json:"body_raw"`
	CurlExit *int            `json:"curl_exit"`
	Note     string          `json:"note"`
}

// parseCurlInvocation reads NAME.request.json, the request beside what curl printed:
//
//	{"method": "POST", "path": "/agent?x=1",
//	 "headers": {"Content-Type": "application/json", "X-Twice": ["a", "b"]},
//	 "body": "…", "curl_exit": 0, "note": "for the reader"}
//
// A body that is a string is sent as it is; {"hex": "…"} are bytes; any other JSON
// is the body itself. body_raw is a string always. A header of null was not sent.
//
// A file that has none of this is the body alone, as it was sent with curl -d @FILE.
func parseCurlInvocation(name string, data []byte) (run curlInvocation, err error) {
	if isBodyOnly(data) {
		run.request.Body = data
		return run, nil
	}
	var f curlRequestFile
	if err := decodeStrictly(name, data, &f); err != nil {
		return run, err
	}
	switch {
	case f.Method == nil || !isToken(*f.Method):
		return run, fmt.Errorf(`%s: method: it is missing or malformed: write "method": "POST" or the like`, name)
	case f.Path == nil:
		return run, fmt.Errorf(`%s: path: it is missing: write the path and query that were asked for, "path": "/…"`, name)
	case f.Body != nil && f.BodyRaw != nil:
		return run, fmt.Errorf("%s: body and body_raw: only one of them can be the body", name)
	}
	run.request = spec.Request{Method: *f.Method, Target: *f.Path}
	run.exitCode, run.note = f.CurlExit, f.Note
	if run.request.Header, err = parseHeaders(f.Headers); err != nil {
		return run, fmt.Errorf("%s: headers: %w", name, err)
	}
	if run.request.Body, err = parseBody(f.Body); err != nil {
		return run, fmt.Errorf("%s: body: %w", name, err)
	}
	if f.BodyRaw != nil {
		run.request.Body = []byte(*f.BodyRaw)
	}
	if run.exitCode != nil && *run.exitCode != 0 && curlExitErrors[*run.exitCode] == nil {
		return run, fmt.Errorf("%s: curl_exit: %d says nothing about the server's answer: record the exchange again (0 is a whole answer, 18 and 52 a cut one, 56 and 92 a reset, 28 our time limit)", name, *run.exitCode)
	}
	return run, nil
}

// curlRequestMembers are those of a curlFile.
var curlRequestMembers = []string{"method", "path", "headers", "body", "body_raw", "curl_exit", "note"}

// isBodyOnly reports whether a file is a JSON body rather than the description of a request: it
// is no object, or one with neither method nor path and with something that no description has.
func isBodyOnly(data []byte) bool {
	if !json.Valid(data) {
		return false
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(data, &members) != nil {
		return true
	}
	strange := false
	for name := range members {
		if name == "method" || name == "path" {
			return false
		}
		strange = strange || !slices.Contains(curlRequestMembers, name)
	}
	return strange
}

// decodeStrictly reads a JSON document, and nothing but what v has a place for.
func decodeStrictly(name string, data []byte, v any) error {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if !utf8.Valid(data) {
		return notUTF8(name, data)
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	err := d.Decode(v)
	if err == nil {
		if _, more := d.Token(); more != io.EOF {
			return position{name, lineNumber(data, d.InputOffset())}.errorAt("something follows the JSON object: the file holds just one")
		}
		return nil
	}
	if field, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		return fmt.Errorf("%s: %s: there is no such member: there are %s", name, field, strings.Join(curlRequestMembers, ", "))
	}
	return jsonError(name, data, err)
}

func notUTF8(name string, data []byte) error {
	good := 0
	for good < len(data) {
		r, size := utf8.DecodeRune(data[good:])
		if r == utf8.RuneError && size == 1 {
			break
		}
		good += size
	}
	return position{name, lineNumber(data, int64(good))}.errorAt("it is not UTF-8, as JSON must be: a body that is no text is written in hex (.request.json) or base64 (.har)")
}

// jsonError says where a document is not what it should be.
func jsonError(name string, data []byte, err error) error {
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		return position{name, lineNumber(data, syntax.Offset)}.errorAt("it is not JSON: %w", err)
	}
	if kind, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return position{name, lineNumber(data, kind.Offset)}.errorAt("%s", wrongTypeText(kind))
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return position{name, lineNumber(data, int64(len(data)))}.errorAt("it is not JSON: it ends too early")
	}
	return fmt.Errorf("%s: %w", name, err)
}

// wrongTypeText says which member is of the wrong kind.
func wrongTypeText(err *json.UnmarshalTypeError) string {
	what := fmt.Sprintf("it is a JSON %s, and must be a JSON %s", err.Value, jsonKind(err.Type.Kind().String()))
	if err.Field == "" {
		return what
	}
	return err.Field + ": " + what
}

// jsonKind is what JSON calls a kind of Go's.
func jsonKind(kind string) string {
	switch kind {
	case "struct", "map":
		return "object"
	case "slice":
		return "array"
	case "int", "int64", "float64":
		return "number"
	}
	return kind
}

func lineNumber(data []byte, offset int64) int {
	return 1 + bytes.Count(data[:min(max(offset, 0), int64(len(data)))], []byte("\n"))
}

// parseHeaders reads an object of names and values, in its order. A value is a
// string, an array of strings (a repeated field), or null: the field was not sent.
func parseHeaders(raw json.RawMessage) (h spec.Header, err error) {
	if raw == nil || string(raw) == "null" {
		return nil, nil
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return nil, errors.New(`it is an object, like {"Content-Type": "application/json"}`)
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, err
		}
		var value any
		if err := d.Decode(&value); err != nil {
			return nil, err
		}
		name, _ := key.(string)
		values, ok := headerValues(value)
		if !ok {
			return nil, fmt.Errorf("%s: it is a string, an array of strings, or null if it was not sent", name)
		}
		for _, v := range values {
			h = append(h, spec.Field{Name: name, Value: v})
		}
	}
	return h, nil
}

func headerValues(value any) (values []string, ok bool) {
	switch value := value.(type) {
	case nil:
		return nil, true
	case string:
		return []string{value}, true
	case []any:
		for _, v := range value {
			s, ok := v.(string)
			if !ok {
				return nil, false
			}
			values = append(values, s)
		}
		return values, true
	}
	return nil, false
}

// parseBody reads a body as parseCurlRun describes it.
func parseBody(raw json.RawMessage) ([]byte, error) {
	if raw == nil || string(raw) == "null" {
		return nil, nil
	}
	if raw[0] == '"' {
		var s string
		err := json.Unmarshal(raw, &s)
		return []byte(s), err
	}
	if raw[0] == '{' {
		var members map[string]json.RawMessage
		if err := json.Unmarshal(raw, &members); err != nil {
			return nil, err
		}
		var digits string
		if len(members) == 1 && members["hex"] != nil && json.Unmarshal(members["hex"], &digits) == nil {
			body, err := hex.DecodeString(digits)
			if err != nil {
				return nil, fmt.Errorf(`hex: it takes two hexadecimal digits for each byte (a body that is {"hex": …} itself goes into body_raw): %w`, err)
			}
			return body, nil
		}
	}
	var compact bytes.Buffer
	err := json.Compact(&compact, raw)
	return slices.Clip(compact.Bytes()), err
}
