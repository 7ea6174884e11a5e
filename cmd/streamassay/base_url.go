package main

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
)

// baseURL returns the prefix of a dialect's paths at a target: the URL's own path, or the
// document's. Errors call the URL by name, and show no secret that may be in it.
func baseURL(name, text string, d *dialect.Dialect) (*url.URL, error) {
	u, err := parseBase(text)
	if err != nil {
		shown := withoutSecrets(text)
		if shown == text {
			shown = text[strings.LastIndexByte(text, '@')+1:]
		}
		return nil, usageError("%s %q %v", name, shown, err)
	}
	if u.Path == "" || u.Path == "/" {
		u.Path = d.Base
	}
	u.Path = strings.TrimSuffix(u.Path, "/")
	return u, nil
}

// parseBase reads a base URL. The error is the rest of a sentence about it.
func parseBase(text string) (*url.URL, error) {
	if !strings.Contains(text, "://") {
		return nil, errors.New("has no scheme: it begins with http:// or https://")
	}
	u, err := url.Parse(text)
	if err != nil {
		return nil, errors.New("is no URL: it is like http://127.0.0.1:8080")
	}
	port, _ := strconv.Atoi(u.Port()) // 0 is none, or none that there can be
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, fmt.Errorf("has the scheme %s, which is not supported: it begins with http:// or https://", u.Scheme)
	case u.Hostname() == "":
		return nil, errors.New("names no host: it is like http://127.0.0.1:8080")
	case u.Port() != "" && (port < 1 || port > 65535):
		return nil, fmt.Errorf("has the port %s: it is a number from 1 to 65535", u.Port())
	case u.User != nil:
		return nil, errors.New("has a user in it: credentials are sent with --header 'Authorization: Basic …'")
	case u.RawQuery != "" || u.ForceQuery:
		return nil, errors.New("has a query: it is the prefix of the document's paths, without one")
	case strings.Contains(text, "#"):
		return nil, errors.New("has a fragment: it is the prefix of the document's paths, without one")
	}
	return u, nil
}

// connectionHeaders are the header fields that follow from the request and the connection.
var connectionHeaders = []string{
	"connection", "content-length", "host", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade",
}

// parseHeaders reads lines of the form 'Name: value'. Errors name the flag, and which of several
// lines it is, and never show a value.
func parseHeaders(flag string, lines []string) (list spec.Header, err error) {
	for i, line := range lines {
		which := flag
		if len(lines) > 1 {
			which = fmt.Sprintf("%s (number %d of %d)", flag, i+1, len(lines))
		}
		name, value, ok := strings.Cut(line, ":")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		switch {
		case !ok || name == "":
			return nil, usageError("%s: it is 'Name: value', with a colon", which)
		case !isToken(name):
			return nil, usageError("%s: what stands before the colon is no name of a header", which)
		case slices.Contains(connectionHeaders, strings.ToLower(name)):
			return nil, usageError("%s: %s follows from the request and the connection: it cannot be set", which, name)
		case strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }):
			return nil, usageError("%s: the value of %s has a control character", which, name)
		}
		list = append(list, spec.Field{Name: name, Value: value})
	}
	return list, nil
}

// isToken reports whether s can be the name of a header (RFC 9110 section 5.6.2).
func isToken(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return r <= ' ' || r >= 0x7f || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, r)
	})
}
