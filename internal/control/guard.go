package control

import (
	"net"
	"net/http"
	"slices"
	"strings"
)

// securityHeaders contains the headers that are set in every response. They instruct browsers to
// load scripts and other content only from the control port, to isolate the response from pages of
// other sites, not to send its URL to other sites, not to cache it and not to guess its content
// type.
var securityHeaders = map[string]string{
	"Cache-Control": "no-store",
	"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; " +
		"img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
	"Cross-Origin-Opener-Policy":   "same-origin",
	"Cross-Origin-Resource-Policy": "same-origin",
	"Referrer-Policy":              "no-referrer",
	"X-Content-Type-Options":       "nosniff",
	"X-Frame-Options":              "DENY",
}

// guard returns a handler that sets the security headers and passes requests to inner, except
// requests that a page of another site may have sent:
//   - It refuses a request whose Host is not allowed, with status 421. The site may have made its
//     own host name resolve to this address (DNS rebinding).
//   - It refuses a request with an unsafe method (see isUnsafeMethod) from a page of another
//     origin, with status 403. Browsers state the origin of the page in the headers Origin and
//     Sec-Fetch-Site.
func (s *server) guard(inner http.Handler) http.Handler {
	protection := http.NewCrossOriginProtection()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for name, value := range securityHeaders {
			w.Header().Set(name, value)
		}
		if !s.isAllowedHost(r.Host) {
			writeError(w, problemf(http.StatusMisdirectedRequest,
				"host %.100q is not allowed (want 127.0.0.1, [::1] or localhost)", r.Host))
			return
		}
		if err := protection.Check(r); err != nil || !isSameOrigin(r) && isUnsafeMethod(r.Method) {
			writeError(w, problemf(http.StatusForbidden,
				"changes requested by pages of another origin (%.100q) are not allowed", r.Header.Get("Origin")))
			return
		}
		inner.ServeHTTP(w, r)
	})
}

// isAllowedHost reports whether hostport, the value of a Host header with or without a port, names
// a loopback address, localhost or a host that the configuration allows.
func (s *server) isAllowedHost(hostport string) bool {
	host := hostport
	if h, _, err := net.SplitHostPort(hostport); err == nil {
		host = h
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	if ip := net.ParseIP(host); ip != nil && ip.IsLoopback() {
		return true
	}
	isHost := func(allowed string) bool { return strings.EqualFold(allowed, host) }
	return isHost("localhost") || host != "" && slices.ContainsFunc(s.cfg.AllowedHosts, isHost)
}

// isSameOrigin reports whether the request has no Origin header, or exactly one that equals the
// origin of the control port: the scheme and the Host of the request.
func isSameOrigin(r *http.Request) bool {
	origins := r.Header["Origin"]
	switch {
	case len(origins) == 0:
		return true
	case len(origins) > 1:
		return false
	}
	scheme := "http://"
	if r.TLS != nil {
		scheme = "https://"
	}
	return strings.EqualFold(origins[0], scheme+r.Host)
}

// isUnsafeMethod reports whether a request with the given method may change something. It returns
// false for GET, HEAD and OPTIONS.
func isUnsafeMethod(method string) bool {
	return method != http.MethodGet && method != http.MethodHead && method != http.MethodOptions
}
