package transcript

import (
	"slices"
	"strings"

	"github.com/streamassay/streamassay/internal/redact"
	"github.com/streamassay/streamassay/spec"
)

// A secretRedactor keeps secrets from being written down.
type secretRedactor struct {
	fields  []string // besides those that are always credentials
	secrets *redact.Redactor
}

func newSecretRedactor(t *Transcript) secretRedactor {
	return secretRedactor{fields: t.RedactHeaders, secrets: redact.New(t.Secrets...)}
}

func (r secretRedactor) text(s string) string { return r.secrets.String(s) }

func (r secretRedactor) header(h spec.Header) spec.Header {
	out := make(spec.Header, 0, len(h))
	for _, f := range h {
		value := r.text(f.Value)
		if redact.IsCredential(f.Name) || slices.ContainsFunc(r.fields, func(name string) bool { return strings.EqualFold(name, f.Name) }) {
			value = redact.Placeholder
		}
		out = append(out, spec.Field{Name: r.text(f.Name), Value: value})
	}
	return out
}

// body returns a body without secrets, of the same size: what is said of its lines,
// its offsets and its reads stays true.
func (r secretRedactor) body(body []byte) []byte { return r.secrets.Bytes(body) }
