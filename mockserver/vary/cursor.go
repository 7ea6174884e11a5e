package vary

import (
	"encoding/base64"
	"encoding/hex"
	"strings"

	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
)

// A cursorForm is how cursors are spelled: they say nothing to a client, and so can
// look like anything that fits into an id and into a header.
type cursorForm struct {
	before, after string
	spell         func([]byte) string
	read          func(string) ([]byte, error)
}

// The forms tell themselves apart by what stands before.
var cursorForms = []cursorForm{
	{"==", "", base64.StdEncoding.EncodeToString, base64.StdEncoding.DecodeString},
	{"0x", "", hex.EncodeToString, hex.DecodeString},
	{`{"at":"`, `","v":[1,2]}`, base64.RawURLEncoding.EncodeToString, base64.RawURLEncoding.DecodeString},
	{"urn:cursor: ", `;q="1", *=*`, hex.EncodeToString, hex.DecodeString},
	{strings.Repeat("long-", 60), "", hex.EncodeToString, hex.DecodeString},
}

// Cursor spells a cursor as this variation does. An empty one is none.
func (v *Variation) Cursor(text string) string {
	if text == "" || !v.Has(Cursors) {
		return text
	}
	return v.cursors.of(text)
}

func (f cursorForm) of(text string) string { return f.before + f.spell([]byte(text)) + f.after }

// Uncursor reads what the Cursor of any variation spelled. What none did is given
// back as it is.
func Uncursor(text string) string {
	for _, form := range cursorForms {
		inner, ours := strings.CutPrefix(text, form.before)
		if !ours || !strings.HasSuffix(inner, form.after) {
			continue
		}
		read, err := form.read(strings.TrimSuffix(inner, form.after))
		if err == nil && len(read) > 0 && form.of(string(read)) == text {
			return string(read)
		}
	}
	return text
}

// openCursors says whether a document leaves the form of cursors open: whether any of
// our forms could be asked for.
func openCursors(d *dialect.Dialect) bool {
	o, ok := d.TemplateOperation("listen")
	if !ok || !hasKind(d, spec.SlotCursor) {
		return false
	}
	const id = "6f9619ff-8b86-4d01-b42d-00cf4fc964ff"
	for _, form := range cursorForms {
		r, err := d.BuildRequest("listen", spec.Event{Thread: id, Run: id, Cursor: form.of("1-0")})
		if err != nil || d.Operation(r) != o || len(d.ValidateRequest(r)) > 0 || d.ParseRequest(r).Cursor == "" {
			return false
		}
	}
	return true
}
