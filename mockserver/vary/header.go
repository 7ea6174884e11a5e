package vary

import (
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"

	"github.com/streamassay/streamassay/spec"
)

// framing are the headers by which a server of net/http knows how to send a body: it
// looks for them by their canonical names.
var framing = []string{"Connection", "Content-Length", "Date", "Keep-Alive", "Te", "Trailer", "Transfer-Encoding", "Upgrade"}

// mediaTypes are spellings of what follows a media type. JSON and event streams are
// UTF-8 whether it is said or not.
var mediaTypes = []string{"", "; charset=utf-8", ";charset=UTF-8", ` ; Charset="utf-8"`, "; charset=utf-8; x=y"}

// Header spells the header of a reply in another way. It has to be called last,
// just before the header is sent: names that are not spelled as net/http does are not
// found by its functions any more.
func (v *Variation) Header(h http.Header) {
	r := v.chance("header", []byte(h.Get("Content-Type")))
	if v.Has(MediaTypes) {
		if media := mediaType(r, h.Get("Content-Type")); media != "" {
			h.Set("Content-Type", media)
		}
	}
	if v.Has(UnknownHeaders) {
		h.Set("X-Content-Verse", "a, b; c=\"d\"")
		h.Add("Pragma", "x-nothing")
	}
	if v.Has(HeaderCase) {
		recase(r, h)
	}
}

// mediaType spells the content type of JSON and of event streams otherwise; it is ""
// for any other.
func mediaType(r *rand.Rand, text string) string {
	media, _, _ := strings.Cut(text, ";")
	media = strings.ToLower(strings.TrimSpace(media))
	if media != spec.EventStream && media != "application/json" && !strings.HasSuffix(media, "+json") {
		return ""
	}
	spellings := []string{media, strings.ToUpper(media), strings.ToUpper(media[:1]) + media[1:]}
	return spellings[r.IntN(len(spellings))] + mediaTypes[r.IntN(len(mediaTypes))]
}

// recase spells the names of headers in another case. The canonical name stays, with
// no value: so nothing is sent for it, and net/http does not add one of its own.
func recase(r *rand.Rand, h http.Header) {
	names := make([]string, 0, len(h))
	for name := range h {
		names = append(names, name)
	}
	slices.Sort(names) // chance must not depend on the order of a map
	how := []func(string) string{strings.ToLower, strings.ToUpper, zigzag}[r.IntN(3)]
	for _, name := range names {
		other := how(name)
		if slices.Contains(framing, http.CanonicalHeaderKey(name)) || other == name || len(h[name]) == 0 {
			continue
		}
		h[other] = h[name]
		h[name] = nil
	}
}

// zigzag is every other letter large.
func zigzag(name string) string {
	b := []byte(strings.ToLower(name))
	for i := 1; i < len(b); i += 2 {
		b[i] = strings.ToUpper(string(b[i]))[0]
	}
	return string(b)
}
