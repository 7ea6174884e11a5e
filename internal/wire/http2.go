package wire

//lint:file-ignore SA1019 net/http cannot speak HTTP/2 on a given connection, which x/net/http2 can

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/streamassay/streamassay/internal/printable"
	"github.com/streamassay/streamassay/spec"
)

// exchangeHTTP2 sends the request m as the only stream of conn and records the response in h. It
// returns nil if the response is complete, and otherwise the reason why it ended early. The caller
// must close conn.
func exchangeHTTP2(conn net.Conn, m *outgoingRequest, h *recorder) error {
	in := &headRecordingConn{Conn: conn}
	transport := &http2.Transport{DisableCompression: true, MaxHeaderListSize: maxHead}
	peer, err := transport.NewClientConn(in)
	if err != nil {
		return http2EndError(h.watchdog, err)
	}
	defer peer.Close()
	answer, err := peer.RoundTrip(m.httpRequest(h.watchdog))
	if err != nil {
		recorded, broken := in.state()
		// The library reports a head that is much too long only as a protocol error. Even
		// compressed, such a head has at least half of its size.
		if errors.Is(err, http2.ConnectionError(http2.ErrCodeProtocol)) && recorded > maxHead/2 {
			err = fmt.Errorf("%w: sent a head of more than %s", spec.ErrLimitExceeded, printable.Bytes(maxHead))
		}
		// Add the error of a connection that broke before the request was sent.
		if broken != nil {
			err = fmt.Errorf("%w: %w", err, broken)
		}
		return http2EndError(h.watchdog, err)
	}
	defer answer.Body.Close()
	h.watchdog.touch()
	h.resp.Proto, h.resp.Status, h.resp.Framing = "HTTP/2.0", answer.StatusCode, spec.FramingHTTP2
	if h.resp.Header = in.fields(); h.resp.Header == nil {
		h.resp.Header = sortedHeader(answer.Header)
	}
	if hasNoBody(m.method, answer.StatusCode) {
		h.resp.Framing = spec.FramingNone
	}
	err = h.recordBody(&http2BodyReader{answer.Body, h.watchdog}, time.Now)
	h.resp.Trailer = sortedHeader(answer.Trailer)
	return err
}

// httpRequest returns m as a request for package http2. It omits the connection-specific fields,
// such as Connection, that HTTP/2 does not allow (RFC 9113 section 8.2.2). The context of w cancels
// the request, and sending the body restarts the idle timeout of w. The path of m is sent
// unchanged.
func (m *outgoingRequest) httpRequest(w *watchdog) *http.Request {
	r := &http.Request{
		Method: m.method,
		URL:    &url.URL{Scheme: m.scheme, Host: m.host, Opaque: "//" + m.host + m.path},
		Host:   m.host,
		Header: http.Header{},
	}
	for _, f := range m.fields {
		switch strings.ToLower(f.Name) {
		case "connection", "keep-alive", "proxy-connection", "upgrade": // not allowed in HTTP/2
		default:
			r.Header.Add(f.Name, f.Value)
		}
	}
	if len(m.body) > 0 {
		r.ContentLength = int64(len(m.body))
		if m.isChunked {
			r.ContentLength = -1
		}
		r.Body = io.NopCloser(idleResetReader{bytes.NewReader(m.body), w})
	}
	return r.WithContext(w.ctx)
}

// An idleResetReader restarts the idle timeout of the watchdog at each Read of the embedded reader.
// A request body is read through it, so that the idle timeout does not end the sending of a large
// body.
type idleResetReader struct {
	io.Reader
	watchdog *watchdog
}

// Read reads from the embedded reader and restarts the idle timeout.
func (s idleResetReader) Read(p []byte) (int, error) {
	n, err := s.Reader.Read(p)
	s.watchdog.touch()
	return n, err
}

// An http2BodyReader reads the body of an HTTP/2 response. It restarts the idle timeout of the
// watchdog when bytes arrive, and converts errors from the library to errors from package spec,
// such as [spec.ErrReset].
type http2BodyReader struct {
	body     io.Reader
	watchdog *watchdog
}

// Read reads from the body and, if it gets data, restarts the idle timeout. At the end of the body
// it returns io.EOF. Any other error is the result of [http2EndError].
func (s *http2BodyReader) Read(p []byte) (int, error) {
	n, err := s.body.Read(p)
	if n > 0 {
		s.watchdog.touch()
	}
	if err != nil && err != io.EOF {
		err = http2EndError(s.watchdog, err)
	}
	return n, err
}

// http2EndError returns the reason why a response ended early, where err is the error from the
// HTTP/2 library. If the client itself ended the exchange, the reason is the cause of the context
// of w. Otherwise it wraps an error from package spec, such as [spec.ErrReset].
func http2EndError(w *watchdog, err error) error {
	if cause := context.Cause(w.ctx); cause != nil {
		return cause
	}
	if reset, ok := errors.AsType[http2.StreamError](err); ok {
		// The library also resets streams itself, and reports the reason only as text.
		switch why := fmt.Sprint(reset.Cause); {
		case why == "received from peer":
			return fmt.Errorf("%w: RST_STREAM with %v", spec.ErrReset, reset.Code)
		case strings.Contains(why, "header list larger"):
			return fmt.Errorf("%w: sent a head of more than %s", spec.ErrLimitExceeded, printable.Bytes(maxHead))
		}
		return fmt.Errorf("%w: %v", spec.ErrNotHTTP, err)
	}
	if away, ok := errors.AsType[http2.GoAwayError](err); ok {
		return fmt.Errorf("%w: GOAWAY with %v", spec.ErrTruncated, away.ErrCode)
	}
	if _, ok := errors.AsType[http2.ConnectionError](err); ok || errors.Is(err, http2.ErrFrameTooLarge) {
		return fmt.Errorf("%w: %v", spec.ErrNotHTTP, err)
	}
	return peerError(err)
}

// sortedHeader returns h as a [spec.Header], with names in lower case, as HTTP/2 requires, and
// sorted by name. The original order is not known, because h does not preserve it.
func sortedHeader(h http.Header) spec.Header {
	var fields spec.Header
	for name, values := range h {
		for _, value := range values {
			fields = append(fields, spec.HeaderField{Name: strings.ToLower(name), Value: value})
		}
	}
	slices.SortStableFunc(fields, func(a, b spec.HeaderField) int { return strings.Compare(a.Name, b.Name) })
	return fields
}

// A headRecordingConn is a connection that records the first bytes received over HTTP/2. The order
// of the header fields is taken from these bytes, because the HTTP/2 library does not preserve it.
type headRecordingConn struct {
	net.Conn
	mu       sync.Mutex
	recorded []byte
	err      error // error from the last read that failed
}

// Read reads from the connection and records the bytes that it gets, but no more than 2*maxHead
// bytes in total.
func (t *headRecordingConn) Read(p []byte) (int, error) {
	n, err := t.Conn.Read(p)
	t.mu.Lock()
	defer t.mu.Unlock()
	if room := 2*maxHead - len(t.recorded); room > 0 {
		t.recorded = append(t.recorded, p[:min(n, room)]...)
	}
	if err != nil {
		t.err = err
	}
	return n, err
}

// state returns the number of bytes that have been recorded, and the error from the last read that
// failed, or nil if no read has failed.
func (t *headRecordingConn) state() (recorded int, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.recorded), t.err
}

// fields returns the header fields of the final response in the order in which they were received.
// It returns nil if the recorded bytes cannot be decoded or do not contain the complete header.
func (t *headRecordingConn) fields() spec.Header {
	t.mu.Lock()
	defer t.mu.Unlock()
	frames := http2.NewFramer(nil, bytes.NewReader(t.recorded))
	frames.ReadMetaHeaders = hpack.NewDecoder(4096, nil) // the default size of the dynamic table
	frames.MaxHeaderListSize = maxHead
	for {
		frame, err := frames.ReadFrame()
		if err != nil {
			return nil
		}
		head, ok := frame.(*http2.MetaHeadersFrame)
		if !ok || strings.HasPrefix(head.PseudoValue("status"), "1") {
			continue
		}
		fields := spec.Header{}
		for _, f := range head.RegularFields() {
			fields = append(fields, spec.HeaderField{Name: f.Name, Value: f.Value})
		}
		return fields
	}
}
