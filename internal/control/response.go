package control

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"
)

// An apiError is an error whose text is sent to the client, as an RFC 9457 problem, a JSON object
// that describes the error.
type apiError struct {
	status  int            // HTTP status of the response
	text    string         // member detail of the problem
	members map[string]any // additional members of the problem
}

// Error returns the text of the error.
func (w *apiError) Error() string { return w.text }

// problemf returns an error that is sent with the given HTTP status. Its text is formatted from
// format and args as by [fmt.Sprintf].
func problemf(status int, format string, args ...any) *apiError {
	return &apiError{status: status, text: fmt.Sprintf(format, args...)}
}

// badRequest returns an error with status 400. The text is formatted as by [fmt.Sprintf].
func badRequest(format string, args ...any) error {
	return problemf(http.StatusBadRequest, format, args...)
}

// notFound returns an error with status 404. The text is formatted as by [fmt.Sprintf].
func notFound(format string, args ...any) error {
	return problemf(http.StatusNotFound, format, args...)
}

// conflict returns an error with status 409. The text is formatted as by [fmt.Sprintf].
func conflict(format string, args ...any) error {
	return problemf(http.StatusConflict, format, args...)
}

// writeError sends err as an RFC 9457 problem, with the media type application/problem+json. If err
// is not an apiError, the status is 500 and the text of err is not sent.
func writeError(w http.ResponseWriter, err error) {
	apiErr := problemf(http.StatusInternalServerError, "internal error")
	errors.As(err, &apiErr)
	body := map[string]any{
		"type": "about:blank", "title": http.StatusText(apiErr.status), "status": apiErr.status, "detail": apiErr.text,
	}
	maps.Copy(body, apiErr.members)
	_ = writeEncoded(w, apiErr.status, "application/problem+json", body) // can be encoded
}

// writeJSON writes a response with status 200 and the JSON encoding of v as its body. If v cannot
// be encoded, it writes nothing and returns an error.
func writeJSON(w http.ResponseWriter, v any) error {
	return writeEncoded(w, http.StatusOK, "application/json", v)
}

// writeEncoded writes a response with the given status and media type. The body is the JSON
// encoding of v, without escapes for <, > and &. If v cannot be encoded, writeEncoded writes
// nothing and returns an error.
func writeEncoded(w http.ResponseWriter, status int, media string, v any) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return err
	}
	writeBody(w, status, media, b.Bytes())
	return nil
}

// writeBody writes a response with the given status, media type and body. It ignores errors from
// writing, because they mean that the client has left.
func writeBody(w http.ResponseWriter, status int, media string, body []byte) {
	w.Header().Set("Content-Type", media)
	w.WriteHeader(status)
	_, _ = w.Write(body) // fails only if the client left
}

// readBody returns the body of a request and its media type. The list known holds the accepted
// media types, the first of which is assumed if the request has no Content-Type. The error has one
// of these statuses:
//   - 400 if the body is incomplete
//   - 408 if the body does not arrive within writeTimeout
//   - 413 if the body is longer than limit bytes
//   - 415 if the media type is not in known
func readBody(w http.ResponseWriter, r *http.Request, limit int64, known ...string) (
	data []byte, mediaType string, err error,
) {
	mediaType = known[0]
	if contentType := r.Header.Get("Content-Type"); contentType != "" {
		mediaType, _, err = mime.ParseMediaType(contentType)
		if err != nil || !slices.Contains(known, mediaType) {
			return nil, "", problemf(http.StatusUnsupportedMediaType,
				"invalid Content-Type %.100q (want %s)", contentType, strings.Join(known, " or "))
		}
	}
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(writeTimeout))
	data, err = io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		err = problemf(http.StatusRequestEntityTooLarge, "the body is larger than %d bytes", large.Limit)
	case errors.Is(err, os.ErrDeadlineExceeded):
		err = problemf(http.StatusRequestTimeout, "the body did not arrive within %v", writeTimeout)
	case err != nil:
		err = badRequest("the body is incomplete")
	}
	return data, mediaType, err
}

// readJSON decodes the JSON body of a request into the value that into points to. The string
// example is a valid body, which error messages show. The errors are those of readBody and
// decodeBody.
func readJSON(w http.ResponseWriter, r *http.Request, into any, example string) error {
	data, _, err := readBody(w, r, maxBody, "application/json")
	if err != nil {
		return err
	}
	return decodeBody(data, into, example)
}

// refuseBody returns an error with status 400 and the given text if the request has a body.
func refuseBody(w http.ResponseWriter, r *http.Request, text string) error {
	if r.ContentLength == 0 {
		return nil
	}
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(writeTimeout))
	if n, _ := io.ReadFull(r.Body, make([]byte, 1)); n == 0 { // the body is chunked and empty
		return nil
	}
	return badRequest("%s", text)
}

// decodeBody decodes data, the JSON body of a request, and stores the result in into, which must be
// a pointer. If the body is missing, is not valid JSON, or has members that are unknown or of the
// wrong type, it returns an error with status 400. The error quotes example, a valid body.
func decodeBody(data []byte, into any, example string) error {
	if len(bytes.TrimSpace(data)) == 0 {
		return badRequest("missing body (e.g. %s)", example)
	}
	if err := decodeStrict(data, into); err != nil {
		return badRequest("invalid body: %v (e.g. %s)", err, example)
	}
	return nil
}

// decodeStrict decodes data as a single JSON value and stores the result in into, which must be a
// pointer. It returns an error if the JSON is invalid, if a member is unknown or has the wrong
// type, or if data contains anything after the value.
func decodeStrict(data []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		if mismatch, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
			if mismatch.Field == "" {
				return fmt.Errorf("unexpected JSON type %s", mismatch.Value)
			}
			return fmt.Errorf("%s: unexpected JSON type %s", mismatch.Field, mismatch.Value)
		}
		if invalid, ok := errors.AsType[*time.ParseError](err); ok {
			return fmt.Errorf("%.60s is not a time", invalid.Value)
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
