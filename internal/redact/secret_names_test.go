package redact_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/streamassay/streamassay/internal/redact"
)

func TestCredential(t *testing.T) {
	for _, name := range []string{
		"Authorization", "proxy-authorization", "Cookie", "Set-Cookie", "X-Api-Key", "Api-Key", "X-Auth-Token", "X-Access-Token", "X-Csrf-Token",
		"X-Amz-Security-Token", "X-Goog-Api-Key", "access_token", "refresh_token", "id_token", "token", "api_key", "apikey", "client_secret", "password",
		"secret", "signature", "sig", "X-Auth", "X-Our-Session", "X-Credential",
	} {
		if !redact.IsCredential(name) {
			t.Errorf("%s is taken for harmless", name)
		}
	}
	for _, name := range []string{
		"", "Accept", "Content-Type", "Last-Event-ID", "X-Request-Id", "Access-Control-Allow-Credentials", "access-control-allow-headers",
		"Idempotency-Key", "key", "X-Tenant", "after_seq", "limit",
	} {
		if redact.IsCredential(name) {
			t.Errorf("%s is taken for a credential", name)
		}
	}
}

func TestIdentifies(t *testing.T) {
	for name, want := range map[string]bool{
		"Authorization": true, "cookie": true, "x-api-key": true, "Api-Key": true, "X-Auth-Token": true,
		"Proxy-Authorization": false, "X-Csrf-Token": false, "Set-Cookie": false, "X-Tenant": false, "": false,
	} {
		if redact.IdentifiesUser(name) != want {
			t.Errorf("%s: %v", name, !want)
		}
	}
}

func TestValues(t *testing.T) {
	for _, c := range []struct {
		name, value string
		want        []string
	}{
		{"Authorization", "Bearer abcdef", []string{"Bearer abcdef", "abcdef"}},
		{"Authorization", "Basic YWRhOnNlc2FtZQ==", []string{"Basic YWRhOnNlc2FtZQ==", "YWRhOnNlc2FtZQ==", "ada:sesame", "sesame", "="}},
		{"Cookie", `theme=dark; sid="abc"`, []string{`theme=dark; sid="abc"`, "dark", "abc"}},
		{"Set-Cookie", "sid=abc; Path=/", []string{"sid=abc; Path=/", "abc"}},
		{"X-Api-Key", "k1", []string{"k1"}},
		{"X-Api-Key", "", nil},
	} {
		if got := redact.SecretValues(c.name, c.value); !slices.Equal(got, c.want) {
			t.Errorf("%s: %s: %q, not %q", c.name, c.value, got, c.want)
		}
	}
}

func TestTarget(t *testing.T) {
	for target, want := range map[string]string{
		"/x":                             "/x",
		"/x?a=1&access_token=s&b":        "/x?a=1&access_token=REDACTED&b",
		"/x?access%5Ftoken=s%20s&sig=":   "/x?access%5Ftoken=REDACTED&sig=REDACTED",
		"/x?token":                       "/x?token",
		"http://h/x?q=token&TOKEN=%zz#f": "http://h/x?q=token&TOKEN=REDACTED#f",
		"/cb#access_token=s&state=x":     "/cb#access_token=REDACTED&state=x",
		"/cb?a=1#/x?token=s":             "/cb?a=1#/x?token=REDACTED",
		"?token=s":                       "?token=REDACTED",
		"":                               "",
		"token=s":                        "token=s",
		"=":                              "=",
	} {
		if got := redact.RedactTarget(target, redact.IsCredential); got != want {
			t.Errorf("%s: %s, not %s", target, got, want)
		}
	}
	if got := redact.SecretParameters("/x?a=b&token=c%20d&sig=#token=f", redact.IsCredential); !slices.Equal(got, []string{"c%20d", "c d", "f", "f"}) {
		t.Errorf("%q", got)
	}
}

// TestOneListOfCredentials checks that no other package has a list of the header fields that hold
// credentials: no file outside this package names two of the usual ones.
func TestOneListOfCredentials(t *testing.T) {
	files := 0
	err := filepath.WalkDir("../..", func(path string, entry fs.DirEntry, err error) error {
		isOwn := filepath.Dir(path) == filepath.Join("..", "..", "internal", "redact")
		if err != nil || entry.IsDir() || isOwn || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		files++
		var found []string
		for _, name := range []string{"Authorization", "Proxy-Authorization", "Set-Cookie", "X-Api-Key", "Api-Key", "X-Auth-Token", "X-Access-Token"} {
			if strings.Contains(strings.ToLower(string(text)), strings.ToLower(strconv.Quote(name))) {
				found = append(found, name)
			}
		}
		if len(found) > 1 {
			t.Errorf("%s names %v: ask IsCredential or IdentifiesUser", path, found)
		}
		return err
	})
	if err != nil || files < 100 {
		t.Errorf("%d files were looked at: %v", files, err)
	}
}
