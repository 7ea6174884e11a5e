package identity

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/go-jose/go-jose/v4/jwt"
)

// A KeysConfig is what signed tokens have to say. The zero value of each field is a
// sensible default.
type KeysConfig struct {
	Issuer   string        // what the claim iss has to be; "" is anything
	Audience string        // what has to be among the claim aud; "" is anything
	Renew    time.Duration // how old keys are when they are looked up again; 0 is 15 minutes
	Soon     time.Duration // how long nobody looks again for a key that was not there; 0 is 30 s
	Now      func() time.Time
	Log      *slog.Logger // nil is nowhere
}

// Keys are users by tokens that somebody else signs (RFC 7519): the claim sub is the
// name of the user, and whoever has one of the keys of a set (RFC 7517) can sign.
type Keys struct {
	cfg   KeysConfig
	from  source
	set   atomic.Pointer[keySet]
	looks atomic.Int64  // when somebody last looked, well or not: nanoseconds of Unix time
	turn  chan struct{} // holds one token: who looks
}

// leeway is how far the clock of who signs may be from ours.
const leeway = time.Minute

// OpenKeys reads a set of keys from a URL or a file. It is read again now and then, and
// when a token names a key that is not there; if that fails the keys of before are used.
func OpenKeys(ctx context.Context, where string, cfg KeysConfig) (*Keys, error) {
	if cfg.Renew == 0 {
		cfg.Renew = 15 * time.Minute
	}
	if cfg.Soon == 0 {
		cfg.Soon = 30 * time.Second
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	from, err := sourceOf(where)
	if err != nil {
		return nil, err
	}
	k := &Keys{cfg: cfg, from: from, turn: make(chan struct{}, 1)}
	return k, k.look(ctx)
}

// look reads the set, and keeps the old one if that fails.
func (k *Keys) look(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readWait)
	defer cancel()
	set, err := k.from.read(ctx)
	if err == nil {
		k.set.Store(set)
	}
	k.looks.Store(k.cfg.Now().UnixNano())
	return err
}

// age is how long ago somebody looked.
func (k *Keys) age() time.Duration { return time.Duration(k.cfg.Now().UnixNano() - k.looks.Load()) }

// Who checks signature and claims.
func (k *Keys) Who(ctx context.Context, token string) (user string, ok bool) {
	if len(token) > mostToken {
		return "", false
	}
	set := k.set.Load()
	claims, ok := set.claims(token)
	if ok && k.age() > k.cfg.Renew {
		k.renewBeside(ctx)
	}
	if !ok { // its key may be newer than what we have
		k.renew(ctx)
		if now := k.set.Load(); now != set {
			claims, ok = now.claims(token)
		}
	}
	if !ok || !k.holds(claims) {
		return "", false
	}
	return claims.Subject, true
}

// holds says whether the claims of a token let its user in, now.
func (k *Keys) holds(c jwt.Claims) bool {
	want := jwt.Expected{Issuer: k.cfg.Issuer, Time: k.cfg.Now()}
	if k.cfg.Audience != "" {
		want.AnyAudience = jwt.Audience{k.cfg.Audience}
	}
	return c.Expiry != nil && name(c.Subject) && c.ValidateWithLeeway(want, leeway) == nil
}

// renew looks for new keys, unless somebody did so just before. Who asks waits for it,
// but cannot break it off: else those who never wait would keep new keys from everybody.
func (k *Keys) renew(ctx context.Context) {
	if k.age() < k.cfg.Soon {
		return
	}
	select {
	case k.turn <- struct{}{}:
		k.hold(ctx, k.cfg.Soon)
	case <-ctx.Done():
	}
}

// renewBeside looks for new keys while those of before are used.
func (k *Keys) renewBeside(ctx context.Context) {
	select {
	case k.turn <- struct{}{}:
		go k.hold(ctx, k.cfg.Renew)
	default: // somebody looks
	}
}

// hold has the turn: it looks if nobody did for a while, and gives the turn back.
func (k *Keys) hold(ctx context.Context, age time.Duration) {
	defer func() { <-k.turn }()
	if k.age() < age {
		return
	}
	if err := k.look(context.WithoutCancel(ctx)); err != nil {
		k.cfg.Log.Warn("the keys of before are used", "err", err)
	}
}
