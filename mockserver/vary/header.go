package vary

import (
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"

	"github.com/streamassay/streamassay/spec"
)

// framingHeaders are the headers by which a server of net/http knows how to send a body: it
// looks for them by their canonical names.
var framingHeaders = []string{"Connection", "Content-Length", "Date", "Keep-Alive", "Te", "Trailer", "Transfer-Encoding", "Upgrade"}

// mediaTypeParams are spellings of what follows a media type. JSON and event streams are
// UTF-8 whether it is said or not.
var mediaTypeParams = []string{"", "; charset=utf-8", ";charset=UTF-8", ` ; Charset="utf-8"`, "; charset=utf-8; x=y"}

// EncodeHeader spells the header of a reply in another way. It has to be called last,
// just before the header is sent: names that are not spelled as net/http does are not
// found by its functions any more.
func (v *Variation) EncodeHeader(h http.Header) {
	r := v.rng("header", []byte(h.Get("Content-Type")))
	if v.Has(MediaTypes) {
		if media := varyMediaType(r, h.Get("Content-Type")); media != "" {
			h.Set("Content-Type", media)
		}
	}
	if v.Has(UnknownHeaders) {
		h.Set("X-Content-Verse", "a, b; c=\"d\"")
		h.Add("Pragma", "x-nothing")
	}
	if v.Has(HeaderCase) {
		changeHeaderCase(r, h)
	}
}

// varyMediaType spells the content type of JSON and of event streams otherwise; it is ""
// for any other.
func varyMediaType(r *rand.Rand, text string) string {
	media, _, _ := strings.Cut(text, ";")
	media = strings.ToLower(strings.TrimSpace(media))
	if media != spec.EventStream && media != "application/json" && !strings.HasSuffix(media, "+json") {
		return ""
	}
	spellings := []string{media, strings.ToUpper(media), strings.ToUpper(media[:1]) + media[1:]}
	return spellings[r.IntN(len(spellings))] + mediaTypeParams[r.IntN(len(mediaTypeParams))]
}

// changeHeaderCase spells the names of headers in another case. The canonical name stays, with
// no value: so nothing is sent for it, and net/http does not add one of its own.
func changeHeaderCase(r *rand.Rand, h http.Header) {
	names := make([]string, 0, len(h))
	for name := range h {
		names = append(names, name)
	}
	slices.Sort(names) // chance must not depend on the order of a map
	how := []func(string) string{strings.ToLower, strings.ToUpper, alternateCase}[r.IntN(3)]
	for _, name := range names {
		other := how(name)
		if slices.Contains(framingHeaders, http.CanonicalHeaderKey(name)) || other == name || len(h[name]) == 0 {
			continue
		}
		h[other] = h[name]
		h[name] = nil
	}
}

// alternateCase is every other letter large.
func alternateCase(name string) string {
	b := []byte(strings.ToLower(name))
	for i := 1; i < len(b); i += 2 {
		b[i] = strings.ToUpper(string(b[i]))[0]
	}
	return string(b)
}
