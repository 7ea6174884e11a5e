package wire

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/streamassay/streamassay/spec"
)

// secure starts a TLS server that supports HTTP/2 if protocols is "h2", and only HTTP/1.1
// otherwise. It returns the server and a Config for clients that trust its certificate.
func secure(t *testing.T, protocols string, handle http.HandlerFunc) (*httptest.Server, Config) {
	t.Helper()
	s := httptest.NewUnstartedServer(handle)
	s.EnableHTTP2 = protocols == "h2"
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	t.Cleanup(s.Close)
	base, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	return s, Config{Base: base, CA: s.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs}
}

// closedPort returns an address on which nothing listens.
func closedPort(t *testing.T) string {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	return ln.Addr().String()
}

// fails sends a request and expects an *Error that names the base URL and contains all of the given
// texts. It returns that error.
func fails(t *testing.T, cfg Config, says ...string) error {
	t.Helper()
	c := dial(t, cfg)
	x, err := c.Do(t.Context(), get, StopWhen{})
	var own *ClientSideError
	if !errors.As(err, &own) || own.URL != plainURL(cfg.Base) {
		t.Fatalf("error = %v, want one that names %s; the answer is %+v", err, cfg.Base, x.Response)
	}
	for _, want := range says {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error = %v, want it to say %s", err, want)
		}
	}
	if strings.Contains(err.Error(), "\n") {
		t.Errorf("error has several lines: %v", err)
	}
	return err
}

func TestNoConnection(t *testing.T) {
	base := &url.URL{Scheme: "http", Host: closedPort(t), User: url.UserPassword("ann", "hunter2")}
	err := fails(t, Config{Base: base}, "http://"+base.Host+": connection refused: is the server running?")
	if strings.Contains(err.Error(), "hunter2") {
		t.Errorf("error tells the password: %v", err)
	}
	fails(t, Config{Base: &url.URL{Scheme: "https", Host: base.Host}}, "connection refused")
	fails(t, Config{Base: &url.URL{Scheme: "http", Host: "127.0.0.1:99999"}}, "no connection", "99999")
}

func TestWhyNot(t *testing.T) {
	c := &Client{cfg: Config{IdleTimeout: time.Second}}
	for _, tc := range []struct {
		err  error
		says string
	}{
		{&net.OpError{Op: "dial", Err: &net.DNSError{Err: "no such host", Name: "x", IsNotFound: true}}, "unknown host"},
		{&net.OpError{Op: "dial", Err: context.DeadlineExceeded}, "no connection within 1s"},
		{&net.OpError{Op: "dial", Err: wsaConnRefused}, "connection refused"},
		{&net.OpError{Op: "dial", Err: errors.New("network is unreachable")}, "no connection: network is unreachable"},
	} {
		if got := c.connectReason(t.Context(), tc.err); !strings.Contains(got, tc.says) {
			t.Errorf("%v: got %q, want %q", tc.err, got, tc.says)
		}
	}
}

func TestTLSOnPlainPort(t *testing.T) {
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	base, _ := url.Parse(plain.URL)
	base.Scheme = "https"
	fails(t, Config{Base: base}, "does not speak TLS", "use http://")

	silent := serve(t, func(conn net.Conn) { <-t.Context().Done() })
	silent.Scheme = "https"
	fails(t, Config{Base: silent, IdleTimeout: 100 * time.Millisecond}, "no response to the TLS handshake within 100ms")

	rude := serve(t, func(conn net.Conn) { conn.Read(make([]byte, 1<<10)) })
	rude.Scheme = "https"
	fails(t, Config{Base: rude}, "closed the connection in the TLS handshake")
}

func TestPlainOnTLSPort(t *testing.T) {
	_, cfg := secure(t, "http/1.1", http.NotFound)
	cfg.Base.Scheme = "http"
	fails(t, cfg, "speaks TLS", "use https://")

	alert := answer(t, "\x15\x03\x01\x00\x02\x02\x46")
	fails(t, Config{Base: alert}, "speaks TLS", "use https://")

	nginx := answer(t, "HTTP/1.1 400 Bad Request\r\n\r\n<html><head><title>400 The plain HTTP request was sent to HTTPS port</title></head></html>")
	fails(t, Config{Base: nginx}, "speaks TLS", "use https://")

	x := do(t, Config{Base: answer(t, "HTTP/1.1 400 Bad Request\r\n\r\n{\"error\":\"no plain requests\"}")}, get, StopWhen{})
	if x.Response.Status != 400 {
		t.Errorf("an ordinary 400 is %d", x.Response.Status)
	}
}

func TestCertificates(t *testing.T) {
	handle := func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "hello") }
	_, cfg := secure(t, "http/1.1", handle)
	if x := do(t, cfg, get, StopWhen{}); string(x.Response.Body) != "hello" || x.Response.Proto != "HTTP/1.1" {
		t.Errorf("with its authority: %+v", x.Response)
	}
	nobody, flags := x509.NewCertPool(), []string{"--ca", "--insecure"}
	fails(t, Config{Base: cfg.Base, CA: nobody, TrustFlags: flags}, "not trusted (signed by an unknown authority, which is not among "+
		"the given CAs): pass the CA's certificate with --ca FILE, or skip verification with --insecure")
	fails(t, Config{Base: cfg.Base}, "(signed by an unknown authority): add the CA's certificate to those of the system")
	if err := fails(t, Config{Base: cfg.Base, CA: nobody, TrustFlags: flags[:1]}, "--ca FILE"); strings.Contains(err.Error(), "--insecure") {
		t.Errorf("error names a flag that does not exist: %v", err)
	}
	if x := do(t, Config{Base: cfg.Base, Insecure: true}, get, StopWhen{}); string(x.Response.Body) != "hello" {
		t.Errorf("insecure: %+v", x.Response)
	}

	other := *cfg.Base
	other.Host = "localhost:" + cfg.Base.Port() // the test certificate is for 127.0.0.1 and example.com
	fails(t, Config{Base: &other, CA: cfg.CA, TrustFlags: flags}, "the certificate is for example.com, ", "127.0.0.1", ", not for localhost: "+
		"use one of its hosts in the URL, or skip verification with --insecure")
	for want, names := range map[string][]string{
		"the certificate is for a.example, not for b.example: use a.example in the URL":            {"a.example"},
		"the certificate is for *.a.example, not for b.example: use one of its hosts in the URL":   {"*.a.example"},
		"the certificate is for a, b, c, d, …, not for b.example: use one of its hosts in the URL": {"a", "b", "c", "d", "e"},
		"the certificate names no host, not even b.example: use a certificate for b.example":       nil,
	} {
		err := x509.HostnameError{Certificate: &x509.Certificate{DNSNames: names}, Host: "b.example"}
		if got := (&Client{}).certificateReason(err); got != want {
			t.Errorf("%v: got %q, want %q", names, got, want)
		}
	}
}

// TestClientCertificateWanted checks the refusal of a client certificate, which in TLS 1.3 arrives
// after the client's handshake is complete.
func TestClientCertificateWanted(t *testing.T) {
	lender, _ := secure(t, "http/1.1", http.NotFound)
	certificates := lender.TLS.Certificates
	for _, protocol := range []string{"http/1.1", "h2"} {
		base := serve(t, func(conn net.Conn) {
			demands := &tls.Config{Certificates: certificates, ClientAuth: tls.RequireAnyClientCert, NextProtos: []string{protocol}}
			tls.Server(conn, demands).Handshake()
			io.Copy(io.Discard, conn) // a close with unread bytes would be a reset
		})
		base.Scheme = "https"
		fails(t, Config{Base: base, Insecure: true}, "refused the TLS connection", "certificate required")
	}
}

// TestCloseOverTLS checks that a body can end with the connection over TLS too, with or without
// close_notify, which many servers leave out.
func TestCloseOverTLS(t *testing.T) {
	for _, bye := range []string{"with", "without"} {
		_, cfg := secure(t, "http/1.1", func(w http.ResponseWriter, r *http.Request) {
			conn, _, _ := w.(http.Hijacker).Hijack()
			io.WriteString(conn, "HTTP/1.1 200 OK\r\n\r\nabc")
			if bye == "without" {
				conn = conn.(*tls.Conn).NetConn()
			}
			conn.Close()
		})
		got := do(t, cfg, get, StopWhen{}).Response
		if string(got.Body) != "abc" || got.End != nil || got.Framing != spec.FramingClose {
			t.Errorf("%s goodbye: got %q, %v, %v", bye, got.Body, got.End, got.Framing)
		}
	}
}

func TestStreamOverTLS(t *testing.T) {
	_, cfg := secure(t, "http/1.1", func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "data: 1\n\ndata: 2\n\n")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	got := do(t, cfg, get, StopWhen{Frames: 1}).Response
	if string(got.Body) != "data: 1\n\n" || !errors.Is(got.End, spec.ErrClientLeft) || got.Framing != spec.FramingChunked {
		t.Errorf("got %q, %v, %v", got.Body, got.End, got.Framing)
	}
}

// A passedDeadline is a context whose deadline has passed before it is done.
type passedDeadline struct{ context.Context }

func (passedDeadline) Deadline() (time.Time, bool) { return time.Now().Add(-time.Millisecond), true }

// TestCancelledConnect checks that the caller's deadline is the reason why no connection was
// opened, also if the timer of the dialer fires before the context is done.
func TestCancelledConnect(t *testing.T) {
	c := &Client{cfg: Config{IdleTimeout: time.Minute}}
	ctx, cancel := context.WithTimeoutCause(t.Context(), 20*time.Millisecond, errors.New("the run is over"))
	defer cancel()
	err := &net.OpError{Op: "dial", Err: os.ErrDeadlineExceeded}
	if got, want := c.connectReason(passedDeadline{ctx}, err), "the exchange was cancelled: the run is over"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
