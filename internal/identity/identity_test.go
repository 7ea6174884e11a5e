package identity

import (
	"context"
	"crypto/sha256"
	"net/http"
	"strings"
	"testing"
)

func TestBearer(t *testing.T) {
	for _, c := range []struct {
		name   string
		values []string
		token  string
	}{
		{"a token", []string{"Bearer abc"}, "abc"},
		{"another case", []string{"bEARER abc"}, "abc"},
		{"more blanks", []string{"Bearer   abc "}, "abc"},
		{"none", nil, ""},
		{"two headers", []string{"Bearer abc", "Bearer abc"}, ""},
		{"an empty one beside", []string{"", "Bearer abc"}, ""},
		{"another scheme", []string{"Basic abc"}, ""},
		{"no scheme", []string{"abc"}, ""},
		{"no token", []string{"Bearer"}, ""},
		{"a blank for a token", []string{"Bearer  "}, ""},
		{"two tokens", []string{"Bearer abc def"}, ""},
		{"a list", []string{"Bearer abc, Bearer def"}, ""},
		{"a tab", []string{"Bearer\tabc"}, ""},
		{"a control character", []string{"Bearer a\x00c"}, ""},
		{"beyond ASCII", []string{"Bearer äbc"}, ""},
		{"a long one", []string{"Bearer " + strings.Repeat("a", maxToken)}, strings.Repeat("a", maxToken)},
		{"too long", []string{"Bearer " + strings.Repeat("a", maxToken+1)}, ""},
	} {
		if token, ok := Bearer(http.Header{"Authorization": c.values}); token != c.token || ok != (c.token != "") {
			t.Errorf("%s: %q, %v; want %q", c.name, token, ok, c.token)
		}
	}
}

func TestAnyone(t *testing.T) {
	for token, want := range map[string]bool{
		"ann": true, strings.Repeat("a", 256): true, "": false, "two words": false, "Ä": false, strings.Repeat("a", 257): false,
	} {
		user, ok := TokenAsName.Authenticate(t.Context(), token)
		if ok != want || ok && user != token {
			t.Errorf("%q is %q, %v", token, user, ok)
		}
	}
}

// TestBadUsers checks that Add refuses invalid pairs, with errors that do not contain the token.
func TestBadUsers(t *testing.T) {
	const secret = "s3cr3t-canary"
	for _, c := range []struct{ pair, says string }{
		{secret, "missing colon"},
		{":" + secret, "empty name"},
		{"ann:", "at least 8"},
		{"ann:s3cr3t-", "the token of user ann is too short, want at least 8 characters"},
		{"ann smith:" + secret, "one word"},
		{strings.Repeat("a", 257) + ":" + secret, "256"},
		{"ann:" + secret + " more", "visible ASCII"},
		{"ann:" + secret + "\x00", "visible ASCII"},
		{"ann:" + strings.Repeat(secret, 2000), "visible ASCII"},
		{"bob:taken-by-ann", "same token"},
	} {
		var tokens StaticTokens
		if err := tokens.Add("ann:taken-by-ann"); err != nil {
			t.Fatal(err)
		}
		err := tokens.Add(c.pair)
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%.30q: %v; want %q", c.pair, err, c.says)
		}
		if err != nil && (strings.Contains(err.Error(), "s3cr3t") || strings.Contains(err.Error(), "taken-by")) {
			t.Errorf("%.30q: the error shows the token: %v", c.pair, err)
		}
		if tokens.Len() != 1 {
			t.Errorf("%.30q: there are %d tokens", c.pair, tokens.Len())
		}
	}
}

func TestTokens(t *testing.T) {
	var nobody, tokens StaticTokens
	text := "# who may ask\nann:first-token\n\n  ann:second:token  \r\nbob:third-token"
	if err := tokens.Read(strings.NewReader(text)); err != nil {
		t.Fatal(err)
	}
	for token, want := range map[string]string{
		"first-token": "ann", "second:token": "ann", "third-token": "bob",
		"": "", "first-toke": "", "first-token ": "", "First-token": "", "ann:first-token": "", "ann": "",
	} {
		if user, ok := tokens.Authenticate(t.Context(), token); user != want || ok != (want != "") {
			t.Errorf("%q is %q, %v; want %q", token, user, ok, want)
		}
		if user, ok := nobody.Authenticate(t.Context(), token); ok {
			t.Errorf("without users %q is %q", token, user)
		}
	}
}

func TestBadFiles(t *testing.T) {
	for _, c := range []struct{ text, says string }{
		{"", "no user"},
		{"# only\n\n# comments\n", "no user"},
		{"ann:first-token\n\ns3cr3t-canary\n", "line 3"},
		{strings.Repeat("#", maxTokenFile+1), "exceeds"},
	} {
		var tokens StaticTokens
		if err := tokens.Read(strings.NewReader(c.text)); err == nil || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "s3cr3t") {
			t.Errorf("%.30q: %v; want %q", c.text, err, c.says)
		}
	}
}

// TestTokensAreKeptAsSums checks that only hashes of tokens are kept, so that the duration of a
// comparison reveals nothing.
func TestTokensAreKeptAsSums(t *testing.T) {
	var tokens StaticTokens
	if err := tokens.Add("ann:first-token"); err != nil {
		t.Fatal(err)
	}
	if e := tokens.entries[0]; e.sum != sha256.Sum256([]byte("first-token")) || e.user != "ann" {
		t.Errorf("what is kept is %+v", e)
	}
}

func BenchmarkTokens(b *testing.B) {
	var tokens StaticTokens
	for i := range 20 {
		if err := tokens.Add("ann:token-of-ann-" + strings.Repeat("x", i)); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		if _, ok := tokens.Authenticate(context.Background(), "token-of-ann-xxxxxxx"); !ok {
			b.Fatal("the token was rejected")
		}
	}
}
