package wire

//lint:file-ignore SA1019 net/http gives no connection of one's own to speak HTTP/2 on and tap: x/net does

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

	"github.com/streamassay/streamassay/spec"
)

// askHTTP2 sends a message as the only stream of a connection and records the
// answer; it returns how the answer ended.
func askHTTP2(conn net.Conn, m *message, h *hearing) error {
	in := &headTap{Conn: conn}
	transport := &http2.Transport{DisableCompression: true, MaxHeaderListSize: maxHead}
	peer, err := transport.NewClientConn(in)
	if err != nil {
		return streamEnding(h.watch, err)
	}
	defer peer.Close()
	answer, err := peer.RoundTrip(m.request(h.watch))
	if err != nil {
		// Of a head that is much too long the library says just that it is wrong;
		// packed, such a head takes at least half of its length.
		if errors.Is(err, http2.ConnectionError(http2.ErrCodeProtocol)) && in.size() > maxHead/2 {
			err = overLimit("sent a head of more than %s", bytesOf(maxHead))
		}
		// A connection that broke before it was used is called just that.
		if broken := in.broken(); broken != nil {
			err = fmt.Errorf("%w: %w", err, broken)
		}
		return streamEnding(h.watch, err)
	}
	defer answer.Body.Close()
	h.watch.stir()
	h.resp.Proto, h.resp.Status, h.resp.Framing = "HTTP/2.0", answer.StatusCode, spec.FramingHTTP2
	if h.resp.Header = in.fields(); h.resp.Header == nil {
		h.resp.Header = unordered(answer.Header)
	}
	if bodyless(m.method, answer.StatusCode) {
		h.resp.Framing = spec.FramingNone
	}
	err = h.listen(&stream{answer.Body, h.watch}, time.Now)
	h.resp.Trailer = unordered(answer.Trailer)
	return err
}

// request is the message as net/http spells it. The path travels as an opaque URL,
// which is the one form that is not encoded again.
func (m *message) request(w *watch) *http.Request {
	r := &http.Request{
		Method: m.method,
		URL:    &url.URL{Scheme: m.scheme, Host: m.host, Opaque: "//" + m.host + m.path},
		Host:   m.host,
		Header: http.Header{},
	}
	for _, f := range m.fields {
		switch strings.ToLower(f.Name) {
		case "connection", "keep-alive", "proxy-connection", "upgrade":
			// They are about an HTTP/1 connection, and forbidden here.
		default:
			r.Header.Add(f.Name, f.Value)
		}
	}
	if len(m.body) > 0 {
		r.ContentLength = int64(len(m.body))
		r.Body = io.NopCloser(stirring{bytes.NewReader(m.body), w})
	}
	return r.WithContext(w.ctx)
}

// A stream reads the body of an HTTP/2 answer.
type stream struct {
	body  io.Reader
	watch *watch
}

func (s *stream) Read(p []byte) (int, error) {
	n, err := s.body.Read(p)
	if n > 0 {
		s.watch.stir()
	}
	if err != nil && err != io.EOF {
		err = streamEnding(s.watch, err)
	}
	return n, err
}

// streamEnding says which of spec's errors an error of the HTTP/2 library amounts
// to.
func streamEnding(w *watch, err error) error {
	if cause := context.Cause(w.ctx); cause != nil {
		return cause
	}
	if reset, ok := errors.AsType[http2.StreamError](err); ok {
		// The library resets streams itself, too, and tells why by texts alone.
		switch why := fmt.Sprint(reset.Cause); {
		case why == "received from peer":
			return fmt.Errorf("%w: RST_STREAM with %v", spec.ErrReset, reset.Code)
		case strings.Contains(why, "header list larger"):
			return overLimit("sent a head of more than %s", bytesOf(maxHead))
		}
		return notHTTP("%v", err)
	}
	if away, ok := errors.AsType[http2.GoAwayError](err); ok {
		return fmt.Errorf("%w: GOAWAY with %v", spec.ErrTruncated, away.ErrCode)
	}
	if _, ok := errors.AsType[http2.ConnectionError](err); ok || errors.Is(err, http2.ErrFrameTooLarge) {
		return notHTTP("%v", err)
	}
	return peerDid(err)
}

// unordered is a header whose order and spelling the library did not keep: in
// lower case, as HTTP/2 demands, and in alphabetic order.
func unordered(h http.Header) spec.Header {
	var fields spec.Header
	for name, values := range h {
		for _, value := range values {
			fields = append(fields, spec.Field{Name: strings.ToLower(name), Value: value})
		}
	}
	slices.SortStableFunc(fields, func(a, b spec.Field) int { return strings.Compare(a.Name, b.Name) })
	return fields
}

// A headTap keeps the first bytes that come over an HTTP/2 connection, for the
// library does not keep the order of a header.
type headTap struct {
	net.Conn
	mu   sync.Mutex
	kept []byte
	err  error // what ended the connection
}

func (t *headTap) Read(p []byte) (int, error) {
	n, err := t.Conn.Read(p)
	t.mu.Lock()
	defer t.mu.Unlock()
	if room := 2*maxHead - len(t.kept); room > 0 {
		t.kept = append(t.kept, p[:min(n, room)]...)
	}
	if err != nil {
		t.err = err
	}
	return n, err
}

func (t *headTap) broken() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.err
}

func (t *headTap) size() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.kept)
}

// fields is the final answer's header in the order of the wire, nil if it cannot
// be found.
func (t *headTap) fields() spec.Header {
	t.mu.Lock()
	defer t.mu.Unlock()
	frames := http2.NewFramer(nil, bytes.NewReader(t.kept))
	frames.ReadMetaHeaders = hpack.NewDecoder(4096, nil) // the size we let the server use
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
			fields = append(fields, spec.Field{Name: f.Name, Value: f.Value})
		}
		return fields
	}
}
