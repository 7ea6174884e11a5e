package suites

import (
	"net"
	"net/url"
	"strings"

	"github.com/streamassay/streamassay/internal/wire"
	"github.com/streamassay/streamassay/spec"
)

// Constants of the attachments scenario: the id and the URL that the server must not accept, and a
// limit on what the client fetches.
const (
	missingFileSuffix = "-conformance-nothing"                // makes the id of a file that does not exist
	foreignURL        = "https://elsewhere.invalid/image.png" // of no server (RFC 2606, section 2)
	maxFetchBytes     = 1 << 20                               // maximum number of bytes that are fetched of a file
)

// runAttachments plays the attachments scenario. It uploads images and fetches them, and the first
// one again after the others. It sends the first one in a message, then a message without an image,
// and fetches the image by the link in the history. It requests a new signed URL for the image, and
// fetches and sends that as well. Then it requests signed URLs for a file and in a bucket that do not
// exist, and starts a run with an image of another server. Checks judge the responses.
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
	for _, m := range t.completeHistory().Parts {
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
}

// uploadOthers uploads the other files of which the dialect has templates, and fetches them.
func (t *Conversation) uploadOthers() {
	o, _ := t.dialect.TemplateOperation("attach")
	for _, template := range o.Templates() {
		if template != "attach" && t.SendTemplate(template, spec.Event{}) {
			t.fetch(t.LastEvent(spec.AttachmentStored).Text)
		}
	}
}

// fetch requests link, a signed URL, without credentials, as a browser would. It requests nothing
// if link is invalid or does not belong to the target's origin.
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

// isSameOrigin reports whether the URL a has the same scheme, host and port as the URL b, and a
// contains no credentials.
func isSameOrigin(a, b *url.URL) bool {
	address := func(u *url.URL) string {
		port := u.Port()
		if port == "" {
			port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
		}
		return u.Scheme + "://" + net.JoinHostPort(strings.ToLower(u.Hostname()), port)
	}
	return a.Host != "" && a.User == nil && address(a) == address(b)
}
