package wire

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/http/httpguts"

	"github.com/streamassay/streamassay/spec"
)

// userAgent is what the client calls itself unless it is told otherwise.
const userAgent = "streamassay"

// A outgoingRequest is a request ready to be sent.
type outgoingRequest struct {
	method, scheme, host, path string
	fields                     spec.Header // without Host and Content-Length
	body                       []byte
}

// newMessage makes what is sent of what was asked, and refuses what no HTTP message
// can carry.
func (c *Client) newMessage(r spec.Request) (*outgoingRequest, error) {
	m := &outgoingRequest{method: r.Method, scheme: c.cfg.Base.Scheme, host: strings.TrimSuffix(c.cfg.Base.Host, ":"), body: r.Body}
	if !httpguts.ValidHeaderFieldName(r.Method) || r.Method == "CONNECT" {
		return nil, fmt.Errorf("%q is not a method: want a word like GET", r.Method)
	}
	var err error
	if m.path, err = joinTarget(c.cfg.Base, r.Target); err != nil {
		return nil, err
	}
	if err := checkHeader(r.Header); err != nil {
		return nil, err
	}
	all := slices.Clone(r.Header)
	for _, f := range c.cfg.Header {
		if !r.Header.Has(f.Name) {
			all = append(all, f)
		}
	}
	if host := all.Get("Host"); host != "" {
		m.host = host
	}
	if !httpguts.ValidHostHeader(m.host) {
		return nil, fmt.Errorf("%q cannot be a Host", m.host)
	}
	if !all.Has("User-Agent") {
		all = append(all, spec.Field{Name: "User-Agent", Value: userAgent})
	}
	m.fields = all.Without("Host").Without("Content-Length").Without("Transfer-Encoding")
	return m, nil
}

// http1Head is the message's head as HTTP/1.1 writes it.
func (m *outgoingRequest) http1Head() []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: %s\r\n", m.method, m.path, m.host)
	for _, f := range m.fields {
		fmt.Fprintf(&b, "%s: %s\r\n", f.Name, f.Value)
	}
	if len(m.body) > 0 || m.method == "POST" || m.method == "PUT" || m.method == "PATCH" {
		b.WriteString("Content-Length: " + strconv.Itoa(len(m.body)) + "\r\n")
	}
	b.WriteString("\r\n")
	return []byte(b.String())
}

// joinTarget appends a target to the base URL's path without touching its spelling. An
// empty target is the base URL itself; one slash is enough between the two; the
// base's query, if it has one, comes first.
func joinTarget(base *url.URL, target string) (string, error) {
	if c, ok := findUnsendableByte(target); ok {
		return "", fmt.Errorf("the target %s cannot be sent as it is: %q must be percent-encoded", quoteStart([]byte(target)), c)
	}
	if target != "" && target[0] != '/' && target[0] != '?' {
		return "", fmt.Errorf("the target %s must begin with a slash", quoteStart([]byte(target)))
	}
	path, query, asks := strings.Cut(target, "?")
	prefix := base.EscapedPath()
	if path != "" {
		prefix = strings.TrimSuffix(prefix, "/")
	}
	if path = prefix + path; path == "" {
		path = "/"
	}
	switch {
	case base.RawQuery != "" && query != "":
		return path + "?" + base.RawQuery + "&" + query, nil
	case base.RawQuery != "":
		return path + "?" + base.RawQuery, nil
	case asks:
		return path + "?" + query, nil
	}
	return path, nil
}

func checkBase(base *url.URL) error {
	switch {
	case base == nil:
		return errors.New("there is no base URL")
	case base.Scheme != "http" && base.Scheme != "https":
		return fmt.Errorf("%s: want a URL that begins with http:// or https://", plainURL(base))
	case base.Hostname() == "":
		return fmt.Errorf("%s: the URL names no host", plainURL(base))
	case base.Fragment != "":
		return fmt.Errorf("%s: a base URL has no #fragment", plainURL(base))
	}
	if c, ok := findUnsendableByte(base.RawQuery); ok {
		return fmt.Errorf("%s: in the query, %q must be percent-encoded", plainURL(base), c)
	}
	return nil
}

// findUnsendableByte is the first byte that cannot stand in a request line as it is.
func findUnsendableByte(target string) (byte, bool) {
	for i := range len(target) {
		if c := target[i]; c <= ' ' || c >= 0x7f || c == '#' {
			return c, true
		}
	}
	return 0, false
}

// checkHeader refuses fields that would break the message. It never repeats a
// value, which may be a secret.
func checkHeader(h spec.Header) error {
	for _, f := range h {
		if !httpguts.ValidHeaderFieldName(f.Name) {
			return fmt.Errorf("%s is not the name of a header field", quoteStart([]byte(f.Name)))
		}
		if !httpguts.ValidHeaderFieldValue(f.Value) {
			return fmt.Errorf("the value of the header field %s has a line break or another control character", f.Name)
		}
	}
	return nil
}

// withBasicAuth adds a URL's user and password to a header, unless it already says who
// is asking.
func withBasicAuth(h spec.Header, user *url.Userinfo) spec.Header {
	if user == nil || h.Has("Authorization") {
		return h
	}
	password, _ := user.Password()
	pair := base64.StdEncoding.EncodeToString([]byte(user.Username() + ":" + password))
	return append(h, spec.Field{Name: "Authorization", Value: "Basic " + pair})
}

// plainURL is a URL without what may be secret in it.
func plainURL(u *url.URL) string {
	plain := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path, RawPath: u.RawPath}
	if !strings.Contains(u.Opaque, "@") {
		plain.Opaque = u.Opaque
	}
	return plain.String()
}

// quoteStart is the beginning of what a server sent, fit for one line.
func quoteStart(b []byte) string {
	const most = 64
	if len(b) > most {
		return fmt.Sprintf("%q…", b[:most])
	}
	return fmt.Sprintf("%q", b)
}
