package suites

import (
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/streamassay/streamassay/internal/wire"
	"github.com/streamassay/streamassay/spec"
)

// Constants of the attachments scenario. The server must accept neither a path or bucket that ends
// with missingFileSuffix nor an image whose URL is foreignURL.
const (
	missingFileSuffix = "-conformance-nothing"                // appended to a path or bucket, so that it does not exist
	foreignURL        = "https://elsewhere.invalid/image.png" // no server can have this host (RFC 2606, section 2)
	maxFetchBytes     = 1 << 20                               // the client stops reading a file after this many bytes
)

// runAttachments plays the attachments scenario. It uploads an image and fetches it, uploads and
// fetches files of the other types for which the dialect has templates, and then fetches the first
// image again. It sends the first image in a message, sends a message without an image, requests
// the history twice, and fetches all images to which the second response links. It then requests a
// new signed URL for the first image, fetches the image from it, and sends a message with the new
// URL. Then it requests signed URLs for a path and for a bucket that do not exist, and sends a
// message with the URL of an image on a different server. Finally, it sends images in other forms
// of messages. Checks judge the responses.
func runAttachments(t *Conversation) {
	image, ok := t.elicit("uploaded")
	if !ok {
		return
	}
	stored := t.LastEvent(spec.AttachmentStored)
	t.fetch(stored.Text)
	t.uploadOthers()
	t.fetch(stored.Text)
	t.SendAndRead("uploaded", image)
	t.SendAndRead("prompt", t.PromptEvent("text", "without an image"))
	t.completeHistory()
	for _, m := range t.completeHistory().Parts { // the links of the second response are as good
		for _, p := range m.Parts {
			if p.Kind == spec.HistoryImage {
				t.fetch(p.Text)
			}
		}
	}
	if t.SendTemplate("sign", spec.Event{Name: stored.Name, ID: stored.ID}) {
		image.ID = t.LastEvent(spec.AttachmentSigned).Text
		t.fetch(image.ID)
		t.SendAndRead("uploaded", image)
	}
	t.SendTemplate("sign", spec.Event{Name: stored.Name, ID: stored.ID + missingFileSuffix})
	t.SendTemplate("sign", spec.Event{Name: stored.Name + missingFileSuffix, ID: stored.ID})
	image.ID = foreignURL
	t.StartRun("uploaded", image)
	t.sendImageForms()
}

// sendImageForms sends a message with an image in each form for which the dialect has a template
// other than "uploaded", such as an image before the text or two images, each in a new thread. Then
// it requests the histories. The text is not a test prompt, because the documents do not say how a
// server joins several texts.
func (t *Conversation) sendImageForms() {
	o, _ := t.dialect.TemplateOperation("uploaded")
	var threads []string
	for _, template := range o.Templates() {
		if template == "uploaded" || plainReplyTemplate(template) != "uploaded" {
			continue
		}
		t.Thread = t.NewID()
		image, ok := t.elicit(template)
		if ok && t.HasTemplate("attach-again") && t.SendTemplate("attach-again", spec.Event{}) {
			image.Name = t.LastEvent(spec.AttachmentStored).Text
		}
		if image.Text = "Look at this"; ok {
			t.SendAndRead(template, image)
			threads = append(threads, t.Thread)
		}
	}
	t.completeHistories(threads)
}

// uploadOthers uploads one file with each upload template of the dialect. Among them is the
// template "attach", with which the scenario has uploaded an image before; this time, the boundary
// in its request is quoted. uploadOthers fetches each of these files, requests a new link to it,
// and fetches the file with that link, too. An upload that the server refuses because it is too
// large (status 413) is removed from the recording.
func (t *Conversation) uploadOthers() {
	o, _ := t.dialect.TemplateOperation("attach")
	for _, template := range o.Templates() {
		r := t.BuildRequest(template, spec.Event{})
		if template == "attach" {
			r = withQuotedBoundary(r)
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

// upload sends r, a valid request with a file, and reports whether the server accepted it. If the
// server refuses it because it is too large (status 413), the exchange is removed from the
// recording, because the documents do not state the largest size.
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

// fetch requests link, a signed URL, without credentials, as a browser would. It sends nothing if
// link is not a valid absolute URL, contains a user name or unescaped characters (spaces, control
// characters or characters beyond ASCII), or has a different origin from the target.
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

// isSameOrigin reports whether link contains no user name and has the same scheme, host and port as
// base. A URL without a port has the default port of its scheme. If link has no host, the result is
// false.
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
