package identity

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/go-jose/go-jose/v4/jwt"
)

// A JWTConfig is what signed tokens have to say. The zero value of each field is a
// sensible default.
type JWTConfig struct {
	Issuer             string        // what the claim iss has to be; "" is anything
	Audience           string        // what has to be among the claim aud; "" is anything
	RefreshAfter       time.Duration // how old keys are when they are looked up again; 0 is 15 minutes
	MinRefreshInterval time.Duration // how long nobody looks again for a key that was not there; 0 is 30 s
	Now                func() time.Time
	Log                *slog.Logger // nil is nowhere
}

// JWTAuthenticator are users by tokens that somebody else signs (RFC 7519): the claim sub is the
// name of the user, and whoever has one of the keys of a set (RFC 7517) can sign.
type JWTAuthenticator struct {
	cfg         JWTConfig
	source      keySource
	current     atomic.Pointer[keySet]
	lastRefresh atomic.Int64  // when somebody last looked, well or not: nanoseconds of Unix time
	refreshing  chan struct{} // holds one token: who looks
}

// clockSkew is how far the clock of who signs may be from ours.
const clockSkew = time.Minute

// OpenJWT reads a set of keys from a URL or a file. It is read again now and then, and
// when a token names a key that is not there; if that fails the keys of before are used.
func OpenJWT(ctx context.Context, location string, cfg JWTConfig) (*JWTAuthenticator, error) {
	if cfg.RefreshAfter == 0 {
		cfg.RefreshAfter = 15 * time.Minute
	}
	if cfg.MinRefreshInterval == 0 {
		cfg.MinRefreshInterval = 30 * time.Second
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	from, err := parseKeySource(location)
	if err != nil {
		return nil, err
	}
	k := &JWTAuthenticator{cfg: cfg, source: from, refreshing: make(chan struct{}, 1)}
	return k, k.load(ctx)
}

// load reads the set, and keeps the old one if that fails.
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

// age is how long ago somebody looked.
func (k *JWTAuthenticator) age() time.Duration {
	return time.Duration(k.cfg.Now().UnixNano() - k.lastRefresh.Load())
}

// Authenticate checks signature and claims.
func (k *JWTAuthenticator) Authenticate(ctx context.Context, token string) (user string, ok bool) {
	if len(token) > maxToken {
		return "", false
	}
	set := k.current.Load()
	claims, ok := set.verify(token)
	if ok && k.age() > k.cfg.RefreshAfter {
		k.refreshInBackground(ctx)
	}
	if !ok { // its key may be newer than what we have
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

// isValid says whether the claims of a token let its user in, now.
func (k *JWTAuthenticator) isValid(c jwt.Claims) bool {
	want := jwt.Expected{Issuer: k.cfg.Issuer, Time: k.cfg.Now()}
	if k.cfg.Audience != "" {
		want.AnyAudience = jwt.Audience{k.cfg.Audience}
	}
	return c.Expiry != nil && isValidName(c.Subject) && c.ValidateWithLeeway(want, clockSkew) == nil
}

// refresh looks for new keys, unless somebody did so just before. Who asks waits for it,
// but cannot break it off: else those who never wait would keep new keys from everybody.
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

// refreshInBackground looks for new keys while those of before are used.
func (k *JWTAuthenticator) refreshInBackground(ctx context.Context) {
	select {
	case k.refreshing <- struct{}{}:
		go k.refreshIfOlder(ctx, k.cfg.RefreshAfter)
	default: // somebody looks
	}
}

// refreshIfOlder has the turn: it looks if nobody did for a while, and gives the turn back.
func (k *JWTAuthenticator) refreshIfOlder(ctx context.Context, age time.Duration) {
	defer func() { <-k.refreshing }()
	if k.age() < age {
		return
	}
	if err := k.load(context.WithoutCancel(ctx)); err != nil {
		k.cfg.Log.Warn("the keys of before are used", "err", err)
	}
}
