package transcript

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/streamassay/streamassay/internal/textfile"
	"github.com/streamassay/streamassay/spec"
)

// A curlRequestDescription is the content of a file NAME.request.json, which describes a request
// that curl sent. The pointers are nil for members that the file does not have.
type curlRequestDescription struct {
	Method   *string         `json:"method"`
	Path     *string         `json:"path"`      // with the query
	Headers  json.RawMessage `json:"headers"`   // object of strings, arrays of strings and nulls
	Body     json.RawMessage `json:"body"`      // string, {"hex": "…"} or any other JSON value
	BodyRaw  *string         `json:"body_raw"`  // the body itself; alternative to Body
	CurlExit *int            `json:"curl_exit"` // exit code of curl; nil: unknown
	Note     string          `json:"note"`      // note of the person who made the recording
}

// parseCurlInvocation parses NAME.request.json, the request that belongs to curl's output:
//
//	{"method": "POST", "path": "/agent?x=1",
//	 "headers": {"Content-Type": "application/json", "X-Twice": ["a", "b"]},
//	 "body": "…", "curl_exit": 0, "note": "for the reader"}
//
// A body that is a string was sent as this text; {"hex": "…"} represents bytes; any other JSON
// value was sent as JSON. The member body_raw replaces body: it is always a string and was sent
// as this text. A header field with the value null was not sent.
//
// Other JSON is the request body itself, as sent by curl -d @FILE; see isBodyOnly. The body
// includes the byte order mark of the file, if there is one, because curl sends it, too.
//
// The parameter name is the file name, and data is the content of the file. If data is malformed,
// or if curl_exit is a code that does not say how the response ended, parseCurlInvocation returns
// an error that begins with the file name.
func parseCurlInvocation(name string, data []byte) (run recordedCurlCall, err error) {
	if isBodyOnly(data) {
		run.request.Body = data
		return run, nil
	}
	var f curlRequestDescription
	if err := decodeStrictly(name, data, &f); err != nil {
		return run, err
	}
	switch {
	case f.Method == nil || !isToken(*f.Method):
		return run, fmt.Errorf(`%s: method: missing or malformed: want e.g. "method": "POST"`, name)
	case f.Path == nil:
		return run, fmt.Errorf(`%s: path: missing: want the path and query of the request, "path": "/…"`, name)
	case f.Body != nil && f.BodyRaw != nil:
		return run, fmt.Errorf("%s: body and body_raw: only one of them is allowed", name)
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
		return run, fmt.Errorf("%s: curl_exit: %d does not tell how the response ended: record the exchange again "+
			"(0: complete, 18 and 52: truncated, 56 and 92: reset, 28: timeout of the client)", name, *run.exitCode)
	}
	return run, nil
}

// curlRequestMembers lists the names of all members of a curlRequestDescription.
var curlRequestMembers = []string{"method", "path", "headers", "body", "body_raw", "curl_exit", "note"}

// isBodyOnly reports whether data is the JSON body of a request and not a curlRequestDescription.
// The result is true for valid JSON that is not an object. It is also true for an object that has
// neither method nor path, but a member that a curlRequestDescription cannot have. A byte order
// mark may precede the JSON text.
func isBodyOnly(data []byte) bool {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if !json.Valid(data) {
		return false
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(data, &members) != nil {
		return true
	}
	hasUnknown := false
	for name := range members {
		if name == "method" || name == "path" {
			return false
		}
		hasUnknown = hasUnknown || !slices.Contains(curlRequestMembers, name)
	}
	return hasUnknown
}

// decodeStrictly decodes data, the content of the file called name, into v, which must be a pointer
// to a curlRequestDescription. It returns an error unless data is UTF-8 and exactly one JSON value,
// which has the types of v and no unknown members. The error begins with the file name and, where
// known, the line of the mistake.
func decodeStrictly(name string, data []byte, v any) error {
	data, err := decodeUTF8(name, data)
	if err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	err = d.Decode(v)
	if err == nil {
		if _, more := d.Token(); more != io.EOF {
			return position{name, lineNumber(data, d.InputOffset())}.errorAt("more than one JSON value: want a single object")
		}
		return nil
	}
	if field, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		return fmt.Errorf("%s: %s: unknown member (want one of %s)", name, field, strings.Join(curlRequestMembers, ", "))
	}
	return jsonError(name, data, err)
}

// decodeUTF8 returns data, the content of the JSON file called name, without its byte order mark.
// It returns an error if data is not UTF-8.
func decodeUTF8(name string, data []byte) ([]byte, error) {
	text, problem := textfile.Decode(data)
	if problem != nil {
		return nil, position{name, problem.Line}.errorAt(
			"%s (binary bodies are encoded in hex in .request.json, and in base64 in .har)", problem.Message)
	}
	return text, nil
}

// jsonError returns the error to report for err, which package json returned for data, the content
// of the file called name. The result begins with the file name and, where known, the line of the
// mistake. It does not always wrap err.
func jsonError(name string, data []byte, err error) error {
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		return position{name, lineNumber(data, syntax.Offset)}.errorAt("not JSON: %w", err)
	}
	if kind, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return position{name, lineNumber(data, kind.Offset)}.errorAt("%s", wrongTypeText(kind))
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return position{name, lineNumber(data, int64(len(data)))}.errorAt("not JSON: it ends too early")
	}
	return fmt.Errorf("%s: %w", name, err)
}

// wrongTypeText returns the text of an error message about a JSON value of the wrong type. The text
// states the path of the member, the type of the value and the type that is required.
func wrongTypeText(err *json.UnmarshalTypeError) string {
	kind := err.Type.Kind().String()
	what := fmt.Sprintf("got a JSON %s, want a JSON %s", err.Value, cmp.Or(jsonTypes[kind], kind))
	if err.Field == "" {
		return what
	}
	return err.Field + ": " + what
}

// jsonTypes maps kinds of Go types to the names of the JSON types that represent them, if these are
// different.
var jsonTypes = map[string]string{
	"struct": "object", "map": "object", "slice": "array", "int": "number", "int64": "number", "float64": "number",
}

// lineNumber returns the number of the line of data, starting at 1, that contains the byte at
// offset. An offset beyond the data counts as the end of the data.
func lineNumber(data []byte, offset int64) int {
	return 1 + bytes.Count(data[:min(max(offset, 0), int64(len(data)))], []byte("\n"))
}

// parseHeaders parses raw, a JSON object of header fields, and returns the fields in the order of
// the object. The value of a member is a string, an array of strings (a repeated field) or null (a
// field that was not sent, which the result leaves out); any other value is an error. If raw is nil
// or null, the header is nil.
func parseHeaders(raw json.RawMessage) (h spec.Header, err error) {
	if raw == nil || string(raw) == "null" {
		return nil, nil
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return nil, errors.New(`want an object, e.g. {"Content-Type": "application/json"}`)
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
			return nil, fmt.Errorf("%s: want a string, an array of strings, or null if it was not sent", name)
		}
		for _, v := range values {
			h = append(h, spec.HeaderField{Name: name, Value: v})
		}
	}
	return h, nil
}

// headerValues returns the values of a header field, given the decoded JSON value of its member: a
// string, a list of strings or nil, which has no values. For any other value, ok is false.
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

// parseBody returns the request body that raw, the body member of a curlRequestDescription,
// represents. A JSON string represents its text, an object {"hex": "…"} represents bytes, and any
// other value represents its JSON text without insignificant white space. If raw is nil or null,
// the result is nil. parseBody returns an error if raw is not JSON, or if it is an object {"hex":
// "…"} with invalid digits.
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
				return nil, fmt.Errorf("hex: want two hexadecimal digits per byte "+
					`(a body that is itself {"hex": …} belongs in body_raw): %w`, err)
			}
			return body, nil
		}
	}
	var compact bytes.Buffer
	err := json.Compact(&compact, raw)
	return slices.Clip(compact.Bytes()), err
}
