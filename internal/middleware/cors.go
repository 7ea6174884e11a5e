package middleware

import (
	"net/http"
	"slices"
	"strings"
)

// A cors implements the CORS protocol of the Fetch standard, by which a server tells browsers
// whether a page of another origin may read a response.
type cors struct {
	anyOrigin     bool     // pages of all origins may read responses
	origins       []string // the allowed origins; ignored if anyOrigin is true
	exposeHeaders []string // value of Access-Control-Expose-Headers: one element, a comma-separated list
}

func newCORS(origins, expose []string) *cors {
	if len(origins) == 0 {
		return nil
	}
	exposed := strings.Join(append([]string{requestIDHeader, "Retry-After"}, expose...), ", ")
	return &cors{slices.Contains(origins, "*"), origins, []string{exposed}}
}

// Header values that are the same for all requests. All responses share them, so they must not be
// changed in place.
var (
	anyOriginValue = []string{"*"}
	trueValue      = []string{"true"}
	varyOrigin     = []string{"Origin"}
	varyPreflight  = []string{"Origin, Access-Control-Request-Method, Access-Control-Request-Headers"}
	allowedMethods = []string{"GET, HEAD, POST, PUT, PATCH, DELETE"}
	allowedHeaders = []string{"Authorization, Content-Type, Last-Event-ID, " + requestIDHeader}
	maxAge         = []string{"600"} // in seconds; some browsers reduce values above two hours
)

// handlePreflight answers a preflight request with status 204 and returns true. For any other
// request it sets the CORS headers of the response and returns false.
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

// setHeaders sets in h the CORS headers of the response to r. It sets the Vary header even if the
// origin of r is not allowed, because caches could otherwise send the response to pages of allowed
// origins.
func (c *cors) setHeaders(h http.Header, r *http.Request) {
	h["Vary"] = varyOrigin
	if c.allowOrigin(h, r) {
		h["Access-Control-Expose-Headers"] = c.exposeHeaders
	}
}

// allowOrigin reports whether pages of the origin of r may read the response. If so, it sets in h
// the headers that allow it. If c allows all origins, it does not allow credentials, so that no
// page can use the cookies of its visitors.
func (c *cors) allowOrigin(h http.Header, r *http.Request) bool {
	origin := r.Header["Origin"]
	switch {
	case c.anyOrigin: // also without an Origin header
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

// isHeaderList reports whether s has from 1 to 1024 bytes and contains only characters that occur
// in a comma-separated list of header names.
func isHeaderList(s string) bool {
	return s != "" && len(s) <= 1024 && strings.Trim(s, alphanumerics+"-_, ") == ""
}
