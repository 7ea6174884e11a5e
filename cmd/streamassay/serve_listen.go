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

// A listener is where a server of ours serves, and what it says of that.
type listener struct {
	addr, ready string
	cert, key   string // files, for TLS; "" is without
	readyTo     destination
	unless      string // what lets addresses of other machines in, for people: "without --user "
}

func (l *listener) addFlags(flags *pflag.FlagSet) {
	flags.StringVar(&l.addr, "addr", "127.0.0.1:0", "`HOST:PORT` to serve on; port 0 picks a free one")
	flags.StringVar(&l.ready, "ready-file", "", "`PATH` to write process id and base URLs to once requests are served")
	flags.StringVar(&l.cert, "tls-cert", "", "`FILE` with the certificate, and those above it, as PEM: HTTPS is served")
	flags.StringVar(&l.key, "tls-key", "", "`FILE` with the key of the certificate, as PEM")
}

// check says what is wrong with the address. Without users to tell apart, nobody is
// let in from other machines.
func (l *listener) check(secured bool) error {
	host, _, err := net.SplitHostPort(l.addr)
	if err != nil {
		return usage("--addr %q: it is HOST:PORT, such as 127.0.0.1:4010", l.addr)
	}
	if ip := net.ParseIP(host); !secured && host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return usage("--addr %s: %sonly loopback addresses are served (127.0.0.1, ::1, localhost)", l.addr, l.unless)
	}
	return l.checkReady()
}

// checkReady says what is wrong with the ready file.
func (l *listener) checkReady() (err error) {
	if l.ready == "" {
		return nil
	}
	if l.readyTo, err = newDestination(l.ready); err == nil {
		err = l.readyTo.check()
	}
	if err != nil {
		return usage("--ready-file %s: %v", l.ready, err)
	}
	return nil
}

// tls is how connections are encrypted; nil is not at all.
func (l *listener) tls() (*tls.Config, error) {
	switch {
	case l.cert == "" && l.key == "":
		return nil, nil
	case l.cert == "":
		return nil, usage("--tls-key %s: --tls-cert belongs to it", l.key)
	case l.key == "":
		return nil, usage("--tls-cert %s: --tls-key belongs to it", l.cert)
	}
	pair, err := tls.LoadX509KeyPair(l.cert, l.key)
	if err != nil {
		return nil, usage("--tls-cert %s, --tls-key %s: %v", l.cert, l.key, err)
	}
	return &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}, nil
}

// open begins to listen.
func (l *listener) open(secured bool) (net.Listener, error) {
	ln, err := net.Listen("tcp", l.addr)
	if err != nil {
		return nil, usage("--addr %s: %v", l.addr, errors.Unwrap(err))
	}
	if at, ok := ln.Addr().(*net.TCPAddr); !secured && ok && !at.IP.IsLoopback() { // a localhost that is none
		_ = ln.Close()
		return nil, usage("--addr %s: that is %s, and no loopback address", l.addr, at)
	}
	return ln, nil
}

// root is the URL of what is served there. An address that is all of the machine's is
// told as one that can be asked.
func root(ln net.Listener, scheme string) string {
	host, port, err := net.SplitHostPort(ln.Addr().String())
	if err != nil {
		return scheme + "://" + ln.Addr().String()
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return scheme + "://" + net.JoinHostPort(host, port)
}

// announce writes the ready file: a regular one in one step.
func (l *listener) announce(ctx context.Context, base map[string]string, control string) error {
	if l.ready == "" {
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
		return exitError{exitInternal, fmt.Sprintf("--ready-file %s: %v", l.ready, plainError(err))}
	}
	return nil
}
