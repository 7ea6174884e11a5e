package wire

import (
	"errors"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/streamassay/streamassay/spec"
)

// An idleConn holds the connection of a complete exchange until another exchange uses it. At most
// one is held. It is safe for concurrent use. The method take of a nil *idleConn returns nil.
type idleConn struct {
	mu   sync.Mutex
	conn net.Conn
}

// put makes i hold conn, and closes the connection that i held before, if any.
func (i *idleConn) put(conn net.Conn) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.conn != nil {
		i.conn.Close()
	}
	i.conn = conn
}

// take returns the held connection, which is then no longer held. It returns nil if there is none,
// or if the server has closed it or sent something that no request asked for.
func (i *idleConn) take() net.Conn {
	if i == nil {
		return nil
	}
	i.mu.Lock()
	conn := i.conn
	i.conn = nil
	i.mu.Unlock()
	if conn != nil && !isQuiet(conn) {
		conn.Close()
		return nil
	}
	return conn
}

// isQuiet reports whether conn is open and nothing has arrived on it.
func isQuiet(conn net.Conn) bool {
	if conn.SetReadDeadline(time.Now().Add(time.Millisecond)) != nil {
		return false
	}
	n, err := conn.Read(make([]byte, 1))
	return n == 0 && isTimeout(err) && conn.SetReadDeadline(time.Time{}) == nil
}

// isPersistent reports whether the connection of a complete response can be used for another
// request (RFC 9112, section 9.3).
func isPersistent(resp *spec.Response) bool {
	options, _ := joinedValues(resp.Header, "Connection")
	for option := range strings.SplitSeq(options, ",") {
		if strings.EqualFold(strings.TrimSpace(option), "close") {
			return false
		}
	}
	return resp.Proto == "HTTP/1.1" && resp.Framing != spec.FramingClose && resp.Status != 101
}

// isStale reports whether resp, recorded from a reused connection, shows that the server closed
// that connection without any response. It may do so at any time, so the request must be sent again
// (RFC 9112, section 9.3.1).
func isStale(resp spec.Response) bool {
	return resp.Status == 0 && (errors.Is(resp.End, spec.ErrTruncated) || errors.Is(resp.End, spec.ErrReset))
}
