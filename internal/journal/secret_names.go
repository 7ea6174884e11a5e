package journal

import (
	"strings"
	"sync"

	"github.com/streamassay/streamassay/internal/redact"
	"github.com/streamassay/streamassay/spec"
)

// A secretNames holds the names of headers and query parameters whose values are redacted, in
// addition to those that package redact knows. It also caches redactors, because clients send the
// same secrets with every request. It is safe for concurrent use.
type secretNames struct {
	redact.SecretNames

	mu        sync.Mutex
	redactors map[string]*redact.Redactor // by the secrets, joined by NUL
}

// maxRedactors is the maximum number of redactors in the cache of a secretNames. When the cache is
// full, it is emptied.
const maxRedactors = 64

// appendSecrets appends to dst the secret values in the header and the target of the request r, and
// returns the extended slice. It omits short values; see appendMaskable.
func (n *secretNames) appendSecrets(dst []string, r spec.Request) []string {
	for _, f := range r.Header {
		dst = n.appendFieldSecrets(dst, f.Name, f.Value)
	}
	return appendMaskable(dst, redact.SecretParameters(r.Target, n.Contains))
}

// appendFieldSecrets appends to dst the secret values in the header field with the given name and
// value, and returns the extended slice. It omits short values; see appendMaskable.
func (n *secretNames) appendFieldSecrets(dst []string, name, value string) []string {
	switch {
	case n.Contains(name):
		return appendMaskable(dst, redact.SecretValues(name, value))
	case isURLHeader(name):
		return appendMaskable(dst, redact.SecretParameters(value, n.Contains))
	}
	return dst
}

// appendMaskable appends to dst those of the given values that have at least
// redact.MinDetectedSecret bytes, and returns the extended slice. Shorter values are omitted,
// because they may occur in a text by chance.
func appendMaskable(dst, values []string) []string {
	for _, s := range values {
		if len(s) >= redact.MinDetectedSecret {
			dst = append(dst, s)
		}
	}
	return dst
}

// redactorFor returns a redactor that replaces the given secrets, or nil if secrets is empty. It
// may be called concurrently, and may return the same redactor for equal secrets.
func (n *secretNames) redactorFor(secrets []string) *redact.Redactor {
	if len(secrets) == 0 {
		return nil
	}
	key := strings.Join(secrets, "\x00")
	n.mu.Lock()
	defer n.mu.Unlock()
	if r, ok := n.redactors[key]; ok {
		return r
	}
	if len(n.redactors) >= maxRedactors || n.redactors == nil {
		n.redactors = map[string]*redact.Redactor{}
	}
	r := redact.New(secrets...)
	n.redactors[key] = r
	return r
}

// redactValue returns value, the value of a header field, without secrets. If the name of the field
// is that of a secret header, a placeholder replaces the whole value. If the value is a URL,
// placeholders replace the values of secret query parameters, and the user information is removed.
func (n *secretNames) redactValue(name, value string) string {
	switch {
	case n.Contains(name):
		return redact.Placeholder
	case isURLHeader(name):
		return redact.RedactTarget(redact.WithoutUser(value), n.Contains)
	}
	return value
}

// isURLHeader reports whether the value of a header field with the given name, such as Location, is
// a URL. It ignores case.
func isURLHeader(name string) bool {
	return strings.EqualFold(name, "Referer") || strings.EqualFold(name, "Location") ||
		strings.EqualFold(name, "Content-Location")
}
