package control

import (
	"net"
	"net/http"
	"slices"
	"strings"
)

// securityHeaders are the headers of every answer: nothing is shown inside other pages, kept
// by caches, loaded by other sites or taken for what it is not.
var securityHeaders = map[string]string{
	"Cache-Control":                "no-store",
	"Content-Security-Policy":      "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
	"Cross-Origin-Opener-Policy":   "same-origin",
	"Cross-Origin-Resource-Policy": "same-origin",
	"Referrer-Policy":              "no-referrer",
	"X-Content-Type-Options":       "nosniff",
	"X-Frame-Options":              "DENY",
}

// guard turns down what comes from where it should not. A page of another site can make
// its own name mean our address (DNS rebinding): the name it asks for is then its own. It
// can also send us forms: then its browser says that another site did.
func (s *server) guard(inner http.Handler) http.Handler {
	ours := http.NewCrossOriginProtection()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for name, value := range securityHeaders {
			w.Header().Set(name, value)
		}
		if !s.isAllowedHost(r.Host) {
			writeProblemf(w, http.StatusMisdirectedRequest, "the header Host is %.100q: this port is asked as 127.0.0.1, [::1] or localhost", r.Host)
			return
		}
		if err := ours.Check(r); err != nil || !isSameOrigin(r) && isUnsafeMethod(r.Method) {
			writeProblemf(w, http.StatusForbidden, "a page of another origin (%.100q) may not change anything here: ask from the page of this port, or without a browser", r.Header.Get("Origin"))
			return
		}
		inner.ServeHTTP(w, r)
	})
}

// isAllowedHost says whether a Host names us.
func (s *server) isAllowedHost(hostport string) bool {
	host := hostport
	if h, _, err := net.SplitHostPort(hostport); err == nil {
		host = h
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	if ip := net.ParseIP(host); ip != nil && ip.IsLoopback() {
		return true
	}
	return strings.EqualFold(host, "localhost") || host != "" && slices.ContainsFunc(s.cfg.AllowedHosts, func(own string) bool { return strings.EqualFold(own, host) })
}

// isSameOrigin says that a request has no origin, or that of our own page.
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

func isUnsafeMethod(method string) bool {
	return method != http.MethodGet && method != http.MethodHead && method != http.MethodOptions
}
