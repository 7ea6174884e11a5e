package printable

import (
	"strings"
	"testing"
	"unicode"
)

// TestPrefix checks that text is cut between two characters, and that at most four bytes are cut off
// in addition if it is not UTF-8.
func TestPrefix(t *testing.T) {
	for _, c := range []struct {
		text  string
		limit int
		want  string
	}{
		{"", 0, ""}, {"abc", 3, "abc"}, {"abc", 2, "ab"}, {"ä", 1, ""}, {"aä", 2, "a"}, {"aä", 3, "aä"}, {"a👍b", 4, "a"}, {"a👍b", 5, "a👍"},
		{"abc\x80\x80\x80\x80\x80\x80", 8, "abc\x80"},
	} {
		if got := Prefix(c.text, c.limit); got != c.want {
			t.Errorf("Prefix(%q, %d) = %q, want %q", c.text, c.limit, got, c.want)
		}
		if got := string(Prefix([]byte(c.text), c.limit)); got != c.want {
			t.Errorf("Prefix([]byte(%q), %d) = %q, want %q", c.text, c.limit, got, c.want)
		}
	}
}

func TestText(t *testing.T) {
	for _, c := range []struct{ in, keep, want string }{
		{"plain text", "", "plain text"},
		{"\x1b[2J\u009b2J", "", `\x1b[2J\x9b2J`},
		{"a\r\n\tb", "", `a\r\n\tb`},
		{"a\r\n\tb", "\n\t", "a\\r\n\tb"},
		{"\u202egnp.exe\u2066\u200b\u200d\ufeff\u00ad", "", `\u202egnp.exe\u2066\u200b\u200d\ufeff\xad`},
		{"\u3164\u2800\u115f", "", `\u3164\u2800\u115f`},
		{"\U000e0041\u2028", "", `\U000e0041\u2028`},
		{"äöü 日本語 עברית العربية ไทย ελ\u0301", "", "äöü 日本語 עברית العربية ไทย ελ\u0301"},
		{"Z" + strings.Repeat("\u0301", 8) + "a\u0301", "", "Z" + strings.Repeat("\u0301", 6) + `\u0301\u0301` + "a\u0301"},
		{"\xff", "", "\ufffd"},
	} {
		if got := Escape(c.in, c.keep); got != c.want {
			t.Errorf("%q: %q, not %q", c.in, got, c.want)
		}
	}
	for r := range rune(unicode.MaxRune) {
		if (unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Cc, r)) && strings.ContainsRune(Escape(string(r), ""), r) {
			t.Errorf("%U is shown as it is", r)
		}
	}
}

// TestBytes checks that a size is written in the largest unit in which it is a whole number.
func TestBytes(t *testing.T) {
	for n, want := range map[int]string{
		0: "0 bytes", 1: "1 byte", 1023: "1023 bytes", 1024: "1 KiB", 1536: "1536 bytes", 64 << 20: "64 MiB", 3 << 30: "3 GiB",
	} {
		if got := Bytes(n); got != want {
			t.Errorf("%d: got %q, want %q", n, got, want)
		}
	}
}
