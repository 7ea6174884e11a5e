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

// names are those of header fields and query parameters whose values are secrets: those
// that package redact knows, and more. It remembers the redactors of the secrets that
// came last: a client sends the same ones with every request.
type names struct {
	more []string

	mu        sync.Mutex
	redactors map[string]*redact.Redactor
}

// maxRedactors bounds how many redactors are remembered.
const maxRedactors = 64

func (n *names) has(name string) bool {
	return redact.IsCredential(name) || slices.ContainsFunc(n.more, func(s string) bool { return strings.EqualFold(s, name) })
}

// secrets appends what a request wants to keep to itself.
func (n *names) secrets(dst []string, r spec.Request) []string {
	for _, f := range r.Header {
		if n.has(f.Name) {
			dst = appendFound(dst, redact.SecretValues(f.Name, f.Value))
		}
	}
	return appendFound(dst, redact.SecretParameters(r.Target, n.has))
}

func appendFound(dst, values []string) []string {
	for _, s := range values {
		if len(s) >= redact.MinDetectedSecret {
			dst = append(dst, s)
		}
	}
	return dst
}

// redactor returns the redactor of some secrets; nil if there are none.
func (n *names) redactor(secrets []string) *redact.Redactor {
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

// header is a copy without the values that nobody may read.
func (n *names) header(h spec.Header) spec.Header {
	if len(h) == 0 {
		return nil
	}
	out := slices.Clone(h)
	for i, f := range out {
		switch {
		case n.has(f.Name):
			out[i].Value = redact.Placeholder
		case strings.EqualFold(f.Name, "Referer"), strings.EqualFold(f.Name, "Location"):
			out[i].Value = n.address(f.Value)
		}
	}
	return out
}

// address is a URL without the secrets in it.
func (n *names) address(text string) string {
	if u, err := url.Parse(text); err == nil && u.User != nil {
		u.User = url.User(redact.Placeholder)
		text = u.String()
	}
	return redact.RedactTarget(text, n.has)
}

// quoted is a string as JSON spells it.
func quoted(s string) []byte {
	b, _ := json.Marshal(s)
	return b
}
