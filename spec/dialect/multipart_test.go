package dialect

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/streamassay/streamassay/spec"
)

func runs(t testing.TB) *Dialect {
	t.Helper()
	d, err := Open("runs")
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// formRequest returns a POST request for target with a form that consists of the given lines. The
// boundary is "b".
func formRequest(target string, lines ...string) spec.Request {
	return spec.Request{
		Method: "POST", Target: target, Header: spec.Header{{Name: "Content-Type", Value: `multipart/form-data; boundary="b"`}},
		Body: []byte(strings.Join(lines, "\r\n")),
	}
}

const threadField = "Content-Disposition: form-data; name=\"threadId\"\r\n\r\nt-1"

func fileField(name, media, data string) string {
	head := "Content-Disposition: form-data; name=\"file\"; filename=\"" + name + "\"\r\n"
	if media != "" {
		head += "Content-Type: " + media + "\r\n"
	}
	return head + "\r\n" + data
}

// TestForms checks that forms are parsed, and validated against the document.
func TestForms(t *testing.T) {
	d := runs(t)
	png := fileField("a \\\"b\\\".png", "image/png; x=y", "\x89PNG\x00\xff\r\n")
	for _, c := range []struct {
		name  string
		ask   spec.Request
		where string // location of the violation
		law   string // requirement of its first refusal, or ""
	}{
		{"whole", formRequest("/attachments", "--b", threadField, "--b", png, "--b--", ""), "", ""},
		{"a preamble, an epilogue, another field", formRequest("/attachments", "Hello", "--b", `Content-Disposition: form-data; name="x"`, "", "y", "--b", png, "--b", threadField, "--b--", "and so on"), "", ""},
		{"no thread", formRequest("/attachments", "--b", png, "--b--", ""), "body /threadId", "runs.attachments.thread-field"},
		{"no file", formRequest("/attachments", "--b", threadField, "--b--", ""), "body /file", "runs.attachments.file-field"},
		{"an empty file", formRequest("/attachments", "--b", threadField, "--b", fileField("a.png", "image/png", ""), "--b--", ""), "body /file", "runs.attachments.empty-422"},
		{"a text", formRequest("/attachments", "--b", threadField, "--b", fileField("a.txt", "text/plain", "x"), "--b--", ""), "body /file", "runs.attachments.type-422"},
		{"a file of no type", formRequest("/attachments", "--b", threadField, "--b", fileField("a.png", "", "x"), "--b--", ""), "body /file", "runs.attachments.type-422"},
		{"a file of a type that is none", formRequest("/attachments", "--b", threadField, "--b", fileField("a.png", "image/", "x"), "--b--", ""), "body /file", "runs.attachments.type-422"},
		{"a field twice", formRequest("/attachments", "--b", threadField, "--b", threadField, "--b", png, "--b--", ""), "body /threadId", ""},
		{"a file twice", formRequest("/attachments", "--b", threadField, "--b", png, "--b", png, "--b--", ""), "body /file", ""},
		{"cut", formRequest("/attachments", "--b", threadField, "--b", png), "body", "runs.errors.malformed-form"},
		{"cut in a head", formRequest("/attachments", "--b", threadField, "--b", "Content-Disp"), "body", "runs.errors.malformed-form"},
		{"no part", formRequest("/attachments", "nothing"), "body", "runs.errors.malformed-form"},
		{"a field without a name", formRequest("/attachments", "--b", "", "x", "--b", threadField, "--b", png, "--b--", ""), "body", "runs.errors.malformed-form"},
		{"a text that is none", formRequest("/attachments", "--b", threadField+"\xff", "--b", png, "--b--", ""), "body", "runs.errors.malformed-form"},
		{"a long head", formRequest("/attachments", "--b", threadField, "--b", "X: "+strings.Repeat("x", 1<<15)+"\r\n"+png, "--b--", ""), "body", "runs.errors.malformed-form"},
		{"many fields", formRequest("/attachments", strings.Repeat("--b\r\nContent-Disposition: form-data; name=\"x\"\r\n\r\n\r\n", 1)+"--b", threadField, "--b", png, many(200), "--b--", ""), "body", "runs.errors.malformed-form"},
		{"more than is looked at", formRequest("/attachments", "--b", threadField, "--b", png+strings.Repeat("x", maxFormBytes), "--b--", ""), "body", ""},
	} {
		broken := d.ValidateRequest(c.ask)
		if c.where == "" {
			if len(broken) > 0 {
				t.Errorf("%s: %v", c.name, broken)
			}
			e := d.ParseRequest(c.ask)
			f, ok := e.Last(spec.InputFile)
			if !ok || e.Thread != "t-1" || f.Name != `a "b".png` || f.Type != "image/png" || f.Text != "\x89PNG\x00\xff\r\n" {
				t.Errorf("%s: heard %q of thread %q: %q, %q", c.name, f.Text, e.Thread, f.Name, f.Type)
			}
			continue
		}
		law := ""
		if len(broken) == 1 && len(broken[0].Refusals) > 0 {
			law = broken[0].Refusals[0].Requirement
		}
		if len(broken) != 1 || broken[0].Location != c.where || law != c.law {
			t.Errorf("%s: %v, demanded by %q; want one breach in %q, by %q", c.name, broken, law, c.where, c.law)
		}
	}
}

func many(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "--b\r\nContent-Disposition: form-data; name=\"x%d\"\r\n\r\n\r\n", i)
	}
	return strings.TrimSuffix(b.String(), "\r\n")
}

// TestFileLengths checks that the size of a file is counted in bytes, whatever the file contains.
func TestFileLengths(t *testing.T) {
	d := runs(t)
	o, _ := d.TemplateOperation("transcribe")
	wav := []byte("RIFF\x24\x00\x00\x00WAVE")
	for _, c := range []struct {
		size int
		want bool
	}{{0, false}, {1, true}, {10_000_000, true}, {10_485_760, true}, {10_485_761, false}} {
		data := bytes.Repeat([]byte("é"), c.size/2+1)[:c.size]
		copy(data, wav)
		r, err := d.BuildRequest("transcribe", spec.Event{})
		if err != nil {
			t.Fatal(err)
		}
		body, media := encodeForm(map[string]any{"audio": formFile{"a.wav", "audio/x-wav", data}})
		r.Body, r.Header = body, r.Header.With("Content-Type", media)
		if broken := d.ValidateRequest(r); (len(broken) == 0) != c.want {
			t.Errorf("%s of %d bytes: %v", o.Name, c.size, broken)
		}
	}
}

// TestFormMutants checks the list of invalid forms, the requirements on the refusal of each, and
// that the valid counterpart of each is valid.
func TestFormMutants(t *testing.T) {
	d := runs(t)
	want := map[string][]string{
		"attach": {
			"header Content-Type is application/json: runs.attachments.multipart",
			"header Content-Type has no boundary: runs.errors.malformed-form",
			"body ends too early to be multipart: runs.errors.malformed-form",
			"header Content-Type names another boundary: runs.errors.malformed-form",
			"body /threadId is called x_threadId: runs.attachments.thread-field",
			"body /threadId is missing: runs.attachments.thread-field",
			"body /file is called x_file: runs.attachments.file-field",
			"body /file is missing: runs.attachments.file-field",
			"body /file is empty, of type image/png: runs.attachments.empty-422 runs.errors.code-att-empty",
			"body /file is note.txt, of type text/plain: runs.attachments.type-422",
			"body /file is image.png, of type text/plain: runs.attachments.type-422",
			"body /file is note.txt, of type ximage/png: runs.attachments.type-422",
			"body /file is note.txt, of type imagex/png: runs.attachments.type-422",
			"body /file is note.pdf, of type application/pdf: runs.attachments.type-422",
			"body /file is note.bin, of type application/octet-stream: runs.attachments.type-422",
			"body /file is image.png, of type application/octet-stream: runs.attachments.type-422",
			"body /file is note.txt, of type audio/wavx: runs.attachments.type-422",
			"body /file is speech.ogg, of type audio/ogg: runs.attachments.type-422",
			"body /file is speech.mp3, of type audio/mpeg: runs.attachments.type-422",
		},
		"transcribe": {
			"header Content-Type is application/json: runs.transcribe.multipart",
			"header Content-Type has no boundary: runs.errors.malformed-form",
			"body ends too early to be multipart: runs.errors.malformed-form",
			"header Content-Type names another boundary: runs.errors.malformed-form",
			"body /audio is called x_audio: runs.transcribe.field",
			"body /audio is missing: runs.transcribe.field",
			"body /audio is empty, of type audio/wav: runs.transcribe.empty runs.errors.code-audio-empty",
			"body /audio is note.txt, of type text/plain: runs.transcribe.type runs.errors.code-audio-format",
			"body /audio is of type text/plain: runs.transcribe.type runs.errors.code-audio-format",
			"body /audio is image.png, of type text/plain: runs.transcribe.type runs.errors.code-audio-format",
			"body /audio is note.txt, of type ximage/png: runs.transcribe.type runs.errors.code-audio-format",
			"body /audio is of type ximage/png: runs.transcribe.type runs.errors.code-audio-format",
			"body /audio is note.txt, of type imagex/png: runs.transcribe.type runs.errors.code-audio-format",
			"body /audio is of type imagex/png: runs.transcribe.type runs.errors.code-audio-format",
			"body /audio is note.pdf, of type application/pdf: runs.transcribe.type runs.errors.code-audio-format",
			"body /audio is of type application/pdf: runs.transcribe.type runs.errors.code-audio-format",
			"body /audio is note.bin, of type application/octet-stream: runs.transcribe.type runs.errors.code-audio-format",
			"body /audio is of type application/octet-stream: runs.transcribe.type runs.errors.code-audio-format",
			"body /audio is image.png, of type application/octet-stream: runs.transcribe.type runs.errors.code-audio-format",
			"body /audio is note.txt, of type audio/wavx: runs.transcribe.type runs.errors.code-audio-format",
			"body /audio is of type audio/wavx: runs.transcribe.type runs.errors.code-audio-format",
			"body /audio is speech.ogg, of type audio/ogg: runs.transcribe.type runs.errors.code-audio-format",
			"body /audio is of type audio/ogg: runs.transcribe.type runs.errors.code-audio-format",
			"body /audio is speech.mp3, of type audio/mpeg: runs.transcribe.type runs.errors.code-audio-format",
			"body /audio is of type audio/mpeg: runs.transcribe.type runs.errors.code-audio-format",
			"body /audio has 11010048 bytes, of type audio/wav: runs.transcribe.size runs.errors.code-audio-large",
		},
	}
	for phrase, want := range want {
		r, err := d.BuildRequest(phrase, sampleSlots)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, m := range d.InvalidRequests(r) {
			line := m.Name + ":"
			for _, demand := range d.ValidateRequest(m.Request)[0].Refusals {
				line += " " + demand.Requirement
			}
			got = append(got, line)
			if len(d.ValidateRequest(m.Valid)) > 0 {
				t.Errorf("%s %s: its twin breaks %v", phrase, m.Name, d.ValidateRequest(m.Valid))
			}
			if f, ok := d.ParseRequest(m.Valid).Last(spec.InputFile); !ok || phrase == "transcribe" && !isWAV(f.Text) {
				t.Errorf("%s %s: its twin has no right file", phrase, m.Name)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: the faults are\n%s\nwant\n%s", phrase, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
}

// isWAV reports whether text is a RIFF file whose chunks have their stated lengths, and which
// contains one second of sound.
func isWAV(text string) bool {
	data, found := []byte(text), false
	if len(data) < 12 || string(data[:4]) != "RIFF" || int(binary.LittleEndian.Uint32(data[4:])) != len(data)-8 || string(data[8:12]) != "WAVE" {
		return false
	}
	for data = data[12:]; len(data) >= 8; {
		n := int(binary.LittleEndian.Uint32(data[4:]))
		if n > len(data)-8 {
			return false
		}
		found = found || string(data[:4]) == "data" && n == 32000
		data = data[8+n:]
	}
	return found && len(data) == 0
}

// TestImages checks that an image in a message is parsed as a part of the message, and that it does
// not affect the text of the message.
func TestImages(t *testing.T) {
	const blocks = `[{"type":"text","text":"What is "},{"type":"binary","mimeType":"image/png","url":"https://a/b?c","id":"i","filename":"b.png"},{"type":"text","text":"this?"}]`
	for content, images := range map[string]int{blocks: 1, `"What is this?"`: 0} {
		r := spec.Request{Method: "POST", Target: "/runs", Body: []byte(`{"threadId":"550e8400-e29b-41d4-a716-446655440000","runId":"r","messages":[` +
			`{"id":"m","role":"user","content":` + content + `}],"forwardedProps":{"runtime_mode":"chat"}}`)}
		e := runs(t).ParseRequest(r)
		user, _ := e.Last(spec.InputUser)
		if len(e.Violations) > 0 || e.Text != "What is this?" || user.Text != e.Text || len(user.Parts) != images {
			t.Errorf("%s is heard as %q with %d images: %v", content, user.Text, len(user.Parts), e.Violations)
		}
		for _, image := range user.Parts {
			if image.Kind != spec.InputImage || image.Type != "image/png" || image.Text != "https://a/b?c" || image.ID != "i" || image.Name != "b.png" {
				t.Errorf("the image is heard as %+v", image)
			}
		}
	}
}

// TestLinks checks that a request for an absolute URL is a request for a link, and that its
// response is decoded as an attachment.
func TestLinks(t *testing.T) {
	for target, want := range map[string]spec.Kind{"https://a.example/runs": spec.AttachmentContent, "/runs": "", "/files/b": ""} {
		x := spec.Exchange{
			Request:  spec.Request{Method: "GET", Target: target},
			Response: spec.Response{Status: 200, Header: spec.Header{{Name: "Content-Type", Value: "image/PNG; x=y"}}, Body: []byte("\xff\x00")},
		}
		var got spec.Event
		for e := range runs(t).Events(spec.Trace{Exchanges: []spec.Exchange{x}}) {
			switch e.Kind {
			case spec.HTTPRequest:
				if want != "" && e.ID != target {
					t.Errorf("%s: asked for %q", target, e.ID)
				}
			case spec.HTTPResponse, spec.BodyEnd:
			default:
				got = e
			}
		}
		if got.Kind != want || want != "" && (got.Text != "\xff\x00" || got.Type != "image/png") {
			t.Errorf("%s is answered with %s: %q of type %q", target, got.Kind, got.Text, got.Type)
		}
	}
}

// TestFormsAreTheSame checks that the encoding of a form is deterministic, and that text fields
// precede files.
func TestFormsAreTheSame(t *testing.T) {
	d := runs(t)
	a, _ := d.BuildRequest("attach", sampleSlots)
	b, _ := d.BuildRequest("attach", sampleSlots)
	if !bytes.Equal(a.Body, b.Body) {
		t.Error("two forms that say the same differ")
	}
	if text, file := bytes.Index(a.Body, []byte(`"threadId"`)), bytes.Index(a.Body, []byte(`"file"`)); text < 0 || file < text {
		t.Errorf("the text is at %d, the file at %d", text, file)
	}
}

// FuzzMultipart checks that parsing any form ends without a panic, and that parsing and validation
// agree.
func FuzzMultipart(f *testing.F) {
	d := runs(f)
	for _, phrase := range []string{"attach", "transcribe"} {
		r, err := d.BuildRequest(phrase, sampleSlots)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(r.Header.Get("Content-Type"), r.Body[:min(len(r.Body), 600)])
	}
	whole := formRequest("", "--b", threadField, "--b", fileField("a.png", "image/png", "x"), "--b--", "")
	f.Add(`multipart/form-data; boundary="b"`, whole.Body)
	f.Add(`multipart/form-data; boundary=b`, whole.Body[:40])
	f.Add(`multipart/form-data`, whole.Body)
	f.Add(`multipart/form-data; boundary=`, []byte("--\r\n----\r\n"))
	f.Add(`multipart/form-data; boundary=b`, []byte("--b\r\nContent-Disposition: form-data; name*=utf-8''%66ile; filename=\"../../x\"\r\nContent-Transfer-Encoding: base64\r\n\r\nAA\r\n--b--"))
	f.Fuzz(func(t *testing.T, media string, body []byte) {
		for _, target := range []string{"/attachments", "/transcribe"} {
			r := spec.Request{Method: "POST", Target: target, Header: spec.Header{{Name: "Content-Type", Value: media}}, Body: body}
			e := d.ParseRequest(r)
			if len(e.Violations) != len(d.ValidateRequest(r)) {
				t.Fatalf("heard and judged differ: %v", e.Violations)
			}
			file, ok := e.Last(spec.InputFile)
			if e.Valid() && (!ok || file.Text == "" || !bytes.Contains(body, []byte(file.Text))) {
				t.Fatalf("%q is whole, and its file is %q", body, file.Text)
			}
			if e.Valid() {
				for _, m := range d.InvalidRequests(r) {
					if len(d.ValidateRequest(m.Request)) != 1 {
						t.Fatalf("%s breaks %v", m.Name, d.ValidateRequest(m.Request))
					}
				}
			}
		}
	})
}

// TestFormFields checks the limit on the number of fields of a form.
func TestFormFields(t *testing.T) {
	for n, want := range map[int]bool{maxFormFields: true, maxFormFields + 1: false} {
		var lines []string
		for i := range n {
			lines = append(lines, "--b", fmt.Sprintf("Content-Disposition: form-data; name=\"f%d\"\r\n\r\nx", i))
		}
		form, err := decodeForm(formRequest("/attachments", append(lines, "--b--", "")...), nil)
		if (err == nil) != want || want && len(form) != n {
			t.Errorf("%d fields: got %d and %v", n, len(form), err)
		}
	}
}
