package suites

import (
	"net"
	"net/url"
	"strings"

	"github.com/streamassay/streamassay/internal/wire"
	"github.com/streamassay/streamassay/spec"
)

// Values of the attachments scenario.
const (
	missingFileSuffix = "-conformance-nothing"                // makes the id of a file that does not exist
	foreignURL        = "https://elsewhere.invalid/image.png" // of no server (RFC 2606, section 2)
	maxFetchBytes     = 1 << 20                               // bytes of a file that are fetched
)

// runAttachments uploads an image, has its URL signed, sends it, and does the same with a file that
// does not exist and a URL of another server.
func runAttachments(t *Conversation) {
	image, ok := t.elicit("uploaded")
	if !ok {
		return
	}
	stored := t.LastEvent(spec.AttachmentStored)
	t.fetch(stored.Text)
	t.SendAndRead("uploaded", image)
	t.completeHistory()
	if t.send(t.BuildRequest("sign", spec.Event{Name: stored.Name, ID: stored.ID}), wire.StopWhen{}) {
		image.ID = t.LastEvent(spec.AttachmentSigned).Text
		t.fetch(image.ID)
		t.SendAndRead("uploaded", image)
	}
	t.send(t.BuildRequest("sign", spec.Event{Name: stored.Name, ID: stored.ID + missingFileSuffix}), wire.StopWhen{})
	image.ID = foreignURL
	t.StartRun("uploaded", image)
}

// fetch requests a signed URL, without credentials. URLs of other hosts than the target's are not
// requested.
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

// isSameOrigin reports whether two URLs have the same scheme, host and port, and a has no
// credentials.
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
