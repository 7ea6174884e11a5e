package state

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// redisWait bounds every call: whoever asks has an answer by then, or an error.
const redisWait = 5 * time.Second

// A redisStore keeps everything in a Redis or Valkey server, which several processes
// may share. What it acknowledges is as durable as the server is told to make it.
type redisStore struct {
	db     *redis.Client
	where  string // the server's address, for errors
	prefix string // of all keys; it ends in a colon
	me     string // this replica
	cfg    Config
	tokens atomic.Int64
	lanes  lanes
	lost   lost
	hub    *hub
	pulse  *pulse
	taking taking

	stop    context.CancelFunc
	running sync.WaitGroup
	closing sync.Once
	closed  error
}

// Redis opens the store that a Redis (7.0 or later) or Valkey server keeps:
//
//	redis://[USER:PASSWORD@]HOST:PORT/DB[?prefix=NAME]
//
// rediss:// is the same over TLS, unix:///PATH a socket. All keys and channels begin
// with the name and a colon ("streamassay:" if there is none): that is what the user
// needs access to. The server must not evict keys. For certain, what it acknowledges
// survives its death only with appendonly yes and appendfsync always.
func Redis(ctx context.Context, url string, cfg Config) (Store, error) {
	options, prefix, err := redisURL(url)
	if err != nil {
		return nil, err
	}
	own := *options
	own.PoolSize = 1000 // after so many failures a client looks for its server only once in a second
	logging.Disable()   // the client would print what is returned as an error anyway
	cfg.Runs = cmp.Or(cfg.Runs, 100_000)
	cfg.Dead = cmp.Or(cfg.Dead, 3*time.Second)
	s := &redisStore{
		db:     redis.NewClient(options),
		where:  options.Addr,
		prefix: prefix + ":",
		me:     rand.Text(),
		cfg:    cfg,
	}
	if err := s.check(ctx); err != nil {
		_ = s.db.Close() // it holds nothing
		return nil, err
	}
	s.hub, s.pulse = newHub(s), newPulse(s, redis.NewClient(&own))
	if err := s.begin(ctx); err != nil {
		_ = s.Close() // nobody has used it
		return nil, err
	}
	return s, nil
}

// begin starts what goes on beside the calls.
func (s *redisStore) begin(ctx context.Context) error {
	background, stop := context.WithCancel(context.Background())
	s.stop = stop
	s.running.Go(func() { s.hub.run(background) })
	s.running.Go(func() { s.hub.deliver(background) })
	if err := s.pulse.beat(ctx); err != nil {
		return err
	}
	s.running.Go(func() { s.pulse.run(background) })
	ctx, cancel := context.WithTimeout(ctx, redisWait)
	defer cancel()
	select {
	case err := <-s.hub.ready:
		return s.wrap(err)
	case <-ctx.Done():
		return s.wrap(ctx.Err())
	}
}

// redisURL reads an address. What is wrong with it is not quoted: it may hold a
// password.
func redisURL(address string) (o *redis.Options, prefix string, err error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, "", errors.New("redis: the address is not a URL: redis://[USER:PASSWORD@]HOST:PORT/DB")
	}
	query := u.Query()
	prefix = cmp.Or(query.Get("prefix"), "streamassay")
	query.Del("prefix")
	u.RawQuery = query.Encode()
	if o, err = redis.ParseURL(u.String()); err != nil {
		return nil, "", fmt.Errorf("redis %s: %s", cmp.Or(u.Host, u.Path), strings.TrimPrefix(err.Error(), "redis: "))
	}
	o.ContextTimeoutEnabled = true // or redisWait would not count
	o.DialTimeout = cmp.Or(o.DialTimeout, 2*time.Second)
	o.ReadTimeout = cmp.Or(o.ReadTimeout, 2*time.Second)
	o.WriteTimeout = cmp.Or(o.WriteTimeout, 2*time.Second)
	o.PoolTimeout = cmp.Or(o.PoolTimeout, 2*time.Second)
	o.MaxRetries = cmp.Or(o.MaxRetries, 2) // nothing here counts twice, see the scripts
	o.DialerRetries = 1
	o.DisableIdentity = true
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	return o, prefix, nil
}

// check refuses a server that cannot keep what it is given.
func (s *redisStore) check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, redisWait)
	defer cancel()
	info, err := s.db.Info(ctx).Result()
	if err != nil {
		return s.wrap(err)
	}
	if why := unfit(info); why != "" {
		return fmt.Errorf("redis %s: %s", s.where, why)
	}
	return nil
}

// unfit says why a server cannot be used, by what it says of itself.
func unfit(info string) string {
	is := map[string]string{}
	for line := range strings.Lines(info) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			is[name] = value
		}
	}
	major, _, _ := strings.Cut(is["redis_version"], ".")
	n, err := strconv.Atoi(major)
	policy := is["maxmemory_policy"]
	switch {
	case err != nil:
		return "the server does not say which version it is"
	case n < 7: // scripts that are refused whole when there is no memory
		return fmt.Sprintf("the server is version %s: 7.0 or later is needed", is["redis_version"])
	case is["redis_mode"] == "cluster":
		return "the server is one of a cluster: a single one is needed"
	case is["role"] == "slave":
		return "the server is a replica of another: nothing can be written to it"
	case strings.HasPrefix(policy, "allkeys-") && is["maxmemory"] != "0":
		return fmt.Sprintf("the server evicts keys (maxmemory-policy %s): noeviction is needed", policy)
	}
	return ""
}

// wrap says where an error comes from.
func (s *redisStore) wrap(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("redis %s: %w", s.where, err)
}

// do runs a script, which has the prefix and these arguments, within bounds.
func (s *redisStore) do(ctx context.Context, script *redis.Script, args ...any) ([]any, error) {
	return s.doOn(ctx, s.db, script, args...)
}

func (s *redisStore) doOn(ctx context.Context, db *redis.Client, script *redis.Script, args ...any) ([]any, error) {
	ctx, cancel := context.WithTimeout(ctx, redisWait)
	defer cancel()
	reply, err := script.Run(ctx, db, []string{s.prefix}, args...).Slice()
	return reply, s.wrap(err)
}

// token is a greater one each time; only this replica's are compared.
func (s *redisStore) token() string { return strconv.FormatInt(s.tokens.Add(1), 10) }

func (s *redisStore) key(kind, name string) string { return s.prefix + kind + name }

// id is a Ref in one word.
func (r Ref) id() string { return strconv.Itoa(len(r.Thread)) + ":" + r.Thread + r.Run }

// refOf reads it back.
func refOf(id string) (Ref, bool) {
	size, rest, _ := strings.Cut(id, ":")
	n, err := strconv.Atoi(size)
	if err != nil || n < 0 || n > len(rest) {
		return Ref{}, false
	}
	return Ref{Thread: rest[:n], Run: rest[n:]}, true
}

func (s *redisStore) Secret(ctx context.Context) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, redisWait)
	defer cancel()
	key := s.key("secret", "")
	secret, err := s.db.Get(ctx, key).Bytes()
	if errors.Is(err, redis.Nil) {
		mine := make([]byte, 32)
		_, _ = rand.Read(mine) // it never fails
		if err = s.db.SetNX(ctx, key, mine, 0).Err(); err == nil {
			secret, err = s.db.Get(ctx, key).Bytes() // another one may have been faster
		}
	}
	return secret, s.wrap(err)
}

// Ping writes: a server that is out of memory, cannot save, or is a replica, answers
// without keeping anything.
func (s *redisStore) Ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, redisWait)
	defer cancel()
	return s.wrap(s.db.Set(ctx, s.key("probe", ""), "1", time.Minute).Err())
}

// Close leaves the runs that are not over to the other replicas, at once.
func (s *redisStore) Close() error {
	s.closing.Do(func() {
		s.stop()
		s.running.Wait()
		s.pulse.leave()
		s.closed = s.wrap(s.db.Close())
	})
	return s.closed
}
