package main

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/streamassay/streamassay/internal/redact"
	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
)

// baseURL parses text as the base URL of a target of dialect d. If text has no path, the result has
// the base path of d. A slash at the end of the path is removed. If d.IsEndpoint is true, however,
// the path is not changed. If text is not a base URL, baseURL returns a usage error that begins
// with name, the name of the flag or field that holds the URL (see [parseBase]).
func baseURL(name, text string, d *dialect.Dialect) (*url.URL, error) {
	u, err := parseBase(name, text)
	if err != nil || d.IsEndpoint {
		return u, err
	}
	if u.Path == "" || u.Path == "/" {
		u.Path = d.Base
	}
	u.Path = strings.TrimSuffix(u.Path, "/")
	return u, nil
}

// parseBase parses text as a base URL: an absolute http or https URL without a user, query or
// fragment. If text is not a base URL, it returns a usage error that begins with name, the name of
// the flag or field that holds the URL. The error does not contain the credentials in the URL.
func parseBase(name, text string) (*url.URL, error) {
	fail := func(format string, args ...any) (*url.URL, error) {
		return nil, usageError("%s %q %s", name, withoutSecrets(text), fmt.Sprintf(format, args...))
	}
	if !strings.Contains(text, "://") {
		return fail("must be a base URL that begins with http:// or https:// (e.g. http://127.0.0.1:8080)")
	}
	if strings.TrimSpace(text) != text {
		return fail("begins or ends with white space (e.g. http://127.0.0.1:8080)")
	}
	u, err := url.Parse(text)
	if e, ok := errors.AsType[*url.Error](err); ok && !strings.Contains(text, "@") { // no credentials
		return fail("is not a valid URL: %v (e.g. http://127.0.0.1:8080)", e.Err)
	}
	if err != nil {
		return fail("is not a valid URL (e.g. http://127.0.0.1:8080)")
	}
	port, _ := strconv.Atoi(u.Port()) // 0 if absent or invalid
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return fail("has the scheme %s, which is not supported: it must begin with http:// or https://", u.Scheme)
	case u.Hostname() == "":
		return fail("has no host (e.g. http://127.0.0.1:8080)")
	case strings.HasSuffix(u.Host, ":"):
		return fail("has a colon but no port (e.g. http://127.0.0.1:8080)")
	case u.Port() != "" && (port < 1 || port > 65535):
		return fail("has port %s, which is out of range (1 to 65535)", u.Port())
	case u.User != nil:
		return fail("has a user name or password before the host (removed here): " +
			"send credentials with --header 'Authorization: Basic …'")
	case u.RawQuery != "" || u.ForceQuery:
		return fail("has a query (?…): a base URL is the prefix of the dialect's paths and has none")
	case strings.Contains(text, "#"):
		return fail("has a fragment (#…): a base URL is the prefix of the dialect's paths and has none")
	}
	return u, nil
}

// connectionHeaders lists, in lower case, the header fields that users cannot set with --header,
// because the request and the connection determine their values.
var connectionHeaders = []string{
	"connection", "content-length", "host", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade",
}

// parseHeaders parses header fields, one per line, of the form 'Name: value'. It returns a usage
// error if a line is invalid, sets one of [connectionHeaders] or a second Authorization, or has a
// credential that is empty.
// The error begins with flag, the name of the flag or field that holds the lines, and does not
// contain header values, which may be secrets.
func parseHeaders(flag string, lines []string) (list spec.Header, err error) {
	for i, line := range lines {
		which := flag
		if len(lines) > 1 {
			which = fmt.Sprintf("%s (number %d of %d)", flag, i+1, len(lines))
		}
		name, value, ok := strings.Cut(line, ":")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		switch {
		case !ok:
			return nil, usageError("%s: must be 'Name: value', with a colon", which)
		case name == "":
			return nil, usageError("%s: the header name before the colon is empty; must be 'Name: value'", which)
		case strings.ContainsAny(name, " \t"):
			return nil, usageError("%s: the header name before the colon contains a space", which)
		case !isToken(name):
			return nil, usageError("%s: the text before the colon is not a valid header name", which)
		case slices.Contains(connectionHeaders, strings.ToLower(name)):
			return nil, usageError("%s: %s cannot be set: it follows from the request and the connection", which, name)
		case strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }):
			return nil, usageError("%s: the value of %s contains a control character", which, name)
		case redact.IdentifiesUser(name) && value == "":
			return nil, usageError("%s: the value of %s is empty (an unset variable?)", which, name)
		case strings.EqualFold(name, "Authorization") && slices.Contains([]string{"bearer", "basic"}, strings.ToLower(value)):
			return nil, usageError("%s: the token after %s is empty (an unset variable?)", which, value)
		case strings.EqualFold(name, "Authorization") && list.Has(name):
			return nil, usageError("%s: Authorization is already set; a request has at most one", which)
		}
		list = append(list, spec.HeaderField{Name: name, Value: value})
	}
	return list, nil
}

// parseTestHeaders is like parseHeaders, but for header fields of test requests. It also returns a
// usage error if a field is one of those that the documents of the dialects describe.
func parseTestHeaders(flag string, lines []string) (spec.Header, error) {
	list, err := parseHeaders(flag, lines)
	for _, field := range list {
		if slices.Contains([]string{"accept", "accept-encoding", "content-type"}, strings.ToLower(field.Name)) {
			return nil, usageError("%s: %s cannot be set: it follows from the dialect and the test", flag, field.Name)
		}
	}
	return list, err
}

// isToken reports whether s is a token as defined by RFC 9110, section 5.6.2, which is the syntax
// of header field names.
func isToken(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return r <= ' ' || r >= 0x7f || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, r)
	})
}
