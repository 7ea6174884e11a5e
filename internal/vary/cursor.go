package vary

import (
	"encoding/base64"
	"encoding/hex"
	"strings"

	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
)

// A cursorEncoding is a form in which a server can send a cursor, which marks a position in a
// stream. The form consists of a prefix, the encoded cursor and a suffix. Cursors are opaque to
// clients, so a server may send any text that is valid as an SSE id and as a header value.
type cursorEncoding struct {
	prefix, suffix string
	encode         func([]byte) string          // encodes a cursor
	decode         func(string) ([]byte, error) // the inverse of encode
}

// cursorEncodings lists the forms of cursors. Each form has a different prefix, by which
// DecodeCursor recognizes it.
var cursorEncodings = []cursorEncoding{
	{"==", "", base64.StdEncoding.EncodeToString, base64.StdEncoding.DecodeString},
	{"0x", "", hex.EncodeToString, hex.DecodeString},
	{`{"at":"`, `","v":[1,2]}`, base64.RawURLEncoding.EncodeToString, base64.RawURLEncoding.DecodeString},
	{"urn:cursor: ", `;q="1", *=*`, hex.EncodeToString, hex.DecodeString},
	{strings.Repeat("long-", 60), "", hex.EncodeToString, hex.DecodeString},
}

// EncodeCursor converts text, a cursor as written by the reference server, to the form that the
// variation uses. If text is "" or the variation does not have the trait [Cursors], it returns text
// unchanged.
func (v *Variation) EncodeCursor(text string) string {
	if text == "" || !v.Has(Cursors) {
		return text
	}
	return v.cursorEncoding.wrap(text)
}

// wrap returns text, a cursor from the reference server, in the form f.
func (f cursorEncoding) wrap(text string) string { return f.prefix + f.encode([]byte(text)) + f.suffix }

// DecodeCursor is the inverse of [Variation.EncodeCursor] for all variations: it returns the cursor
// that text encodes. If text is not an encoded cursor, DecodeCursor returns it unchanged.
func DecodeCursor(text string) string {
	for _, form := range cursorEncodings {
		inner, hasPrefix := strings.CutPrefix(text, form.prefix)
		if !hasPrefix || !strings.HasSuffix(inner, form.suffix) {
			continue
		}
		read, err := form.decode(strings.TrimSuffix(inner, form.suffix))
		if err == nil && len(read) > 0 && form.wrap(string(read)) == text {
			return string(read)
		}
	}
	return text
}

// allowsAnyCursor reports whether the document of dialect d allows clients to resume a stream from
// a cursor in each form of cursorEncodings.
func allowsAnyCursor(d *dialect.Dialect) bool {
	o, ok := d.TemplateOperation("listen")
	if !ok || !hasKind(d, spec.SlotCursor) {
		return false
	}
	const id = "6f9619ff-8b86-4d01-b42d-00cf4fc964ff"
	for _, form := range cursorEncodings {
		r, err := d.BuildRequest("listen", spec.Event{Thread: id, Run: id, Cursor: form.wrap("1-0")})
		if err != nil || d.Operation(r) != o || len(d.ValidateRequest(r)) > 0 || d.ParseRequest(r).Cursor == "" {
			return false
		}
	}
	return true
}
