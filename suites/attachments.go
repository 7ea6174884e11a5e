package suites

import (
	"net"
	"net/url"
	"strings"

	"github.com/streamassay/streamassay/internal/wire"
	"github.com/streamassay/streamassay/spec"
)

// What the attachments scenario makes up: the path of a file that is nowhere, and a
// link that no server of anybody's handed out (RFC 2606 section 2).
const (
	missingFileSuffix = "-conformance-nothing"
	foreignURL        = "https://elsewhere.invalid/image.png"
	maxFetchBytes     = 1 << 20 // bytes of a file that are fetched
)

func runAttachments(t *Conversation) {
	image, ok := t.elicit("uploaded")
	if !ok {
		return
	}
	kept := t.LastEvent(spec.AttachmentStored)
	t.fetch(kept.Text)
	t.SendAndRead("uploaded", image)
	t.completeHistory()
	if t.send(t.BuildRequest("sign", spec.Event{Name: kept.Name, ID: kept.ID}), wire.StopWhen{}) {
		image.ID = t.LastEvent(spec.AttachmentSigned).Text
		t.fetch(image.ID)
		t.SendAndRead("uploaded", image)
	}
	t.send(t.BuildRequest("sign", spec.Event{Name: kept.Name, ID: kept.ID + missingFileSuffix}), wire.StopWhen{})
	image.ID = foreignURL
	t.StartRun("uploaded", image)
}

// fetch asks for a link by itself, as anybody may who has it. No other host than the
// target's is asked, and it is not told who asks.
func (t *Conversation) fetch(link string) {
	u, err := url.Parse(link)
	if err != nil || !isSameOrigin(u, t.target.Base) || strings.ContainsFunc(link, func(c rune) bool { return c <= ' ' || c >= 0x7f }) {
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
	t.doExchange(t.clients[spec.PrimaryUser].AtRoot(), r, path, wire.StopWhen{Until: func(heard spec.Response) bool { return len(heard.Body) > maxFetchBytes }})
}

// isSameOrigin says whether two URLs lead to the same port of the same host in the same
// way.
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
