package control

import (
	"fmt"
	"strings"
	"testing"

	"github.com/streamassay/streamassay/internal/journal"
)

// TestPageEscapes checks that the pages escape data of clients.
func TestPageEscapes(t *testing.T) {
	k := rigged(t, seeded(7))
	const evil = `<script>alert(1)</script>"'><img src=x onerror=alert(2)>`
	c := k.ask("conformance:text "+evil, "X-Mock-Hold", "4", "X-Test-Id", evil)
	c.frame()
	_, _ = k.ask("conformance:text " + evil).rest()
	for _, target := range []string{"/", "/exchanges/1", "/exchanges/2", "/?test=%3Cscript%3Ealert(1)%3C/script%3E", "/?status=%3Cscript%3E"} {
		got := k.want(200, "GET", target, "")
		if strings.Contains(got.text, "<script>") || strings.Contains(got.text, "<img") {
			t.Errorf("%s has it as markup", target)
		}
		if !strings.Contains(got.text, "&lt;script&gt;") {
			t.Errorf("%s does not show it:\n%s", target, got.text)
		}
		if policy := got.header.Get("Content-Security-Policy"); !strings.Contains(policy, "default-src 'none'; script-src 'self';") || strings.Contains(policy, "unsafe") {
			t.Error(policy)
		}
	}
}

// TestPage checks that the pages show the open streams and the exchanges.
func TestPage(t *testing.T) {
	k := rigged(t, seeded(7))
	k.want(200, "PUT", "/v1/scripts", weather, "Content-Type", "application/yaml")
	c := k.ask(hello, "X-Mock-Hold", "2", "X-Test-Id", "p")
	c.frame()
	c.frame()
	_, _ = k.ask("the weather, please").rest()
	home := k.want(200, "GET", "/", "").text
	for _, want := range []string{"Held before event 2.", "/exchanges/1", "/exchanges/2", "weather", ">Next<", "Stream 1", "2 exchanges"} {
		if !strings.Contains(home, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	one := k.want(200, "GET", "/exchanges/1", "").text
	for _, want := range []string{"No rule matched", "<dt>weather</dt>", "event 1,", "hello to all of you", ">Release<"} {
		if !strings.Contains(one, want) {
			t.Errorf("the exchange lacks %q:\n%s", want, one)
		}
	}
	if other := k.want(200, "GET", "/?test=none", "").text; strings.Contains(other, "Stream 1") || !strings.Contains(other, "No stream is open.") {
		t.Error("a filter does not choose")
	}
	k.want(404, "GET", "/exchanges/77", "")
	for _, file := range []string{"/page.js", "/page.css"} {
		k.want(200, "GET", file, "")
	}
}

// TestReadable checks that long texts are cut between characters, and that bytes that are
// not UTF-8 are shown in base64.
func TestReadable(t *testing.T) {
	long := strings.Repeat("a", maxShownBytes-1) + "ä and more"
	for _, c := range []struct{ in, want string }{
		{"ä", "ä"},
		{"\xff", "base64: /w=="},
		{long, strings.Repeat("a", maxShownBytes-1) + fmt.Sprintf("… and %d bytes more", len("ä and more"))},
	} {
		if got := displayText(journal.BodyBytes(c.in)); got != c.want {
			t.Errorf("%.80q…: …%q", c.in, got[max(0, len(got)-40):])
		}
	}
}
