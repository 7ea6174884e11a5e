package dialect

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"fmt"
	"io"

	"github.com/streamassay/streamassay/internal/sse"
	"github.com/streamassay/streamassay/spec"
)

// Limits of a body after its content coding is removed, so that a small response cannot decode to a
// huge one. The part of a body that exceeds a limit is dropped, and the body ends with
// spec.ErrLimitExceeded.
const (
	maxDecoded       = 64 << 20 // bytes
	maxDecodedEvents = 200_000  // of a stream, comments included
)

// HasContentCoding reports whether the response r has a body that is not empty and a content coding
// other than identity.
func HasContentCoding(r spec.Response) bool {
	return r.Header.ContentCoding() != "" && len(r.Body) > 0
}

// DecodeContent returns r with the content coding of its body removed (RFC 9110 section 8.4) and
// without arrival times, which no longer apply. A response without a content coding is returned
// unchanged. A decoded body of more than 64 MiB or 200,000 events is cut there, and ends with
// spec.ErrLimitExceeded. If the coding is unknown or the body is invalid, the result has no body
// and ends with spec.ErrClientLeft, so that it counts neither for nor against the server.
func DecodeContent(r spec.Response) spec.Response {
	if !HasContentCoding(r) {
		return r
	}
	coding := r.Header.ContentCoding()
	body, err := decompress(coding, r.Body)
	var counter sse.EventCounter
	switch {
	case err != nil:
		body, r.End = nil, fmt.Errorf("%w: the content coding %q cannot be decoded: %w", spec.ErrClientLeft, coding, err)
	case len(body) > maxDecoded:
		body = body[:maxDecoded]
		r.End = fmt.Errorf("%w: sent more than %d MiB, after decoding", spec.ErrLimitExceeded, maxDecoded>>20)
	}
	if r.Header.MediaType() == spec.EventStream {
		if body = body[:counter.Add(body, maxDecodedEvents)]; counter.N > maxDecodedEvents {
			r.End = fmt.Errorf("%w: sent more than 200,000 events", spec.ErrLimitExceeded)
		}
	}
	r.Body, r.Arrivals = body, nil
	return r
}

// decompress returns the body with its content coding removed, but at most maxDecoded+1 bytes of
// it, so that the caller can tell that it is too large. For a truncated body it returns the decoded
// part without an error. It returns an error if the coding is unknown or the body is invalid.
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
