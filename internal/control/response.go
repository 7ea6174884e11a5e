package control

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"
)

// An apiError is an error whose text is sent to the client. The response has the given HTTP status,
// and its body is an RFC 9457 problem, which is a JSON object that describes the error.
type apiError struct {
	status  int
	text    string
	members map[string]any // additional members of the problem
}

// Error returns the text of the error.
func (w *apiError) Error() string { return w.text }

// problemf returns an error that is sent with the given HTTP status. Its text is formatted from
// format and args as by [fmt.Sprintf].
func problemf(status int, format string, args ...any) *apiError {
	return &apiError{status: status, text: fmt.Sprintf(format, args...)}
}

// badRequest returns an error that is sent with status 400. Its text is formatted from format and
// args as by [fmt.Sprintf].
func badRequest(format string, args ...any) error {
	return problemf(http.StatusBadRequest, format, args...)
}

// notFound returns an error that is sent with status 404. Its text is formatted from format and
// args as by [fmt.Sprintf].
func notFound(format string, args ...any) error {
	return problemf(http.StatusNotFound, format, args...)
}

// conflict returns an error that is sent with status 409. Its text is formatted from format and
// args as by [fmt.Sprintf].
func conflict(format string, args ...any) error {
	return problemf(http.StatusConflict, format, args...)
}

// writeProblem sends apiErr as an RFC 9457 problem, with the media type application/problem+json.
func writeProblem(w http.ResponseWriter, apiErr *apiError) {
	body := map[string]any{
		"type": "about:blank", "title": http.StatusText(apiErr.status), "status": apiErr.status, "detail": apiErr.text,
	}
	for name, value := range apiErr.members {
		body[name] = value
	}
	writeBody(w, apiErr.status, "application/problem+json", encodeJSON(body))
}

// writeError sends err as an RFC 9457 problem. If err is not an apiError, the status is 500 and
// the text of err is not sent.
func writeError(w http.ResponseWriter, err error) {
	apiErr := problemf(http.StatusInternalServerError, "internal error")
	errors.As(err, &apiErr)
	writeProblem(w, apiErr)
}

// writeJSON writes a response with status 200 and the JSON encoding of v as its body.
func writeJSON(w http.ResponseWriter, v any) {
	writeBody(w, http.StatusOK, "application/json", encodeJSON(v))
}

// writeBody writes a response with the given status, media type and body. It ignores errors from
// writing, because they mean that the client has left.
func writeBody(w http.ResponseWriter, status int, media string, body []byte) {
	w.Header().Set("Content-Type", media)
	w.WriteHeader(status)
	_, _ = w.Write(body) // fails only if the client left
}

// encodeJSON returns the JSON encoding of v, without escaping <, > and &, followed by a newline. If v
// cannot be encoded, which callers must rule out, the result is empty.
func encodeJSON(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(v)
	return b.Bytes()
}

// requestMediaType returns the media type of the request body, or the first element of known if the
// request has no Content-Type. It returns an error with status 415 if the media type is not listed
// in known, which must not be empty.
func requestMediaType(r *http.Request, known ...string) (string, error) {
	contentType := r.Header.Get("Content-Type")
	if contentType == "" {
		return known[0], nil
	}
	mediaType, _, err := mime.ParseMediaType(contentType)
	if err != nil || !slices.Contains(known, mediaType) {
		return "", problemf(http.StatusUnsupportedMediaType,
			"invalid Content-Type %.100q (want %s)", contentType, strings.Join(known, " or "))
	}
	return mediaType, nil
}

// readBody returns the request body. It returns an error with status 413 if the body is longer than
// limit bytes, 408 if it does not arrive within writeTimeout, or 400 if it is incomplete.
func readBody(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, error) {
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(writeTimeout))
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return nil, problemf(http.StatusRequestEntityTooLarge, "the body is larger than %d bytes", large.Limit)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, problemf(http.StatusRequestTimeout, "the body did not arrive within %v", writeTimeout)
	case err != nil:
		return nil, badRequest("the body is incomplete")
	}
	return data, nil
}

// readJSON decodes the JSON body of a request and stores the result in into, which must be a
// pointer. If the body is missing, is not valid JSON or has unknown members, it returns an error
// with status 400 that quotes example, a valid body. Other errors are those of requestMediaType and
// readBody.
func readJSON(w http.ResponseWriter, r *http.Request, into any, example string) error {
	if _, err := requestMediaType(r, "application/json"); err != nil {
		return err
	}
	data, err := readBody(w, r, maxBody)
	if err != nil {
		return err
	}
	if len(bytes.TrimSpace(data)) == 0 {
		return badRequest("missing body (e.g. %s)", example)
	}
	if err := decodeStrict(data, into); err != nil {
		return badRequest("invalid body: %v (e.g. %s)", err, example)
	}
	return nil
}

// decodeStrict decodes data as a single JSON value and stores the result in into, which must be a
// pointer. It returns an error if the JSON is invalid, a member is unknown or has the wrong type,
// or anything follows the value.
func decodeStrict(data []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		var mismatch *json.UnmarshalTypeError
		if errors.As(err, &mismatch) {
			return fmt.Errorf("%s: unexpected JSON type %s", mismatch.Field, mismatch.Value)
		}
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return errors.New("unexpected end of JSON")
		}
		return errors.New(strings.TrimPrefix(err.Error(), "json: "))
	}
	if _, err := d.Token(); err != io.EOF {
		return errors.New("unexpected data after the JSON value")
	}
	return nil
}
