package model

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"unicode"
)

// A runError states why a run fails: the code and the text of its error event.
type runError struct{ code, text string }

// Error returns the text of the error event.
func (f *runError) Error() string { return f.text }

// Codes in the error events of failed runs. UPSTREAM stands for the model's server.
const (
	codeTimeout      = "UPSTREAM_TIMEOUT"      // idle timeout
	codeUnavailable  = "UPSTREAM_UNAVAILABLE"  // unreachable, or temporarily unable to respond
	codeUnauthorized = "UPSTREAM_UNAUTHORIZED" // credentials rejected
	codeRateLimited  = "UPSTREAM_RATE_LIMITED"
	codeNotFound     = "UPSTREAM_NOT_FOUND"  // no such model, or not a chat completions API
	codeRefused      = "UPSTREAM_REFUSED"    // request rejected
	codeFailed       = "UPSTREAM_FAILED"     // internal error of the server
	codeBroken       = "UPSTREAM_BROKEN"     // malformed or truncated response
	codeTooLong      = "UPSTREAM_TOO_LONG"   // response exceeds a limit
	codeFiltered     = "UPSTREAM_FILTERED"   // withheld by a content filter
	codeRounds       = "TOO_MANY_ROUNDS"     // more than Config.MaxRounds
	codeHistory      = "HISTORY_UNAVAILABLE" // the earlier messages cannot be read
)

// Errors with which runs fail. Their texts do not quote the model's server, unlike those of the
// errors that statusError and withDetail return.
var (
	errTimeout       = &runError{codeTimeout, "the model's server timed out"}
	errUnreachable   = &runError{codeUnavailable, "the model's server is unreachable"}
	errTruncated     = &runError{codeBroken, "the model's response was truncated"}
	errMalformed     = &runError{codeBroken, "the model's response is malformed"}
	errNotStream     = &runError{codeBroken, "the model's server did not respond with an event stream"}
	errTooLong       = &runError{codeTooLong, "the model's response exceeds the size limit"}
	errFailed        = &runError{codeFailed, "the model's server failed"}
	errFiltered      = &runError{codeFiltered, "the model's response was withheld by a content filter"}
	errTooManyRounds = &runError{codeRounds, "the model did not finish within the maximum number of rounds"}
	errHistory       = &runError{codeHistory, "the earlier messages cannot be read"}
)

// statusError returns the error for a response of the model's server with a status other than 200.
// The argument detail is the error message in the response, or "". The statuses 408 (Request
// Timeout) and 504 (Gateway Timeout) count as timeouts of the model's server.
func (m *upstreamModel) statusError(status int, detail string) *runError {
	f := &runError{codeRefused, "the model's server refused the request"}
	switch {
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		f = &runError{codeUnauthorized, "the model's server rejected the credentials"}
		if m.APIKey == "" {
			f.text = "the model's server rejected the request, which had no API key"
		}
	case status == http.StatusNotFound:
		f = &runError{codeNotFound, "the model was not found"}
	case status == http.StatusTooManyRequests:
		f = &runError{codeRateLimited, "the model's server is overloaded or limits requests"}
	case status == http.StatusRequestTimeout || status == http.StatusGatewayTimeout:
		f = &runError{codeTimeout, errTimeout.text}
	case status == http.StatusBadGateway || status == http.StatusServiceUnavailable:
		f = &runError{codeUnavailable, "the model's server is not available"}
	case status >= 500:
		f = &runError{codeFailed, errFailed.text}
	case status < 400:
		f = &runError{codeBroken, errNotStream.text}
	}
	f.text += " (" + strconv.Itoa(status) + ")"
	return f.withDetail(detail)
}

// withDetail returns a copy of f with detail, an error message of the model's server, at the end of
// its text. If detail is "", it returns f itself.
func (f *runError) withDetail(detail string) *runError {
	if detail == "" {
		return f
	}
	return &runError{f.code, f.text + ": " + detail}
}

// An errorBody is the JSON body of an error response. In most responses, Error is an object with a
// message and a code. Some servers send a string instead, or send the message as Message or Detail.
type errorBody struct {
	Error   json.RawMessage `json:"error"`
	Message json.RawMessage `json:"message"`
	Detail  json.RawMessage `json:"detail"`
	Object  json.RawMessage `json:"object"` // "error" in the responses of some servers without Error
	Code    json.RawMessage `json:"code"`   // error code; may be an HTTP status
}

// parseErrorBody returns the error message (detail) and the error code (status) in data, the JSON
// body of a response. The detail is "" if data contains no message. The status is 0 if data
// contains no code, or a code that is not an integer. The result isError is true if data has a
// member "error" that is not null, or a member "object" with the value "error".
func parseErrorBody(data []byte) (detail string, status int, isError bool) {
	var c errorBody
	if json.Unmarshal(data, &c) != nil {
		return "", 0, false
	}
	if len(c.Error) == 0 || string(c.Error) == "null" {
		detail = jsonString(c.Message) + jsonString(c.Detail)
		isError = jsonString(c.Object) == "error"
	} else {
		isError = true
		if detail = jsonString(c.Error); detail == "" {
			var inner errorBody
			_ = json.Unmarshal(c.Error, &inner) // a value of another type has no message
			detail, c.Code = jsonString(inner.Message), inner.Code
		}
	}
	status, _ = strconv.Atoi(strings.Trim(string(c.Code), `"`))
	return detail, status, isError
}

// jsonString decodes raw as a JSON string. It returns "" if raw is anything else.
func jsonString(raw json.RawMessage) (s string) {
	_ = json.Unmarshal(raw, &s)
	return s
}

// maxDetail is the maximum length, in characters, of a message that sanitize returns.
const maxDetail = 300

// sanitize returns message, which the model's server or a tool sent, in a form that can be shown to
// clients. The result is one line of at most maxDetail printable characters, without the API key.
func (m *upstreamModel) sanitize(message string) string {
	if m.APIKey != "" {
		message = strings.ReplaceAll(message, m.APIKey, "***")
	}
	message = strings.ToValidUTF8(message, "?")
	all := strings.FieldsFunc(message, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) })
	runes := []rune(strings.Join(all, " "))
	if len(runes) > maxDetail {
		return string(runes[:maxDetail-1]) + "…"
	}
	return string(runes)
}
