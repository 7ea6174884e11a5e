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

// A wrong is why a request is refused, with what would be right.
type wrong struct {
	status int
	text   string
	more   map[string]any // of the problem, besides what all have
}

func (w *wrong) Error() string { return w.text }

func bad(format string, args ...any) error {
	return &wrong{status: http.StatusBadRequest, text: fmt.Sprintf(format, args...)}
}

func missing(format string, args ...any) error {
	return &wrong{status: http.StatusNotFound, text: fmt.Sprintf(format, args...)}
}

func conflict(format string, args ...any) error {
	return &wrong{status: http.StatusConflict, text: fmt.Sprintf(format, args...)}
}

// refuse says no, as RFC 9457 has it.
func refuse(w http.ResponseWriter, status int, format string, args ...any) {
	problem(w, &wrong{status: status, text: fmt.Sprintf(format, args...)})
}

func problem(w http.ResponseWriter, no *wrong) {
	body := map[string]any{"type": "about:blank", "title": http.StatusText(no.status), "status": no.status, "detail": no.text}
	for name, value := range no.more {
		body[name] = value
	}
	send(w, no.status, "application/problem+json", encoded(body))
}

// fail refuses a request for an error.
func fail(w http.ResponseWriter, err error) {
	no := &wrong{status: http.StatusInternalServerError, text: "the answer could not be made"}
	errors.As(err, &no)
	problem(w, no)
}

// answer is a JSON answer.
func answer(w http.ResponseWriter, v any) { send(w, http.StatusOK, "application/json", encoded(v)) }

func send(w http.ResponseWriter, status int, media string, body []byte) {
	w.Header().Set("Content-Type", media)
	w.WriteHeader(status)
	_, _ = w.Write(body) // who left does not want it
}

// encoded is JSON that people can read. What is answered can always be encoded: a test
// looks at each.
func encoded(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(v)
	return b.Bytes()
}

// media checks what a body is said to be; the first is what it is if nothing is said.
func media(r *http.Request, known ...string) (string, error) {
	said := r.Header.Get("Content-Type")
	if said == "" {
		return known[0], nil
	}
	kind, _, err := mime.ParseMediaType(said)
	if err != nil || !slices.Contains(known, kind) {
		return "", &wrong{status: http.StatusUnsupportedMediaType, text: fmt.Sprintf("Content-Type is %.100q: %s is right", said, strings.Join(known, " or "))}
	}
	return kind, nil
}

// body reads the whole body of a request.
func body(w http.ResponseWriter, r *http.Request, most int64) ([]byte, error) {
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(writeWait)) // not everything has deadlines
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, most))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return nil, &wrong{status: http.StatusRequestEntityTooLarge, text: fmt.Sprintf("the body has more than %d bytes, which are taken at most", large.Limit)}
	case err != nil:
		return nil, bad("the body did not come whole")
	}
	return data, nil
}

// read reads a JSON body into what it should be. example is what would be right.
func read(w http.ResponseWriter, r *http.Request, into any, example string) error {
	if _, err := media(r, "application/json"); err != nil {
		return err
	}
	data, err := body(w, r, mostBody)
	if err != nil {
		return err
	}
	if len(bytes.TrimSpace(data)) == 0 {
		return bad("a body is missing, such as %s", example)
	}
	if err := decode(data, into); err != nil {
		return bad("the body is not right: %v; right is such as %s", err, example)
	}
	return nil
}

// decode reads JSON strictly: one value, and no member that is not known.
func decode(data []byte, into any) error {
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
