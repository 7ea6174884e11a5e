package dialect

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
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

const formMedia = "multipart/form-data"

// An upload is a file in a form.
type upload struct {
	name, media string
	data        []byte
}

// A slip is a property of a form that is a file: what it means, and which media types
// it may have; none is any.
type slip struct {
	kind   spec.Kind
	node   node
	medias []string
	laws   map[string]any // the requirement that each of them is accepted
}

// slipsOf are the files of a form.
func slipsOf(media node) map[string]slip {
	slips := map[string]slip{}
	names, properties := media.get("schema").get("properties").members()
	for i, name := range names {
		if kind, ok := properties[i].extension("x-kind"); ok {
			coding := media.get("encoding").get(name)
			s := slip{kind: spec.Kind(kind.text()), node: properties[i].deref(), laws: coding.get("x-requirement").object()}
			for one := range strings.SplitSeq(coding.get("contentType").text(), ",") {
				if one = strings.TrimSpace(one); one != "" {
					s.medias = append(s.medias, one)
				}
			}
			slips[name] = s
		}
	}
	return slips
}

// takes says whether a file may have a media type.
func (s slip) takes(media string) bool {
	media, _, err := mime.ParseMediaType(media)
	return len(s.medias) == 0 || err == nil && slices.ContainsFunc(s.medias, func(one string) bool {
		family, any := strings.CutSuffix(one, "/*")
		return one == media || any && strings.HasPrefix(media, family+"/")
	})
}

// What a form may have, to be read at all: bytes, fields, and bytes in the head of a
// field. Nobody's document allows more.
const (
	mostForm  = 16 << 20
	mostParts = 100
	mostHead  = 16 << 10
)

// A twice is a field that is there more than once: which of them counts, nobody says.
type twice struct{ name string }

func (e twice) Error() string { return "is there more than once" }

// decodeForm reads a form: texts as strings, files as uploads.
func decodeForm(r spec.Request, slips map[string]slip) (map[string]any, error) {
	_, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || params["boundary"] == "" {
		return nil, errors.New("the content type has no boundary")
	}
	form := map[string]any{}
	reader := multipart.NewReader(bytes.NewReader(r.Body), params["boundary"])
	for range mostParts {
		part, err := reader.NextRawPart()
		if err == io.EOF && bytes.Contains(r.Body, []byte("--"+params["boundary"]+"--")) {
			return form, nil
		}
		if err != nil {
			return nil, fmt.Errorf("it is not multipart: %w", err)
		}
		if err := readField(form, part, slips); err != nil {
			return nil, err
		}
	}
	return nil, fmt.Errorf("it has more than %d fields", mostParts)
}

// readField reads one field of a form. A file of which the type is not said is a text
// (RFC 7578 section 4.4).
func readField(form map[string]any, part *multipart.Part, slips map[string]slip) error {
	head := 0
	for name, values := range part.Header {
		for _, v := range values {
			head += len(name) + len(v)
		}
	}
	name := part.FormName()
	switch _, there := form[name]; {
	case head > mostHead:
		return fmt.Errorf("the head of a field has more than %d bytes", mostHead)
	case name == "":
		return errors.New("a field has no name")
	case there:
		return twice{name}
	}
	data, err := io.ReadAll(part)
	if err != nil {
		return fmt.Errorf("it is not multipart: %w", err)
	}
	if _, isFile := slips[name]; isFile || part.FileName() != "" { // also one that nobody asked for
		form[name] = upload{part.FileName(), cmp.Or(part.Header.Get("Content-Type"), "text/plain"), data}
		return nil
	}
	if !utf8.Valid(data) {
		return fmt.Errorf("the field %.60q is not valid UTF-8", name)
	}
	form[name] = string(data)
	return nil
}

var quoter = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\r", "%0D", "\n", "%0A")

// boundary stands between the fields of a form. It is in no file that we send.
const boundary = "streamassay-7MA4YWxkTrZu0gW"

// encodeForm writes a form, fields by name, but files last: many servers deal with a
// file as soon as it comes, and want to know by then what the texts say.
func encodeForm(form map[string]any) (body []byte, media string) {
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	_ = w.SetBoundary(boundary) // it is a right one
	names := slices.Sorted(maps.Keys(form))
	slices.SortStableFunc(names, func(a, b string) int {
		_, file := form[a].(upload)
		_, other := form[b].(upload)
		switch {
		case file == other:
			return 0
		case other:
			return -1
		}
		return 1
	})
	for _, name := range names {
		h := textproto.MIMEHeader{"Content-Disposition": {`form-data; name="` + quoter.Replace(name) + `"`}}
		data := []byte(carry(form[name]))
		if f, ok := form[name].(upload); ok {
			h["Content-Disposition"][0] += `; filename="` + quoter.Replace(f.name) + `"`
			h.Set("Content-Type", f.media)
			data = f.data
		}
		part, err := w.CreatePart(h)
		if err == nil {
			_, _ = part.Write(data) // into memory
		}
	}
	_ = w.Close()
	return b.Bytes(), w.FormDataContentType()
}

// filed is a form whose files stand in an example: {filename, contentType, base64,
// zeros}, where zeros are so many bytes more.
func filed(form map[string]any) map[string]any {
	out := map[string]any{}
	for name, v := range form {
		out[name] = v
		if f, ok := v.(map[string]any); ok {
			data, _ := base64.StdEncoding.DecodeString(carry(f["base64"]))
			zeros, _ := integer(node{v: f["zeros"]})
			out[name] = upload{carry(f["filename"]), carry(f["contentType"]), append(data, make([]byte, zeros)...)}
		}
	}
	return out
}

// judgeForm says where a form breaks the document. Lengths of files are in bytes.
func (d *Dialect) judgeForm(b body, r spec.Request, outer []place) (any, []spec.Violation) {
	if len(r.Body) > mostForm { // whoever reads it need not be right about it
		return nil, []spec.Violation{{Location: "body", Message: fmt.Sprintf("the request body has %d bytes: at most %d are read", len(r.Body), mostForm)}}
	}
	form, err := decodeForm(r, b.slips)
	if again, ok := errors.AsType[twice](err); ok {
		places := append([]place{{b.node.get("schema").get("properties").get(again.name).at, 1}}, outer...)
		return nil, []spec.Violation{d.because("body", breach{at: []string{again.name}, places: places, keyword: "twice", path: again.name, seen: err.Error()})}
	}
	if err != nil {
		return nil, []spec.Violation{d.because("body", breach{places: outer, keyword: "multipart", seen: "cannot be read as a form: " + err.Error()})}
	}
	var broken []spec.Violation
	flat := maps.Clone(form)
	for name, v := range form {
		if _, file := v.(upload); file {
			flat[name] = "x"
		}
	}
	for _, name := range slices.Sorted(maps.Keys(b.slips)) {
		s := b.slips[name]
		f, ok := form[name].(upload)
		if !ok {
			continue
		}
		most, bounded := integer(s.node.get("maxLength"))
		if !bounded {
			most = len(f.data)
		}
		flat[name] = strings.Repeat("x", min(len(f.data), most+1))
		if !s.takes(f.media) {
			broken = append(broken, d.because("body", breach{
				at: []string{name}, places: append([]place{{s.node.at, 1}}, outer...), keyword: "content-type",
				path: name, seen: "has the type " + shown(f.media), want: "expected " + orList(s.medias),
			}))
		}
	}
	for _, br := range d.source.breaches(form, b.validate(flat), outer) {
		broken = append(broken, d.because("body", br))
	}
	return form, broken
}

// hearFiles are the files of a form, as parts of the request, and what they exercise.
func (b body) hearFiles(form any) (parts []spec.Event, upheld []string) {
	fields, _ := form.(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(b.slips)) {
		if f, ok := fields[name].(upload); ok {
			media, _, _ := mime.ParseMediaType(f.media)
			parts = append(parts, spec.Event{Kind: b.slips[name].kind, Frame: -1, Name: f.name, Type: media, Text: string(f.data)})
			if law, ok := b.slips[name].laws[media].(string); ok {
				upheld = append(upheld, law)
			}
		}
	}
	return parts, upheld
}

// aliens are files of types that no form here is for: name, type and bytes agree, for
// servers may go by any of them.
var aliens = []upload{
	{"note.txt", "text/plain", []byte("This is a text, and nothing else.\n")},
	{"speech.mp3", "audio/mpeg", bytes.Repeat(append([]byte{0xff, 0xfb, 0x90, 0}, make([]byte, 413)...), 38)}, // a second of silence
}

// form breaks what a document says of a form.
func (m *mutator) form(b body) {
	bad := m.valid
	bad.Header, bad.Body = bad.Header.With("Content-Type", jsonMedia), []byte("{}")
	m.add("header Content-Type is "+jsonMedia, bad, m.valid)
	bad = m.valid
	bad.Header = bad.Header.With("Content-Type", formMedia)
	m.add("header Content-Type has no boundary", bad, m.valid)
	bad = m.valid
	bad.Body = bad.Body[:len(bad.Body)/2]
	m.add("body ends too early to be multipart", bad, m.valid)
	form, err := decodeForm(m.valid, b.slips)
	if err != nil {
		return
	}
	m.boundary()
	for _, name := range slices.Sorted(maps.Keys(form)) {
		again := m.valid
		again.Body = slices.Concat(again.Body[:len(again.Body)-len("--\r\n")], []byte("\r\n"), repeated(form, name))
		m.add("body /"+name+" is there twice", again, m.valid)
	}
	for _, name := range b.node.get("schema").get("required").strings() {
		if v := form[name]; v != nil {
			moved := maps.Clone(form)
			moved["x_"+name] = v
			m.add("body /"+name+" is called x_"+name, m.field(moved, name, nil), m.valid)
		}
		m.add("body /"+name+" is missing", m.field(form, name, nil), m.valid)
	}
	for _, name := range slices.Sorted(maps.Keys(b.slips)) {
		if f, ok := form[name].(upload); ok {
			m.file(form, name, f, b.slips[name])
		}
	}
}

// boundary says another boundary than the one that stands in the body.
func (m *mutator) boundary() {
	bad := m.valid
	bad.Header = bad.Header.With("Content-Type", formMedia+"; boundary=another")
	m.add("header Content-Type names another boundary", bad, m.valid)
}

// repeated is the rest of a form that says a field again: a head, its value and the end.
func repeated(form map[string]any, name string) []byte {
	body, _ := encodeForm(map[string]any{name: form[name]})
	return bytes.TrimPrefix(body, []byte("--"+boundary+"\r\n"))
}

// field is the valid request with one field of its form replaced, or taken out.
func (m *mutator) field(form map[string]any, name string, v any) spec.Request {
	changed := maps.Clone(form)
	if changed[name] = v; v == nil {
		delete(changed, name)
	}
	if len(changed) == 0 { // a form has one field at least
		changed["note"] = "nothing"
	}
	r := m.valid
	body, media := encodeForm(changed)
	r.Body, r.Header = body, r.Header.With("Content-Type", media)
	return r
}

// file breaks what a document says of a file.
func (m *mutator) file(form map[string]any, name string, f upload, s slip) {
	where := "body /" + name
	m.add(where+" is empty", m.field(form, name, upload{f.name, f.media, nil}), m.valid)
	for _, alien := range aliens {
		m.add(where+" is of type "+alien.media, m.field(form, name, alien), m.valid)
	}
	if most, ok := integer(s.node.get("maxLength")); ok {
		over, under := most+most/20, most-most/20 // where exactly a megabyte ends is a matter of taste
		m.add(fmt.Sprintf("%s has %d bytes", where, over),
			m.field(form, name, upload{f.name, f.media, grown(f.data, over)}),
			m.field(form, name, upload{f.name, f.media, grown(f.data, under)}))
	}
}

// grown is a file made larger by what its readers pass over: bytes after its end, which
// in RIFF (WAV) are a chunk of junk.
func grown(data []byte, size int) []byte {
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

// isLink says whether a request is for a link that the server gave: it names the host
// as well, which what the document describes does not.
func isLink(r spec.Request) bool {
	return r.Method == "GET" && (strings.HasPrefix(r.Target, "http://") || strings.HasPrefix(r.Target, "https://"))
}
