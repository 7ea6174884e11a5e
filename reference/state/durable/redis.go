package durable

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

	"github.com/streamassay/streamassay/reference/state"
)

// redisTimeout is how long one call to the Redis server may take.
const redisTimeout = 5 * time.Second

// A redisStore keeps everything in a Redis or Valkey server, which several processes,
// called replicas here, may share. Acknowledged data is as durable as the server's
// configuration makes it.
type redisStore struct {
	client     *redis.Client
	address    string // for error messages
	prefix     string // of all keys and channels; ends in a colon
	replica    string // random id of this store
	cfg        state.Config
	lastToken  atomic.Int64
	locks      runLocks
	uncertain  possiblyStartedRuns
	subscriber *redisSubscriber
	heartbeat  *heartbeat
	takeover   takeover

	stop       context.CancelFunc
	background sync.WaitGroup
	closeOnce  sync.Once
	closeErr   error
}

// RedisMaxRuns is the default of Config.MaxRuns of a store in Redis.
const RedisMaxRuns = 100_000

// OpenRedis opens the store in a Redis (7.0 or later) or Valkey server with the given
// URL:
//
//	redis://[USER:PASSWORD@]HOST:PORT/DB[?prefix=NAME]
//
// rediss:// means TLS, and unix:///PATH a socket. The names of all keys and channels
// begin with NAME and a colon; the default is "streamassay:". The user of the URL needs
// access to those keys and channels. The server must not evict keys. Acknowledged data is
// guaranteed to survive a crash of the server only with appendonly yes and appendfsync
// always.
func OpenRedis(ctx context.Context, url string, cfg state.Config) (state.Store, error) {
	options, prefix, err := parseRedisURL(url)
	if err != nil {
		return nil, err
	}
	heartbeatOptions := *options
	heartbeatOptions.PoolSize = 1000 // after PoolSize failed dials, go-redis tries only once per second
	logging.Disable()                // go-redis logs errors that it returns as well
	cfg.MaxRuns = cmp.Or(cfg.MaxRuns, RedisMaxRuns)
	cfg.DeadAfter = cmp.Or(cfg.DeadAfter, 3*time.Second)
	s := &redisStore{
		client:  redis.NewClient(options),
		address: options.Addr,
		prefix:  prefix + ":",
		replica: rand.Text(),
		cfg:     cfg,
	}
	if err := s.checkServer(ctx); err != nil {
		_ = s.client.Close() // err is more useful
		return nil, err
	}
	s.subscriber, s.heartbeat = newSubscriber(s), newHeartbeat(s, redis.NewClient(&heartbeatOptions))
	if err := s.startBackground(ctx); err != nil {
		_ = s.Close() // err is more useful
		return nil, err
	}
	return s, nil
}

// startBackground starts the goroutines of the heartbeat and the subscription. It returns nil once
// both have succeeded, or else the error of the first attempt.
func (s *redisStore) startBackground(ctx context.Context) error {
	background, stop := context.WithCancel(context.Background())
	s.stop = stop
	s.background.Go(func() { s.subscriber.run(background) })
	s.background.Go(func() { s.subscriber.deliverCancels(background) })
	if err := s.heartbeat.beat(ctx); err != nil {
		return err
	}
	s.background.Go(func() { s.heartbeat.run(background) })
	ctx, cancel := context.WithTimeout(ctx, redisTimeout)
	defer cancel()
	select {
	case err := <-s.subscriber.ready:
		return s.wrap(err)
	case <-ctx.Done():
		return s.wrap(ctx.Err())
	}
}

// parseRedisURL parses address, the URL of a server, and returns the client options and the prefix
// of all keys. Its errors do not quote the URL, which may contain a password.
func parseRedisURL(address string) (o *redis.Options, prefix string, err error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, "", errors.New("redis: invalid URL, want redis://[USER:PASSWORD@]HOST:PORT/DB")
	}
	query := u.Query()
	prefix = cmp.Or(query.Get("prefix"), "streamassay")
	query.Del("prefix")
	u.RawQuery = query.Encode()
	if o, err = redis.ParseURL(u.String()); err != nil {
		return nil, "", fmt.Errorf("redis %s: %s", cmp.Or(u.Host, u.Path), strings.TrimPrefix(err.Error(), "redis: "))
	}
	o.ContextTimeoutEnabled = true // else redisTimeout has no effect
	o.DialTimeout = cmp.Or(o.DialTimeout, 2*time.Second)
	o.ReadTimeout = cmp.Or(o.ReadTimeout, 2*time.Second)
	o.WriteTimeout = cmp.Or(o.WriteTimeout, 2*time.Second)
	o.PoolTimeout = cmp.Or(o.PoolTimeout, 2*time.Second)
	o.MaxRetries = cmp.Or(o.MaxRetries, 2) // safe: scripts are idempotent
	o.DialerRetries = 1
	o.DisableIdentity = true
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	return o, prefix, nil
}

// checkServer returns an error if the server cannot be reached or is unsuitable as a store, for
// example because it is too old.
func (s *redisStore) checkServer(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, redisTimeout)
	defer cancel()
	info, err := s.client.Info(ctx).Result()
	if err != nil {
		return s.wrap(err)
	}
	if why := unsuitableReason(info); why != "" {
		return fmt.Errorf("redis %s: %s", s.address, why)
	}
	return nil
}

// unsuitableReason returns why a server cannot be used as a store, or "" if it can. info is its
// reply to the command INFO.
func unsuitableReason(info string) string {
	fields := map[string]string{}
	for line := range strings.Lines(info) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			fields[name] = value
		}
	}
	major, _, _ := strings.Cut(fields["redis_version"], ".")
	n, err := strconv.Atoi(major)
	policy := fields["maxmemory_policy"]
	switch {
	case err != nil:
		return "the server's INFO has no valid redis_version"
	case n < 7: // earlier versions may stop a script halfway when memory runs out
		return fmt.Sprintf("the server has version %s, want 7.0 or later", fields["redis_version"])
	case fields["redis_mode"] == "cluster":
		return "the server is part of a cluster, want a single server"
	case fields["role"] == "slave":
		return "the server is a read-only replica, want its primary"
	case strings.HasPrefix(policy, "allkeys-") && fields["maxmemory"] != "0":
		return fmt.Sprintf("the server evicts keys (maxmemory-policy %s), want noeviction", policy)
	}
	return ""
}

// wrap returns err with the address of the server prepended to its text, or nil if err is nil.
func (s *redisStore) wrap(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("redis %s: %w", s.address, err)
}

// runScript executes a script on the server, for at most redisTimeout, and returns its reply,
// which must be a list. args become ARGV of the script; KEYS[1] is the prefix of all keys.
func (s *redisStore) runScript(ctx context.Context, script *redis.Script, args ...any) ([]any, error) {
	return s.runScriptOn(ctx, s.client, script, args...)
}

func (s *redisStore) runScriptOn(
	ctx context.Context, db *redis.Client, script *redis.Script, args ...any,
) ([]any, error) {
	ctx, cancel := context.WithTimeout(ctx, redisTimeout)
	defer cancel()
	reply, err := script.Run(ctx, db, []string{s.prefix}, args...).Slice()
	return reply, s.wrap(err)
}

// nextToken returns a token for a new call that changes data. The server uses it to recognize a
// repetition of the call. The tokens of one replica increase; those of different replicas are never
// compared.
func (s *redisStore) nextToken() string { return strconv.FormatInt(s.lastToken.Add(1), 10) }

func (s *redisStore) key(kind, name string) string { return s.prefix + kind + name }

// encodeRef returns a reference as one string, which is used in the names of keys: the length of
// the thread's name, a colon, and both names.
func encodeRef(r state.RunRef) string { return strconv.Itoa(len(r.Thread)) + ":" + r.Thread + r.Run }

// parseRunRef returns the reference for which encodeRef returns id. It returns false if id is not
// a result of encodeRef.
func parseRunRef(id string) (state.RunRef, bool) {
	size, rest, _ := strings.Cut(id, ":")
	n, err := strconv.Atoi(size)
	if err != nil || n < 0 || n > len(rest) {
		return state.RunRef{}, false
	}
	return state.RunRef{Thread: rest[:n], Run: rest[n:]}, true
}

func (s *redisStore) Secret(ctx context.Context) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, redisTimeout)
	defer cancel()
	key := s.key("secret", "")
	secret, err := s.client.Get(ctx, key).Bytes()
	if errors.Is(err, redis.Nil) {
		mine := make([]byte, 32)
		_, _ = rand.Read(mine) // never fails
		if err = s.client.SetNX(ctx, key, mine, 0).Err(); err == nil {
			secret, err = s.client.Get(ctx, key).Bytes() // another replica may have set it first
		}
	}
	return secret, s.wrap(err)
}

// Ping implements [state.Store]. It writes a key, because a server that is out of memory, cannot save, or
// has become a replica still answers reads and the command PING.
func (s *redisStore) Ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, redisTimeout)
	defer cancel()
	return s.wrap(s.client.Set(ctx, s.key("probe", ""), "1", time.Minute).Err())
}

// Close releases the store. Other replicas can claim its running runs immediately.
func (s *redisStore) Close() error {
	s.closeOnce.Do(func() {
		s.stop()
		s.background.Wait()
		s.heartbeat.leave()
		s.closeErr = s.wrap(s.client.Close())
	})
	return s.closeErr
}
