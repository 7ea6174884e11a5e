package identity

import (
	"bytes"
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-jose/go-jose/v4"
)

var noon = time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)

// The keys that the tests use. They are generated only once, because that takes a while.
var (
	ecKey      = must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	otherKey   = must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	rsaKey     = must(rsa.GenerateKey(rand.Reader, 2048))
	_, edKey   = must2(ed25519.GenerateKey(rand.Reader))
	sharedKey  = []byte("a secret of thirty-two bytes....")
	publicKeys = jose.JSONWebKeySet{Keys: []jose.JSONWebKey{public(&ecKey.PublicKey, "ec"), public(&rsaKey.PublicKey, "rsa"), public(edKey.Public(), "ed")}}
)

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func must2[T, U any](a T, b U, err error) (T, U) { return a, must(b, err) }

func public(key crypto.PublicKey, id string) jose.JSONWebKey {
	return jose.JSONWebKey{Key: key, KeyID: id, Use: "sig"}
}

// signed returns a token with the given claims, signed with key. id is the key id in its header; ""
// means none.
func signed(t testing.TB, key any, alg jose.SignatureAlgorithm, id string, claims map[string]any) string {
	t.Helper()
	opts := (&jose.SignerOptions{}).WithType("JWT")
	if id != "" {
		opts = opts.WithHeader("kid", id)
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: alg, Key: key}, opts)
	if err != nil {
		t.Fatal(err)
	}
	sig, err := signer.Sign(must(json.Marshal(claims)))
	if err != nil {
		t.Fatal(err)
	}
	return must(sig.CompactSerialize())
}

// claims returns claims that are valid for the user ann at noon. It replaces the members in but,
// and removes those that are nil.
func claims(but map[string]any) map[string]any {
	all := map[string]any{"sub": "ann", "exp": noon.Add(time.Hour).Unix(), "iss": "https://id.example", "aud": []string{"agents"}}
	for k, v := range but {
		if all[k] = v; v == nil {
			delete(all, k)
		}
	}
	return all
}

// writeKeySet writes a set of keys to a file and returns its path.
func writeKeySet(t testing.TB, set any) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "keys.json")
	if err := os.WriteFile(path, must(json.Marshal(set)), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func opened(t testing.TB, where string, cfg JWTConfig) *JWTAuthenticator {
	t.Helper()
	if cfg.Now == nil {
		cfg.Now = func() time.Time { return noon }
	}
	k, err := OpenJWT(t.Context(), where, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func TestSignedTokens(t *testing.T) {
	keys := opened(t, writeKeySet(t, publicKeys), JWTConfig{Issuer: "https://id.example", Audience: "agents"})
	at := func(d time.Duration) int64 { return noon.Add(d).Unix() }
	es := func(but map[string]any) string { return signed(t, ecKey, jose.ES256, "ec", claims(but)) }
	for name, token := range map[string]string{
		"ES256":               es(nil),
		"without a key's id":  signed(t, ecKey, jose.ES256, "", claims(nil)),
		"RS256":               signed(t, rsaKey, jose.RS256, "rsa", claims(nil)),
		"PS512":               signed(t, rsaKey, jose.PS512, "rsa", claims(nil)),
		"EdDSA":               signed(t, edKey, jose.EdDSA, "ed", claims(nil)),
		"one audience":        es(map[string]any{"aud": "agents"}),
		"just expired":        es(map[string]any{"exp": at(-50 * time.Second)}),
		"of a fast clock":     es(map[string]any{"nbf": at(50 * time.Second), "iat": at(50 * time.Second)}),
		"with more in it":     es(map[string]any{"scope": "all", "nested": map[string]any{"a": 1}}),
		"a time with decimal": es(map[string]any{"exp": float64(at(time.Hour)) + 0.5}),
	} {
		if user, ok := keys.Authenticate(t.Context(), token); !ok || user != "ann" {
			t.Errorf("%s: %q, %v; want ann", name, user, ok)
		}
	}
	good := es(nil)
	head, rest, _ := strings.Cut(good, ".")
	body, sig, _ := strings.Cut(rest, ".")
	b64 := func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }
	spoiled := []byte(sig)
	spoiled[10] ^= 1
	publicText := must(json.Marshal(public(&ecKey.PublicKey, "ec")))
	for name, token := range map[string]string{
		"nothing":                     "",
		"no token":                    "ann",
		"dots":                        "..",
		"another signature":           head + "." + body + "." + string(spoiled),
		"no signature":                head + "." + body + ".",
		"another body":                head + "." + b64(`{"sub":"bob","exp":99999999999,"iss":"https://id.example","aud":"agents"}`) + "." + sig,
		"algorithm none":              b64(`{"alg":"none"}`) + "." + body + ".",
		"algorithm None":              b64(`{"alg":"None","kid":"ec"}`) + "." + body + "." + sig,
		"a shared secret":             signed(t, sharedKey, jose.HS256, "ec", claims(nil)),
		"the public key as a secret":  signed(t, publicText, jose.HS256, "ec", claims(nil)),
		"another's key":               signed(t, otherKey, jose.ES256, "ec", claims(nil)),
		"another's key, not named":    signed(t, otherKey, jose.ES256, "", claims(nil)),
		"a key that it brings along":  tokenWithKey(t, otherKey),
		"an unknown key":              signed(t, ecKey, jose.ES256, "nope", claims(nil)),
		"the name of another key":     signed(t, ecKey, jose.ES256, "rsa", claims(nil)),
		"what must be understood":     b64(`{"alg":"ES256","kid":"ec","crit":["x"],"x":1}`) + "." + body + "." + sig,
		"expired":                     es(map[string]any{"exp": at(-70 * time.Second)}),
		"never expiring":              es(map[string]any{"exp": nil}),
		"expiring at null":            es(map[string]any{"exp": json.RawMessage("null")}),
		"expiring in words":           es(map[string]any{"exp": "tomorrow"}),
		"not yet":                     es(map[string]any{"nbf": at(70 * time.Second)}),
		"of the future":               es(map[string]any{"iat": at(70 * time.Second)}),
		"another issuer":              es(map[string]any{"iss": "https://evil.example"}),
		"no issuer":                   es(map[string]any{"iss": nil}),
		"another audience":            es(map[string]any{"aud": []string{"others"}}),
		"no audience":                 es(map[string]any{"aud": nil}),
		"no subject":                  es(map[string]any{"sub": nil}),
		"an empty subject":            es(map[string]any{"sub": ""}),
		"a subject with line breaks":  es(map[string]any{"sub": "ann\nbob"}),
		"a subject that is a number":  es(map[string]any{"sub": 7}),
		"a long subject":              es(map[string]any{"sub": strings.Repeat("a", 257)}),
		"longer than is looked at":    es(map[string]any{"more": strings.Repeat("a", maxToken)}),
		"JSON instead of three parts": `{"payload":"` + body + `","protected":"` + head + `","signature":"` + sig + `"}`,
	} {
		if user, ok := keys.Authenticate(t.Context(), token); ok || user != "" {
			t.Errorf("%s: %q, %v; want no user", name, user, ok)
		}
	}
}

// tokenWithKey returns a token signed with key that contains the public key in its header.
func tokenWithKey(t *testing.T, key *ecdsa.PrivateKey) string {
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: key}, &jose.SignerOptions{EmbedJWK: true})
	if err != nil {
		t.Fatal(err)
	}
	return must(must(signer.Sign(must(json.Marshal(claims(nil))))).CompactSerialize())
}

// TestRefusedTokenReasons checks that the log says why a token is refused, and does not show the
// token.
func TestRefusedTokenReasons(t *testing.T) {
	var log bytes.Buffer
	keys := opened(t, writeKeySet(t, publicKeys), JWTConfig{
		Issuer: "https://id.example",
		Log:    slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	for _, c := range []struct {
		token, want string
	}{
		{"nonsense", "none of the keys"},
		{signed(t, ecKey, jose.ES256, "ec", claims(map[string]any{"exp": nil})), "no expiry time"},
		{signed(t, ecKey, jose.ES256, "ec", claims(map[string]any{"exp": noon.Add(-time.Hour).Unix()})), "expired"},
		{signed(t, ecKey, jose.ES256, "ec", claims(map[string]any{"sub": ""})), "subject (sub)"},
		{signed(t, ecKey, jose.ES256, "ec", claims(map[string]any{"iss": "https://other.example"})), "issuer"},
	} {
		log.Reset()
		if user, ok := keys.Authenticate(t.Context(), c.token); ok {
			t.Errorf("token without %q is accepted for %q", c.want, user)
		}
		if got := log.String(); !strings.Contains(got, c.want) || strings.Contains(got, c.token) {
			t.Errorf("log = %q, want it to contain %q and not the token", got, c.want)
		}
	}
}

// A publisher is an HTTP server that serves a set of keys and counts the requests.
type publisher struct {
	*httptest.Server
	asked  atomic.Int32
	set    atomic.Value
	status atomic.Int32
}

func publish(t *testing.T, keys ...jose.JSONWebKey) *publisher {
	p := &publisher{}
	p.set.Store(jose.JSONWebKeySet{Keys: keys})
	p.status.Store(200)
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		p.asked.Add(1)
		w.WriteHeader(int(p.status.Load()))
		_ = json.NewEncoder(w).Encode(p.set.Load())
	}))
	t.Cleanup(p.Close)
	return p
}

// A clock shows a time that the test sets.
type clock struct{ atomic.Int64 }

func (c *clock) now() time.Time { return noon.Add(time.Duration(c.Load())) }

// TestKeysAreRenewed checks that new keys are found, that unknown keys cause a limited number of
// requests, and that the old keys remain in use while the publisher is unavailable.
func TestKeysAreRenewed(t *testing.T) {
	p := publish(t, public(&ecKey.PublicKey, "ec"))
	var c clock
	var said logLines
	keys := opened(t, p.URL+"/keys?key=s3cr3t", JWTConfig{Now: c.now, Log: slog.New(slog.NewTextHandler(&said, nil))})
	old, fresh := signed(t, ecKey, jose.ES256, "ec", claims(nil)), signed(t, otherKey, jose.ES256, "new", claims(nil))
	expect := func(what string, token string, want bool, asked int32) {
		t.Helper()
		if _, ok := keys.Authenticate(t.Context(), token); ok != want || p.asked.Load() != asked {
			t.Errorf("%s: %v, %d requests; want %v and %d", what, ok, p.asked.Load(), want, asked)
		}
	}
	expect("a token", old, true, 1)
	expect("an unknown key at once", fresh, false, 1)
	c.Add(int64(31 * time.Second))
	expect("an unknown key later", fresh, false, 2)
	expect("and once more", fresh, false, 2)
	p.set.Store(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{public(&otherKey.PublicKey, "new")}})
	c.Add(int64(31 * time.Second))
	expect("the new key", fresh, true, 3)
	expect("the old key, which is gone", old, false, 3)
	p.status.Store(500)
	c.Add(int64(31 * time.Second))
	expect("a key that is not there, with nobody at home", old, false, 4)
	expect("the keys of before", fresh, true, 4)
	p.Close()
	c.Add(int64(31 * time.Second))
	expect("nobody there", old, false, 4)
	expect("still the keys of before", fresh, true, 4)
	if text := said.String(); strings.Count(text, "old ones remain in use") != 2 || strings.Contains(text, "s3cr3t") {
		t.Errorf("got log %q", text)
	}
}

// logLines collects log records.
type logLines struct {
	mu sync.Mutex
	bytes.Buffer
}

func (l *logLines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.Buffer.Write(p)
}

// TestOldKeys checks that keys are read again after RefreshAfter while the old ones remain in use.
func TestOldKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := writeKeySet(t, jose.JSONWebKeySet{Keys: []jose.JSONWebKey{public(&ecKey.PublicKey, "ec")}})
		var c clock
		keys := opened(t, path, JWTConfig{Now: c.now})
		both := jose.JSONWebKeySet{Keys: []jose.JSONWebKey{public(&ecKey.PublicKey, "ec"), public(&otherKey.PublicKey, "new")}}
		if err := os.WriteFile(path, must(json.Marshal(both)), 0o600); err != nil {
			t.Fatal(err)
		}
		token := signed(t, ecKey, jose.ES256, "ec", claims(nil))
		for _, wait := range []time.Duration{14 * time.Minute, 2 * time.Minute} {
			c.Add(int64(wait))
			if _, ok := keys.Authenticate(t.Context(), token); !ok {
				t.Error("the old key is not used")
			}
			synctest.Wait()
			if n, want := len(keys.current.Load().keys), 1+int(c.Load()/int64(15*time.Minute)); n != want {
				t.Errorf("after %v there are %d keys, want %d", time.Duration(c.Load()), n, want)
			}
		}
	})
}

// TestOneLooksForAll checks that only one request is sent to a slow publisher, and that a client
// that leaves does not cancel that request.
func TestOneLooksForAll(t *testing.T) {
	p := publish(t, public(&ecKey.PublicKey, "ec"))
	var c clock
	keys := opened(t, p.URL, JWTConfig{Now: c.now})
	p.set.Store(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{public(&otherKey.PublicKey, "new")}})
	c.Add(int64(time.Minute))
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	fresh := signed(t, otherKey, jose.ES256, "new", claims(nil))
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			ctx := t.Context()
			if i%2 == 0 {
				ctx = gone
			}
			if _, ok := keys.Authenticate(ctx, fresh); !ok && i%2 == 1 {
				t.Error("the new key is not found")
			}
		})
	}
	all.Wait()
	if n := p.asked.Load(); n != 2 {
		t.Errorf("got %d requests for the keys, want 2", n)
	}
}

// TestKeysAreBounded checks that OpenJWT gives up if a publisher does not respond or sends too
// much.
func TestKeysAreBounded(t *testing.T) {
	release := make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/stuck":
			select {
			case <-release:
			case <-r.Context().Done():
			}
		case "/round":
			http.Redirect(w, r, "/round", http.StatusFound)
		case "/large":
			for range maxKeySetBytes / 1024 * 2 {
				if _, err := w.Write(bytes.Repeat([]byte(" "), 1024)); err != nil {
					return
				}
			}
		}
	}))
	defer srv.Close()
	defer close(release)
	short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := OpenJWT(short, srv.URL+"/stuck", JWTConfig{}); err == nil || !strings.Contains(err.Error(), "deadline") {
		t.Errorf("stuck: %v", err)
	}
	for path, says := range map[string]string{"/round": "redirects", "/large": "exceeds"} {
		if _, err := OpenJWT(t.Context(), srv.URL+path, JWTConfig{}); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v; want %q", path, err, says)
		}
	}
}

// TestSeenTokens checks that the cache of verified tokens is limited, and that a cached token
// becomes invalid when it expires.
func TestSeenTokens(t *testing.T) {
	var c clock
	path := writeKeySet(t, publicKeys)
	keys := opened(t, path, JWTConfig{Now: c.now})
	token := signed(t, ecKey, jose.ES256, "ec", claims(nil))
	for range 2 {
		if _, ok := keys.Authenticate(t.Context(), token); !ok {
			t.Fatal("a valid token was rejected")
		}
	}
	set := keys.current.Load()
	if len(set.verified) != 1 {
		t.Errorf("%d tokens are remembered, want 1", len(set.verified))
	}
	for i := range maxVerified + 10 {
		set.remember([32]byte{byte(i), byte(i >> 8), 1}, "token", set.verified[[32]byte{}])
	}
	set.remember([32]byte{2}, strings.Repeat("a", maxCachedToken+1), set.verified[[32]byte{}])
	if n := len(set.verified); n > maxVerified {
		t.Errorf("%d tokens are remembered, at most %d should be", n, maxVerified)
	}
	c.Add(int64(62 * time.Minute))
	if _, ok := keys.Authenticate(t.Context(), token); ok {
		t.Error("a token is good after its end")
	}
}

func BenchmarkKeys(b *testing.B) {
	keys := opened(b, writeKeySet(b, publicKeys), JWTConfig{})
	for name, token := range map[string]string{
		"ES256": signed(b, ecKey, jose.ES256, "ec", claims(nil)), "RS256": signed(b, rsaKey, jose.RS256, "rsa", claims(nil)),
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, ok := keys.Authenticate(context.Background(), token); !ok {
					b.Fatal("the token was rejected")
				}
			}
		})
	}
}
