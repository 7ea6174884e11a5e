package files

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

const base = "http://127.0.0.1:4010/api/v1/agent/files"

func get(s *Store, link string) *httptest.ResponseRecorder { return ask(s, http.MethodGet, link, nil) }

func ask(s *Store, method, link string, head map[string]string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, "/", nil)
	r.URL, _ = r.URL.Parse(link)
	for name, value := range head {
		r.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

func TestLink(t *testing.T) {
	each(t, Config{}, func(t *testing.T, s *Store, c *clock) {
		f := put(t, s, a("cat.png"))
		link := s.Link(base, f)
		if !strings.HasPrefix(link, base+"/"+linkDir+"/"+f.Path+"?expires=") || s.Link(base+"/", f) != link {
			t.Errorf("link %s", link)
		}
		w := get(s, link)
		if w.Code != http.StatusOK || w.Body.String() != string(png) {
			t.Fatalf("%d %q", w.Code, w.Body)
		}
		for name, want := range map[string]string{
			"Content-Type": "image/png", "Content-Length": "16", "X-Content-Type-Options": "nosniff", "Content-Disposition": "",
			"Content-Security-Policy": "sandbox; default-src 'none'", "Cache-Control": "private, max-age=3600", "Etag": `"` + f.Path + `"`, "Accept-Ranges": "bytes",
		} {
			if got := w.Header().Get(name); got != want {
				t.Errorf("%s: %s, want %s", name, got, want)
			}
		}
		if w := ask(s, http.MethodHead, link, nil); w.Code != http.StatusOK || w.Body.Len() > 0 || w.Header().Get("Content-Length") != "16" {
			t.Errorf("HEAD: %d %v %q", w.Code, w.Header(), w.Body)
		}
		c.add(time.Second)
		if again := s.Link(base, f); again == link || get(s, again).Code != http.StatusOK || get(s, link).Code != http.StatusOK {
			t.Errorf("signed again: %s", again)
		}
		if other := s.Link("https://elsewhere", f); get(s, other).Code != http.StatusOK {
			t.Errorf("below another base: %s", other)
		}
	})
}

func TestRange(t *testing.T) {
	each(t, Config{}, func(t *testing.T, s *Store, _ *clock) {
		f := put(t, s, a("x"))
		for _, test := range []struct {
			name, value string
			status      int
			body        string
		}{
			{"Range", "bytes=1-3", http.StatusPartialContent, "PNG"},
			{"Range", "bytes=-4", http.StatusPartialContent, "IHDR"},
			{"Range", "bytes=99-", http.StatusRequestedRangeNotSatisfiable, "*"},
			{"Range", "bytes=0-0,2-2,4-4", http.StatusOK, string(png)},
			{"If-None-Match", `"` + f.Path + `"`, http.StatusNotModified, ""},
			{"If-None-Match", `"other"`, http.StatusOK, string(png)},
		} {
			w := ask(s, http.MethodGet, s.Link("", f), map[string]string{test.name: test.value})
			if w.Code != test.status || test.body != "*" && w.Body.String() != test.body {
				t.Errorf("%s %s: %d %q", test.name, test.value, w.Code, w.Body)
			}
		}
	})
}

// TestTampered checks that a link is invalid after any change, such as a flipped bit.
func TestTampered(t *testing.T) {
	s := open(t, "memory", Config{})
	f := put(t, s, a("cat.png"))
	link := s.Link("", f)
	for i := 1; i < len(link); i++ { // the first slash belongs to what is before
		for bit := range 8 {
			b := []byte(link)
			b[i] ^= 1 << bit
			checkInvalid(t, s, string(b))
		}
		checkInvalid(t, s, link[:i])
		checkInvalid(t, s, link[:i]+link[i+1:])
		checkInvalid(t, s, link[:i]+"a"+link[i:])
	}
	path, query, _ := strings.Cut(link, "?")
	stamp, sign, _ := strings.Cut(query, "&")
	other := put(t, s, a("dog.png"))
	for _, bad := range []string{
		"", "?", path, path + "?", path + "?" + stamp, path + "?" + sign, path + "?" + sign + "&" + stamp, link + "&x=y", link + "#x", path + "?x=y&" + query, link + "=",
		path + "?" + strings.Replace(stamp, "=", "=0", 1) + "&" + sign, path + "?" + strings.Replace(stamp, "=", "=%2B", 1) + "&" + sign, path + "?" + stamp + "&" + stamp + "&" + sign,
		path + "/?" + query, path + "//?" + query, "/x/" + f.Path + "?" + query, "/" + linkDir + "/../" + path[1:] + "x?" + query, "/" + linkDir + "/" + other.Path + "?" + query,
		"/" + linkDir + "/" + strings.Replace(f.Path, "-", "%2D", 1) + "?" + query, "/" + linkDir + "//" + f.Path + "?" + query, strings.ToUpper(link), link + "\n", link + " ",
		"/" + linkDir + "/%2e%2e/" + f.Path + "?" + query, NewMemory(Config{Now: s.cfg.Now}).Link("", f),
	} {
		checkInvalid(t, s, bad)
	}
	if get(s, link).Code != http.StatusOK {
		t.Error("the link itself is refused")
	}
}

// checkInvalid checks that the store s does not accept link, either in ParseLink or in a request.
func checkInvalid(t *testing.T, s *Store, link string) {
	t.Helper()
	if f, ok := s.ParseLink(link); ok {
		t.Errorf("%q is taken for a link of %+v", link, f)
	}
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	u, err := r.URL.Parse(link)
	if err != nil || u.Fragment != "" || strings.HasSuffix(link, "#") { // a fragment never reaches a server
		return
	}
	r.URL = u
	w := httptest.NewRecorder()
	if s.ServeHTTP(w, r); w.Code != http.StatusForbidden || !strings.HasPrefix(w.Header().Get("Content-Type"), "text/plain") || w.Header().Get("Cache-Control") != "no-store" {
		t.Errorf("%q: %d %v", link, w.Code, w.Header())
	}
}

func TestLinkEnds(t *testing.T) {
	each(t, Config{LinkLifetime: 10 * time.Minute}, func(t *testing.T, s *Store, c *clock) {
		f := put(t, s, a("x"))
		link := s.Link(base, f)
		c.add(10*time.Minute - time.Second)
		if w := get(s, link); w.Code != http.StatusOK || w.Header().Get("Cache-Control") != "private, max-age=1" {
			t.Errorf("in time: %d %v", w.Code, w.Header())
		}
		c.add(time.Second)
		if w := get(s, link); w.Code != http.StatusGone || w.Header().Get("Cache-Control") != "no-store" {
			t.Errorf("too late: %d %v", w.Code, w.Header())
		}
		if got, ok := s.ParseLink(link); !ok || got.Path != f.Path {
			t.Errorf("it was made here: %+v, %v", got, ok)
		}
		if w := get(s, s.Link(base, f)); w.Code != http.StatusOK {
			t.Errorf("signed again: %d", w.Code)
		}
	})
}

func TestOwns(t *testing.T) {
	s := open(t, "memory", Config{})
	for kind, want := range map[string]string{"image/png": "image/png", "image/jpeg": "image/jpeg", "image/x-icon": "image/x-icon", "image/x-own": ""} {
		f := put(t, s, NewFile{Owner: "ann", Name: "x.gif", Type: kind, Data: []byte("\x00\x01\x02")})
		for _, base := range []string{"", base, "https://example.com", "http://h/?x=/" + linkDir + "/y"} {
			if got, ok := s.ParseLink(s.Link(base, f)); !ok || got != (File{Path: f.Path, Type: want}) {
				t.Errorf("%s: %+v, %v", base, got, ok)
			}
		}
	}
	for _, f := range []File{{}, {Path: "../x"}} {
		if link := s.Link(base, f); link != "" {
			t.Errorf("%+v has the link %s", f, link)
		}
	}
	if _, ok := s.ParseLink(strings.Repeat("?", 1<<20)); ok {
		t.Error("question marks are a link")
	}
}

func TestServeRefuses(t *testing.T) {
	each(t, Config{}, func(t *testing.T, s *Store, _ *clock) {
		f := put(t, s, a("x"))
		for _, method := range []string{"POST", "PUT", "DELETE", "OPTIONS", "PATCH"} {
			if w := ask(s, method, s.Link(base, f), nil); w.Code != http.StatusMethodNotAllowed || w.Header().Get("Allow") != "GET, HEAD" {
				t.Errorf("%s: %d", method, w.Code)
			}
		}
		f.Path = newPath("x", "image/png")
		if w := get(s, s.Link(base, f)); w.Code != http.StatusNotFound || w.Body.Len() > 100 {
			t.Errorf("gone: %d %q", w.Code, w.Body)
		}
	})
}

// TestShown checks that images whose type may contain scripts or is unknown are downloaded rather
// than shown.
func TestShown(t *testing.T) {
	s := open(t, "memory", Config{})
	for kind, want := range map[string]string{"image/png": "", "image/webp": "", "image/svg+xml": "attachment", "image/x-own": "attachment", "image/jxl": "attachment"} {
		data := []byte("\x00\x01\x02")
		if kind == svgType {
			data = []byte("<svg onload='alert(1)'/>")
		}
		w := get(s, s.Link(base, put(t, s, NewFile{Type: kind, Data: data})))
		h := w.Header()
		if w.Code != http.StatusOK || h.Get("Content-Type") != kind || h.Get("Content-Disposition") != want || !strings.HasPrefix(h.Get("Content-Security-Policy"), "sandbox") {
			t.Errorf("%s: %d %v", kind, w.Code, h)
		}
	}
}
