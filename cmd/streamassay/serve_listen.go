package main

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"

	"github.com/spf13/pflag"
)

// A listenFlags holds the flags of a server about its address, its ready file and TLS.
type listenFlags struct {
	addr, readyFile string
	cert, key       string // files for TLS; both "" means plain HTTP
	readyTo         destination
	authHint        string // condition of the loopback rule, for messages: "without --user "
}

// addFlags adds --addr, --ready-file and the flags of TLS to flags.
func (l *listenFlags) addFlags(flags *pflag.FlagSet) {
	flags.StringVar(&l.addr, "addr", "127.0.0.1:0", "`HOST:PORT` address to listen on; port 0 picks a free one")
	flags.StringVar(&l.readyFile, "ready-file", "",
		"`PATH` JSON file with process id and base URLs, written when the server is ready to accept requests")
	flags.StringVar(&l.cert, "tls-cert", "", "`FILE` PEM file with the certificate chain; serves HTTPS")
	flags.StringVar(&l.key, "tls-key", "", "`FILE` PEM file with the private key of the certificate")
}

// check returns a usage error if the address or the ready file is invalid. secured tells whether
// requests must be authenticated; otherwise only loopback addresses are valid.
func (l *listenFlags) check(secured bool) error {
	host, _, err := net.SplitHostPort(l.addr)
	if err != nil {
		return usageError("--addr %q: must be HOST:PORT (e.g. 127.0.0.1:4010)", l.addr)
	}
	if ip := net.ParseIP(host); !secured && host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return usageError("--addr %s: %sonly loopback addresses are allowed (127.0.0.1, ::1, localhost)", l.addr, l.authHint)
	}
	return l.checkReady()
}

// checkReady checks that the ready file can be written.
func (l *listenFlags) checkReady() (err error) {
	if l.readyFile == "" {
		return nil
	}
	if l.readyTo, err = newDestination(l.readyFile); err == nil {
		err = l.readyTo.checkWritable()
	}
	if err != nil {
		return usageError("--ready-file %s: %v", l.readyFile, err)
	}
	return nil
}

// tlsConfig returns the TLS configuration that the flags describe, nil for plain HTTP.
func (l *listenFlags) tlsConfig() (*tls.Config, error) {
	switch {
	case l.cert == "" && l.key == "":
		return nil, nil
	case l.cert == "":
		return nil, usageError("--tls-key %s: needs --tls-cert", l.key)
	case l.key == "":
		return nil, usageError("--tls-cert %s: needs --tls-key", l.cert)
	}
	pair, err := tls.LoadX509KeyPair(l.cert, l.key)
	if err != nil {
		return nil, usageError("--tls-cert %s, --tls-key %s: %v", l.cert, l.key, err)
	}
	return &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}, nil
}

// listen opens the listener. If the server is not secured by authentication, its address must be a
// loopback address.
func (l *listenFlags) listen(secured bool) (net.Listener, error) {
	ln, err := net.Listen("tcp", l.addr)
	if err != nil {
		return nil, usageError("--addr %s: %v", l.addr, errors.Unwrap(err))
	}
	if at, ok := ln.Addr().(*net.TCPAddr); !secured && ok && !at.IP.IsLoopback() { // "localhost" may resolve to anything
		_ = ln.Close()
		return nil, usageError("--addr %s: resolves to %s, want a loopback address", l.addr, at)
	}
	return ln, nil
}

// serverURL returns the URL of a listener. An unspecified address such as 0.0.0.0 becomes
// 127.0.0.1, to which clients can connect.
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

// writeReadyFile writes the ready file, if there is one; a regular file is replaced in one step.
func (l *listenFlags) writeReadyFile(ctx context.Context, base map[string]string, control string) error {
	if l.readyFile == "" {
		return nil
	}
	ready := map[string]any{"pid": os.Getpid(), "base": base}
	if control != "" {
		ready["control"] = control
	}
	text, err := json.Marshal(ready)
	if err != nil {
		return err
	}
	if err := l.readyTo.write(ctx, append(text, '\n')); err != nil {
		return exitError{exitInternal, fmt.Sprintf("--ready-file %s: %v", l.readyFile, withoutPath(err))}
	}
	return nil
}
