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

// A apiError is why a request is refused, with what would be right.
type apiError struct {
	status  int
	text    string
	members map[string]any // of the problem, besides what all have
}

func (w *apiError) Error() string { return w.text }

func badRequest(format string, args ...any) error {
	return &apiError{status: http.StatusBadRequest, text: fmt.Sprintf(format, args...)}
}

func notFound(format string, args ...any) error {
	return &apiError{status: http.StatusNotFound, text: fmt.Sprintf(format, args...)}
}

func conflict(format string, args ...any) error {
	return &apiError{status: http.StatusConflict, text: fmt.Sprintf(format, args...)}
}

// writeProblemf says no, as RFC 9457 has it.
func writeProblemf(w http.ResponseWriter, status int, format string, args ...any) {
	writeProblem(w, &apiError{status: status, text: fmt.Sprintf(format, args...)})
}

func writeProblem(w http.ResponseWriter, apiErr *apiError) {
	body := map[string]any{"type": "about:blank", "title": http.StatusText(apiErr.status), "status": apiErr.status, "detail": apiErr.text}
	for name, value := range apiErr.members {
		body[name] = value
	}
	writeBody(w, apiErr.status, "application/problem+json", encodeJSON(body))
}

// writeError refuses a request for an error.
func writeError(w http.ResponseWriter, err error) {
	apiErr := &apiError{status: http.StatusInternalServerError, text: "the answer could not be made"}
	errors.As(err, &apiErr)
	writeProblem(w, apiErr)
}

// writeJSON is a JSON answer.
func writeJSON(w http.ResponseWriter, v any) {
	writeBody(w, http.StatusOK, "application/json", encodeJSON(v))
}

func writeBody(w http.ResponseWriter, status int, media string, body []byte) {
	w.Header().Set("Content-Type", media)
	w.WriteHeader(status)
	_, _ = w.Write(body) // who left does not want it
}

// encodeJSON is JSON that people can read. What is answered can always be encoded: a test
// looks at each.
func encodeJSON(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(v)
	return b.Bytes()
}

// requestMediaType checks what a body is said to be; the first is what it is if nothing is said.
func requestMediaType(r *http.Request, known ...string) (string, error) {
	contentType := r.Header.Get("Content-Type")
	if contentType == "" {
		return known[0], nil
	}
	kind, _, err := mime.ParseMediaType(contentType)
	if err != nil || !slices.Contains(known, kind) {
		return "", &apiError{status: http.StatusUnsupportedMediaType, text: fmt.Sprintf("Content-Type is %.100q: %s is right", contentType, strings.Join(known, " or "))}
	}
	return kind, nil
}

// readBody reads the whole body of a request.
func readBody(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, error) {
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(writeTimeout)) // not everything has deadlines
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return nil, &apiError{status: http.StatusRequestEntityTooLarge, text: fmt.Sprintf("the body has more than %d bytes, which are taken at most", large.Limit)}
	case err != nil:
		return nil, badRequest("the body did not come whole")
	}
	return data, nil
}

// readJSON reads a JSON body into what it should be. example is what would be right.
func readJSON(w http.ResponseWriter, r *http.Request, into any, example string) error {
	if _, err := requestMediaType(r, "application/json"); err != nil {
		return err
	}
	data, err := readBody(w, r, maxBody)
	if err != nil {
		return err
	}
	if len(bytes.TrimSpace(data)) == 0 {
		return badRequest("a body is missing, such as %s", example)
	}
	if err := decodeStrict(data, into); err != nil {
		return badRequest("the body is not right: %v; right is such as %s", err, example)
	}
	return nil
}

// decodeStrict reads JSON strictly: one value, and no member that is not known.
func decodeStrict(data []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		var kind *json.UnmarshalTypeError
		if errors.As(err, &kind) {
			return fmt.Errorf("%s: a %s is not what is wanted", kind.Field, kind.Value)
		}
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return errors.New("it ends too early")
		}
		return errors.New(strings.TrimPrefix(err.Error(), "json: "))
	}
	if _, err := d.Token(); err != io.EOF {
		return errors.New("something follows the JSON value")
	}
	return nil
}
