package middleware

import (
	"net/http"
	"slices"
	"strings"
	"testing"
)

const (
	allowOrigin      = "Access-Control-Allow-Origin"
	allowCredentials = "Access-Control-Allow-Credentials"
	allowHeaders     = "Access-Control-Allow-Headers"
)

func TestCORS(t *testing.T) {
	ann, bob := "https://ann.example", "http://127.0.0.1:3000"
	for _, c := range []struct {
		name             string
		origins          []string
		origin           []string
		want             string
		vary, credential bool
	}{
		{"nobody's pages", nil, []string{ann}, "", false, false},
		{"all pages", []string{"*"}, []string{ann}, "*", true, false},
		{"all, and one by name", []string{ann, "*"}, []string{ann}, "*", true, false},
		{"a page of the list", []string{ann, bob}, []string{bob}, bob, true, true},
		{"another page", []string{ann, bob}, []string{"https://evil.example"}, "", true, false},
		{"a longer name", []string{ann}, []string{ann + ".evil.example"}, "", true, false},
		{"no page", []string{ann}, nil, "", true, false},
		{"two origins", []string{ann, bob}, []string{ann, bob}, "", true, false},
		{"a star that is not ours", []string{ann}, []string{"*"}, "", true, false},
		{"no origin at all", []string{ann}, []string{"null"}, "", true, false},
	} {
		for _, status := range []int{200, 204, 404, 500} {
			var header []string
			for _, o := range c.origin {
				header = append(header, "Origin", o)
			}
			res := serve(New(says(status, ""), Config{AllowedOrigins: c.origins}), "POST", "/runs", header...)
			h := res.Header
			if res.StatusCode != status || h.Get(allowOrigin) != c.want || slices.Contains(h["Vary"], "Origin") != c.vary || (h.Get(allowCredentials) == "true") != c.credential {
				t.Errorf("%s: %d %v", c.name, res.StatusCode, h)
			}
			if exposed := h.Get("Access-Control-Expose-Headers"); strings.Contains(exposed, "Retry-After") != (c.want != "") {
				t.Errorf("%s: what pages may see is %q", c.name, exposed)
			}
		}
	}
}

func TestPreflight(t *testing.T) {
	const ann = "https://ann.example"
	reached := 0
	inside := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached++ })
	h := New(inside, Config{AllowedOrigins: []string{ann}})
	ask := func(origin, wanted string) *http.Response {
		return serve(h, "OPTIONS", "/runs", "Origin", origin, "Access-Control-Request-Method", "POST", "Access-Control-Request-Headers", wanted)
	}
	for _, c := range []struct{ name, wanted, allowed string }{
		{"what it wants", "authorization,content-type,x-own", "authorization,content-type,x-own"},
		{"nothing", "", allowedHeaders[0]},
		{"a line break", "a\r\nSet-Cookie", allowedHeaders[0]},
		{"everything", "*", allowedHeaders[0]},
		{"too many", strings.Repeat("a,", 600), allowedHeaders[0]},
	} {
		res := ask(ann, c.wanted)
		got := res.Header
		if res.StatusCode != 204 || got.Get(allowOrigin) != ann || got.Get(allowHeaders) != c.allowed ||
			!strings.Contains(got.Get("Access-Control-Allow-Methods"), "DELETE") || got.Get("Access-Control-Max-Age") == "" ||
			!strings.Contains(got.Get("Vary"), "Access-Control-Request-Headers") || got.Get(requestIDHeader) == "" {
			t.Errorf("%s: %d %v", c.name, res.StatusCode, got)
		}
	}
	if res := ask("https://evil.example", "authorization"); res.StatusCode != 204 || res.Header.Get(allowOrigin) != "" || res.Header.Get(allowHeaders) != "" {
		t.Errorf("another origin: %d %v", res.StatusCode, res.Header)
	}
	if reached != 0 {
		t.Errorf("%d preflights came through", reached)
	}
	serve(h, "OPTIONS", "/runs", "Origin", ann)
	serve(h, "OPTIONS", "/runs", "Access-Control-Request-Method", "POST")
	serve(New(inside, Config{}), "OPTIONS", "/runs", "Origin", ann, "Access-Control-Request-Method", "POST")
	if reached != 3 {
		t.Errorf("%d of 3 requests that are not preflight requests of allowed origins reached the handler", reached)
	}
}
