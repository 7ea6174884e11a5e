package identity

import (
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
)

// What is read from elsewhere is bounded.
const (
	fetchTimeout   = 5 * time.Second
	maxKeySetBytes = 1 << 20 // bytes of a set
	maxKeys        = 64      // keys that are kept of it
)

// allowedAlgorithms are the algorithms of signatures that somebody else can check. With one that
// takes a shared secret (HS256) a public key would be the secret, and everybody could
// sign; "none" is no signature at all.
var allowedAlgorithms = []jose.SignatureAlgorithm{
	jose.RS256, jose.RS384, jose.RS512, jose.PS256, jose.PS384, jose.PS512,
	jose.ES256, jose.ES384, jose.ES512, jose.EdDSA,
}

// A keySet is what can check a signature. It remembers which tokens it has seen signed:
// checking again costs a hundred times as much.
type keySet struct {
	keys     []jose.JSONWebKey
	mu       sync.RWMutex
	verified map[[sha256.Size]byte]jwt.Claims
}

// What is remembered is bounded: tokens, and bytes of one of them.
const (
	maxVerified    = 4096
	maxCachedToken = 4 << 10
)

// verify are those of a token that one of the keys signed. Whether they hold depends
// on the time, so that is not asked here.
func (s *keySet) verify(token string) (c jwt.Claims, ok bool) {
	sum := sha256.Sum256([]byte(token))
	s.mu.RLock()
	c, ok = s.verified[sum]
	s.mu.RUnlock()
	if ok {
		return c, true
	}
	signed, err := jwt.ParseSigned(token, allowedAlgorithms)
	if err != nil || len(signed.Headers) != 1 {
		return c, false
	}
	for _, key := range s.candidates(signed.Headers[0]) {
		if signed.Claims(key, &c) == nil {
			s.remember(sum, token, c)
			return c, true
		}
	}
	return jwt.Claims{}, false
}

func (s *keySet) remember(sum [sha256.Size]byte, token string, c jwt.Claims) {
	if len(token) > maxCachedToken {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.verified) >= maxVerified {
		clear(s.verified)
	}
	s.verified[sum] = c
}

// candidates are the keys that may have made a signature: the one that is named, or all of
// the right kind if none is.
func (s *keySet) candidates(h jose.Header) (keys []any) {
	for _, k := range s.keys {
		named := h.KeyID == "" || k.KeyID == h.KeyID
		if named && (k.Algorithm == "" || k.Algorithm == h.Algorithm) && supportsAlgorithm(k.Key, h.Algorithm) {
			keys = append(keys, k.Key)
		}
	}
	return keys
}

// supportsAlgorithm says whether keys of this kind make signatures of that algorithm.
func supportsAlgorithm(key any, algorithm string) bool {
	switch key := key.(type) {
	case *rsa.PublicKey:
		return strings.HasPrefix(algorithm, "RS") || strings.HasPrefix(algorithm, "PS")
	case *ecdsa.PublicKey:
		switch key.Curve.Params().BitSize {
		case 256:
			return algorithm == string(jose.ES256)
		case 384:
			return algorithm == string(jose.ES384)
		case 521:
			return algorithm == string(jose.ES512)
		}
	case ed25519.PublicKey:
		return algorithm == string(jose.EdDSA)
	}
	return false
}

// parseKeySet reads a set. What is in it beside public keys for signatures is left out, as RFC
// 7517 has it, but for private keys: who publishes those should hear of it.
func parseKeySet(text []byte) (*keySet, error) {
	var raw struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal(text, &raw); err != nil {
		return nil, errors.New("this is no set of keys: it is JSON with an array \"keys\"")
	}
	set := &keySet{verified: map[[sha256.Size]byte]jwt.Claims{}}
	for _, one := range raw.Keys[:min(len(raw.Keys), maxKeys)] {
		var k jose.JSONWebKey
		if k.UnmarshalJSON(one) != nil || k.Use != "" && k.Use != "sig" || !k.Valid() {
			continue
		}
		switch key := k.Key.(type) {
		case *rsa.PrivateKey, *ecdsa.PrivateKey, ed25519.PrivateKey:
			return nil, errors.New("a private key is among the keys: it belongs to who signs, and to nobody else")
		case *rsa.PublicKey:
			if key.N.BitLen() < 2048 { // RFC 7518 3.3
				continue
			}
		case *ecdsa.PublicKey, ed25519.PublicKey:
		default:
			continue
		}
		set.keys = append(set.keys, k)
	}
	if len(set.keys) == 0 {
		return nil, fmt.Errorf("none of its %d keys can check a signature (RSA of 2048 bits or more, EC, Ed25519)", len(raw.Keys))
	}
	return set, nil
}

// isValidName says whether a subject can be a user.
func isValidName(s string) bool {
	return s != "" && len(s) <= maxName && utf8.ValidString(s) && strings.IndexFunc(s, unicode.IsControl) < 0
}

// A keySource is where a set is: url, or else the file of that path.
type keySource struct {
	url  *url.URL
	path string
}

func parseKeySource(location string) (keySource, error) {
	if !strings.Contains(location, "://") {
		return keySource{path: location}, nil
	}
	u, err := url.Parse(location)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return keySource{}, errors.New("a set of keys is at an http:// or https:// URL, or in a file")
	}
	return keySource{url: u}, nil
}

// String is the source without what may be secret in a URL.
func (s keySource) String() string {
	if s.url == nil {
		return s.path
	}
	return s.url.Scheme + "://" + s.url.Host + s.url.Path
}

func (s keySource) read(ctx context.Context) (*keySet, error) {
	text, err := s.readBytes(ctx)
	if err == nil && len(text) > maxKeySetBytes {
		err = fmt.Errorf("it has more than %d bytes", maxKeySetBytes)
	}
	var set *keySet
	if err == nil {
		set, err = parseKeySet(text)
	}
	if err != nil {
		return nil, fmt.Errorf("keys at %s: %w", s, err)
	}
	return set, nil
}

// readBytes is the set, or one byte more of it than is taken.
func (s keySource) readBytes(ctx context.Context) ([]byte, error) {
	if s.url != nil {
		return fetch(ctx, s.url)
	}
	info, err := os.Stat(s.path)
	if err != nil {
		return nil, withoutAddress(err)
	}
	if !info.Mode().IsRegular() { // of others nobody knows when they end
		return nil, errors.New("this is no regular file")
	}
	f, err := os.Open(s.path)
	if err != nil {
		return nil, withoutAddress(err)
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxKeySetBytes+1))
}

func fetch(ctx context.Context, u *url.URL) ([]byte, error) {
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true, MaxResponseHeaderBytes: 64 << 10}
	client := http.Client{Transport: transport, CheckRedirect: func(r *http.Request, via []*http.Request) error {
		if len(via) > 3 || via[0].URL.Scheme == "https" && r.URL.Scheme != "https" {
			return errors.New("it leads elsewhere too often, or from https to http")
		}
		return nil
	}}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, withoutAddress(err)
	}
	req.Header.Set("Accept", "application/jwk-set+json, application/json")
	res, err := client.Do(req)
	if err != nil {
		return nil, withoutAddress(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the answer is %d", res.StatusCode)
	}
	return io.ReadAll(io.LimitReader(res.Body, maxKeySetBytes+1))
}

// withoutAddress is an error without the address that it repeats.
func withoutAddress(err error) error {
	var asked *url.Error
	var file *os.PathError
	switch {
	case errors.As(err, &asked):
		return asked.Err
	case errors.As(err, &file):
		return file.Err
	}
	return err
}
