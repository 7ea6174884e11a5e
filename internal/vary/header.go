package vary

import (
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"

	"github.com/streamassay/streamassay/spec"
)

// framingHeaders lists header fields whose names are not varied, because net/http looks them up by
// these names to determine how to send the response.
var framingHeaders = []string{
	"Connection", "Content-Length", "Date", "Keep-Alive", "Te", "Trailer", "Transfer-Encoding", "Upgrade",
}

// mediaTypeParams lists parameters that may follow the media type of JSON or of event streams. They
// do not change its meaning, because both formats always use UTF-8 and define no other parameters.
var mediaTypeParams = []string{"", "; charset=utf-8", ";charset=UTF-8", ` ; Charset="utf-8"`, "; charset=utf-8; x=y"}

// EncodeHeader changes the response header h in place, according to the traits [MediaTypes],
// [UnknownHeaders] and [HeaderCase] of the variation. It must be called just before the header is
// sent, because the methods of http.Header expect canonical names and do not find the changed ones.
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

// varyMediaType returns text, a Content-Type value, with a random spelling and random parameters if
// it is the media type of JSON or of event streams. For any other type, it returns "".
func varyMediaType(r *rand.Rand, text string) string {
	media, _, _ := strings.Cut(text, ";")
	media = strings.ToLower(strings.TrimSpace(media))
	if media != spec.EventStream && media != "application/json" && !strings.HasSuffix(media, "+json") {
		return ""
	}
	spellings := []string{media, strings.ToUpper(media), strings.ToUpper(media[:1]) + media[1:]}
	return spellings[r.IntN(len(spellings))] + mediaTypeParams[r.IntN(len(mediaTypeParams))]
}

// changeHeaderCase changes the case of the names of the fields in h, except for framingHeaders.
// Each original name stays in h with a nil value, so that net/http does not add a default value for
// it.
func changeHeaderCase(r *rand.Rand, h http.Header) {
	convert := []func(string) string{strings.ToLower, strings.ToUpper, alternateCase}[r.IntN(3)]
	for _, name := range slices.Sorted(maps.Keys(h)) { // the result must not depend on the order of the map
		other := convert(name)
		if slices.Contains(framingHeaders, http.CanonicalHeaderKey(name)) || other == name || len(h[name]) == 0 {
			continue
		}
		h[other] = h[name]
		h[name] = nil
	}
}

// alternateCase returns name with its second, fourth, sixth, ... character in upper case and the
// others in lower case.
func alternateCase(name string) string {
	b := []byte(strings.ToLower(name))
	for i := 1; i < len(b); i += 2 {
		b[i] = strings.ToUpper(string(b[i]))[0]
	}
	return string(b)
}
