package vary

import (
	"encoding/base64"
	"encoding/hex"
	"strings"

	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
)

// A cursorEncoding is how cursors are spelled: they say nothing to a client, and so can
// look like anything that fits into an id and into a header.
type cursorEncoding struct {
	prefix, suffix string
	encode         func([]byte) string
	decode         func(string) ([]byte, error)
}

// The forms tell themselves apart by what stands before.
var cursorEncodings = []cursorEncoding{
	{"==", "", base64.StdEncoding.EncodeToString, base64.StdEncoding.DecodeString},
	{"0x", "", hex.EncodeToString, hex.DecodeString},
	{`{"at":"`, `","v":[1,2]}`, base64.RawURLEncoding.EncodeToString, base64.RawURLEncoding.DecodeString},
	{"urn:cursor: ", `;q="1", *=*`, hex.EncodeToString, hex.DecodeString},
	{strings.Repeat("long-", 60), "", hex.EncodeToString, hex.DecodeString},
}

// EncodeCursor spells a cursor as this variation does. An empty one is none.
func (v *Variation) EncodeCursor(text string) string {
	if text == "" || !v.Has(Cursors) {
		return text
	}
	return v.cursorEncoding.wrap(text)
}

func (f cursorEncoding) wrap(text string) string { return f.prefix + f.encode([]byte(text)) + f.suffix }

// DecodeCursor reads what the Cursor of any variation spelled. What none did is given
// back as it is.
func DecodeCursor(text string) string {
	for _, form := range cursorEncodings {
		inner, ours := strings.CutPrefix(text, form.prefix)
		if !ours || !strings.HasSuffix(inner, form.suffix) {
			continue
		}
		read, err := form.decode(strings.TrimSuffix(inner, form.suffix))
		if err == nil && len(read) > 0 && form.wrap(string(read)) == text {
			return string(read)
		}
	}
	return text
}

// allowsAnyCursor says whether a document leaves the form of cursors open: whether any of
// our forms could be asked for.
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
