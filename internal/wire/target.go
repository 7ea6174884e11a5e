package wire

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http/httputil"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/http/httpguts"

	"github.com/streamassay/streamassay/spec"
)

// userAgent is the value of the User-Agent field in requests that do not have this field.
const userAgent = "streamassay"

// An outgoingRequest is a request as it is sent over HTTP/1.1 or HTTP/2.
type outgoingRequest struct {
	method, scheme, host, path string      // path is the request target, with the query
	fields                     spec.Header // without Host, Content-Length and Transfer-Encoding
	body                       []byte
	isChunked                  bool // the body is sent in chunks (RFC 9112 section 7.1); in HTTP/2, without its length
}

// newMessage returns the request r in the form in which it is sent: with the header fields of
// Config.Header, and with its target appended to the base URL. It returns an error if the method,
// the target, a header field or the host is invalid.
func (c *Client) newMessage(r spec.Request) (*outgoingRequest, error) {
	m := &outgoingRequest{
		method: r.Method, scheme: c.cfg.Base.Scheme, host: strings.TrimSuffix(c.cfg.Base.Host, ":"), body: r.Body,
	}
	if !httpguts.ValidHeaderFieldName(r.Method) || r.Method == "CONNECT" {
		return nil, fmt.Errorf("invalid method %q (e.g. GET)", r.Method)
	}
	var err error
	target := r.Target
	if c.cfg.IsEndpoint && (target == "/" || strings.HasPrefix(target, "/?")) {
		target = target[1:]
	}
	if m.path, err = joinTarget(c.cfg.Base, target); err != nil {
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
		return nil, fmt.Errorf("invalid Host %q", m.host)
	}
	if !all.Has("User-Agent") {
		all = append(all, spec.HeaderField{Name: "User-Agent", Value: userAgent})
	}
	m.isChunked = len(m.body) > 0 && strings.EqualFold(all.Get("Transfer-Encoding"), "chunked")
	m.fields = all.Without("Host").Without("Content-Length").Without("Transfer-Encoding")
	return m, nil
}

// http1Head returns the head of the request as sent in HTTP/1.1: the request line, the header
// fields and the empty line.
func (m *outgoingRequest) http1Head() []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: %s\r\n", m.method, m.path, m.host)
	for _, f := range m.fields {
		fmt.Fprintf(&b, "%s: %s\r\n", f.Name, f.Value)
	}
	switch {
	case m.isChunked:
		b.WriteString("Transfer-Encoding: chunked\r\n")
	case len(m.body) > 0 || m.method == "POST" || m.method == "PUT" || m.method == "PATCH":
		b.WriteString("Content-Length: " + strconv.Itoa(len(m.body)) + "\r\n")
	}
	b.WriteString("\r\n")
	return []byte(b.String())
}

// http1Body returns the body of the request as sent in HTTP/1.1. If it is chunked, each chunk has
// at most [requestChunkSize] bytes.
func (m *outgoingRequest) http1Body() []byte {
	if !m.isChunked {
		return m.body
	}
	var b bytes.Buffer
	w := httputil.NewChunkedWriter(&b)
	for chunk := range slices.Chunk(m.body, requestChunkSize) {
		_, _ = w.Write(chunk) // writing to a bytes.Buffer cannot fail
	}
	w.Close()
	b.WriteString("\r\n")
	return b.Bytes()
}

// requestChunkSize is the maximum size, in bytes, of the chunks of a request body.
const requestChunkSize = 1000

// joinTarget appends target to the path of base, the base URL, and returns the resulting request
// target. It does not normalize either of them. If target is empty, the result is the target of
// base itself. If the path of base ends with a slash and target begins with one, only one of them
// is kept. If both have a query, that of base comes first.
//
// joinTarget returns an error if target contains bytes that must be percent-encoded, or if it is
// not empty and begins with neither a slash nor a question mark.
func joinTarget(base *url.URL, target string) (string, error) {
	if c, ok := findUnsendableByte(target); ok {
		return "", fmt.Errorf("the target %s cannot be sent: %q must be percent-encoded", quoteStart(target), c)
	}
	if target != "" && target[0] != '/' && target[0] != '?' {
		return "", fmt.Errorf("invalid target %s: want a leading slash", quoteStart(target))
	}
	path, query, hasQuery := strings.Cut(target, "?")
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
	case hasQuery:
		return path + "?" + query, nil
	}
	return path, nil
}

// checkBase returns an error if base is nil, is not an http or https URL with a host, has a
// fragment, or has a query with bytes that must be percent-encoded.
func checkBase(base *url.URL) error {
	switch {
	case base == nil:
		return errors.New("missing base URL")
	case base.Scheme != "http" && base.Scheme != "https":
		return fmt.Errorf("%s: want a URL that begins with http:// or https://", plainURL(base))
	case base.Hostname() == "":
		return fmt.Errorf("%s: the URL has no host", plainURL(base))
	case base.Fragment != "":
		return fmt.Errorf("%s: a base URL must not have a #fragment", plainURL(base))
	}
	if c, ok := findUnsendableByte(base.RawQuery); ok {
		return fmt.Errorf("%s: in the query, %q must be percent-encoded", plainURL(base), c)
	}
	return nil
}

// findUnsendableByte returns the first byte of target that must be percent-encoded in a request
// line, such as a space or "#", and whether target contains such a byte.
func findUnsendableByte(target string) (b byte, ok bool) {
	for i := range len(target) {
		if c := target[i]; c <= ' ' || c >= 0x7f || c == '#' {
			return c, true
		}
	}
	return 0, false
}

// checkHeader returns an error if HTTP does not allow the name or the value of a field. The error
// never contains the value, which may be secret.
func checkHeader(h spec.Header) error {
	for _, f := range h {
		if !httpguts.ValidHeaderFieldName(f.Name) {
			return fmt.Errorf("invalid header field name %s", quoteStart(f.Name))
		}
		if !httpguts.ValidHeaderFieldValue(f.Value) {
			return fmt.Errorf("the value of the header field %s contains a line break or another control character", f.Name)
		}
	}
	return nil
}

// withBasicAuth returns h with an Authorization field for basic authentication as user. It returns
// h unchanged if user is nil or h already has an Authorization field.
func withBasicAuth(h spec.Header, user *url.Userinfo) spec.Header {
	if user == nil || h.Has("Authorization") {
		return h
	}
	password, _ := user.Password()
	pair := base64.StdEncoding.EncodeToString([]byte(user.Username() + ":" + password))
	return append(h, spec.HeaderField{Name: "Authorization", Value: "Basic " + pair})
}

// plainURL returns the text of u without the parts that may be secret: user, password, query and
// fragment.
func plainURL(u *url.URL) string {
	plain := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path, RawPath: u.RawPath}
	if !strings.Contains(u.Opaque, "@") {
		plain.Opaque = u.Opaque
	}
	return plain.String()
}

// quoteStart returns s as a quoted string for a message, escaped like the verb %q of package fmt.
// If s has more than 64 bytes, only the first 64 are quoted, and an ellipsis follows the closing
// quotation mark.
func quoteStart(s string) string {
	const maxBytes = 64
	if len(s) > maxBytes {
		return fmt.Sprintf("%q…", s[:maxBytes])
	}
	return strconv.Quote(s)
}
