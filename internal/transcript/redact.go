package transcript

import (
	"github.com/streamassay/streamassay/internal/redact"
	"github.com/streamassay/streamassay/spec"
)

// A secretRedactor replaces the secrets of a transcript in what Format writes. Its method Bytes is
// for bodies: it overwrites secrets byte by byte, so that lines, offsets and arrivals stay valid.
type secretRedactor struct {
	*redact.Redactor
	fields redact.SecretNames // header fields to redact, besides credentials
}

// header returns a copy of h without secrets. A placeholder replaces the whole value of a
// credential or of a field that r.fields lists. In all other fields, it replaces only the secrets.
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
