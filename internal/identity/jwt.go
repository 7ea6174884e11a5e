package identity

import (
	"cmp"
	"context"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/go-jose/go-jose/v4/jwt"
)

// A JWTConfig configures the verification of signed tokens with a set of keys; see [OpenJWT]. The
// zero value of each field is a usable default.
type JWTConfig struct {
	Issuer   string // required value of the iss claim; "" accepts any
	Audience string // required among the values of the aud claim; "" accepts any

	// RefreshAfter is the time after which the keys are read again from the location that was
	// passed to OpenJWT. 0 means 15 minutes.
	RefreshAfter time.Duration
	// MinRefreshInterval limits how often the keys are read again because none of them verifies a
	// token: not until this time after the last attempt to read them. 0 means 30 s.
	MinRefreshInterval time.Duration

	Now func() time.Time // returns the current time; nil means time.Now
	Log *slog.Logger     // nil discards log records
}

// A JWTAuthenticator authenticates users by signed tokens (RFC 7519). The sub claim of a token is
// the name of the user. A token must be signed with one of the keys in a set (RFC 7517).
type JWTAuthenticator struct {
	cfg         JWTConfig
	source      keySetLocation
	current     atomic.Pointer[keySet]
	lastRefresh atomic.Int64  // time of the last attempt to read the keys, in Unix nanoseconds
	refreshing  chan struct{} // capacity 1: full while the keys are being read
}

// clockSkew is the maximum difference between the clocks of the issuer and of this server.
const clockSkew = time.Minute

// OpenJWT returns an authenticator that uses the set of keys at location, a URL or the name of a
// file. The authenticator reads the set again when cfg.RefreshAfter has passed, and when it cannot
// verify the signature of a token. If that fails, it keeps the old keys. OpenJWT returns an error
// if location is invalid or the first read fails. The context ctx applies only to the first read.
func OpenJWT(ctx context.Context, location string, cfg JWTConfig) (*JWTAuthenticator, error) {
	cfg.RefreshAfter = cmp.Or(cfg.RefreshAfter, 15*time.Minute)
	cfg.MinRefreshInterval = cmp.Or(cfg.MinRefreshInterval, 30*time.Second)
	cfg.Log = cmp.Or(cfg.Log, slog.New(slog.DiscardHandler))
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	from, err := parseKeySetLocation(location)
	if err != nil {
		return nil, err
	}
	k := &JWTAuthenticator{cfg: cfg, source: from, refreshing: make(chan struct{}, 1)}
	return k, k.load(ctx)
}

// load reads a set of keys from the location that was passed to OpenJWT, and replaces the current
// set with it. If the set cannot be read, it returns the error and keeps the current set. It
// records the time of the attempt in both cases.
func (k *JWTAuthenticator) load(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	set, err := k.source.read(ctx)
	if err == nil {
		k.current.Store(set)
	}
	k.lastRefresh.Store(k.cfg.Now().UnixNano())
	return err
}

// age returns the time since the last attempt to read the keys.
func (k *JWTAuthenticator) age() time.Duration {
	return time.Duration(k.cfg.Now().UnixNano() - k.lastRefresh.Load())
}

// Authenticate implements [Authenticator]. It returns the sub claim of token if the signature and
// the claims are valid. If none of the keys verifies the signature, it reads the keys again and
// retries, unless that was tried less than MinRefreshInterval ago.
func (k *JWTAuthenticator) Authenticate(ctx context.Context, token string) (user string, ok bool) {
	if len(token) > maxToken {
		return "", false
	}
	set := k.current.Load()
	claims, ok := set.verify(token)
	if ok && k.age() > k.cfg.RefreshAfter {
		k.refreshInBackground(ctx)
	}
	if !ok { // its key may be newer than the set
		k.refresh(ctx)
		if now := k.current.Load(); now != set {
			claims, ok = now.verify(token)
		}
	}
	if !ok || !k.isValid(claims) {
		return "", false
	}
	return claims.Subject, true
}

// isValid reports whether the claims of a token are acceptable: the token has an expiry time and is
// valid now, its issuer and audience are those that k.cfg requires, and its subject can be the name
// of a user. It does not verify the signature; see keySet.verify.
func (k *JWTAuthenticator) isValid(c jwt.Claims) bool {
	want := jwt.Expected{Issuer: k.cfg.Issuer, Time: k.cfg.Now()}
	if k.cfg.Audience != "" {
		want.AnyAudience = jwt.Audience{k.cfg.Audience}
	}
	name := c.Subject
	if name == "" || len(name) > maxName || !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl) {
		return false
	}
	return c.Expiry != nil && c.ValidateWithLeeway(want, clockSkew) == nil
}

// refresh reads the keys again, unless that was tried less than MinRefreshInterval ago. If another
// call is reading them, it waits for that call until ctx is done. Once it has started to read, it
// does not stop when ctx is done, because otherwise clients that disconnect early could prevent
// every refresh.
func (k *JWTAuthenticator) refresh(ctx context.Context) {
	if k.age() < k.cfg.MinRefreshInterval {
		return
	}
	select {
	case k.refreshing <- struct{}{}:
		k.refreshIfOlder(ctx, k.cfg.MinRefreshInterval)
	case <-ctx.Done():
	}
}

// refreshInBackground starts reading the keys again in another goroutine, unless they are being
// read already. The old keys remain in use meanwhile.
func (k *JWTAuthenticator) refreshInBackground(ctx context.Context) {
	select {
	case k.refreshing <- struct{}{}:
		go k.refreshIfOlder(ctx, k.cfg.RefreshAfter)
	default: // already refreshing
	}
}

// refreshIfOlder reads the keys again if at least the duration age has passed since the last
// attempt. It logs an error. The caller must have sent a value to k.refreshing; refreshIfOlder
// receives it before it returns.
func (k *JWTAuthenticator) refreshIfOlder(ctx context.Context, age time.Duration) {
	defer func() { <-k.refreshing }()
	if k.age() < age {
		return
	}
	if err := k.load(context.WithoutCancel(ctx)); err != nil {
		k.cfg.Log.Warn("cannot refresh the keys for tokens; the old ones remain in use", "err", err)
	}
}
