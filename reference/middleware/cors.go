package middleware

import (
	"net/http"
	"slices"
	"strings"
)

// A cors says to browsers which origins' pages may read our answers (the CORS protocol
// of the Fetch standard).
type cors struct {
	anyOrigin     bool
	origins       []string
	exposeHeaders []string // as one value
}

func newCORS(origins, expose []string) *cors {
	if len(origins) == 0 {
		return nil
	}
	exposed := strings.Join(append([]string{requestIDHeader, "Retry-After"}, expose...), ", ")
	return &cors{slices.Contains(origins, "*"), origins, []string{exposed}}
}

// Values that are always the same are made once: nobody changes a header's values in place.
var (
	anyOriginValue = []string{"*"}
	trueValue      = []string{"true"}
	varyOrigin     = []string{"Origin"}
	varyPreflight  = []string{"Origin, Access-Control-Request-Method, Access-Control-Request-Headers"}
	allowedMethods = []string{"GET, HEAD, POST, PUT, PATCH, DELETE"}
	allowedHeaders = []string{"Authorization, Content-Type, Last-Event-ID, " + requestIDHeader}
	maxAge         = []string{"600"} // seconds; more than two hours no browser remembers it
)

// handlePreflight answers a preflight: what a browser asks before the request that it wants to
// send. Of any other request it says who may read the answer.
func (c *cors) handlePreflight(w http.ResponseWriter, r *http.Request) bool {
	h := w.Header()
	if r.Method != http.MethodOptions || r.Header["Origin"] == nil || r.Header["Access-Control-Request-Method"] == nil {
		c.setHeaders(h, r)
		return false
	}
	h["Vary"] = varyPreflight
	if c.allowOrigin(h, r) {
		h["Access-Control-Allow-Methods"] = allowedMethods
		h["Access-Control-Allow-Headers"] = allowedHeaders
		if wanted := r.Header["Access-Control-Request-Headers"]; len(wanted) == 1 && isHeaderList(wanted[0]) {
			h["Access-Control-Allow-Headers"] = wanted
		}
		h["Access-Control-Max-Age"] = maxAge
	}
	w.WriteHeader(http.StatusNoContent)
	return true
}

// setHeaders says who may read an answer. That it depends on who asks is said to everybody:
// caches keep the answer for others too.
func (c *cors) setHeaders(h http.Header, r *http.Request) {
	h["Vary"] = varyOrigin
	if c.allowOrigin(h, r) {
		h["Access-Control-Expose-Headers"] = c.exposeHeaders
	}
}

// allowOrigin lets an origin in if it is one of ours. Where any origin is, no cookie goes
// along: a page could use those of whoever looks at it.
func (c *cors) allowOrigin(h http.Header, r *http.Request) bool {
	origin := r.Header["Origin"]
	switch {
	case c.anyOrigin: // whoever asks, and also who does not say from where
		h["Access-Control-Allow-Origin"] = anyOriginValue
		return true
	case len(origin) != 1:
		return false
	case !slices.Contains(c.origins, origin[0]):
		return false
	}
	h["Access-Control-Allow-Origin"] = origin
	h["Access-Control-Allow-Credentials"] = trueValue
	return true
}

// isHeaderList says whether s lists names of headers, and not more of them than a page uses.
func isHeaderList(s string) bool {
	return s != "" && len(s) <= 1024 && strings.IndexFunc(s, func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && !strings.ContainsRune("-_, ", c)
	}) < 0
}
