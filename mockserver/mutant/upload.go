package mutant

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"sync"

	"github.com/streamassay/streamassay/spec"
)

var uploadMutants = slices.Concat(uploadStored, uploadSigned, uploadLinks, uploadImages, uploadHeard)

// telling makes a server that answers what asks with a phrase otherwise: edit gets the
// members of the answer.
func telling(phrase string, edit func(m map[string]any)) twist {
	return replying(func(v view, a *reply) {
		if v.says(phrase) && a.status/100 == 2 {
			a.json(edit)
		}
	})
}

// member sets a member wherever in an answer it stands.
func member(name string, value any) func(m map[string]any) {
	var set func(m map[string]any)
	set = func(m map[string]any) {
		if _, ok := m[name]; ok {
			m[name] = value
		}
		for _, v := range m {
			if inner, ok := v.(map[string]any); ok {
				set(inner)
			}
		}
	}
	return set
}

// What is said of an upload.
var uploadStored = []*Mutant{
	{
		Name: "stored-as-jpeg", Doc: "every upload is said to be a JPEG",
		Breaks: []string{"runs.attachments.mime-echo"},
		Kills:  map[string]string{"attachment.type-as-sent": "attachment.stored"},
		Twist:  telling("attach", member("mimeType", "image/jpeg")),
	}, {
		Name: "stored-as-x-png", Doc: "an upload is said to be of another name of its type",
		Breaks: []string{"runs.attachments.mime-echo"},
		Kills:  map[string]string{"attachment.type-as-sent": "attachment.stored"},
		Twist:  telling("attach", member("mimeType", "image/x-png")),
	},
}

// What is said of a new link.
var uploadSigned = []*Mutant{
	{
		Name: "signed-for-another-path", Doc: "a new link is said to be of another file",
		Breaks: []string{"runs.attachments.signed-echo"},
		Kills:  map[string]string{"attachment.signs-what-was-asked": "attachment.signed"},
		Twist:  telling("sign", member("path", "else")),
	}, {
		Name: "signed-in-another-bucket", Doc: "a new link is said to be in another bucket",
		Breaks: []string{"runs.attachments.signed-echo"},
		Kills:  map[string]string{"attachment.signs-what-was-asked": "attachment.signed"},
		Twist:  telling("sign", member("bucket", "public")),
	}, {
		Name: "signs-what-is-not-there", Doc: "a link is signed for a file that nobody uploaded",
		Breaks: []string{"runs.attachments.signed-unknown"},
		Kills:  map[string]string{"attachment.refuses-unknown-file": "http.request"},
		Twist:  signsAnything(func(asked string) string { return asked }),
	}, {
		Name: "signs-by-the-beginning", Doc: "a link is signed for a file whose name begins as another's, as the link of that",
		Breaks: []string{"runs.attachments.signed-unknown", "runs.attachments.signed-echo"},
		Kills: map[string]string{
			"attachment.refuses-unknown-file": "http.request",
			"attachment.signs-what-was-asked": "attachment.signed",
		},
		Twist: signsAnything(func(string) string { return "" }),
	},
}

// signsAnything makes a server that answers with the last link where there is no file.
// Says is the path that it names; "" is that of the last.
func signsAnything(says func(asked string) string) twist {
	return func(next http.Handler) http.Handler {
		var mu sync.Mutex
		var last reply
		return replying(func(v view, a *reply) {
			if !v.says("sign") || !v.heard().Valid() {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			switch {
			case a.status == http.StatusOK:
				last = reply{a.status, a.header.Clone(), bytes.Clone(a.body)}
			case a.status == http.StatusNotFound && last.status != 0:
				*a = reply{last.status, last.header.Clone(), bytes.Clone(last.body)}
				if path := says(v.heard().ID); path != "" {
					a.json(member("path", path))
				}
			}
		})(next)
	}
}

// links makes a server that deals otherwise with links. Signed is whether the file of the
// link was signed again before.
func links(give func(signed bool, a *reply)) twist {
	return func(next http.Handler) http.Handler {
		var mu sync.Mutex
		signed, handed := map[string]bool{}, map[string]bool{}
		return replying(func(v view, a *reply) {
			mu.Lock()
			defer mu.Unlock()
			if v.says("sign") || v.says("attach") {
				if path := linked(a.body); path != "" {
					handed[path] = true
					signed[path] = signed[path] || v.says("sign")
				}
			} else if path := v.http.URL.EscapedPath(); handed[path] {
				give(signed[path], a)
			}
		})(next)
	}
}

// linked is the path of the link that an answer hands out.
func linked(body []byte) (path string) {
	var answer struct {
		URL        string
		Attachment struct{ URL string }
	}
	if json.Unmarshal(body, &answer) != nil {
		return ""
	}
	u, err := url.Parse(answer.URL + answer.Attachment.URL)
	if err != nil {
		return ""
	}
	return u.EscapedPath()
}

func gone(a *reply) { a.status, a.body = http.StatusGone, []byte("the link has ended") }

func locked(a *reply) { a.status, a.body = http.StatusUnauthorized, []byte("who asks?") }

// scrambled is a file with another last byte.
func scrambled(a *reply) {
	if len(a.body) > 0 {
		a.body[len(a.body)-1] ^= 0xff
	}
}

// What links lead to.
var uploadLinks = []*Mutant{
	{
		Name: "link-is-dead", Doc: "the link to an upload has ended when it is handed out",
		Breaks: []string{"runs.attachments.url-download"},
		Kills:  map[string]string{"attachment.link-gives-the-file": "http.response"},
		Twist: links(func(signed bool, a *reply) {
			if !signed {
				gone(a)
			}
		}),
	}, {
		Name: "link-gives-other-bytes", Doc: "the link to an upload leads to other bytes",
		Breaks: []string{"runs.attachments.url-download"},
		Kills:  map[string]string{"attachment.link-gives-the-file": "http.response"},
		Twist: links(func(signed bool, a *reply) {
			if !signed {
				scrambled(a)
			}
		}),
	}, {
		Name: "new-link-is-dead", Doc: "a new link has ended when it is handed out",
		Breaks: []string{"runs.attachments.signed-fresh"},
		Kills:  map[string]string{"attachment.new-link-gives-the-file": "http.response"},
		Twist: links(func(signed bool, a *reply) {
			if signed {
				gone(a)
			}
		}),
	}, {
		Name: "new-link-gives-half", Doc: "a new link leads to half of the file",
		Breaks: []string{"runs.attachments.signed-fresh"},
		Kills:  map[string]string{"attachment.new-link-gives-the-file": "http.response"},
		Twist: links(func(signed bool, a *reply) {
			if signed {
				a.body = a.body[:len(a.body)/2]
			}
		}),
	}, {
		Name: "links-for-users-only", Doc: "links lead to files only with credentials",
		Breaks: []string{"runs.attachments.url-download", "runs.attachments.signed-fresh"},
		Kills: map[string]string{
			"attachment.link-gives-the-file":     `the link is answered 401 with`,
			"attachment.new-link-gives-the-file": "http.response",
		},
		Twist: links(func(_ bool, a *reply) { locked(a) }),
	},
}

// foreign makes a server that takes images from anywhere: it is asked with what take makes
// of the image instead, nil to leave it out.
func foreign(take func(image map[string]any, own string) map[string]any) twist {
	return func(next http.Handler) http.Handler {
		var mu sync.Mutex
		own := ""
		return seeing(func(w http.ResponseWriter, v view, next http.Handler) {
			r := v.http
			if link := imageOf(*v.heard()); link != "" && v.opens() && v.heard().Valid() {
				mu.Lock()
				if u, err := url.Parse(link); err == nil && u.Host == v.http.Host {
					own = link
				} else if own != "" {
					r = v.as(v.imaged(func(image map[string]any) map[string]any { return take(image, own) }))
				}
				mu.Unlock()
			}
			next.ServeHTTP(w, r)
		})(next)
	}
}

// imageOf is the link of an image that the user sends.
func imageOf(ask spec.Event) string {
	user, _ := ask.Last(spec.InputUser)
	for _, part := range user.Parts {
		if part.Kind == spec.InputImage {
			return part.Text
		}
	}
	return ""
}

// imaged is the request with other images in its messages.
func (v view) imaged(take func(image map[string]any) map[string]any) spec.Request {
	a := reply{body: bytes.Clone(v.request.Body)}
	a.json(func(m map[string]any) {
		messages, _ := m["messages"].([]any)
		for _, one := range messages {
			message, _ := one.(map[string]any)
			blocks, ok := message["content"].([]any)
			if !ok {
				continue
			}
			var out []any
			for _, b := range blocks {
				block, _ := b.(map[string]any)
				if block["type"] == "binary" {
					block = take(block)
				}
				if block != nil {
					out = append(out, block)
				}
			}
			message["content"] = out
		}
	})
	r := v.request
	r.Body = a.body
	return r
}

// Images from somewhere else.
var uploadImages = []*Mutant{
	{
		Name: "images-from-anywhere", Doc: "an image may come from anywhere",
		Breaks: []string{"runs.create.binary-foreign"},
		Kills:  map[string]string{"attachment.refuses-foreign-link": "http.request"},
		Twist:  foreign(func(image map[string]any, own string) map[string]any { image["url"] = own; return image }),
	}, {
		Name: "foreign-images-dropped", Doc: "an image from somewhere else is left out without a word",
		Breaks: []string{"runs.create.binary-foreign"},
		Kills:  map[string]string{"attachment.refuses-foreign-link": "http.request"},
		Twist:  foreign(func(map[string]any, string) map[string]any { return nil }),
	},
}

// What is said of a recording.
var uploadHeard = []*Mutant{
	{
		Name: "heard-in-plain-text", Doc: "what was said is told as plain text",
		Breaks: []string{"runs.transcribe.transcript", "runs.transcribe.endpoint"},
		Kills: map[string]string{
			"transcript.is-told": "http.request",
			"reply.as-promised":  `content type "text/plain", the document promises .*application/json`,
		},
		Twist: replying(func(v view, a *reply) {
			if v.says("transcribe") && a.status == http.StatusOK {
				a.header.Set("Content-Type", "text/plain")
				a.body = []byte("hello")
			}
		}),
	}, {
		Name: "heard-and-not-answered", Doc: "a recording is answered with nothing",
		Breaks: []string{"runs.transcribe.transcript", "runs.transcribe.endpoint"},
		Kills: map[string]string{
			"transcript.is-told": "http.request",
			"reply.as-promised":  `the answer is 204 with content type "", the document promises .*application/json`,
		},
		Twist: replying(func(v view, a *reply) {
			if v.says("transcribe") && a.status == http.StatusOK {
				a.status = http.StatusNoContent
				a.header.Del("Content-Type")
			}
		}),
	}, {
		Name: "heard-under-another-name", Doc: "what was said is told under another name",
		Breaks: []string{"runs.transcribe.transcript"},
		Kills:  map[string]string{"wire.matches-schema": "/transcript"},
		Twist: telling("transcribe", func(m map[string]any) {
			m["text"] = m["transcript"]
			delete(m, "transcript")
		}),
	}, {
		Name: "heard-in-numbers", Doc: "what was said is told as a number",
		Breaks: []string{"runs.transcribe.transcript"},
		Kills:  map[string]string{"wire.matches-schema": "/transcript"},
		Twist:  telling("transcribe", member("transcript", 1)),
	},
}
