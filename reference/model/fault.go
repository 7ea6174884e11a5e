package model

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"unicode"
)

// A fault is why a run fails, as its user is told.
type fault struct{ code, text string }

func (f *fault) Error() string { return f.text }

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
	errSilent   = &fault{codeTimeout, "the model's server is silent"}
	errAbsent   = &fault{codeUnavailable, "the model's server cannot be reached"}
	errCut      = &fault{codeBroken, "the model's answer was cut off"}
	errGarbage  = &fault{codeBroken, "the model's answer cannot be read"}
	errMedia    = &fault{codeBroken, "the model's server does not answer with a stream"}
	errTooLong  = &fault{codeTooLong, "the model's answer is too long"}
	errFiltered = &fault{codeFiltered, "the model's answer was held back by a content filter"}
	errRounds   = &fault{codeRounds, "the model did not come to an end"}
	errHistory  = &fault{codeHistory, "what was said before cannot be read"}
)

// refusal is what a status other than 200 means. An answer of 408 or 504 says that
// somebody behind the server is silent.
func refusal(status int, why string) *fault {
	f := &fault{codeRefused, "the model's server refused the request"}
	switch {
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		f = &fault{codeUnauthorized, "the model's server does not let this server in"}
	case status == http.StatusNotFound:
		f = &fault{codeNotFound, "the model was not found"}
	case status == http.StatusTooManyRequests:
		f = &fault{codeRateLimited, "the model's server has too much to do"}
	case status == http.StatusRequestTimeout || status == http.StatusGatewayTimeout:
		f = &fault{codeTimeout, errSilent.text}
	case status == http.StatusBadGateway || status == http.StatusServiceUnavailable:
		f = &fault{codeUnavailable, "the model's server is not available"}
	case status >= 500:
		f = &fault{codeFailed, "the model's server failed"}
	case status < 400:
		f = &fault{codeBroken, errMedia.text}
	}
	f.text += " (" + strconv.Itoa(status) + ")"
	return f.because(why)
}

// because adds what the server says about it.
func (f *fault) because(why string) *fault {
	if why == "" {
		return f
	}
	return &fault{f.code, f.text + ": " + why}
}

// A complaint is what servers say of errors. Most have an object with a message,
// some a text, some say it outside of it.
type complaint struct {
	Error   json.RawMessage `json:"error"`
	Message json.RawMessage `json:"message"`
	Detail  json.RawMessage `json:"detail"`
	Object  json.RawMessage `json:"object"`
	Code    json.RawMessage `json:"code"`
}

// complained reads what data complains of; is says that it is an error for sure.
func complained(data []byte) (why string, status int, is bool) {
	var c complaint
	if json.Unmarshal(data, &c) != nil {
		return "", 0, false
	}
	if len(c.Error) == 0 || string(c.Error) == "null" {
		why = text(c.Message) + text(c.Detail)
		is = text(c.Object) == "error"
	} else {
		is = true
		if why = text(c.Error); why == "" {
			var inner complaint
			_ = json.Unmarshal(c.Error, &inner) // what is neither says nothing
			why, c.Code = text(inner.Message), inner.Code
		}
	}
	status, _ = strconv.Atoi(strings.Trim(string(c.Code), `"`))
	return why, status, is
}

// text is a JSON string, "" if it is none.
func text(raw json.RawMessage) (s string) {
	_ = json.Unmarshal(raw, &s)
	return s
}

// mostWords is how much of a complaint is told.
const mostWords = 300

// line is what a server says as one line that is not too long and does not hold the
// key.
func (m *model) line(words string) string {
	if m.Key != "" {
		words = strings.ReplaceAll(words, m.Key, "***")
	}
	words = strings.ToValidUTF8(words, "?")
	all := strings.FieldsFunc(words, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) })
	runes := []rune(strings.Join(all, " "))
	if len(runes) > mostWords {
		return string(runes[:mostWords-1]) + "…"
	}
	return string(runes)
}
