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
	noFile    = "-conformance-nothing"
	noUpload  = "https://elsewhere.invalid/image.png"
	mostFetch = 1 << 20 // bytes of a file that are fetched
)

func leadAttachments(t *Talk) {
	image, ok := t.asked("uploaded")
	if !ok {
		return
	}
	kept := t.Heard(spec.AttachmentStored)
	t.fetch(kept.Text)
	t.Say("uploaded", image)
	t.remembered()
	if t.send(t.Request("sign", spec.Event{Name: kept.Name, ID: kept.ID}), wire.Limit{}) {
		image.ID = t.Heard(spec.AttachmentSigned).Text
		t.fetch(image.ID)
		t.Say("uploaded", image)
	}
	t.send(t.Request("sign", spec.Event{Name: kept.Name, ID: kept.ID + noFile}), wire.Limit{})
	image.ID = noUpload
	t.Open("uploaded", image)
}

// fetch asks for a link by itself, as anybody may who has it. No other host than the
// target's is asked, and it is not told who asks.
func (t *Talk) fetch(link string) {
	u, err := url.Parse(link)
	if err != nil || !sameHost(u, t.target.Base) || strings.ContainsFunc(link, func(c rune) bool { return c <= ' ' || c >= 0x7f }) {
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
	t.exchange(t.clients[spec.PrimaryUser].Root(), r, path, wire.Limit{Until: func(heard spec.Response) bool { return len(heard.Body) > mostFetch }})
}

// sameHost says whether two URLs lead to the same port of the same host in the same
// way.
func sameHost(a, b *url.URL) bool {
	address := func(u *url.URL) string {
		port := u.Port()
		if port == "" {
			port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
		}
		return u.Scheme + "://" + net.JoinHostPort(strings.ToLower(u.Hostname()), port)
	}
	return a.Host != "" && a.User == nil && address(a) == address(b)
}
