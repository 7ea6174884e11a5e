package main

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strconv"
	"syscall"

	"github.com/spf13/pflag"
)

// A listenFlags holds the flags of a server for its address, its ready file and TLS.
type listenFlags struct {
	addr      string            // HOST:PORT to listen on
	readyFile string            // path of the ready file; "" means none
	cert, key string            // PEM files for TLS; both "" means plain HTTP
	tls       *tls.Config       // set by check; nil means plain HTTP
	readyTo   outputDestination // destination of the ready file; set by check
	// authHint is a phrase for messages that states when only loopback addresses are allowed, such
	// as "without --user or --jwks ". It ends with a space. It is "" if only loopback addresses are
	// ever allowed.
	authHint string
}

// addFlags adds --addr, --ready-file and the TLS flags, which set l, to the flag set. Before the
// call, l.authHint must be set, because the help texts contain it.
func (l *listenFlags) addFlags(flags *pflag.FlagSet) {
	flags.StringVar(&l.addr, "addr", "127.0.0.1:0",
		"`HOST:PORT` address to listen on ("+l.authHint+"only a loopback address); port 0 picks a free one, which is in "+
			"the URLs printed at the start")
	flags.StringVar(&l.readyFile, "ready-file", "",
		"`PATH` JSON file with process id and base URLs, written when the server is ready to accept requests; until then, an "+
			"existing file is left as it is")
	flags.StringVar(&l.cert, "tls-cert", "", "`FILE` PEM file with the certificate chain, to serve HTTPS; needs --tls-key")
	flags.StringVar(&l.key, "tls-key", "", "`FILE` PEM file with the private key of the certificate")
}

// check returns a usage error if the address, the ready file or the files for TLS are invalid. If
// secured is false, which means that requests are not authenticated, only loopback addresses are
// valid. A ready file that would overwrite one of the inputs, the paths of the files and
// directories that the command reads, is invalid. check also sets l.readyTo from --ready-file, and
// l.tls from --tls-cert and --tls-key.
func (l *listenFlags) check(secured bool, inputs ...string) error {
	host, err := checkAddress("--addr", l.addr, "(e.g. 127.0.0.1:4010)")
	if err != nil {
		return err
	}
	if !secured && !isLoopback(host) {
		return usageError("--addr %s: %sonly loopback addresses are allowed (127.0.0.1, ::1, localhost)", l.addr, l.authHint)
	}
	if l.readyFile != "" {
		if l.readyTo, err = writableDestination("--ready-file "+l.readyFile, l.readyFile); err != nil {
			return err
		}
		if err := l.readyTo.checkInputs("--ready-file "+l.readyFile, append(inputs, l.cert, l.key)...); err != nil {
			return err
		}
	}
	l.tls, err = l.tlsConfig()
	return err
}

// checkUpstream returns a usage error if upstream, the URL of the server to which requests are
// forwarded, and l.addr are loopback addresses with the same port, so that this process would
// forward requests to itself. The argument flag is the name of the flag that sets upstream, with
// its dashes.
func (l *listenFlags) checkUpstream(flag string, upstream *url.URL) error {
	host, port, _ := net.SplitHostPort(l.addr) // checked by check
	if isLoopback(host) && isLoopback(upstream.Hostname()) && port == upstream.Port() {
		return usageError("%s %s is the address of --addr: requests would be forwarded to this process itself",
			flag, upstream.Host)
	}
	return nil
}

// checkAddress returns the host of address, the value of the named flag. It returns a usage error
// if address is not HOST:PORT, or if the port is out of range or neither a number nor the name of a
// service. The argument flag is the name with its dashes; example is a remark that ends the error,
// such as "(e.g. 127.0.0.1:4010)".
func checkAddress(flag, address, example string) (host string, err error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return "", usageError("%s %q: must be HOST:PORT %s", flag, address, example)
	}
	n, err := strconv.Atoi(port)
	if errors.Is(err, strconv.ErrRange) || err == nil && (n < 0 || n > 65535) {
		return "", usageError("%s %s has port %s, which is out of range (0 to 65535)", flag, address, port)
	}
	if _, serviceErr := net.LookupPort("tcp", port); err != nil && serviceErr != nil {
		return "", usageError("%s %s: the port %q is not a number from 0 to 65535", flag, address, port)
	}
	return host, nil
}

// isLoopback reports whether host is a loopback address or "localhost".
func isLoopback(host string) bool { return host == "localhost" || net.ParseIP(host).IsLoopback() }

// tlsConfig returns the TLS configuration that the flags describe, or nil for plain HTTP. It
// returns a usage error if only one of the certificate file and the key file is given, or if they
// cannot be loaded.
func (l *listenFlags) tlsConfig() (*tls.Config, error) {
	switch {
	case l.cert == "" && l.key == "":
		return nil, nil
	case l.cert == "":
		return nil, usageError("--tls-key %s: needs --tls-cert", l.key)
	case l.key == "":
		return nil, usageError("--tls-cert %s: needs --tls-key", l.cert)
	}
	if _, err := readCA(l.cert); err != nil {
		return nil, usageError("--tls-cert %s: %v", l.cert, err)
	}
	if text, err := os.ReadFile(l.key); err != nil {
		return nil, usageError("--tls-key %s: %v", l.key, withoutPath(err))
	} else if block, _ := pem.Decode(text); block == nil {
		return nil, usageError("--tls-key %s: contains no PEM private key", l.key)
	}
	pair, err := tls.LoadX509KeyPair(l.cert, l.key)
	if err != nil {
		return nil, usageError("--tls-cert %s, --tls-key %s: %v", l.cert, l.key, err)
	}
	return &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}, nil
}

// listenAdvice returns what to do about err, an error of [net.Listen], in parentheses after a space.
// It returns "" if the cause is not one of the usual ones.
func listenAdvice(err error) string {
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return " (choose another port; port 0 picks a free one)"
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return " (this machine does not have this address)"
	case errors.Is(err, syscall.EACCES):
		return " (choose a port above 1023)"
	}
	return ""
}

// listen listens on the address of --addr. It returns a usage error if the address cannot be used.
// If secured is false, which means that requests are not authenticated, the address must also
// resolve to a loopback address.
func (l *listenFlags) listen(secured bool) (net.Listener, error) {
	ln, err := net.Listen("tcp", l.addr)
	if err != nil {
		return nil, usageError("--addr %s: %v%s", l.addr, errors.Unwrap(err), listenAdvice(err))
	}
	if at, ok := ln.Addr().(*net.TCPAddr); !secured && ok && !at.IP.IsLoopback() { // "localhost" may resolve to anything
		_ = ln.Close()
		return nil, usageError("--addr %s: resolves to %s, want a loopback address", l.addr, at)
	}
	return ln, nil
}

// serverURL returns the URL, with the given scheme and without a path, at which clients reach the
// listener ln. It replaces an unspecified address such as 0.0.0.0 with 127.0.0.1, because clients
// cannot connect to an unspecified address.
func serverURL(ln net.Listener, scheme string) string {
	host, port, err := net.SplitHostPort(ln.Addr().String())
	if err != nil {
		return scheme + "://" + ln.Addr().String()
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return scheme + "://" + net.JoinHostPort(host, port)
}

// writeReadyFile writes the ready file, if --ready-file is given. It is a JSON object with the
// process id, the base URL of each dialect and, unless control is "", the URL of the control API.
// The map base holds the base URLs by the name of the dialect. If the file cannot be written, which
// includes the case that it is a FIFO without a reader (see [outputDestination.write]),
// writeReadyFile returns an [exitError] with the code for internal errors.
func (l *listenFlags) writeReadyFile(ctx context.Context, base map[string]string, control string) error {
	if l.readyFile == "" {
		return nil
	}
	ready := map[string]any{"pid": os.Getpid(), "base": base}
	if control != "" {
		ready["control"] = control
	}
	text, _ := json.Marshal(ready) // cannot fail for strings and a number
	if err := l.readyTo.write(ctx, append(text, '\n')); err != nil {
		return exitError{exitInternal, fmt.Sprintf("--ready-file %s: %v", l.readyFile, withoutPath(err))}
	}
	return nil
}
