package model

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"unicode"
)

// A runError is why a run fails, as its user is told.
type runError struct{ code, text string }

func (f *runError) Error() string { return f.text }

// The codes of faults. Those of the model's server say so.
const (
	codeTimeout      = "UPSTREAM_TIMEOUT"      // it is silent
	codeUnavailable  = "UPSTREAM_UNAVAILABLE"  // it is not there, or cannot answer now
	codeUnauthorized = "UPSTREAM_UNAUTHORIZED" // it does not let us in
	codeRateLimited  = "UPSTREAM_RATE_LIMITED"
	codeNotFound     = "UPSTREAM_NOT_FOUND" // it does not have the model, or is no such server
	codeRefused      = "UPSTREAM_REFUSED"   // it does not want the request
	codeFailed       = "UPSTREAM_FAILED"    // it says that it failed
	codeBroken       = "UPSTREAM_BROKEN"    // what it says cannot be read, or is not all
	codeTooLong      = "UPSTREAM_TOO_LONG"  // it does not come to an end
	codeFiltered     = "UPSTREAM_FILTERED"  // it will not say it
	codeRounds       = "TOO_MANY_ROUNDS"    // the model does not come to an end
	codeHistory      = "HISTORY_UNAVAILABLE"
)

var (
	errTimeout       = &runError{codeTimeout, "the model's server is silent"}
	errUnreachable   = &runError{codeUnavailable, "the model's server cannot be reached"}
	errTruncated     = &runError{codeBroken, "the model's answer was cut off"}
	errMalformed     = &runError{codeBroken, "the model's answer cannot be read"}
	errNotStream     = &runError{codeBroken, "the model's server does not answer with a stream"}
	errTooLong       = &runError{codeTooLong, "the model's answer is too long"}
	errFiltered      = &runError{codeFiltered, "the model's answer was held back by a content filter"}
	errTooManyRounds = &runError{codeRounds, "the model did not come to an end"}
	errHistory       = &runError{codeHistory, "what was said before cannot be read"}
)

// statusError is what a status other than 200 means. An answer of 408 or 504 says that
// somebody behind the server is silent.
func statusError(status int, why string) *runError {
	f := &runError{codeRefused, "the model's server refused the request"}
	switch {
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		f = &runError{codeUnauthorized, "the model's server does not let this server in"}
	case status == http.StatusNotFound:
		f = &runError{codeNotFound, "the model was not found"}
	case status == http.StatusTooManyRequests:
		f = &runError{codeRateLimited, "the model's server has too much to do"}
	case status == http.StatusRequestTimeout || status == http.StatusGatewayTimeout:
		f = &runError{codeTimeout, errTimeout.text}
	case status == http.StatusBadGateway || status == http.StatusServiceUnavailable:
		f = &runError{codeUnavailable, "the model's server is not available"}
	case status >= 500:
		f = &runError{codeFailed, "the model's server failed"}
	case status < 400:
		f = &runError{codeBroken, errNotStream.text}
	}
	f.text += " (" + strconv.Itoa(status) + ")"
	return f.withDetail(why)
}

// withDetail adds what the server says about it.
func (f *runError) withDetail(why string) *runError {
	if why == "" {
		return f
	}
	return &runError{f.code, f.text + ": " + why}
}

// A errorBody is what servers say of errors. Most have an object with a message,
// some a text, some say it outside of it.
type errorBody struct {
	Error   json.RawMessage `json:"error"`
	Message json.RawMessage `json:"message"`
	Detail  json.RawMessage `json:"detail"`
	Object  json.RawMessage `json:"object"`
	Code    json.RawMessage `json:"code"`
}

// parseErrorBody reads what data complains of; is says that it is an error for sure.
func parseErrorBody(data []byte) (why string, status int, isError bool) {
	var c errorBody
	if json.Unmarshal(data, &c) != nil {
		return "", 0, false
	}
	if len(c.Error) == 0 || string(c.Error) == "null" {
		why = jsonString(c.Message) + jsonString(c.Detail)
		isError = jsonString(c.Object) == "error"
	} else {
		isError = true
		if why = jsonString(c.Error); why == "" {
			var inner errorBody
			_ = json.Unmarshal(c.Error, &inner) // what is neither says nothing
			why, c.Code = jsonString(inner.Message), inner.Code
		}
	}
	status, _ = strconv.Atoi(strings.Trim(string(c.Code), `"`))
	return why, status, isError
}

// jsonString is a JSON string, "" if it is none.
func jsonString(raw json.RawMessage) (s string) {
	_ = json.Unmarshal(raw, &s)
	return s
}

// maxDetail is how much of a complaint is told.
const maxDetail = 300

// sanitize is what a server says as one line that is not too long and does not hold the
// key.
func (m *chatModel) sanitize(words string) string {
	if m.APIKey != "" {
		words = strings.ReplaceAll(words, m.APIKey, "***")
	}
	words = strings.ToValidUTF8(words, "?")
	all := strings.FieldsFunc(words, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) })
	runes := []rune(strings.Join(all, " "))
	if len(runes) > maxDetail {
		return string(runes[:maxDetail-1]) + "…"
	}
	return string(runes)
}
