package transcript

import (
	"github.com/streamassay/streamassay/internal/redact"
	"github.com/streamassay/streamassay/spec"
)

// A secretRedactor replaces the secrets of a transcript for Format. Bodies must be redacted with
// the method Bytes, which keeps their length, so that the offsets in the transcript stay valid.
type secretRedactor struct {
	*redact.Redactor
	fields redact.SecretNames // header fields to redact, besides credentials
}

// header returns a copy of h without secrets. The whole value of a credential, or of a field in
// r.fields, is replaced. In the values of other fields, only the secrets are replaced.
func (r secretRedactor) header(h spec.Header) spec.Header {
	out := make(spec.Header, 0, len(h))
	for _, f := range h {
		value := r.String(f.Value)
		if r.fields.Contains(f.Name) {
			value = redact.Placeholder
		}
		out = append(out, spec.HeaderField{Name: r.String(f.Name), Value: value})
	}
	return out
}
