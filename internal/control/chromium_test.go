//go:build chromium

package control

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// A tab is a tab of a headless Chromium. Errors that the browser logs fail the test.
type tab struct {
	t   *testing.T
	ctx context.Context
}

func browser(t *testing.T) *tab {
	t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.NoSandbox)
	outer, stop := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(stop)
	ctx, end := chromedp.NewContext(outer)
	t.Cleanup(end)
	b := &tab{t, ctx}
	b.do(chromedp.Navigate("about:blank"))
	err := chromedp.Listen(ctx, func(event any) {
		switch e := event.(type) {
		case *log.EventEntryAdded:
			if e.Entry.Level == "error" && !strings.Contains(e.Entry.URL, "favicon") {
				t.Errorf("the browser says: %s %s", e.Entry.Text, e.Entry.URL)
			}
		case *runtime.EventExceptionThrown:
			t.Errorf("the page throws: %v", e.ExceptionDetails)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// do performs actions in the tab.
func (b *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	if err := chromedp.Do(b.ctx, steps...); err != nil {
		b.t.Fatal(err)
	}
}

func (b *tab) click(selector string) {
	b.t.Helper()
	b.do(chromedp.Click(chromedp.CSS(selector)))
}

// shows waits until a JavaScript expression is true in the page. It evaluates the expression
// repeatedly from outside, because the Content-Security-Policy forbids the page to evaluate
// strings.
func (b *tab) shows(expression string) {
	b.t.Helper()
	late := time.After(15 * time.Second)
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for !value[bool](b, "Boolean("+expression+")") {
		select {
		case <-again.C:
		case <-late:
			b.t.Fatalf("%s did not become true:\n%s", expression, value[string](b, "document.body.innerText"))
		}
	}
}

// value returns the value of a JavaScript expression.
func value[T any](b *tab, expression string) T {
	b.t.Helper()
	v, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		b.t.Fatalf("%s: %v", expression, err)
	}
	return v
}

func (b *tab) live(url string) {
	b.t.Helper()
	b.do(chromedp.Navigate(url))
	b.shows(`document.getElementById("feed").textContent === "live"`)
}

// TestPageInBrowser checks that an open page shows a held stream, and that its buttons step
// the stream, inject a frame and release it.
func TestPageInBrowser(t *testing.T) {
	k := rigged(t, seeded(7))
	b := browser(t)
	b.live(k.control + "/")
	b.shows(`document.querySelector('[data-live="none"]').textContent.includes("No stream")`)
	c := k.ask("conformance:text <script>document.title = 'evil'</script>", "X-Mock-Hold", "1")
	first := c.frame()
	const stream = `document.getElementById("stream-1")`
	b.shows(stream + `?.textContent.includes("Held before event 1.")`)
	b.do(chromedp.Focus(chromedp.CSS(`#stream-1 button[data-do="next"]`)))
	b.click(`#stream-1 button[data-do="next"]`)
	b.shows(stream + `.textContent.includes("Held before event 2.")`)
	if second := c.frame(); second == first {
		t.Error(second)
	}
	b.shows(`document.querySelectorAll("#stream-1 ol li").length === 2`)
	if focused := value[string](b, `document.activeElement.dataset.do ?? ""`); focused != "next" {
		t.Errorf("the focus went to %q", focused)
	}
	b.click(`#stream-1 summary`)
	b.do(chromedp.SetValue(chromedp.CSS(`#stream-1 textarea`), "data: from the page\n\n"))
	b.click(`#stream-1 form[data-do="inject"] button`)
	if got := c.frame(); got != "data: from the page\n\n" {
		t.Errorf("%q was sent in between", got)
	}
	b.shows(stream + `.textContent.includes("data: from the page")`)
	b.click(`#stream-1 button[data-do="release"]`)
	b.shows(stream + ` === null`)
	b.shows(`document.querySelector("#exchange-1 [data-label=Ended]").textContent === "whole"`)
	title := value[string](b, `document.title`)
	if text, err := c.rest(); err != nil || !strings.Contains(text, "evil") || title != "streamassay mock" {
		t.Errorf("%v %q: %s", err, title, text)
	}
}

// TestExchangeInBrowser checks that the page of an exchange is updated, and that buttons end
// a stream and hold new ones.
func TestExchangeInBrowser(t *testing.T) {
	k := rigged(t, seeded(7))
	b := browser(t)
	k.ask(hello, "X-Mock-Hold", "1").frame()
	b.live(k.control + "/exchanges/1")
	b.click(`button[data-do="release"]`)
	b.shows(`document.getElementById("stream-1") === null`)
	b.shows(`document.querySelector('[data-live="reply"]').textContent.includes("whole")`)
	b.shows(`document.querySelectorAll("#event-list li").length > 3`)

	c := k.ask(hello, "X-Mock-Hold", "1")
	c.frame()
	b.live(k.control + "/")
	b.do(chromedp.SetValue(chromedp.CSS(`#stream-2 select[name="how"]`), "abort"))
	b.click(`#stream-2 form[data-do="end"] button`)
	b.shows(`document.querySelector("#exchange-2 [data-label=Ended]")?.textContent === "abort"`)
	if _, err := c.rest(); err == nil {
		t.Error("the stream was not aborted")
	}
	b.click(`button[data-all="1"]`)
	b.shows(`document.querySelector('[data-live="hold"]').textContent.includes("before event 1")`)
	k.ask(hello).frame()
	b.shows(`document.getElementById("stream-3")?.textContent.includes("Held before event 1.")`)
	b.click(`button[data-all=""]`)
	b.shows(`document.querySelector('[data-live="hold"]').textContent.includes("not held")`)
}

// TestPageOnSmallScreens checks that the pages fit a small screen, that inputs have labels
// and that all texts have sufficient contrast, in light and dark mode.
func TestPageOnSmallScreens(t *testing.T) {
	k := rigged(t, seeded(7))
	k.ask("conformance:text "+strings.Repeat("verylong", 100), "X-Mock-Hold", "8", "X-Test-Id", strings.Repeat("t", 200)).frame()
	b := browser(t)
	backs := map[string]bool{}
	for _, scheme := range []string{"light", "dark"} {
		for _, path := range []string{"/", "/exchanges/1"} {
			b.do(chromedp.EmulateViewport(400, 800), func(ctx context.Context, t *chromedp.Target) (chromedp.Void, error) {
				_, err := cdp.Call(ctx, t, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
					Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
				})
				return chromedp.Void{}, err
			})
			b.live(k.control + path)
			b.shows(`document.getElementById("stream-1")`)
			backs[value[string](b, `getComputedStyle(document.body).backgroundColor`)] = true
			wide, contrast := value[int](b, `document.documentElement.scrollWidth`), value[float64](b, leastContrast)
			if bare := value[[]string](b, nameless); wide > 400 || len(bare) > 0 || contrast < 4.5 {
				t.Errorf("%s %s: %d pixels wide, without a name: %q, contrast %v", scheme, path, wide, bare, contrast)
			}
		}
	}
	if len(backs) != 2 {
		t.Errorf("light and dark look alike: %v", backs)
	}
}

// nameless is a JavaScript expression that lists the inputs and buttons without a label.
const nameless = `Array.from(document.querySelectorAll("input, select, textarea, button")).filter((e) => !(e.labels?.length && e.labels[0].textContent.trim()) && !e.textContent.trim()).map((e) => e.outerHTML)`

// leastContrast is a JavaScript expression for the lowest contrast ratio of the texts of a page, as
// WCAG 2 defines it.
const leastContrast = `(() => {
  const light = (c) => c.map((v) => v / 255).map((v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4).reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const parse = (s) => s.match(/[\d.]+/g).map(Number);
  let least = 21;
  for (const e of document.querySelectorAll("body *")) {
    if (!Array.from(e.childNodes).some((n) => n.nodeType === 3 && n.textContent.trim()) || !e.getClientRects().length) continue;
    let behind = e;
    while (behind && (parse(getComputedStyle(behind).backgroundColor)[3] ?? 1) === 0) behind = behind.parentElement;
    const [a, b] = [light(parse(getComputedStyle(e).color).slice(0, 3)), light(parse(getComputedStyle(behind ?? document.body).backgroundColor).slice(0, 3))].sort((x, y) => y - x);
    least = Math.min(least, (a + 0.05) / (b + 0.05));
  }
  return least;
})()`
