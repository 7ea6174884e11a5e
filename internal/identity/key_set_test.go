package identity

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-jose/go-jose/v4"
)

func TestBadSets(t *testing.T) {
	dir := t.TempDir()
	small := `{"kty":"RSA","e":"AQAB","n":"` + base64.RawURLEncoding.EncodeToString(bytes.Repeat([]byte{0xff}, 128)) + `"}`
	for i, c := range []struct{ text, says string }{
		{"", "invalid set of keys"},
		{"[]", "invalid set of keys"},
		{`{"keys":{}}`, "invalid set of keys"},
		{`{}`, "the set has no keys"},
		{`{"keys":[{"kty":"oct","k":"c2VjcmV0"},{"kty":"new"},7]}`, "no key can verify signatures"},
		{`{"keys":[` + small + `]}`, "no key can verify signatures"},
		{`{"keys":[` + string(must(json.Marshal(jose.JSONWebKey{Key: ecKey}))) + `]}`, "private key"},
		{`{"keys":[` + string(must(json.Marshal(jose.JSONWebKey{Key: &ecKey.PublicKey, Use: "enc"}))) + `]}`, "no key can verify signatures"},
		{strings.Repeat(" ", maxKeySetBytes+1), "exceeds"},
	} {
		path := filepath.Join(dir, "keys.json")
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := OpenJWT(t.Context(), path, JWTConfig{}); err == nil || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), path) {
			t.Errorf("set %d: %v; want %q and the file", i, err, c.says)
		}
	}
	for _, c := range []struct{ where, says string }{
		{filepath.Join(dir, "missing"), "no such file"},
		{dir, "not a regular file"},
		{"ftp://id.example/keys", "http"},
		{"https://", "http"},
		{"http://127.0.0.1:1/keys?key=s3cr3t", "connect"},
		{"http://ann:s3cr3t@127.0.0.1:1/keys", "connect"},
	} {
		if _, err := OpenJWT(t.Context(), c.where, JWTConfig{}); err == nil || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "s3cr3t") {
			t.Errorf("%s: %v; want %q", c.where, err, c.says)
		}
	}
}

// TestMixedSet checks that unknown and unsuitable members of a set of keys are ignored.
func TestMixedSet(t *testing.T) {
	path := writeKeySet(t, map[string]any{"keys": []any{map[string]any{"kty": "new"}, 7, public(&ecKey.PublicKey, "ec")}})
	if _, ok := opened(t, path, JWTConfig{}).Authenticate(t.Context(), signed(t, ecKey, jose.ES256, "ec", claims(nil))); !ok {
		t.Error("the good key of a mixed set is not used")
	}
}
