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
// huge one. If a body exceeds a limit, the rest of it is dropped, and its response ends with
// spec.ErrLimitExceeded.
const (
	maxDecoded       = 64 << 20 // bytes
	maxDecodedEvents = 200_000  // of a stream, comments included
)

// HasContentCoding reports whether the body of r is not empty and has a content coding other than
// identity.
func HasContentCoding(r spec.Response) bool {
	return r.Header.ContentCoding() != "" && len(r.Body) > 0
}

// DecodeContent returns a copy of r in which the content coding of the body is removed (RFC 9110
// section 8.4). If [HasContentCoding] returns false for r, the result is r itself. The Arrivals of the
// result say when the parts of the decoded body could be decoded; they are nil if r has none, or if
// r is large; see decodedArrivals. The result still has the Content-Encoding field, so it must not be
// passed to DecodeContent again.
//
// A truncated body is decoded as far as possible. A decoded body is cut off after 64 MiB or, if it
// is an event stream, after 200,000 events and comments; the End of the result then wraps
// spec.ErrLimitExceeded. If the coding is unknown or the body is invalid, the result has no body,
// and its End wraps spec.ErrClientLeft, so that the server is not judged by this response.
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
	r.Arrivals = decodedArrivals(coding, r, len(body))
	r.Body = body
	return r
}

// Limits on the encoded bodies for which decodedArrivals returns a result. It decodes the body once
// for each arrival.
const (
	maxTimedArrivals  = 256
	maxTimedBodyBytes = 64 << 10
)

// decodedArrivals returns when the parts of the decoded body of r could be decoded. The argument n is
// the length of the decoded body in bytes. The result is nil if r has no or too many arrivals, if its
// body is too large, or if it cannot be decoded.
func decodedArrivals(coding string, r spec.Response, n int) (all []spec.Arrival) {
	if len(r.Arrivals) > maxTimedArrivals || len(r.Body) > maxTimedBodyBytes {
		return nil
	}
	for i, a := range r.Arrivals {
		part := n
		if i < len(r.Arrivals)-1 {
			body, _ := decompress(coding, r.Body[:min(a.End, len(r.Body))]) // an incomplete head of the coding has no body
			part = min(len(body), n)
		}
		all = append(all, spec.Arrival{End: part, At: a.At})
	}
	return all
}

// decompress returns body with its content coding removed. The coding must be in lower case. The
// result is cut off at maxDecoded+1 bytes, so that the caller can detect that it is too large. If
// body is truncated, decompress returns the part that it can decode. It returns an error if coding
// is not gzip, x-gzip or deflate, or if body is invalid or does not contain the complete header of
// the coding.
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
