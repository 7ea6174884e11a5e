package wire

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"

	"github.com/streamassay/streamassay/spec"
)

// errTLSRecord is what a TLS server's alert looks like to a plain client.
var errTLSRecord = fmt.Errorf("%w: it is a TLS record", spec.ErrNotHTTP)

// connect opens a connection for one exchange. Every failure is an *Error: the
// target has not been asked anything yet.
func (c *Client) connect(parent context.Context) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(parent, c.cfg.IdleTimeout)
	defer cancel()
	port := c.cfg.Base.Port()
	if port == "" {
		port = c.cfg.Base.Scheme // "http" and "https" are names of ports
	}
	raw, err := new(net.Dialer).DialContext(ctx, "tcp", net.JoinHostPort(c.cfg.Base.Hostname(), port))
	if err != nil {
		return nil, c.fail(c.connectReason(parent, err), err)
	}
	if c.cfg.Base.Scheme == "http" {
		return raw, nil
	}
	conn := tls.Client(raw, &tls.Config{
		ServerName:         c.cfg.Base.Hostname(),
		RootCAs:            c.cfg.CA,
		InsecureSkipVerify: c.cfg.Insecure, // the user's explicit wish
		NextProtos:         []string{"h2", "http/1.1"},
	})
	if err := conn.HandshakeContext(ctx); err != nil {
		raw.Close()
		return nil, c.fail(c.tlsReason(parent, err), err)
	}
	return conn, nil
}

func isHTTP2(conn net.Conn) bool {
	secure, ok := conn.(*tls.Conn)
	return ok && secure.ConnectionState().NegotiatedProtocol == "h2"
}

// connectReason explains in one line why there is no connection.
func (c *Client) connectReason(parent context.Context, err error) string {
	var dns *net.DNSError
	var op *net.OpError
	switch {
	case parent.Err() != nil:
		return fmt.Sprintf("the exchange was called off: %v", context.Cause(parent))
	case errors.As(err, &dns) && dns.IsNotFound:
		return "there is no host of this name"
	case isErrno(err, syscall.ECONNREFUSED, wsaConnRefused):
		return "connection refused: is the server running?"
	case errors.Is(err, context.DeadlineExceeded) || isTimeout(err):
		return fmt.Sprintf("no connection within %v", c.cfg.IdleTimeout)
	case errors.As(err, &op):
		return fmt.Sprintf("no connection: %v", op.Err)
	}
	return fmt.Sprintf("no connection: %v", err)
}

// tlsReason explains in one line why there is a connection, but not a secure one.
func (c *Client) tlsReason(parent context.Context, err error) string {
	var record tls.RecordHeaderError
	var cert *tls.CertificateVerificationError
	switch {
	case parent.Err() != nil:
		return fmt.Sprintf("the exchange was called off: %v", context.Cause(parent))
	case errors.As(err, &cert):
		return fmt.Sprintf("the certificate is not trusted (%v): pass the CA's certificate with --ca FILE, or skip verification with --insecure", certReason(cert.Err))
	case errors.As(err, &record):
		return "the server does not speak TLS on this port: use http://"
	case errors.Is(err, context.DeadlineExceeded) || isTimeout(err):
		return fmt.Sprintf("the TLS handshake got no answer within %v: does the server speak TLS on this port?", c.cfg.IdleTimeout)
	case errors.Is(err, io.EOF) || isReset(err):
		return "the server hung up in the TLS handshake: does it speak TLS on this port?"
	}
	return fmt.Sprintf("the TLS handshake failed: %s", strings.TrimPrefix(err.Error(), "tls: "))
}

func certReason(err error) string {
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return "an unknown authority signed it"
	}
	return strings.TrimPrefix(err.Error(), "x509: ")
}

// isPlainHTTPRefusal recognises the answers that TLS servers give to plain requests:
// those of Go, nginx and Apache.
func isPlainHTTPRefusal(resp *spec.Response) bool {
	if resp.Status != 400 || len(resp.Body) > 4<<10 {
		return false
	}
	body := string(resp.Body)
	return strings.HasPrefix(body, "Client sent an HTTP request to an HTTPS server.") ||
		strings.Contains(body, "The plain HTTP request was sent to HTTPS port") ||
		strings.Contains(body, "speaking plain HTTP to an SSL-enabled server port")
}

// peerError says which of spec's errors a failed read or write amounts to when the
// client did not close the connection itself.
func peerError(err error) error {
	switch {
	case errors.Is(err, spec.ErrNotHTTP), errors.Is(err, spec.ErrLimitExceeded):
		return err
	case isReset(err):
		return spec.ErrReset
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return spec.ErrTruncated
	}
	return fmt.Errorf("%w: %w", spec.ErrTruncated, err)
}

// Windows has its own numbers for what other systems call ECONNREFUSED and
// ECONNRESET; no other system uses them.
const (
	wsaConnReset   = syscall.Errno(10054)
	wsaConnRefused = syscall.Errno(10061)
)

func isErrno(err error, any ...syscall.Errno) bool {
	for _, errno := range any {
		if errors.Is(err, errno) {
			return true
		}
	}
	return false
}

func isReset(err error) bool {
	return isErrno(err, syscall.ECONNRESET, syscall.EPIPE, wsaConnReset)
}

func isTimeout(err error) bool {
	timeout, ok := errors.AsType[net.Error](err)
	return ok && timeout.Timeout()
}
