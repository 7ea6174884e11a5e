package transcript

import (
	"slices"
	"strings"

	"github.com/streamassay/streamassay/internal/redact"
	"github.com/streamassay/streamassay/spec"
)

// A redactor keeps secrets from being written down.
type redactor struct {
	fields  []string // besides those that are always credentials
	secrets *redact.Redactor
}

func newRedactor(t *Transcript) redactor {
	return redactor{fields: t.Redact, secrets: redact.New(t.Secrets...)}
}

func (r redactor) text(s string) string { return r.secrets.String(s) }

func (r redactor) header(h spec.Header) spec.Header {
	out := make(spec.Header, 0, len(h))
	for _, f := range h {
		value := r.text(f.Value)
		if redact.Credential(f.Name) || slices.ContainsFunc(r.fields, func(name string) bool { return strings.EqualFold(name, f.Name) }) {
			value = redact.Mark
		}
		out = append(out, spec.Field{Name: r.text(f.Name), Value: value})
	}
	return out
}

// body returns a body without secrets, of the same size: what is said of its lines,
// its offsets and its reads stays true.
func (r redactor) body(body []byte) []byte { return r.secrets.Bytes(body) }
