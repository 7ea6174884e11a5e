//go:build chromium

package reports

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// TestReportInBrowser checks in a browser that the HTML page runs no scripts of a target, fetches
// nothing and fits the width of the window, even of a small one.
func TestReportInBrowser(t *testing.T) {
	var mu sync.Mutex
	var page string
	var fetched []string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if r.URL.Path != "/report" {
			fetched = append(fetched, r.URL.String())
			return
		}
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, page)
	}))
	defer srv.Close()
	b := inBrowser(t)
	for name, text := range evil {
		mu.Lock()
		page = formatted(t, "html", attacked(text))
		mu.Unlock()
		for _, width := range []int64{1280, 400} {
			if err := chromedp.Do(b, chromedp.EmulateViewport(width, 800), chromedp.Navigate(srv.URL+"/report")); err != nil {
				t.Fatal(err)
			}
			for _, c := range []struct{ what, expression, want string }{
				{"scripts run", `typeof window.pwned`, "undefined"},
				{"the title", `(document.title !== "pwned") + " " + document.title.includes(": ")`, "true true"},
				{"elements that a target put there", `String(document.querySelectorAll("script, img, svg, iframe, link, base, form, object, [onerror], [onmouseover], meta[http-equiv=refresh]").length)`, "0"},
				{"style sheets", `String(document.styleSheets.length)`, "1"},
				{"headings", `document.querySelectorAll("h1").length + " " + document.querySelectorAll("h2").length`, "1 1"},
				{"a policy", `String(document.querySelectorAll("meta[http-equiv=Content-Security-Policy]").length)`, "1"},
				{"links elsewhere", `String(Array.from(document.links).filter((a) => !a.getAttribute("href").startsWith("#")).length)`, "0"},
				{"what sticks out", sticksOut, ""},
				{"what cannot be seen", `getComputedStyle(document.querySelector("main")).display + " " + (document.querySelector("details.check").getBoundingClientRect().height > 20)`, "block true"},
			} {
				got, err := chromedp.Run(b, chromedp.Evaluate[string](c.expression))
				if err != nil || got != c.want {
					t.Errorf("%s, %d pixels: %s: %.300q, not %q (%v)", name, width, c.what, got, c.want, err)
				}
			}
		}
	}
	mu.Lock()
	defer mu.Unlock()
	for _, url := range fetched {
		if url != "/favicon.ico" {
			t.Errorf("the page fetched %s", url)
		}
	}
}

// sticksOut is a JavaScript expression that lists the elements wider than the page. Its value is an
// empty string if there are none.
const sticksOut = `(() => {
  for (const d of document.querySelectorAll("details")) d.open = true;
  const wide = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth <= wide) return "";
  return document.documentElement.scrollWidth + " of " + wide + ": " + Array.from(document.querySelectorAll("body *")).filter((e) => e.getBoundingClientRect().right > wide + 1).slice(0, 5).map((e) => e.outerHTML.slice(0, 60)).join(" | ");
})()`

// inBrowser returns the context of a tab in a headless Chromium. An exception in the page fails the
// test.
func inBrowser(t *testing.T) context.Context {
	t.Helper()
	outer, stop := chromedp.NewExecAllocator(t.Context(), append(chromedp.DefaultExecAllocatorOptions[:], chromedp.NoSandbox)...)
	t.Cleanup(stop)
	within, late := context.WithTimeout(outer, 5*time.Minute)
	t.Cleanup(late)
	ctx, end := chromedp.NewContext(within)
	t.Cleanup(end)
	if err := chromedp.Do(ctx, chromedp.Navigate("about:blank")); err != nil {
		t.Fatal(err)
	}
	if err := chromedp.Listen(ctx, func(event any) {
		if e, ok := event.(*runtime.EventExceptionThrown); ok {
			t.Errorf("the page throws: %v", e.ExceptionDetails)
		}
	}); err != nil {
		t.Fatal(err)
	}
	return ctx
}
