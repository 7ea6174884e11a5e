package suites

import (
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/streamassay/streamassay/internal/wire"
	"github.com/streamassay/streamassay/spec"
)

// Constants of the attachments scenario.
const (
	missingFileSuffix = "-conformance-nothing"                // no path or bucket on the server has this suffix
	foreignURL        = "https://elsewhere.invalid/image.png" // does not exist (RFC 2606, section 2)
	maxFetchBytes     = 1 << 20                               // the client stops reading a file after this many bytes
)

// runAttachments plays the attachments scenario. It uploads files of each type for which the
// dialect has a template, fetches them, and sends two of them in messages. It fetches the images to
// which the history links. It requests two new signed URLs for one file, and sends an image with
// the first of them. It also requests signed URLs for files that do not exist, and sends an image
// that is on a different server. Finally, it sends images in the other forms that messages can
// have. Checks judge the responses.
func runAttachments(t *Conversation) {
	t.noteNewThread()
	image, ok := t.elicit("uploaded")
	if !ok {
		return
	}
	stored := t.LastEvent(spec.AttachmentStored)
	t.fetch(stored.Text)
	t.uploadOthers()
	t.fetch(stored.Text)
	t.SendAndRead("uploaded", image)
	t.completeHistory()
	// A history may divide an answer, so no answer may end with the text of another one.
	t.SendAndRead("prompt", t.PromptEvent("text", "only a text"))
	if t.HasTemplate("attach-again") && t.upload(t.BuildRequest("attach-again", spec.Event{})) {
		other := t.PromptEvent("text", "another image")
		other.ID, other.Type = t.LastEvent(spec.AttachmentStored).Text, image.Type
		if other.ID != "" {
			t.SendAndRead("uploaded", other)
		}
	}
	t.completeHistory()
	for _, m := range t.completeHistory().Parts { // the links in a repeated response must be valid, too
		for _, p := range m.Parts {
			if p.Kind == spec.HistoryImage {
				t.fetch(p.Text)
			}
		}
	}
	if t.SendTemplate("sign", spec.Event{Name: stored.Name, ID: stored.ID}) {
		image.ID = t.LastEvent(spec.AttachmentSigned).Text
		t.fetch(image.ID)
		t.fetch(stored.Text) // the first link is as valid as before
		t.SendAndRead("uploaded", image)
		if t.SendTemplate("sign", spec.Event{Name: stored.Name, ID: stored.ID}) {
			t.fetch(t.LastEvent(spec.AttachmentSigned).Text)
			t.fetch(image.ID)
		}
	}
	t.SendTemplate("sign", spec.Event{Name: stored.Name, ID: stored.ID + missingFileSuffix})
	t.SendTemplate("sign", spec.Event{Name: stored.Name + missingFileSuffix, ID: stored.ID})
	image.ID = foreignURL
	t.StartRun("uploaded", image)
	t.sendImageTypes()
	t.sendImageForms()
}

// sendImageForms tests the forms of messages with images for which the dialect has templates, such
// as an image before the text or two images. It omits the forms of the templates "uploaded" and
// "uploaded-typed". It sends each message in a new thread, and then requests the histories of these
// threads.
func (t *Conversation) sendImageForms() {
	o, _ := t.dialect.TemplateOperation("uploaded")
	var threads []string
	for _, template := range o.Templates() {
		if template == "uploaded" || template == "uploaded-typed" || plainReplyTemplate(template) != "uploaded" {
			continue
		}
		t.Thread = t.NewID()
		image, ok := t.elicit(template)
		if ok && t.HasTemplate("attach-name") && t.SendTemplate("attach-name", spec.Event{}) {
			image.Name = t.LastEvent(spec.AttachmentStored).Text
		}
		// This text is not a test prompt, because the documents do not state how a server joins
		// several texts.
		if image.Text = "Look at this"; ok {
			t.SendAndRead(template, image)
			threads = append(threads, t.Thread)
		}
	}
	t.completeHistories(threads)
}

// uploadOthers uploads one file for each template of the upload operation and fetches the file. It
// then requests a new signed URL and fetches the file from that URL. Three of the upload requests
// have an unusual form: in that of "attach", the multipart boundary is quoted; in that of
// "attach-again", the file precedes the other fields; in that of "attach-name", all fields have a
// Content-Type. uploadOthers omits the [optionalTemplates].
func (t *Conversation) uploadOthers() {
	o, _ := t.dialect.TemplateOperation("attach")
	for _, template := range o.Templates() {
		if slices.Contains(optionalTemplates, template) {
			continue
		}
		r := t.BuildRequest(template, spec.Event{})
		switch template {
		case "attach":
			r = withQuotedBoundary(r)
		case "attach-again":
			r = withReversedFields(r)
		case "attach-name":
			r = withTextFieldTypes(r)
		}
		if !t.upload(r) {
			continue
		}
		stored := t.LastEvent(spec.AttachmentStored)
		t.fetch(stored.Text)
		if t.SendTemplate("sign", spec.Event{Name: stored.Name, ID: stored.ID}) {
			t.fetch(t.LastEvent(spec.AttachmentSigned).Text)
		}
	}
}

// optionalTemplates are the templates whose requests a server may refuse although they are valid.
// The protocols do not state which types of images a server must store, or how short an audio file
// for transcription may be.
var optionalTemplates = []string{"attach-type-svg", "attach-type-icon", "transcribe-short"}

// sendImageTypes uploads images of the types that a server may refuse; see [optionalTemplates]. If
// the server accepts an image, sendImageTypes sends a message that contains it. It removes refused
// uploads from the recording.
func (t *Conversation) sendImageTypes() {
	o, _ := t.dialect.TemplateOperation("attach")
	for _, template := range o.Templates() {
		if !slices.Contains(optionalTemplates, template) || !t.HasTemplate("uploaded-typed") {
			continue
		}
		r := t.BuildRequest(template, spec.Event{})
		file, _ := t.dialect.ParseRequest(r).Last(spec.InputFile)
		t.forgetIfRefused(func() { t.Send(r) })
		if stored := t.LastEvent(spec.AttachmentStored); stored.ID != "" && stored.Type == file.Type {
			image := t.PromptEvent("text", "an image of another type")
			image.ID, image.Type = stored.Text, file.Type
			t.StartRun("uploaded-typed", image)
		}
	}
}

// upload sends r, a valid request with a file, and reports whether the server accepted it. If the
// server refuses the file as too large (status 413), upload removes the exchange from the
// recording, because the protocols do not state the maximum size.
func (t *Conversation) upload(r spec.Request) bool {
	n := t.exchangeCount()
	if t.Send(r) {
		return true
	}
	if t.LastEvent(spec.HTTPResponse).StatusCode == http.StatusRequestEntityTooLarge {
		t.forget(n)
	}
	return false
}

// fetch sends a GET request without credentials to link, a signed URL. It sends nothing if link is
// not a valid URL of the target's origin, or if it contains a user name or unescaped characters.
func (t *Conversation) fetch(link string) {
	u, err := url.Parse(link)
	unsafe := func(c rune) bool { return c <= ' ' || c >= 0x7f }
	if err != nil || !isSameOrigin(u, t.target.Base) || strings.ContainsFunc(link, unsafe) {
		return
	}
	path := u.EscapedPath()
	if u.RawQuery != "" {
		path += "?" + u.RawQuery
	}
	link, _, _ = strings.Cut(link, "#")
	r := spec.Request{Method: "GET", Target: link, Principal: spec.Anonymous, Header: spec.Header{
		{Name: "Accept", Value: "*/*"}, {Name: "Accept-Encoding", Value: "identity"},
	}}
	enough := wire.StopWhen{Until: func(r spec.Response) bool { return len(r.Body) > maxFetchBytes }}
	t.doExchange(t.clients[spec.PrimaryUser].AtRoot(), r, path, enough)
}

// isSameOrigin reports whether link has the same origin (scheme, host and port) as base. It returns
// false if link has no host or contains a user name.
func isSameOrigin(link, base *url.URL) bool {
	address := func(u *url.URL) string {
		port := u.Port()
		if port == "" {
			port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
		}
		return u.Scheme + "://" + net.JoinHostPort(strings.ToLower(u.Hostname()), port)
	}
	return link.Host != "" && link.User == nil && address(link) == address(base)
}
