package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strconv"
	"time"
)

// A keepAliveConn is a keep-alive connection to the server. It is not safe for concurrent use.
type keepAliveConn struct {
	addr string        // host and port of the server
	c    net.Conn      // nil: not connected
	r    *bufio.Reader // reads from c
	body []byte        // body of the latest response, reused by the next one
}

// dial connects to the server. It returns an error if that fails or takes more than five seconds.
func (k *keepAliveConn) dial() error {
	c, err := net.DialTimeout("tcp", k.addr, 5*time.Second)
	if err != nil {
		return err
	}
	k.c = c
	if k.r == nil {
		k.r = bufio.NewReaderSize(c, 8192)
	} else {
		k.r.Reset(c)
	}
	return nil
}

// close closes the connection, if it is open. The next call of do opens it again.
func (k *keepAliveConn) close() {
	if k.c != nil {
		k.c.Close()
		k.c = nil
	}
}

// A readResponse describes a response that [keepAliveConn.do] has read.
type readResponse struct {
	status int
	ttfb   time.Duration // time from sending the request to the first byte of the body; 0 if it is empty
	total  time.Duration // time from sending the request to the end of the body
	body   []byte        // valid until the next call of do; empty if onPiece was set
}

// do sends req, an encoded request, and reads the response to its end. It opens the connection if
// necessary. If onPiece is not nil, do calls it with each piece of the decoded body as it arrives,
// and leaves res.body empty. A piece is valid only until onPiece returns. If an error occurs, do
// closes the connection and returns the error.
func (k *keepAliveConn) do(req []byte, onPiece func([]byte)) (res readResponse, err error) {
	if k.c == nil {
		if err = k.dial(); err != nil {
			return
		}
	}
	k.body = k.body[:0]
	t0 := time.Now()
	if _, err = k.c.Write(req); err != nil {
		k.close()
		return
	}
	line, err := k.r.ReadSlice('\n')
	if err != nil {
		k.close()
		return res, err
	}
	if len(line) < 12 {
		k.close()
		return res, errors.New("short status line")
	}
	res.status, _ = strconv.Atoi(string(line[9:12]))
	clen, chunked, closeAfter := int64(-1), false, false
	for {
		line, err = k.r.ReadSlice('\n')
		if err != nil {
			k.close()
			return res, err
		}
		line = bytes.TrimRight(line, "\r\n")
		if len(line) == 0 {
			break
		}
		i := bytes.IndexByte(line, ':')
		if i < 0 {
			continue
		}
		name, val := line[:i], bytes.TrimSpace(line[i+1:])
		switch {
		case len(name) == 14 && bytes.EqualFold(name, []byte("content-length")):
			clen, _ = strconv.ParseInt(string(val), 10, 64)
		case len(name) == 17 && bytes.EqualFold(name, []byte("transfer-encoding")):
			chunked = bytes.Contains(bytes.ToLower(val), []byte("chunked"))
		case len(name) == 10 && bytes.EqualFold(name, []byte("connection")):
			closeAfter = bytes.EqualFold(val, []byte("close"))
		}
	}
	first := true
	take := func(n int64) error { // n<0: until EOF
		for n != 0 {
			if _, e := k.r.Peek(1); e != nil {
				if n < 0 && e == io.EOF {
					return nil
				}
				return e
			}
			b := k.r.Buffered()
			if n > 0 && int64(b) > n {
				b = int(n)
			}
			p, _ := k.r.Peek(b)
			if first {
				res.ttfb = time.Since(t0)
				first = false
			}
			if onPiece != nil {
				onPiece(p)
			} else {
				k.body = append(k.body, p...)
			}
			k.r.Discard(b)
			if n > 0 {
				n -= int64(b)
			}
		}
		return nil
	}
	switch {
	case chunked:
		for {
			line, err = k.r.ReadSlice('\n')
			if err != nil {
				k.close()
				return res, err
			}
			s := bytes.TrimRight(line, "\r\n")
			if j := bytes.IndexByte(s, ';'); j >= 0 {
				s = s[:j]
			}
			n, e := strconv.ParseInt(string(s), 16, 64)
			if e != nil {
				k.close()
				return res, fmt.Errorf("chunk size %q", s)
			}
			if n == 0 {
				for { // trailers
					line, err = k.r.ReadSlice('\n')
					if err != nil {
						k.close()
						return res, err
					}
					if len(bytes.TrimRight(line, "\r\n")) == 0 {
						break
					}
				}
				break
			}
			if err = take(n); err != nil {
				k.close()
				return res, err
			}
			k.r.Discard(2)
		}
	case clen >= 0:
		if err = take(clen); err != nil {
			k.close()
			return res, err
		}
	default:
		err = take(-1)
		closeAfter = true
	}
	res.total = time.Since(t0)
	res.body = k.body
	if closeAfter {
		k.close()
	}
	return res, err
}

// dataNL is the beginning of a data line, preceded by the end of the previous line.
var dataNL = []byte("\ndata:")

// countEvents returns the number of data lines in b, the body of an event stream.
func countEvents(b []byte) int {
	n := bytes.Count(b, dataNL)
	if bytes.HasPrefix(b, dataNL[1:]) {
		n++
	}
	return n
}

// buildReq returns an encoded HTTP/1.1 request for u with the given method, body and header lines.
// The header lines have the form "Name: value". The request also has the Accept field that -accept
// gives. A body that is not "" is sent as JSON.
func buildReq(u *url.URL, method, body string, hdrs []string) []byte {
	var b bytes.Buffer
	p := u.RequestURI()
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: %s\r\nAccept: %s\r\n", method, p, u.Host, *accept)
	for _, h := range hdrs {
		b.WriteString(h + "\r\n")
	}
	if body != "" {
		fmt.Fprintf(&b, "Content-Type: application/json\r\nContent-Length: %d\r\n", len(body))
	}
	b.WriteString("\r\n")
	b.WriteString(body)
	return b.Bytes()
}
