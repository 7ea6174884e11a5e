package dialect

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"maps"
	"mime"
	"mime/multipart"
	"net/textproto"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/streamassay/streamassay/spec"
)

const formMediaType = "multipart/form-data"

// A formFile is a file in a form.
type formFile struct {
	name  string // file name
	media string // media type, possibly with parameters
	data  []byte // content
}

// A formFileProperty describes a property of a documented form whose value is a file.
type formFileProperty struct {
	kind         spec.Kind      // kind of the part to which the file is decoded
	node         node           // schema of the property
	mediaTypes   []string       // accepted media types; empty means any
	requirements map[string]any // media type → id (a string) of the requirement that it is accepted
}

// fileParts returns, by name, the properties of a documented form that are files. These are the
// properties with the extension x-kind. The argument media is the media type object of the form.
func fileParts(media node) map[string]formFileProperty {
	files := map[string]formFileProperty{}
	for name, property := range media.get("schema").get("properties").members() {
		if kind := property.get("x-kind"); kind.exists() {
			coding := media.get("encoding").get(name)
			s := formFileProperty{
				kind: spec.Kind(kind.text()), node: property.deref(),
				requirements: coding.get("x-requirement").object(),
			}
			for one := range strings.SplitSeq(coding.get("contentType").text(), ",") {
				if one = strings.TrimSpace(one); one != "" {
					s.mediaTypes = append(s.mediaTypes, one)
				}
			}
			files[name] = s
		}
	}
	return files
}

// acceptsMediaType reports whether the document allows files of the given media type for the
// property. Parameters of the type are ignored. If the document lists no types, all are allowed.
func (s formFileProperty) acceptsMediaType(media string) bool {
	media, _, err := mime.ParseMediaType(media)
	return len(s.mediaTypes) == 0 || err == nil && slices.ContainsFunc(s.mediaTypes, func(one string) bool {
		family, any := strings.CutSuffix(one, "/*")
		return one == media || any && strings.HasPrefix(media, family+"/")
	})
}

// hasExactMediaTypes reports whether the document lists the media types of the property and none of
// them is a range, such as image/*. A server can then decide by the media type alone whether to
// accept a file.
func (s formFileProperty) hasExactMediaTypes() bool {
	return len(s.mediaTypes) > 0 && !slices.ContainsFunc(s.mediaTypes, func(one string) bool {
		return strings.HasSuffix(one, "/*")
	})
}

// Limits of a form, which keep a malicious request from using much memory. A form that exceeds one
// of them is not parsed and counts as invalid. The limits that the documents set are lower.
const (
	maxFormBytes       = 16 << 20 // bytes of the body
	maxFormFields      = 100
	maxPartHeaderBytes = 16 << 10 // bytes of the header of one field
)

// A duplicateFormFieldError reports a form field that occurs more than once. Servers differ in
// which of its values they use, so a form with such a field is invalid.
type duplicateFormFieldError struct{ name string }

// Error returns what is wrong, without the name of the field: "occurs more than once".
func (e duplicateFormFieldError) Error() string { return "occurs more than once" }

// decodeForm decodes the form in the body of r and returns its fields by name. A text field is a
// string, and a file is a formFile. A field is a file if it has a file name or if its name is in
// the argument files. The error is a duplicateFormFieldError if a field occurs more than once. Any
// other error means that the body is not a valid form or exceeds a limit.
func decodeForm(r spec.Request, files map[string]formFileProperty) (map[string]any, error) {
	_, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || params["boundary"] == "" {
		return nil, errors.New("the content type has no boundary")
	}
	form := map[string]any{}
	reader := multipart.NewReader(bytes.NewReader(r.Body), params["boundary"])
	for fields := 0; ; fields++ {
		part, err := reader.NextRawPart()
		if err == io.EOF && bytes.Contains(r.Body, []byte("--"+params["boundary"]+"--")) {
			return form, nil
		}
		if err != nil {
			return nil, fmt.Errorf("not valid multipart: %w", err)
		}
		if fields == maxFormFields {
			return nil, fmt.Errorf("more than %d fields", maxFormFields)
		}
		if err := readField(form, part, files); err != nil {
			return nil, err
		}
	}
}

// readField reads part, one field of a multipart form, and adds its value to form under the name of
// the field. The argument files is as in decodeForm. A file without a Content-Type gets the media
// type text/plain (RFC 7578, section 4.4). If form already has a field with that name, the error is
// a duplicateFormFieldError. readField also returns an error if the field is invalid or cannot be
// read. In case of an error, it does not change form.
func readField(form map[string]any, part *multipart.Part, files map[string]formFileProperty) error {
	head := 0
	for name, values := range part.Header {
		for _, v := range values {
			head += len(name) + len(v)
		}
	}
	name := part.FormName()
	switch _, exists := form[name]; {
	case head > maxPartHeaderBytes:
		return fmt.Errorf("the header of a field has more than %d bytes", maxPartHeaderBytes)
	case name == "":
		return errors.New("a field has no name")
	case exists:
		return duplicateFormFieldError{name}
	}
	data, err := io.ReadAll(part)
	if err != nil {
		return fmt.Errorf("not valid multipart: %w", err)
	}
	// A file name makes a field a file even if the document does not describe one.
	if _, isFile := files[name]; isFile || part.FileName() != "" {
		form[name] = formFile{part.FileName(), cmp.Or(part.Header.Get("Content-Type"), "text/plain"), data}
		return nil
	}
	if !utf8.Valid(data) {
		return fmt.Errorf("the field %.60q is not valid UTF-8", name)
	}
	form[name] = string(data)
	return nil
}

var parameterEscaper = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\r", "%0D", "\n", "%0A")

// formBoundary returns the boundary with which form is encoded as multipart/form-data (RFC 7578,
// section 4.1). The boundary contains a hash of the fields. Equal forms therefore have equal
// boundaries, and a field is unlikely to contain the boundary.
func formBoundary(form map[string]any) string {
	h := fnv.New64a() // writing to it never fails
	for _, name := range slices.Sorted(maps.Keys(form)) {
		if f, ok := form[name].(formFile); ok {
			_, _ = fmt.Fprintf(h, "%q %q %q ", name, f.name, f.media)
			_, _ = h.Write(f.data)
		} else {
			_, _ = fmt.Fprintf(h, "%q %q ", name, slotText(form[name]))
		}
	}
	return fmt.Sprintf("streamassay-%016x", h.Sum64())
}

// encodeForm is like encodeFormWith, with a boundary that depends on the form.
func encodeForm(form map[string]any) (body []byte, media string) {
	return encodeFormWith(formBoundary(form), form)
}

// encodeFormWith returns the body of a form with the given fields, and its media type with the
// given boundary. The fields are as in decodeForm. Text fields come before files, because many
// servers process a file as soon as it arrives and need the text fields by then. Within both
// groups, fields are ordered by name.
func encodeFormWith(boundary string, form map[string]any) (body []byte, media string) {
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	_ = w.SetBoundary(boundary) // always valid
	isFile := func(name string) bool { _, ok := form[name].(formFile); return ok }
	names := slices.Sorted(maps.Keys(form))
	files := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !isFile(name) })
	names = append(slices.DeleteFunc(names, isFile), files...)
	for _, name := range names {
		h := textproto.MIMEHeader{"Content-Disposition": {`form-data; name="` + parameterEscaper.Replace(name) + `"`}}
		data := []byte(slotText(form[name]))
		if f, ok := form[name].(formFile); ok {
			h["Content-Disposition"][0] += `; filename="` + parameterEscaper.Replace(f.name) + `"`
			h.Set("Content-Type", f.media)
			data = f.data
		}
		part, err := w.CreatePart(h)
		if err == nil {
			_, _ = part.Write(data) // never fails
		}
	}
	_ = w.Close()
	return b.Bytes(), w.FormDataContentType()
}

// withFiles returns a copy of an example form in which a formFile replaces each description of a
// file. A description is an object with the members filename, contentType, base64 (the content) and
// zeros (the number of zero bytes to append to the content).
func withFiles(form map[string]any) map[string]any {
	out := map[string]any{}
	for name, v := range form {
		out[name] = v
		if f, ok := v.(map[string]any); ok {
			data, _ := base64.StdEncoding.DecodeString(slotText(f["base64"]))
			zeros, _ := intValue(node{value: f["zeros"]})
			out[name] = formFile{slotText(f["filename"]), slotText(f["contentType"]), append(data, make([]byte, zeros)...)}
		}
	}
	return out
}

// validateForm decodes the form in the body of r with decodeForm. It returns the form and the
// violations of the schema of b and of the media types that b accepts. A maxLength of a file is
// taken as a number of bytes. If the body is too large or is not a valid form, the form is nil, and
// the result has a single violation that describes the problem. The argument outer lists the
// objects of the document that use the schema, innermost first: the media type and its operation.
// They may have an x-error, which states how an invalid form is refused.
func (d *Dialect) validateForm(
	b documentedRequestBody, r spec.Request, outer []documentLocation,
) (any, []spec.Violation) {
	if len(r.Body) > maxFormBytes { // servers may accept what is not examined here
		message := fmt.Sprintf("the request body has %d bytes: at most %d are read", len(r.Body), maxFormBytes)
		return nil, []spec.Violation{{Location: "body", Message: message}}
	}
	form, err := decodeForm(r, b.files)
	if duplicate, ok := errors.AsType[duplicateFormFieldError](err); ok {
		property := b.node.get("schema").get("properties").get(duplicate.name)
		return nil, []spec.Violation{d.newViolation("body", schemaError{
			location: []string{duplicate.name}, documentLocations: append([]documentLocation{{property.pointer, 1}}, outer...),
			keyword: "twice", path: duplicate.name, problem: err.Error(),
		})}
	}
	if err != nil {
		return nil, []spec.Violation{d.newViolation("body", schemaError{
			documentLocations: outer, keyword: "multipart", problem: "cannot be read as a form: " + err.Error(),
		})}
	}
	var violations []spec.Violation
	flat := maps.Clone(form)
	for name, v := range form {
		if _, file := v.(formFile); file {
			flat[name] = "x"
		}
	}
	for _, name := range slices.Sorted(maps.Keys(b.files)) {
		s := b.files[name]
		f, ok := form[name].(formFile)
		if !ok {
			continue
		}
		limit, bounded := intValue(s.node.get("maxLength"))
		if !bounded {
			limit = len(f.data)
		}
		flat[name] = strings.Repeat("x", min(len(f.data), limit+1))
		if !s.acceptsMediaType(f.media) {
			violations = append(violations, d.newViolation("body", schemaError{
				location: []string{name}, documentLocations: append([]documentLocation{{s.node.pointer, 1}}, outer...),
				keyword: "content-type", path: name,
				problem: "has the type " + displayValue(f.media), expected: "expected " + joinOr(s.mediaTypes),
			}))
		}
	}
	return form, append(violations, d.violations("body", form, b.validate(flat), outer)...)
}

// fileEvents returns the files of a form as parts of a request, and the ids of the requirements
// that their media types exercise. The argument form is as returned by decodeForm.
func (b documentedRequestBody) fileEvents(form any) (parts []spec.Event, exercised []string) {
	fields, _ := form.(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(b.files)) {
		if f, ok := fields[name].(formFile); ok {
			media, _, _ := mime.ParseMediaType(f.media)
			part := spec.Event{Kind: b.files[name].kind, Frame: -1, Name: f.name, Type: media, Text: string(f.data)}
			parts = append(parts, part)
			if id, ok := b.files[name].requirements[media].(string); ok {
				exercised = append(exercised, id)
			}
		}
	}
	return parts, exercised
}

// noteText is the content of test files that are plain text, whatever their declared media type.
const noteText = "This is a text, and nothing else.\n"

// wrongTypeFiles holds files that every server must refuse, whether it checks the declared media
// type or the content of a file. Some of them have a name or a media type that resembles those of
// accepted images or recordings.
var wrongTypeFiles = []formFile{
	{"note.txt", "text/plain", []byte(noteText)},
	{"image.png", "text/plain", []byte(noteText)},
	{"note.txt", "ximage/png", []byte(noteText)},
	{"note.txt", "imagex/png", []byte(noteText)},
	{"note.pdf", "application/pdf", []byte("%PDF-1.4\n%%EOF\n")},
	{"note.bin", "application/octet-stream", []byte(noteText)},
	{"image.png", "application/octet-stream", []byte(noteText)},
	{"note.txt", "audio/wavx", []byte(noteText)},
	{"speech.ogg", "audio/ogg", append([]byte("OggS\x00\x02"), make([]byte, 8192)...)},
	{"speech.mp3", "audio/mpeg", bytes.Repeat(append([]byte{0xff, 0xfb, 0x90, 0}, make([]byte, 413)...), 38)}, // one second of silence
}

// breakForm adds requests whose form violates what the document specifies for the form b. The
// requests are derived from the form in the body of the valid request.
func (m *invalidRequestBuilder) breakForm(b documentedRequestBody) {
	bad := m.withContentType(jsonMediaType)
	bad.Body = []byte("{}")
	m.add("header Content-Type is "+jsonMediaType, bad, m.valid)
	m.add("header Content-Type has no boundary", m.withContentType(formMediaType), m.valid)
	bad = m.valid
	bad.Body = bad.Body[:len(bad.Body)/2]
	m.add("body ends too early to be multipart", bad, m.valid)
	form, err := decodeForm(m.valid, b.files)
	if err != nil {
		return
	}
	another := m.withContentType(formMediaType + "; boundary=another")
	m.add("header Content-Type names another boundary", another, m.valid)
	_, params, _ := mime.ParseMediaType(m.valid.Header.Get("Content-Type")) // valid, because the form was decoded
	boundary := params["boundary"]
	for _, name := range slices.Sorted(maps.Keys(form)) {
		duplicated := m.valid
		body := duplicated.Body[:len(duplicated.Body)-len("--\r\n")]
		again, _ := encodeFormWith(boundary, map[string]any{name: form[name]})
		again = bytes.TrimPrefix(again, []byte("--"+boundary)) // body already has it
		duplicated.Body = slices.Concat(body, again)
		m.add("body /"+name+" is repeated", duplicated, m.valid)
	}
	for _, name := range b.node.get("schema").get("required").strings() {
		if v := form[name]; v != nil {
			moved := maps.Clone(form)
			moved["x_"+name] = v
			m.add("body /"+name+" is called x_"+name, m.withFormField(moved, name, nil), m.valid)
		}
		m.add("body /"+name+" is missing", m.withFormField(form, name, nil), m.valid)
	}
	for _, name := range slices.Sorted(maps.Keys(b.files)) {
		if f, ok := form[name].(formFile); ok {
			m.breakFile(form, name, f, b.files[name])
		}
	}
}

// withFormField returns a copy of the valid request with the given form as its body. In that form,
// the named field has the value v or, if v is nil, is absent. If no field remains, the form gets a
// text field "note", because an empty form is not valid multipart.
func (m *invalidRequestBuilder) withFormField(form map[string]any, name string, v any) spec.Request {
	changed := maps.Clone(form)
	if changed[name] = v; v == nil {
		delete(changed, name)
	}
	if len(changed) == 0 {
		changed["note"] = "nothing"
	}
	r := m.valid
	body, media := encodeForm(changed)
	r.Body, r.Header = body, r.Header.With("Content-Type", media)
	return r
}

// breakFile adds requests with invalid files in place of f, the file in the field of form with the
// given name. The argument part is the documented property for that field.
func (m *invalidRequestBuilder) breakFile(form map[string]any, name string, f formFile, part formFileProperty) {
	where := "body /" + name
	m.add(where+" is empty, of type "+f.media, m.withFormField(form, name, formFile{f.name, f.media, nil}), m.valid)
	for _, wrong := range wrongTypeFiles {
		m.add(fmt.Sprintf("%s is %s, of type %s", where, wrong.name, wrong.media), m.withFormField(form, name, wrong), m.valid)
		if part.hasExactMediaTypes() {
			wrong = formFile{f.name, wrong.media, f.data}
			m.add(where+" is of type "+wrong.media, m.withFormField(form, name, wrong), m.valid)
		}
	}
	if limit, ok := intValue(part.node.get("maxLength")); ok {
		over, under := limit+limit/20, limit-limit/20 // servers differ in what a megabyte is
		valid := m.valid
		if !m.schemaPaths[part.node.pointer+"/maxLength"] {
			valid = m.withFormField(form, name, formFile{f.name, f.media, padFile(f.data, under)})
		} else if !m.keepsVariant() { // large files take time
			return
		}
		m.add(fmt.Sprintf("%s has %d bytes, of type %s", where, over, f.media),
			m.withFormField(form, name, formFile{f.name, f.media, padFile(f.data, over)}), valid)
	}
}

// padFile returns a copy of data, extended to at least size bytes such that decoders still find the
// same content. It appends zeros, which decoders ignore after the end of the content. In a RIFF
// file (WAV), it appends them as a JUNK chunk.
func padFile(data []byte, size int) []byte {
	const head = 8
	out := make([]byte, max(size, len(data)))
	copy(out, data)
	if junk := size - len(data) - head; junk >= 0 && bytes.HasPrefix(data, []byte("RIFF")) && len(data) > head {
		binary.LittleEndian.PutUint32(out[4:], uint32(size-head))
		copy(out[len(data):], "JUNK")
		binary.LittleEndian.PutUint32(out[len(data)+4:], uint32(junk))
	}
	return out
}

// isAbsoluteLink reports whether r is a GET request for an absolute URL, and thus for a link that
// the server issued. The targets of documented operations have only a path and a query.
func isAbsoluteLink(r spec.Request) bool {
	return r.Method == "GET" && (strings.HasPrefix(r.Target, "http://") || strings.HasPrefix(r.Target, "https://"))
}
