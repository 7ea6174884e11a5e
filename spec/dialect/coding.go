package dialect

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/streamassay/streamassay/spec"
)

// mostDecoded is how large a body may become when its content coding is undone, in
// bytes.
const mostDecoded = 256 << 20

// decoded undoes the content coding of a body (RFC 9110 section 8.4), which a client
// may have asked for. When the pieces of the text arrived nobody can tell then. A
// coding that is not known here leaves a body that nobody listened to: what it says
// counts neither for nor against the server.
func decoded(r spec.Response) spec.Response {
	coding := strings.ToLower(strings.TrimSpace(r.Header.Get("Content-Encoding")))
	if coding == "" || coding == "identity" || len(r.Body) == 0 {
		return r
	}
	body, err := undo(coding, r.Body)
	if err != nil {
		body, r.End = nil, fmt.Errorf("%w: it does not understand the coding %q: %w", spec.ErrLeft, coding, err)
	}
	r.Body, r.Reads = body, nil
	return r
}

// undo is as much of the text as there is: a body that is cut off ends early.
func undo(coding string, body []byte) ([]byte, error) {
	var r io.Reader
	var err error
	switch coding {
	case "gzip", "x-gzip":
		r, err = gzip.NewReader(bytes.NewReader(body))
	case "deflate":
		r, err = zlib.NewReader(bytes.NewReader(body))
	default:
		err = errors.ErrUnsupported
	}
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(r, mostDecoded+1))
	switch {
	case len(text) > mostDecoded:
		return nil, fmt.Errorf("more than %d bytes", mostDecoded)
	case err != nil && !errors.Is(err, io.ErrUnexpectedEOF):
		return nil, err
	}
	return text, nil
}
