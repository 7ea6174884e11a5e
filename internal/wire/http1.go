package wire

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/streamassay/streamassay/spec"
)

// maxHead bounds what may come before a body, interim answers included, and
// separately what may come after it, in bytes.
const maxHead = 256 << 10

// A connReader reads a connection, remembers when its last bytes came, and keeps the
// watch awake.
type connReader struct {
	conn     net.Conn
	watchdog *watchdog
	lastRead time.Time
}

func (t *connReader) Read(p []byte) (int, error) {
	n, err := t.conn.Read(p)
	if n > 0 {
		t.lastRead = time.Now()
		t.watchdog.touch()
	}
	return n, err
}

func (t *connReader) lastArrival() time.Time { return t.lastRead }

// A watchedReader reader keeps the watch awake while it is read.
type watchedReader struct {
	io.Reader
	watchdog *watchdog
}

func (s watchedReader) Read(p []byte) (int, error) {
	n, err := s.Reader.Read(p)
	s.watchdog.touch()
	return n, err
}

// exchangeHTTP1 sends a message and records the answer; it returns how the answer
// ended. The request is written while the answer is read, for a server may refuse
// a request of which it has not read the end.
func exchangeHTTP1(conn net.Conn, m *outgoingRequest, h *recorder) error {
	written := make(chan struct{})
	go func() {
		defer close(written)
		// If this fails, what the server said before it hung up still counts.
		_, _ = io.Copy(conn, watchedReader{bytes.NewReader(append(m.http1Head(), m.body...)), h.watchdog})
	}()
	defer func() {
		conn.Close()
		<-written
	}()
	in := &connReader{conn: conn, watchdog: h.watchdog, lastRead: h.watchdog.sentAt}
	br := bufio.NewReaderSize(in, 32<<10)
	if err := h.recordHead(br); err != nil {
		return h.watchdog.endError(err)
	}
	body, err := bodyReader(br, m.method, h.resp)
	if err != nil {
		return err
	}
	return h.recordBody(body, in.lastArrival)
}

// recordHead waits for the first byte of an answer, and reads its head.
func (h *recorder) recordHead(br *bufio.Reader) error {
	if _, err := br.Peek(1); err != nil {
		return unexpectedEOF(err)
	}
	defer h.watchdog.watchHead()()
	return readHead(br, h.resp)
}

// readHead reads up to the end of the final answer's head. What there is of that
// head is recorded even if its end never comes.
func readHead(br *bufio.Reader, resp *spec.Response) error {
	if err := looksLikeHTTP(br); err != nil {
		return err
	}
	budget := newByteBudget(maxHead, "a head")
	for {
		line, err := readLine(br, budget)
		if err != nil {
			return err
		}
		proto, status, reason, ok := parseStatusLine(line)
		if !ok {
			return notHTTPError("the status line is %s", quoteStart([]byte(line)))
		}
		fields, err := readFields(br, budget)
		if status < 200 && status != 101 {
			if err != nil {
				return err
			}
			continue
		}
		resp.Proto, resp.Status, resp.Reason, resp.Header = proto, status, reason, fields
		return err
	}
}

// looksLikeHTTP tells as soon as the first bytes are there: a server that speaks
// something else may never send the end of a line.
func looksLikeHTTP(br *bufio.Reader) error {
	const want = "HTTP/"
	for n := 1; n <= len(want); n++ {
		got, err := br.Peek(n)
		if err != nil {
			return unexpectedEOF(err)
		}
		if string(got) == want[:n] {
			continue
		}
		all, _ := br.Peek(br.Buffered())
		if len(all) > 1 && all[0] == 0x15 && all[1] == 3 { // a TLS alert
			return errTLSRecord
		}
		return notHTTPError("it begins with %s", quoteStart(all))
	}
	return nil
}

// parseStatusLine takes apart a line like "HTTP/1.1 200 OK".
func parseStatusLine(line string) (proto string, status int, reason string, ok bool) {
	proto, rest, _ := strings.Cut(line, " ")
	code, reason, _ := strings.Cut(rest, " ")
	if len(proto) != len("HTTP/1.1") || !strings.HasPrefix(proto, "HTTP/1.") || proto[7] < '0' || proto[7] > '9' {
		return "", 0, "", false
	}
	n, err := strconv.ParseUint(code, 10, 16)
	if err != nil || len(code) != 3 || n < 100 {
		return "", 0, "", false
	}
	return proto, int(n), reason, true
}

// readFields reads field lines up to the empty one. With an error come the fields
// before it.
func readFields(br *bufio.Reader, budget *byteBudget) (spec.Header, error) {
	var fields spec.Header
	for {
		line, err := readLine(br, budget)
		if err != nil || line == "" {
			return fields, err
		}
		if line[0] == ' ' || line[0] == '\t' { // an obsolete folded line, RFC 9112 section 5.2
			if len(fields) == 0 {
				return fields, notHTTPError("the first header field is %s", quoteStart([]byte(line)))
			}
			fields[len(fields)-1].Value += " " + strings.Trim(line, " \t")
			continue
		}
		name, value, ok := strings.Cut(line, ":")
		if !ok || name == "" || strings.ContainsAny(name, " \t") {
			return fields, notHTTPError("a header field is %s", quoteStart([]byte(line)))
		}
		fields = append(fields, spec.Field{Name: name, Value: strings.Trim(value, " \t")})
	}
}

// An byteBudget is how many bytes some part of a message may still take.
type byteBudget struct {
	left int
	part string
	max  int
}

func newByteBudget(most int, part string) *byteBudget { return &byteBudget{most, part, most} }

// readLine reads a line, without its end, and takes its length off the budget.
func readLine(br *bufio.Reader, budget *byteBudget) (string, error) {
	var line []byte
	for {
		part, err := br.ReadSlice('\n')
		if budget.left -= len(part); budget.left < 0 {
			return "", limitError("sent %s of more than %s", budget.part, formatBytes(budget.max))
		}
		line = append(line, part...)
		switch {
		case err == nil:
			line = bytes.TrimSuffix(line[:len(line)-1], []byte("\r"))
			return string(line), nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return "", unexpectedEOF(err)
		}
	}
}

// unexpectedEOF is the error for a connection that ends inside a message.
func unexpectedEOF(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

func notHTTPError(format string, args ...any) error {
	return fmt.Errorf("%w: %s", spec.ErrNotHTTP, fmt.Sprintf(format, args...))
}

func limitError(format string, args ...any) error {
	return fmt.Errorf("%w: %s", spec.ErrLimitExceeded, fmt.Sprintf(format, args...))
}
