package journal

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/streamassay/streamassay/internal/redact"
	"github.com/streamassay/streamassay/spec"
)

// secretNames are those of header fields and query parameters whose values are secrets: those
// that package redact knows, and more. It remembers the redactors of the secrets that
// came last: a client sends the same ones with every request.
type secretNames struct {
	extra []string

	mu        sync.Mutex
	redactors map[string]*redact.Redactor
}

// maxRedactors bounds how many redactors are remembered.
const maxRedactors = 64

func (n *secretNames) isSecret(name string) bool {
	return redact.IsCredential(name) || slices.ContainsFunc(n.extra, func(s string) bool { return strings.EqualFold(s, name) })
}

// appendSecrets appends what a request wants to keep to itself.
func (n *secretNames) appendSecrets(dst []string, r spec.Request) []string {
	for _, f := range r.Header {
		if n.isSecret(f.Name) {
			dst = appendMaskable(dst, redact.SecretValues(f.Name, f.Value))
		}
	}
	return appendMaskable(dst, redact.SecretParameters(r.Target, n.isSecret))
}

func appendMaskable(dst, values []string) []string {
	for _, s := range values {
		if len(s) >= redact.MinDetectedSecret {
			dst = append(dst, s)
		}
	}
	return dst
}

// redactorFor returns the redactor of some secrets; nil if there are none.
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

// redactHeader is a copy without the values that nobody may read.
func (n *secretNames) redactHeader(h spec.Header) spec.Header {
	if len(h) == 0 {
		return nil
	}
	out := slices.Clone(h)
	for i, f := range out {
		switch {
		case n.isSecret(f.Name):
			out[i].Value = redact.Placeholder
		case strings.EqualFold(f.Name, "Referer"), strings.EqualFold(f.Name, "Location"):
			out[i].Value = n.redactURL(f.Value)
		}
	}
	return out
}

// redactURL is a URL without the secrets in it.
func (n *secretNames) redactURL(text string) string {
	if u, err := url.Parse(text); err == nil && u.User != nil {
		u.User = url.User(redact.Placeholder)
		text = u.String()
	}
	return redact.RedactTarget(text, n.isSecret)
}

// jsonString is a string as JSON spells it.
func jsonString(s string) []byte {
	b, _ := json.Marshal(s)
	return b
}
