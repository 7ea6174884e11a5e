package wire

import "testing"

// TestSplitCharacter checks that a body is divided within its first character of several bytes, and
// that a body without such a character is sent as a whole.
func TestSplitCharacter(t *testing.T) {
	for _, c := range []struct{ body, first, rest string }{
		{"", "", ""},
		{"abc", "abc", ""},
		{"a\u00e9b", "a\xc3", "\xa9b"},
		{"\u4e16\u754c", "\xe4", "\xb8\x96\u754c"},
	} {
		if first, rest := splitCharacter([]byte(c.body)); string(first) != c.first || string(rest) != c.rest {
			t.Errorf("%q is divided into %q and %q, want %q and %q", c.body, first, rest, c.first, c.rest)
		}
	}
}
