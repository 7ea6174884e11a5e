package wire

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/streamassay/streamassay/internal/printable"
	"github.com/streamassay/streamassay/spec"
)

// maxHead is the maximum size, in bytes, of everything before a body, including interim responses.
// It is also the maximum size of a trailer.
const maxHead = 256 << 10

// A connReader reads from a connection. It records when bytes arrive, and restarts the idle timeout
// of the watchdog whenever they do.
type connReader struct {
	conn     net.Conn
	watchdog *watchdog
	lastRead time.Time // when bytes last arrived
}

// Read reads from the connection. If it receives any bytes, it records the time and restarts the
// idle timeout.
func (t *connReader) Read(p []byte) (int, error) {
	n, err := t.conn.Read(p)
	if n > 0 {
		t.lastRead = time.Now()
		t.watchdog.reads.Add(1)
		t.watchdog.touch()
	}
	return n, err
}

// exchangeHTTP1 sends the request m over conn and records the response in h. It returns nil if the
// response is complete, and otherwise the reason why it ended early. It writes the request while it
// reads the response, because a server may refuse a request without reading all of it.
//
// If idle is not nil and conn can be used for another request, exchangeHTTP1 passes conn to idle.
// Otherwise it closes conn.
func exchangeHTTP1(conn net.Conn, m *outgoingRequest, h *recorder, idle *reusableConnHolder) (end error) {
	written := make(chan error, 1)
	go func() {
		// If this fails, a response that the server sent before closing still counts.
		first, rest := splitCharacter(m.http1Body())
		err := writeTo(conn, append(m.http1Head(), first...), h.watchdog)
		if err == nil && len(rest) > 0 {
			time.Sleep(splitPause)
			err = writeTo(conn, rest, h.watchdog)
		}
		written <- err
	}()
	reusable := false
	defer func() {
		if reusable && end == nil && <-written == nil && h.watchdog.stop() {
			idle.put(conn)
			return
		}
		conn.Close()
	}()
	in := &connReader{conn: conn, watchdog: h.watchdog, lastRead: h.watchdog.sentAt}
	br := readers.Get().(*bufio.Reader)
	defer func() {
		br.Reset(nil)
		readers.Put(br)
	}()
	br.Reset(in)
	if err := h.recordHead(br); err != nil {
		return h.watchdog.endError(err)
	}
	body, err := bodyReader(br, m.method, h.resp)
	if err != nil {
		return err
	}
	end = h.recordBody(body, func() time.Time { return in.lastRead })
	reusable = idle != nil && isPersistent(h.resp) && br.Buffered() == 0
	return end
}

// readers holds buffered readers for responses.
var readers = sync.Pool{New: func() any { return bufio.NewReaderSize(nil, bufferSize) }}

// bufferSize is the size of the buffers of a connection, in bytes.
const bufferSize = 32 << 10

// writeTo writes data to conn in pieces, and restarts the idle timeout of w after each of them, so
// that the timeout does not end the sending of a large body.
func writeTo(conn net.Conn, data []byte, w *watchdog) error {
	for piece := range slices.Chunk(data, bufferSize) {
		if _, err := conn.Write(piece); err != nil {
			return err
		}
		w.touch()
	}
	return nil
}

// splitPause is the pause between sending the two parts of a body that splitCharacter has divided.
// The pause makes it likely that the server receives the parts separately.
const splitPause = 5 * time.Millisecond

// splitCharacter divides body after the first byte of its first multi-byte character. A server that
// decodes each received part separately then corrupts the character. If body has no multi-byte
// character, rest is empty.
func splitCharacter(body []byte) (first, rest []byte) {
	i := bytes.IndexFunc(body, func(r rune) bool { return r >= utf8.RuneSelf })
	if i < 0 {
		return body, nil
	}
	return body[:i+1], body[i+1:]
}

// recordHead waits for the first byte of a response, and then reads the head of the response into
// h.resp. It returns an error with the reason if the head is invalid, ends early, or is not
// complete within the idle timeout after its first byte.
func (h *recorder) recordHead(br *bufio.Reader) error {
	if _, err := br.Peek(1); err != nil {
		return unexpectedEOF(err)
	}
	defer h.watchdog.watchHead()()
	return readHead(br, h.resp)
}

// readHead reads the head of the final response into resp, after skipping interim responses. If the
// head is incomplete or invalid, readHead returns an error that states the reason. In that case, if
// the status line is valid, resp still receives the status line and the fields that precede the
// error.
func readHead(br *bufio.Reader, resp *spec.Response) error {
	if err := checkProtocol(br); err != nil {
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
			return fmt.Errorf("%w: invalid status line %s", spec.ErrNotHTTP, quoteStart(line))
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

// checkProtocol returns an error if the first bytes of a response are not "HTTP/", or if the
// connection ends before these bytes are complete. It does not wait for a complete line, because a
// server of a different protocol may never send one.
func checkProtocol(br *bufio.Reader) error {
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
		return fmt.Errorf("%w: it begins with %s", spec.ErrNotHTTP, quoteStart(string(all)))
	}
	return nil
}

// parseStatusLine splits a line such as "HTTP/1.1 200 OK". ok is false if the line is not a valid
// HTTP/1 status line.
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

// readFields reads header fields up to and including the empty line after them. It returns an error
// if a line is invalid, the lines exceed the budget, or the connection ends. The result contains
// the fields before the error.
func readFields(br *bufio.Reader, budget *remainingBytes) (spec.Header, error) {
	var fields spec.Header
	for {
		line, err := readLine(br, budget)
		if err != nil || line == "" {
			return fields, err
		}
		if line[0] == ' ' || line[0] == '\t' { // an obsolete folded line, RFC 9112 section 5.2
			if len(fields) == 0 {
				return fields, fmt.Errorf("%w: invalid header field %s", spec.ErrNotHTTP, quoteStart(line))
			}
			fields[len(fields)-1].Value += " " + strings.Trim(line, " \t")
			continue
		}
		name, value, ok := strings.Cut(line, ":")
		if !ok || name == "" || strings.ContainsAny(name, " \t") {
			return fields, fmt.Errorf("%w: invalid header field %s", spec.ErrNotHTTP, quoteStart(line))
		}
		fields = append(fields, spec.HeaderField{Name: name, Value: strings.Trim(value, " \t")})
	}
}

// A remainingBytes is a budget of bytes, which limits the size of a part of a message, such as the
// head. Reading a line reduces the field left by the length of the line.
type remainingBytes struct {
	left int    // number of bytes that may still be read
	part string // name of the part for errors, such as "a head"
	max  int    // initial value of left
}

// newByteBudget returns a budget of max bytes for a part of a message. The argument part is the
// name of that part in errors, such as "a head".
func newByteBudget(max int, part string) *remainingBytes { return &remainingBytes{max, part, max} }

// readLine reads one line, deducts its length from the budget, and returns the line without its
// line ending. If the line is longer than what is left of the budget, it returns an error that
// wraps spec.ErrLimitExceeded. If the connection ends before the end of the line, even before its
// first byte, it returns io.ErrUnexpectedEOF.
func readLine(br *bufio.Reader, budget *remainingBytes) (string, error) {
	var line []byte
	for {
		part, err := br.ReadSlice('\n')
		if budget.left -= len(part); budget.left < 0 {
			return "", fmt.Errorf("%w: sent %s of more than %s", spec.ErrLimitExceeded, budget.part, printable.Bytes(budget.max))
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

// unexpectedEOF returns io.ErrUnexpectedEOF if err is io.EOF, and err otherwise. It is used for
// reads within a message, where the connection must not end.
func unexpectedEOF(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}
