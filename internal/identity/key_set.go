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

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
)

// Limits on reading a set of keys: the time, the size in bytes, and the number of keys used.
const (
	fetchTimeout   = 5 * time.Second
	maxKeySetBytes = 1 << 20
	maxKeys        = 64 // further keys are ignored
)

// allowedAlgorithms lists the signature algorithms that are accepted. All of them must be
// asymmetric: with a symmetric one such as HS256, anyone could sign tokens with a public key of the
// set as the secret. The algorithm "none", which means no signature, must not be accepted either.
var allowedAlgorithms = []jose.SignatureAlgorithm{
	jose.RS256, jose.RS384, jose.RS512, jose.PS256, jose.PS384, jose.PS512,
	jose.ES256, jose.ES384, jose.ES512, jose.EdDSA,
}

// A keySet is a set of public keys that verifies the signatures of tokens. It caches the claims of
// verified tokens, because verifying a signature takes about a hundred times as long as a lookup in
// the cache. Its methods are safe for concurrent use.
type keySet struct {
	keys     []jose.JSONWebKey
	mu       sync.RWMutex
	verified map[[sha256.Size]byte]jwt.Claims // SHA-256 hash of a token → its claims
}

// Limits of the cache of verified tokens: how many it holds, and how many bytes a cached token may
// have.
const (
	maxVerified    = 4096
	maxCachedToken = 4 << 10
)

// verify checks the signature of a token and returns the claims of the token. ok is false if the
// token is malformed or its signature matches none of the keys. verify does not check the claims,
// such as the expiry time; the caller must do so each time it uses the token.
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

// remember caches c, the claims of a verified token. The parameter sum is the SHA-256 hash of the
// token. A token of more than maxCachedToken bytes is not cached. If the cache is full, remember
// empties it first.
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

// candidates returns the public keys of the set that may verify a signature with the header h, as
// values for supportsAlgorithm. They are the keys whose type supports the algorithm of h, whose own
// algorithm is that of h or is not set, and, if h has a key id, whose id is that key id.
func (s *keySet) candidates(h jose.Header) (keys []any) {
	for _, k := range s.keys {
		named := h.KeyID == "" || k.KeyID == h.KeyID
		if named && (k.Algorithm == "" || k.Algorithm == h.Algorithm) && supportsAlgorithm(k.Key, h.Algorithm) {
			keys = append(keys, k.Key)
		}
	}
	return keys
}

// supportsAlgorithm reports whether key is of the type that a signature algorithm requires. The key
// is an *rsa.PublicKey, an *ecdsa.PublicKey or an ed25519.PublicKey, and algorithm is one of
// allowedAlgorithms, such as "RS256". For any other key or algorithm, the result is false.
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

// parseKeySet parses a set of keys in JSON (RFC 7517). It ignores members that are not public
// signature keys, and all keys after the first maxKeys. It returns an error if text is invalid, if
// there is no usable key, or if there is a private key, which should never be published.
func parseKeySet(text []byte) (*keySet, error) {
	var raw struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal(text, &raw); err != nil {
		return nil, errors.New("invalid set of keys, want a JSON object with an array \"keys\"")
	}
	set := &keySet{verified: map[[sha256.Size]byte]jwt.Claims{}}
	for _, member := range raw.Keys[:min(len(raw.Keys), maxKeys)] {
		var k jose.JSONWebKey
		if k.UnmarshalJSON(member) != nil || k.Use != "" && k.Use != "sig" || !k.Valid() {
			continue
		}
		switch key := k.Key.(type) {
		case *rsa.PrivateKey, *ecdsa.PrivateKey, ed25519.PrivateKey:
			return nil, errors.New("the set contains a private key, want public keys only")
		case *rsa.PublicKey:
			if key.N.BitLen() < 2048 { // RFC 7518, section 3.3
				continue
			}
		case *ecdsa.PublicKey, ed25519.PublicKey:
		default:
			continue
		}
		set.keys = append(set.keys, k)
	}
	switch {
	case len(raw.Keys) == 0:
		return nil, errors.New("the set has no keys, want a JSON object with an array \"keys\"")
	case len(set.keys) == 0:
		return nil, errors.New("no key can verify signatures, want RSA with at least 2048 bits, EC or Ed25519")
	}
	return set, nil
}

// A keySetLocation is the location of a set of keys: a URL or, if url is nil, the path of a file.
type keySetLocation struct {
	url  *url.URL
	path string
}

func parseKeySetLocation(location string) (keySetLocation, error) {
	if !strings.Contains(location, "://") {
		return keySetLocation{path: location}, nil
	}
	u, err := url.Parse(location)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return keySetLocation{}, errors.New("invalid location of keys, want an http:// or https:// URL, or a file")
	}
	return keySetLocation{url: u}, nil
}

// String returns the URL or, if the keys are in a file, the path of the file. It omits the user
// name, password, query and fragment of the URL, because they may be secret.
func (s keySetLocation) String() string {
	if s.url == nil {
		return s.path
	}
	return s.url.Scheme + "://" + s.url.Host + s.url.Path
}

// read reads the set of keys from s and parses it. Any error names the location.
func (s keySetLocation) read(ctx context.Context) (*keySet, error) {
	text, err := s.readBytes(ctx)
	if err == nil && len(text) > maxKeySetBytes {
		err = fmt.Errorf("the set exceeds %d bytes", maxKeySetBytes)
	}
	var set *keySet
	if err == nil {
		set, err = parseKeySet(text)
	}
	if fetching, ok := errors.AsType[*url.Error](err); ok {
		err = fetching.Err // the error below names the location without what may be secret
	} else if file, ok := errors.AsType[*os.PathError](err); ok {
		err = file.Err
	}
	if err != nil {
		return nil, fmt.Errorf("keys at %s: %w", s, err)
	}
	return set, nil
}

// readBytes returns the content of the file or of the response to a request for the URL. It reads
// at most maxKeySetBytes+1 bytes, so that the caller can detect content that is too large. It
// returns an error if the path is not that of a regular file, or the status is not 200.
func (s keySetLocation) readBytes(ctx context.Context) ([]byte, error) {
	if s.url != nil {
		return fetch(ctx, s.url)
	}
	info, err := os.Stat(s.path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() { // reading a pipe or a device may never end
		return nil, errors.New("the path is not a regular file")
	}
	f, err := os.Open(s.path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxKeySetBytes+1))
}

// fetch requests the URL u and returns the response body, but at most maxKeySetBytes+1 bytes of it.
// It returns an error if the status is not 200.
func fetch(ctx context.Context, u *url.URL) ([]byte, error) {
	transport := &http.Transport{
		Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true, MaxResponseHeaderBytes: 64 << 10,
	}
	client := http.Client{Transport: transport, CheckRedirect: func(r *http.Request, via []*http.Request) error {
		if len(via) > 3 || via[0].URL.Scheme == "https" && r.URL.Scheme != "https" {
			return errors.New("more than 3 redirects, or a redirect from https to http")
		}
		return nil
	}}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/jwk-set+json, application/json")
	res, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("got status %d, want 200", res.StatusCode)
	}
	return io.ReadAll(io.LimitReader(res.Body, maxKeySetBytes+1))
}
