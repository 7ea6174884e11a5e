package wire

import (
	"errors"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/streamassay/streamassay/spec"
)

// A reusableConnHolder holds at most one connection. A completed exchange puts its connection,
// which is still open, in the holder, and a later exchange takes it. A reusableConnHolder is safe
// for concurrent use. A nil *reusableConnHolder holds no connection, and its put method must not be
// called.
type reusableConnHolder struct {
	mu   sync.Mutex
	conn net.Conn
}

// put stores conn in the holder. If the holder already has a connection, put closes that one.
func (i *reusableConnHolder) put(conn net.Conn) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.conn != nil {
		i.conn.Close()
	}
	i.conn = conn
}

// take removes the connection from the holder and returns it. It returns nil if there is none. If
// the server has closed the connection, or has sent something without a request, take closes the
// connection and returns nil.
func (i *reusableConnHolder) take() net.Conn {
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

// isQuiet reports whether conn is open and nothing has arrived on it. It waits up to a millisecond.
func isQuiet(conn net.Conn) bool {
	if conn.SetReadDeadline(time.Now().Add(time.Millisecond)) != nil {
		return false
	}
	n, err := conn.Read(make([]byte, 1))
	return n == 0 && isTimeout(err) && conn.SetReadDeadline(time.Time{}) == nil
}

// isPersistent reports whether another request can be sent over the connection on which the
// complete response resp was received (RFC 9112, section 9.3).
func isPersistent(resp *spec.Response) bool {
	options, _ := joinedValues(resp.Header, "Connection")
	for option := range strings.SplitSeq(options, ",") {
		if strings.EqualFold(strings.TrimSpace(option), "close") {
			return false
		}
	}
	return resp.Proto == "HTTP/1.1" && resp.Framing != spec.FramingClose && resp.Status != 101
}

// isStale reports whether resp, recorded from a reused connection, shows that the server closed the
// connection without any response. A server may close an idle connection at any time (RFC 9112,
// section 9.3.1), so the client then sends the request again.
func isStale(resp spec.Response) bool {
	return resp.Status == 0 && (errors.Is(resp.End, spec.ErrTruncated) || errors.Is(resp.End, spec.ErrReset))
}
