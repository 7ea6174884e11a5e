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
// section 8.4). If [HasContentCoding] returns false for r, the result is r itself. The Arrivals of
// the result say when the parts of the decoded body could be decoded. The result still has the
// Content-Encoding field, so it must not be passed to DecodeContent again.
//
// A body is decoded as far as possible. If the rest is not in the coding, or if the transfer is
// complete and the end of the coding is missing, the End of the result wraps spec.ErrInvalidCoding.
// A decoded body is cut off after 64 MiB or, if it is an event stream, after 200,000 events and
// comments; the End then wraps spec.ErrLimitExceeded. If the coding is unknown, the result has no
// body, and its End wraps spec.ErrClientLeft, so that the server is not judged by this response.
func DecodeContent(r spec.Response) spec.Response {
	if !HasContentCoding(r) {
		return r
	}
	coding := r.Header.ContentCoding()
	body, arrivals, err := decompress(coding, r.Body, r.Arrivals)
	var counter sse.EventCounter
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		body, r.End = nil, fmt.Errorf("%w: the content coding %q cannot be decoded: %w", spec.ErrClientLeft, coding, err)
	case err != nil && (r.End == nil || !errors.Is(err, io.ErrUnexpectedEOF)):
		if r.End = fmt.Errorf("%w: %s: %w", spec.ErrInvalidCoding, coding, err); strings.HasPrefix(err.Error(), coding+": ") {
			r.End = fmt.Errorf("%w: %w", spec.ErrInvalidCoding, err)
		}
	case len(body) > maxDecoded:
		body = body[:maxDecoded]
		r.End = fmt.Errorf("%w: sent more than %d MiB, after decoding", spec.ErrLimitExceeded, maxDecoded>>20)
	}
	if r.Header.MediaType() == spec.EventStream {
		if body = body[:counter.Add(body, maxDecodedEvents)]; counter.N > maxDecodedEvents {
			r.End = fmt.Errorf("%w: sent more than 200,000 events", spec.ErrLimitExceeded)
		}
	}
	r.Body, r.Arrivals = body, arrivals
	return r
}

// decompress returns body with its content coding removed. The coding must be in lower case. The
// result is cut off at maxDecoded+1 bytes, so that the caller can detect that it is too large. If
// decompress returns an error, the result is the part of body that it could decode. The error is
// errors.ErrUnsupported if coding is not gzip, x-gzip or deflate, and io.ErrUnexpectedEOF if body
// is truncated. Other errors mean that body is not in its coding.
//
// The argument arrivals says when the parts of body arrived. The result decoded has an element for
// each of them, whose End is the length of what could be decoded at that time.
func decompress(coding string, body []byte, arrivals []spec.Arrival) (text []byte, decoded []spec.Arrival, err error) {
	in := bytes.NewReader(body) // an io.ByteReader, of which the decoders below read no more than they need
	var r io.Reader
	switch coding {
	case "gzip", "x-gzip":
		r, err = gzip.NewReader(in)
	case "deflate":
		r, err = zlib.NewReader(in)
	default:
		err = errors.ErrUnsupported
	}
	if err != nil {
		return nil, nil, err
	}
	buffer := make([]byte, 32<<10)
	for err == nil && len(text) <= maxDecoded {
		var n int
		n, err = r.Read(buffer[:min(len(buffer), maxDecoded+1-len(text))])
		read := len(body) - in.Len()
		for len(decoded) < len(arrivals)-1 && arrivals[len(decoded)].End < read {
			decoded = append(decoded, spec.Arrival{End: len(text), At: arrivals[len(decoded)].At})
		}
		text = append(text, buffer[:n]...)
	}
	for _, a := range arrivals[len(decoded):] {
		decoded = append(decoded, spec.Arrival{End: len(text), At: a.At})
	}
	if err == io.EOF || len(text) > maxDecoded {
		err = nil
	}
	return text, decoded, err
}
