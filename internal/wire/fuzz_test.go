package wire

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/streamassay/streamassay/spec"
)

// FuzzAnswer checks that, for any bytes from a server, every error is one of the known ones, no
// header field contains a line end, and the body has no more bytes than were sent.
func FuzzAnswer(f *testing.F) {
	for _, answer := range []string{
		"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n0\r\nX-Trailer: 1\r\n\r\n",
		"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", "HTTP/1.0 200 OK\r\n\r\nuntil it is closed",
		"HTTP/1.1 204 No Content\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 3, 3\r\n\r\nab", "HTTP/1.1 200\r\nContent-Length: -1\r\n\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\nffffffffffffffff\r\n", "HTTP/1.1 200 OK\nA:b\n c\n\nx", "\x15\x03\x01\x00\x02\x02\x28", "SSH-2.0-x\r\n", "",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;a=b\r\nabc\r\nzz\r\n", "HTTP/2 200\r\n\r\n",
	} {
		f.Add("GET", []byte(answer))
	}
	f.Add("HEAD", []byte("HTTP/1.1 200 OK\r\nContent-Length: 30\r\n\r\n"))
	f.Fuzz(func(t *testing.T, method string, data []byte) {
		br := bufio.NewReaderSize(bytes.NewReader(data), 32<<10)
		var resp spec.Response
		if err := readHead(br, &resp); err != nil {
			named(t, err)
			return
		}
		if resp.Status < 101 || resp.Status > 999 || resp.Proto == "" {
			t.Errorf("status %d, protocol %q", resp.Status, resp.Proto)
		}
		for _, field := range resp.Header {
			if strings.Contains(field.Name+field.Value, "\n") {
				t.Errorf("a field holds the end of a line: %q", field)
			}
		}
		body, err := bodyReader(br, method, &resp)
		if err != nil {
			named(t, err)
			return
		}
		if body == nil {
			return
		}
		n, err := io.Copy(io.Discard, body)
		if n > int64(len(data)) {
			t.Errorf("%d bytes of a body in %d", n, len(data))
		}
		if err != nil {
			named(t, err)
		}
	})
}

func named(t *testing.T, err error) {
	t.Helper()
	for _, known := range []error{spec.ErrTruncated, spec.ErrNotHTTP, spec.ErrReset, spec.ErrIdleTimeout, spec.ErrLimitExceeded, io.ErrUnexpectedEOF, io.EOF} {
		if errors.Is(err, known) {
			return
		}
	}
	t.Errorf("an error of no kind: %v", err)
}
