package identity

import (
	"cmp"
	"context"
	"errors"
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
	// MinRefreshInterval is the minimum time since the last attempt to read the keys before they
	// are read again because none of them verifies the signature of a token. 0 means 30 s.
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

// clockSkew is the assumed maximum difference between the clocks of the issuer and of this server.
// The times in a token are checked with this tolerance.
const clockSkew = time.Minute

// OpenJWT returns an authenticator that uses the set of keys at location, a URL or the name of a
// file. It returns an error if location is invalid or the set cannot be read. The context ctx
// applies only to this first read.
//
// The authenticator reads the set again when cfg.RefreshAfter has passed, and when none of the keys
// verifies the signature of a token. If it cannot read the set, it keeps the old keys.
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

// load reads the set of keys at the location that was passed to OpenJWT, and replaces the current
// set with it. If the set cannot be read, load returns the error and keeps the current set. In both
// cases, it records the time of the attempt.
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
// the claims are valid. If none of the keys verifies the signature, it reads the keys again (see
// refresh) and tries the new keys.
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
	err := errNoKey
	if ok {
		err = k.checkClaims(claims)
	}
	if err != nil {
		k.cfg.Log.Debug("a token was refused", "err", err)
		return "", false
	}
	return claims.Subject, true
}

var (
	errNoKey    = errors.New("it is not a JWT, or none of the keys verifies its signature")
	errNoExpiry = errors.New("it has no expiry time (exp)")
	errNoUser   = errors.New("its subject (sub) is missing or cannot be the name of a user")
)

// checkClaims returns nil if the claims of a token are acceptable. The token must have an expiry
// time and be valid now, have the issuer and the audience that k.cfg requires, and have a subject
// that can be the name of a user. checkClaims does not verify the signature; see keySet.verify.
func (k *JWTAuthenticator) checkClaims(c jwt.Claims) error {
	want := jwt.Expected{Issuer: k.cfg.Issuer, Time: k.cfg.Now()}
	if k.cfg.Audience != "" {
		want.AnyAudience = jwt.Audience{k.cfg.Audience}
	}
	name := c.Subject
	if name == "" || len(name) > maxName || !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl) {
		return errNoUser
	}
	if c.Expiry == nil {
		return errNoExpiry
	}
	return c.ValidateWithLeeway(want, clockSkew)
}

// refresh reads the keys again, unless the last attempt to read them was less than
// MinRefreshInterval ago. If another call is reading them, refresh waits for that call until ctx is
// done. A read that has started continues after ctx is done, so that clients that disconnect early
// cannot prevent it.
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
// read already. The old keys remain in use meanwhile, and also if reading fails. The goroutine uses
// the values of ctx, but continues after ctx is done.
func (k *JWTAuthenticator) refreshInBackground(ctx context.Context) {
	select {
	case k.refreshing <- struct{}{}:
		go k.refreshIfOlder(ctx, k.cfg.RefreshAfter)
	default: // already refreshing
	}
}

// refreshIfOlder reads the keys again if the last attempt to read them was at least the duration
// age ago. It logs an error in reading them. The caller must have sent a value to k.refreshing;
// refreshIfOlder receives that value at its end.
func (k *JWTAuthenticator) refreshIfOlder(ctx context.Context, age time.Duration) {
	defer func() { <-k.refreshing }()
	if k.age() < age {
		return
	}
	if err := k.load(context.WithoutCancel(ctx)); err != nil {
		k.cfg.Log.Warn("cannot refresh the keys for tokens; the old ones remain in use", "err", err)
	}
}
