package transcript

import (
	"github.com/streamassay/streamassay/internal/redact"
	"github.com/streamassay/streamassay/spec"
)

// A secretRedactor removes the secrets of a transcript from what Format writes.
type secretRedactor struct {
	fields  redact.Names // header fields to redact, besides credentials
	secrets *redact.Redactor
}

// newSecretRedactor returns a redactor for the secrets that t names.
func newSecretRedactor(t *Transcript) secretRedactor {
	return secretRedactor{fields: t.RedactHeaders, secrets: redact.New(t.Secrets...)}
}

// text returns s with each secret replaced by a placeholder.
func (r secretRedactor) text(s string) string { return r.secrets.String(s) }

// header returns a copy of h with each secret replaced by a placeholder. The placeholder replaces
// the whole value of a credential or of a field listed in r.fields, and only the secrets in other
// fields.
func (r secretRedactor) header(h spec.Header) spec.Header {
	out := make(spec.Header, 0, len(h))
	for _, f := range h {
		value := r.text(f.Value)
		if r.fields.Contains(f.Name) {
			value = redact.Placeholder
		}
		out = append(out, spec.Field{Name: r.text(f.Name), Value: value})
	}
	return out
}

// body returns body with its secrets overwritten byte by byte, so that lines, offsets and arrivals
// stay valid.
func (r secretRedactor) body(body []byte) []byte { return r.secrets.Bytes(body) }
