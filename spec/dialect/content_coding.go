package dialect

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/streamassay/streamassay/internal/sse"
	"github.com/streamassay/streamassay/spec"
)

// How large a body may become when its content coding is undone. What is beyond that is
// not read: the body went over the limit, as one does that comes without a coding.
const (
	maxDecoded       = 64 << 20 // bytes
	maxDecodedEvents = 200_000  // of a stream, comments included
)

// HasContentCoding reports whether a response has a body with a content coding.
func HasContentCoding(r spec.Response) bool {
	coding := contentCoding(r)
	return coding != "" && coding != "identity" && len(r.Body) > 0
}

func contentCoding(r spec.Response) string {
	return strings.ToLower(strings.TrimSpace(r.Header.Get("Content-Encoding")))
}

// DecodeContent undoes the content coding of a body (RFC 9110 section 8.4), which a client
// may have asked for. When the pieces of the text arrived nobody can tell then. A
// coding that is not known here leaves a body that nobody listened to: what it says
// counts neither for nor against the server.
func DecodeContent(r spec.Response) spec.Response {
	if !HasContentCoding(r) {
		return r
	}
	coding := contentCoding(r)
	body, err := decompress(coding, r.Body)
	var counter sse.EventCounter
	switch {
	case err != nil:
		body, r.End = nil, fmt.Errorf("%w: it does not understand the coding %q: %w", spec.ErrClientLeft, coding, err)
	case len(body) > maxDecoded:
		body, r.End = body[:maxDecoded], fmt.Errorf("%w: sent more than %d MiB, without its coding", spec.ErrLimitExceeded, maxDecoded>>20)
	}
	if r.Header.MediaType() == spec.EventStream {
		if body = body[:counter.Add(body, maxDecodedEvents)]; counter.N > maxDecodedEvents {
			r.End = fmt.Errorf("%w: sent more than 200,000 events", spec.ErrLimitExceeded)
		}
	}
	r.Body, r.Arrivals = body, nil
	return r
}

// decompress is as much of the text as there is, up to one byte more than it may have: a body
// that is cut off ends early.
func decompress(coding string, body []byte) ([]byte, error) {
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
	text, err := io.ReadAll(io.LimitReader(r, maxDecoded+1))
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && len(text) <= maxDecoded {
		return nil, err
	}
	return text, nil
}
