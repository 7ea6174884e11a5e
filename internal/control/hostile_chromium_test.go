//go:build chromium

package control

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"
)

// evil returns hostile texts that a client of the mock could send, by name. Those that refer to
// another server contain the URL canary.
func evil(canary string) map[string]string {
	return map[string]string{
		"script":    `</pre></code></td></textarea></script><script>window.pwned=1</script>`,
		"image":     `"><img src="` + canary + `/x.png" onerror="window.pwned=1"><svg onload=window.pwned=1>`,
		"attribute": `' onmouseover='window.pwned=1' style='position:fixed;inset:0' data-live='standing`,
		"link":      `<a href="javascript:window.pwned=1">x</a><base href="` + canary + `/"><link rel=stylesheet href="` + canary + `/x.css">`,
		"frame":     `<iframe src="` + canary + `"></iframe><meta http-equiv=refresh content="0;url=` + canary + `">`,
		"buttons":   `<button data-do="release" data-stream="1">Next</button><form data-do="end"></form><div data-list id="stream-list"></div>`,
		"template":  "{{.}} ${7*7} \\u003cscript\\u003e &lt;script&gt;window.pwned=1&lt;/script&gt;",
		"terminal":  "\x1b[2J\u009b2J\x00\x7f\b\r",
		"direction": "\u202egnp.exe\u2066\u200f \u200b\u200d\ufeff invoice\u202dfdp.exe",
		"right":     "שלום עולם مرحبا " + strings.Repeat("ש", 400),
		"marks":     "Z" + strings.Repeat("\u0300\u0489\u20dd", 200),
		"long":      strings.Repeat("verylongword", 400),
		"wide":      strings.Repeat("世界", 400),
	}
}

// TestHostileTextsInBrowser checks that the pages show hostile texts without executing them,
// wherever they occur in requests and in the query of the page.
func TestHostileTextsInBrowser(t *testing.T) {
	var mu sync.Mutex
	var fetched []string
	canary := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		fetched = append(fetched, r.URL.String())
	}))
	defer canary.Close()
	b := browser(t)
	for name, text := range evil(canary.URL) {
		asked := url.QueryEscape(string([]rune(text)[:min(80, len([]rune(text)))])) // longer queries are refused
		t.Run(name, func(t *testing.T) {
			k := rigged(t, seeded(7))
			sendEvil(k, text)
			c := k.ask("conformance:text "+text, "X-Mock-Hold", "4")
			c.frame()
			for _, width := range []int64{1280, 400} {
				b.do(chromedp.EmulateViewport(width, 800))
				for _, path := range []string{"/", "/exchanges/1", "/exchanges/2", "/exchanges/3", "/?contains=" + asked, "/?status=" + asked} {
					b.live(k.control + path)
					harmless(b, name+" "+path[:min(len(path), 20)], width)
				}
			}
			b.do(chromedp.Navigate("about:blank")) // before the mock shuts down
		})
	}
	mu.Lock()
	defer mu.Unlock()
	if len(fetched) > 0 {
		t.Errorf("the pages fetched %q", fetched)
	}
}

// sendEvil sends requests that contain a text in every possible place.
func sendEvil(k *rig, text string) {
	k.t.Helper()
	content := []any{
		map[string]any{"type": "text", "text": text}, map[string]any{"type": "image", "image_url": "http://127.0.0.1:1/" + text},
		map[string]any{"type": "file", "file_url": "http://127.0.0.1:1/f", "filename": text, "file_id": text}, map[string]any{"type": text},
	}
	body, _ := json.Marshal(map[string]any{
		"session_id": text, "id": text, "user_id": text, text: text, "tools": []any{map[string]any{"type": "function", "function": map[string]any{"name": text, "description": text}}},
		"input": []any{map[string]any{"role": "user", "id": text, "name": text, "content": content}},
	})
	printable := strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return '_'
		}
		return r
	}, text)
	for _, target := range []string{"/process", "/" + url.PathEscape(text) + "?q=" + url.QueryEscape(text)} {
		r, err := http.NewRequestWithContext(k.t.Context(), "POST", k.url+target, strings.NewReader(string(body)))
		if err != nil {
			k.t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("X-Evil", printable)
		r.Header.Set("User-Agent", printable)
		r.Header.Set("X-"+strings.Repeat("Long-Name-", 60), printable)
		res, err := patient.Do(r)
		if err != nil {
			k.t.Fatal(err)
		}
		_ = res.Body.Close()
	}
}

// harmless checks that a page contains no active or misleading content of clients.
func harmless(b *tab, what string, width int64) {
	b.t.Helper()
	for _, c := range []struct{ what, expression, want string }{
		{"scripts that ran", `typeof window.pwned`, "undefined"},
		{"scripts", `Array.from(document.scripts, (s) => s.getAttribute("src")).join()`, "/page.js"},
		{"style sheets", `Array.from(document.querySelectorAll("link, style"), (s) => s.getAttribute("href")).join()`, "/page.css"},
		{"elements that a client put there", `String(document.querySelectorAll("img, svg, iframe, base, object, [onerror], [onmouseover], [style], meta[http-equiv]").length)`, "0"},
		{"links elsewhere", `String(Array.from(document.links).filter((a) => a.origin !== location.origin).length)`, "0"},
		{"buttons", `String(Array.from(document.querySelectorAll("[data-do]")).filter((e) => !e.closest("article")).length)`, "0"},
		{"characters that are not shown", `String(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff]/.test(document.documentElement.innerHTML))`, "false"},
		{"piles of marks", `String(/[\p{Mn}\p{Me}]{7}/u.test(document.documentElement.innerHTML))`, "false"},
		{"what sticks out", sticksOut, ""},
	} {
		if got := value[string](b, c.expression); got != c.want {
			b.t.Errorf("%s, %d pixels: %s: %.300q, not %q", what, width, c.what, got, c.want)
		}
	}
}

// sticksOut is a JavaScript expression that lists the elements wider than the page. Its value is an
// empty string if there are none.
const sticksOut = `(() => {
  for (const d of document.querySelectorAll("details")) d.open = true;
  const wide = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth <= wide) return "";
  return document.documentElement.scrollWidth + " of " + wide + ": " + Array.from(document.querySelectorAll("body *")).filter((e) => e.getBoundingClientRect().right > wide + 1).slice(0, 5).map((e) => e.outerHTML.slice(0, 80)).join(" | ");
})()`

// TestPolicy checks the Content-Security-Policy of the pages.
func TestPolicy(t *testing.T) {
	k := rigged(t, seeded(7))
	k.ask(hello).frame()
	for _, path := range []string{"/", "/exchanges/1"} {
		policy := strings.Split(k.do("GET", path, "").header.Get("Content-Security-Policy"), "; ")
		for _, want := range []string{"default-src 'none'", "script-src 'self'", "base-uri 'none'", "frame-ancestors 'none'", "form-action 'self'"} {
			if !slices.Contains(policy, want) {
				t.Errorf("%s: %q lacks %s", path, policy, want)
			}
		}
	}
}
