package wire

import (
	"bufio"
	"io"
	"strconv"
	"strings"

	"github.com/streamassay/streamassay/spec"
)

// maxSizeLine bounds the line before a chunk, with its extensions, in bytes.
const maxSizeLine = 4 << 10

// unframe finds out how the end of an answer's body is marked (RFC 9112 section
// 6.3), records it, and is a reader of the body alone. Its reads end with io.EOF
// only where the body does.
func unframe(br *bufio.Reader, method string, resp *spec.Response) (io.Reader, error) {
	if bodyless(method, resp.Status) {
		resp.Framing = spec.FramingNone
		return strings.NewReader(""), nil
	}
	if coding, ok := combined(resp.Header, "Transfer-Encoding"); ok {
		if strings.EqualFold(last(coding), "chunked") {
			resp.Framing = spec.FramingChunked
			return &chunks{br: br, trailer: &resp.Trailer}, nil
		}
		resp.Framing = spec.FramingClose
		return br, nil
	}
	if length, ok := combined(resp.Header, "Content-Length"); ok {
		resp.Framing = spec.FramingLength
		n, err := parseLength(length)
		return &counted{br, n}, err
	}
	resp.Framing = spec.FramingClose
	return br, nil
}

// bodyless says that no body may follow such a head. After 101 comes another
// protocol.
func bodyless(method string, status int) bool {
	return method == "HEAD" || status == 101 || status == 204 || status == 304
}

// combined is the comma-separated list that a field's lines amount to.
func combined(h spec.Header, name string) (string, bool) {
	var values []string
	for _, f := range h {
		if strings.EqualFold(f.Name, name) {
			values = append(values, f.Value)
		}
	}
	return strings.Join(values, ","), values != nil
}

func last(list string) string {
	return strings.Trim(list[strings.LastIndexByte(list, ',')+1:], " \t")
}

// parseLength reads a Content-Length. Repeated, it must say the same each time.
func parseLength(list string) (int64, error) {
	want := last(list)
	for value := range strings.SplitSeq(list, ",") {
		if strings.Trim(value, " \t") != want {
			return 0, notHTTP("Content-Length is both %s and %s", quote([]byte(value)), quote([]byte(want)))
		}
	}
	n, err := strconv.ParseUint(want, 10, 63)
	if err != nil {
		return 0, notHTTP("Content-Length is %s", quote([]byte(want)))
	}
	return int64(n), nil
}

// counted reads a body of a known length.
type counted struct {
	br   *bufio.Reader
	left int64
}

func (c *counted) Read(p []byte) (int, error) {
	if c.left == 0 {
		return 0, io.EOF
	}
	n, err := c.br.Read(p[:min(int64(len(p)), c.left)])
	c.left -= int64(n)
	return n, endInMessage(err)
}

// chunks reads a chunked body (RFC 9112 section 7.1). No read goes beyond the end
// of a chunk, so that the chunks' boundaries are among the recorded reads.
type chunks struct {
	br      *bufio.Reader
	left    uint64 // of the chunk that is being read
	begun   bool   // a chunk's final line break is still to come
	ended   bool
	trailer *spec.Header
}

func (c *chunks) Read(p []byte) (int, error) {
	for c.left == 0 {
		if c.ended {
			return 0, io.EOF
		}
		if err := c.next(); err != nil {
			return 0, err
		}
	}
	n, err := c.br.Read(p[:min(uint64(len(p)), c.left)])
	c.left -= uint64(n)
	return n, endInMessage(err)
}

// next reads up to the beginning of the next chunk's data, or, after the last
// chunk, to the end of the trailer.
func (c *chunks) next() error {
	budget := allow(maxSizeLine, "a line before a chunk")
	if c.begun {
		line, err := readLine(c.br, budget)
		if err != nil {
			return err
		}
		if line != "" {
			return notHTTP("after a chunk's data comes %s", quote([]byte(line)))
		}
		c.begun = false
	}
	line, err := readLine(c.br, budget)
	if err != nil {
		return err
	}
	size, _, _ := strings.Cut(line, ";")
	if c.left, err = strconv.ParseUint(strings.Trim(size, " \t"), 16, 63); err != nil {
		return notHTTP("a chunk's size line is %s", quote([]byte(line)))
	}
	if c.begun = c.left > 0; !c.begun {
		c.ended = true
		*c.trailer, err = readFields(c.br, allow(maxHead, "a trailer"))
	}
	return err
}
