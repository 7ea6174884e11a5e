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

// A listenFlags is where a server of ours serves, and what it says of that.
type listenFlags struct {
	addr, readyFile string
	cert, key       string // files, for TLS; "" is without
	readyTo         destination
	authHint        string // what lets addresses of other machines in, for people: "without --user "
}

func (l *listenFlags) addFlags(flags *pflag.FlagSet) {
	flags.StringVar(&l.addr, "addr", "127.0.0.1:0", "`HOST:PORT` to serve on; port 0 picks a free one")
	flags.StringVar(&l.readyFile, "ready-file", "", "`PATH` to write process id and base URLs to once requests are served")
	flags.StringVar(&l.cert, "tls-cert", "", "`FILE` with the certificate, and those above it, as PEM: HTTPS is served")
	flags.StringVar(&l.key, "tls-key", "", "`FILE` with the key of the certificate, as PEM")
}

// check says what is wrong with the address. Without users to tell apart, nobody is
// let in from other machines.
func (l *listenFlags) check(secured bool) error {
	host, _, err := net.SplitHostPort(l.addr)
	if err != nil {
		return usageError("--addr %q: it is HOST:PORT, such as 127.0.0.1:4010", l.addr)
	}
	if ip := net.ParseIP(host); !secured && host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return usageError("--addr %s: %sonly loopback addresses are served (127.0.0.1, ::1, localhost)", l.addr, l.authHint)
	}
	return l.checkReady()
}

// checkReady says what is wrong with the ready file.
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

// tlsConfig is how connections are encrypted; nil is not at all.
func (l *listenFlags) tlsConfig() (*tls.Config, error) {
	switch {
	case l.cert == "" && l.key == "":
		return nil, nil
	case l.cert == "":
		return nil, usageError("--tls-key %s: --tls-cert belongs to it", l.key)
	case l.key == "":
		return nil, usageError("--tls-cert %s: --tls-key belongs to it", l.cert)
	}
	pair, err := tls.LoadX509KeyPair(l.cert, l.key)
	if err != nil {
		return nil, usageError("--tls-cert %s, --tls-key %s: %v", l.cert, l.key, err)
	}
	return &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}, nil
}

// listen begins to listen.
func (l *listenFlags) listen(secured bool) (net.Listener, error) {
	ln, err := net.Listen("tcp", l.addr)
	if err != nil {
		return nil, usageError("--addr %s: %v", l.addr, errors.Unwrap(err))
	}
	if at, ok := ln.Addr().(*net.TCPAddr); !secured && ok && !at.IP.IsLoopback() { // a localhost that is none
		_ = ln.Close()
		return nil, usageError("--addr %s: that is %s, and no loopback address", l.addr, at)
	}
	return ln, nil
}

// serverURL is the URL of what is served there. An address that is all of the machine's is
// told as one that can be asked.
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

// writeReadyFile writes the ready file: a regular one in one step.
func (l *listenFlags) writeReadyFile(ctx context.Context, base map[string]string, control string) error {
	if l.readyFile == "" {
		return nil
	}
	said := map[string]any{"pid": os.Getpid(), "base": base}
	if control != "" {
		said["control"] = control
	}
	text, err := json.Marshal(said)
	if err != nil {
		return err
	}
	if err := l.readyTo.write(ctx, append(text, '\n')); err != nil {
		return exitError{exitInternal, fmt.Sprintf("--ready-file %s: %v", l.readyFile, withoutPath(err))}
	}
	return nil
}
