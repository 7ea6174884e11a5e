package wire

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/streamassay/streamassay/spec"
)

// maxSizeLine is the maximum size, in bytes, of the line that states the size and the extensions of
// a chunk. The line ending after the data of the previous chunk counts as a part of that line.
const maxSizeLine = 4 << 10

// bodyReader returns a reader of the body of resp that removes the framing of the body, such as
// chunk sizes. The reader br must be positioned after the head of the response; method is the
// method of the request. The returned reader returns io.EOF only at the marked end of the body,
// which may be the end of the connection. It stores a trailer in resp.Trailer.
//
// bodyReader sets resp.Framing, which states how the end of the body is marked (RFC 9112 section
// 6.3). It returns an error that wraps spec.ErrNotHTTP if Content-Length is invalid.
func bodyReader(br *bufio.Reader, method string, resp *spec.Response) (io.Reader, error) {
	if hasNoBody(method, resp.Status) {
		resp.Framing = spec.FramingNone
		return strings.NewReader(""), nil
	}
	if coding, ok := joinedValues(resp.Header, "Transfer-Encoding"); ok {
		if strings.EqualFold(lastElement(coding), "chunked") {
			resp.Framing = spec.FramingChunked
			return &chunkedReader{fixedLengthReader: fixedLengthReader{br: br}, trailer: &resp.Trailer}, nil
		}
		resp.Framing = spec.FramingClose
		return br, nil
	}
	if length, ok := joinedValues(resp.Header, "Content-Length"); ok {
		resp.Framing = spec.FramingLength
		n, err := parseLength(length)
		return &fixedLengthReader{br, n}, err
	}
	resp.Framing = spec.FramingClose
	return br, nil
}

// hasNoBody reports whether the method of a request and the status of its response imply that the
// response has no body. This includes the status 101 (Switching Protocols): the bytes that follow
// it belong to another protocol.
func hasNoBody(method string, status int) bool {
	return method == "HEAD" || status == 101 || status == 204 || status == 304
}

// joinedValues returns all values of the header field with the given name as one comma-separated
// list. The second result is false if the header does not have the field.
func joinedValues(h spec.Header, name string) (string, bool) {
	var values []string
	for _, f := range h {
		if strings.EqualFold(f.Name, name) {
			values = append(values, f.Value)
		}
	}
	return strings.Join(values, ","), values != nil
}

// lastElement returns the last element of a comma-separated list, without the spaces and tabs
// around it.
func lastElement(list string) string {
	return strings.Trim(list[strings.LastIndexByte(list, ',')+1:], " \t")
}

// parseLength parses list, the value of a Content-Length field, and returns the length in bytes.
// The value may be a comma-separated list of equal numbers (RFC 9110 section 8.6). If the numbers
// are not equal, or if an element is not a number, the error wraps spec.ErrNotHTTP.
func parseLength(list string) (int64, error) {
	want := lastElement(list)
	for value := range strings.SplitSeq(list, ",") {
		if strings.Trim(value, " \t") != want {
			return 0, fmt.Errorf("%w: conflicting values of Content-Length: %s and %s", spec.ErrNotHTTP,
				quoteStart(value), quoteStart(want))
		}
	}
	n, err := strconv.ParseUint(want, 10, 63)
	if err != nil {
		return 0, fmt.Errorf("%w: invalid Content-Length %s", spec.ErrNotHTTP, quoteStart(want))
	}
	return int64(n), nil
}

// A fixedLengthReader reads a body whose length is known.
type fixedLengthReader struct {
	br   *bufio.Reader
	left int64 // number of bytes that are still to be read
}

// Read reads from the body. It returns io.EOF at the end of the body, and io.ErrUnexpectedEOF if
// the connection ends before that.
func (c *fixedLengthReader) Read(p []byte) (int, error) {
	if c.left == 0 {
		return 0, io.EOF
	}
	n, err := c.br.Read(p[:min(int64(len(p)), c.left)])
	c.left -= int64(n)
	return n, unexpectedEOF(err)
}

// A chunkedReader reads a chunked body (RFC 9112 section 7.1). A Read returns bytes of one chunk
// only, so that chunk boundaries appear among the recorded arrivals.
type chunkedReader struct {
	fixedLengthReader              // reads the current chunk
	inChunk           bool         // the current chunk, or the line ending after it, is still to be read
	ended             bool         // the last chunk and the trailer have been read
	trailer           *spec.Header // where the trailer is stored
}

// Read reads from the current chunk, or from the next one if the current chunk has been read
// completely. It returns io.EOF after the trailer, and io.ErrUnexpectedEOF if the connection ends
// before that. It returns an error that wraps spec.ErrNotHTTP if the framing of a chunk is
// malformed, or spec.ErrLimitExceeded if the line before a chunk or the trailer is too long.
func (c *chunkedReader) Read(p []byte) (int, error) {
	for c.left == 0 {
		if c.ended {
			return 0, io.EOF
		}
		if err := c.nextChunk(); err != nil {
			return 0, err
		}
	}
	return c.fixedLengthReader.Read(p)
}

// nextChunk reads everything before the data of the next chunk and sets c.left to the size of that
// chunk. After the last chunk, it reads the trailer into c.trailer and sets c.ended. It returns an
// error if the framing is invalid or the connection ends.
func (c *chunkedReader) nextChunk() error {
	budget := newByteBudget(maxSizeLine, "a line before a chunk")
	if c.inChunk {
		line, err := readLine(c.br, budget)
		if err != nil {
			return err
		}
		if line != "" {
			return fmt.Errorf("%w: want a line end after the data of a chunk, got %s", spec.ErrNotHTTP, quoteStart(line))
		}
		c.inChunk = false
	}
	line, err := readLine(c.br, budget)
	if err != nil {
		return err
	}
	size, _, _ := strings.Cut(line, ";")
	n, err := strconv.ParseUint(strings.Trim(size, " \t"), 16, 63)
	if err != nil {
		return fmt.Errorf("%w: invalid chunk size %s", spec.ErrNotHTTP, quoteStart(line))
	}
	c.left = int64(n)
	if c.inChunk = n > 0; !c.inChunk {
		c.ended = true
		*c.trailer, err = readFields(c.br, newByteBudget(maxHead, "a trailer"))
	}
	return err
}
