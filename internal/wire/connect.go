package wire

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/streamassay/streamassay/spec"
)

// errTLSRecord means that the server answered a request in plain HTTP with a TLS record, such as an
// alert.
var errTLSRecord = fmt.Errorf("%w: got a TLS record", spec.ErrNotHTTP)

// connect opens a connection to the target, with TLS if the scheme of the base URL is https. If
// that fails or takes longer than the idle timeout, it returns an error of type *ClientSideError.
func (c *Client) connect(parent context.Context) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(parent, c.cfg.IdleTimeout)
	defer cancel()
	port := c.cfg.Base.Port()
	if port == "" {
		port = c.cfg.Base.Scheme // "http" and "https" are also service names
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
		InsecureSkipVerify: c.cfg.Insecure, // requested by the user
		NextProtos:         []string{"h2", "http/1.1"},
	})
	if err := conn.HandshakeContext(ctx); err != nil {
		raw.Close()
		return nil, c.fail(c.tlsReason(parent, err), err)
	}
	return conn, nil
}

// isHTTP2 reports whether the TLS handshake of the connection negotiated HTTP/2.
func isHTTP2(conn net.Conn) bool {
	secure, ok := conn.(*tls.Conn)
	return ok && secure.ConnectionState().NegotiatedProtocol == "h2"
}

// connectReason returns a one-line explanation of err, with which the attempt to open a connection
// failed. The parameter parent is the context that the caller passed to [Client.Do]; if it is done,
// the explanation is that the exchange was cancelled.
func (c *Client) connectReason(parent context.Context, err error) string {
	var dns *net.DNSError
	var op *net.OpError
	switch {
	case isDone(parent):
		return fmt.Sprintf("the exchange was cancelled: %v", context.Cause(parent))
	case errors.As(err, &dns) && dns.IsNotFound:
		return "unknown host"
	case IsRefused(err):
		return RefusedText
	case isTimeout(err):
		return fmt.Sprintf("no connection within %v", c.cfg.IdleTimeout)
	case errors.As(err, &op):
		return fmt.Sprintf("no connection: %v", op.Err)
	}
	return fmt.Sprintf("no connection: %v", err)
}

// isDone reports whether ctx is done. If the deadline of ctx has passed, it first waits until ctx
// is done: a dialer has a timer of its own for the deadline, which may fire a moment earlier.
func isDone(ctx context.Context) bool {
	if deadline, ok := ctx.Deadline(); ok && !time.Now().Before(deadline) {
		<-ctx.Done()
	}
	return ctx.Err() != nil
}

// tlsReason returns a one-line explanation of err, with which the TLS handshake failed. The
// parameter parent is the context that the caller passed to [Client.Do]; if it is done, the
// explanation is that the exchange was cancelled.
func (c *Client) tlsReason(parent context.Context, err error) string {
	var record tls.RecordHeaderError
	var cert *tls.CertificateVerificationError
	switch {
	case isDone(parent):
		return fmt.Sprintf("the exchange was cancelled: %v", context.Cause(parent))
	case errors.As(err, &cert):
		return c.certificateReason(cert.Err)
	case errors.As(err, &record):
		return "the server does not speak TLS on this port: use http://"
	case isTimeout(err):
		return fmt.Sprintf("no response to the TLS handshake within %v: does the server speak TLS on this port?",
			c.cfg.IdleTimeout)
	case errors.Is(err, io.EOF) || isReset(err):
		return "the server closed the connection in the TLS handshake: does it speak TLS on this port?"
	}
	return fmt.Sprintf("the TLS handshake failed: %s", strings.TrimPrefix(err.Error(), "tls: "))
}

// certificateReason returns a one-line explanation of err, with which the verification of the
// server's certificate failed, and of what the user can do.
func (c *Client) certificateReason(err error) string {
	why, remedy := strings.TrimPrefix(err.Error(), "x509: "), "add the CA's certificate to those of the system"
	if slices.Contains(c.cfg.TrustFlags, "--ca") {
		remedy = "pass the CA's certificate with --ca FILE"
	}
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		why = "signed by an unknown authority"
		if c.cfg.CA != nil {
			why += ", which is not among the given CAs"
		}
	}
	if invalid, ok := errors.AsType[x509.CertificateInvalidError](err); ok && invalid.Reason == x509.Expired {
		remedy = "renew the certificate, or correct the clock of this machine"
	}
	why = fmt.Sprintf("the certificate is not trusted (%s)", why)
	if of, ok := errors.AsType[x509.HostnameError](err); ok {
		why, remedy = hostnameReason(of)
	}
	if slices.Contains(c.cfg.TrustFlags, "--insecure") {
		remedy += ", or skip verification with --insecure"
	}
	return why + ": " + remedy
}

// maxCertificateNames is the maximum number of host names and IP addresses of a certificate that an
// error message lists.
const maxCertificateNames = 4

// hostnameReason returns two parts of an error message. The part why states for which hosts the
// certificate of err is valid, and that the host in the URL is not one of them. The part remedy
// states what the user can do.
func hostnameReason(err x509.HostnameError) (why, remedy string) {
	names := slices.Clone(err.Certificate.DNSNames)
	for _, ip := range err.Certificate.IPAddresses {
		names = append(names, ip.String())
	}
	remedy = "use one of its hosts in the URL"
	switch n := len(names); {
	case n == 0:
		return "the certificate names no host, not even " + err.Host, "use a certificate for " + err.Host
	case n > maxCertificateNames:
		names = append(names[:maxCertificateNames], "…")
	case n == 1 && !strings.Contains(names[0], "*"):
		remedy = "use " + names[0] + " in the URL"
	}
	return fmt.Sprintf("the certificate is for %s, not for %s", strings.Join(names, ", "), err.Host), remedy
}

// isPlainHTTPRefusal reports whether resp is the response with which a TLS server of Go, nginx or
// Apache refuses a request in plain HTTP.
func isPlainHTTPRefusal(resp *spec.Response) bool {
	if resp.Status != 400 || len(resp.Body) > 4<<10 {
		return false
	}
	body := string(resp.Body)
	return strings.HasPrefix(body, "Client sent an HTTP request to an HTTPS server.") ||
		strings.Contains(body, "The plain HTTP request was sent to HTTPS port") ||
		strings.Contains(body, "speaking plain HTTP to an SSL-enabled server port")
}

// peerError returns the reason why a response ended early. The parameter err is the error from the
// read that failed; the client itself must not have caused it. The result is or wraps
// [spec.ErrReset], [spec.ErrTruncated], [spec.ErrLimitExceeded] or [spec.ErrNotHTTP].
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

// wsaConnReset and wsaConnRefused are the Winsock error codes WSAECONNRESET and WSAECONNREFUSED.
// Network errors on Windows have these numbers, and not those of syscall.ECONNRESET and
// syscall.ECONNREFUSED. No other system uses these numbers.
const (
	wsaConnReset   = syscall.Errno(10054)
	wsaConnRefused = syscall.Errno(10061)
)

// RefusedText explains an error for which [IsRefused] returns true.
const RefusedText = "connection refused: is the server running?"

// IsRefused reports whether err is, or wraps, the system error for a refused connection.
func IsRefused(err error) bool { return isErrno(err, syscall.ECONNREFUSED, wsaConnRefused) }

// isErrno reports whether err is, or wraps, one of the given system errors.
func isErrno(err error, errnos ...syscall.Errno) bool {
	return slices.ContainsFunc(errnos, func(errno syscall.Errno) bool { return errors.Is(err, errno) })
}

// isReset reports whether err means that the peer reset the connection.
func isReset(err error) bool {
	return isErrno(err, syscall.ECONNRESET, syscall.EPIPE, wsaConnReset)
}

// isTimeout reports whether err is a network timeout, or the error of a context whose deadline has
// passed.
func isTimeout(err error) bool {
	timeout, ok := errors.AsType[net.Error](err)
	return ok && timeout.Timeout()
}
