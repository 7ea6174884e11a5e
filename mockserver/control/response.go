package control

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"
	"time"
)

// An apiError is an error with a status code, sent as an RFC 9457 problem.
type apiError struct {
	status  int
	text    string
	members map[string]any // additional members of the problem
}

// Error returns the text of the error.
func (w *apiError) Error() string { return w.text }

// badRequest returns an apiError with status 400.
func badRequest(format string, args ...any) error {
	return &apiError{status: http.StatusBadRequest, text: fmt.Sprintf(format, args...)}
}

// notFound returns an apiError with status 404.
func notFound(format string, args ...any) error {
	return &apiError{status: http.StatusNotFound, text: fmt.Sprintf(format, args...)}
}

// conflict returns an apiError with status 409.
func conflict(format string, args ...any) error {
	return &apiError{status: http.StatusConflict, text: fmt.Sprintf(format, args...)}
}

// writeProblemf writes an RFC 9457 problem with the given status and detail.
func writeProblemf(w http.ResponseWriter, status int, format string, args ...any) {
	writeProblem(w, &apiError{status: status, text: fmt.Sprintf(format, args...)})
}

// writeProblem writes an apiError as an RFC 9457 problem.
func writeProblem(w http.ResponseWriter, apiErr *apiError) {
	body := map[string]any{
		"type": "about:blank", "title": http.StatusText(apiErr.status), "status": apiErr.status, "detail": apiErr.text,
	}
	for name, value := range apiErr.members {
		body[name] = value
	}
	writeBody(w, apiErr.status, "application/problem+json", encodeJSON(body))
}

// writeError writes err as a problem: with status 500 if it is not an apiError.
func writeError(w http.ResponseWriter, err error) {
	apiErr := &apiError{status: http.StatusInternalServerError, text: "internal error"}
	errors.As(err, &apiErr)
	writeProblem(w, apiErr)
}

// writeJSON writes v as JSON with status 200.
func writeJSON(w http.ResponseWriter, v any) {
	writeBody(w, http.StatusOK, "application/json", encodeJSON(v))
}

// writeBody writes a response with the given status, media type and body.
func writeBody(w http.ResponseWriter, status int, media string, body []byte) {
	w.Header().Set("Content-Type", media)
	w.WriteHeader(status)
	_, _ = w.Write(body) // fails only if the client left
}

// encodeJSON returns the JSON encoding of v, in which <, > and & are not escaped. All
// responses can be encoded, so that it returns no error.
func encodeJSON(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(v)
	return b.Bytes()
}

// requestMediaType returns the media type of a request body, which must be one of known. A
// request without a Content-Type has the first of them.
func requestMediaType(r *http.Request, known ...string) (string, error) {
	contentType := r.Header.Get("Content-Type")
	if contentType == "" {
		return known[0], nil
	}
	mediaType, _, err := mime.ParseMediaType(contentType)
	if err != nil || !slices.Contains(known, mediaType) {
		return "", &apiError{
			status: http.StatusUnsupportedMediaType,
			text:   fmt.Sprintf("invalid Content-Type %.100q (want %s)", contentType, strings.Join(known, " or ")),
		}
	}
	return mediaType, nil
}

// readBody returns the body of a request, or an error if it is incomplete or longer than
// limit bytes.
func readBody(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, error) {
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(writeTimeout))
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return nil, &apiError{
			status: http.StatusRequestEntityTooLarge, text: fmt.Sprintf("the body is larger than %d bytes", large.Limit),
		}
	case err != nil:
		return nil, badRequest("the body is incomplete")
	}
	return data, nil
}

// readJSON decodes the JSON body of a request strictly. Errors quote example as a valid
// body.
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

// decodeStrict decodes a single JSON value. It returns an error if the JSON is invalid, a
// member is unknown or has the wrong type, or data follows the value.
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
