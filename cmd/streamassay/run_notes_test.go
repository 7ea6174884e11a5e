package main

import (
	"strings"
	"testing"
)

// TestNothingSelected checks that a report says why no request was sent, unless a request was
// attempted, and that the test of nothing does not pass.
func TestNothingSelected(t *testing.T) {
	for _, c := range []struct{ args, says string }{
		{"http://127.0.0.1:9 --dialect agui --only tool --lacks tool", "no request was sent: --lacks excludes tool\n"},
		{"reference --dialect agui --only combination-1 --lacks scripted", "no request was sent: what is selected needs a"},
		{"http://127.0.0.1:9 --dialect agui --only combination-900", "no request was sent: http://127.0.0.1:9: connection"},
		{"http://127.0.0.1:9 --dialect agui --only text", ""},
	} {
		code, out, _ := streamassay(t, t.TempDir(), append([]string{"run"}, strings.Fields(c.args)...)...)
		if code != exitInconclusive || !strings.Contains(out, c.says) ||
			c.says == "" && strings.Contains(out, "no request was sent") {
			t.Errorf("%s: exit %d\n%s", c.args, code, out)
		}
	}
}
