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

// redisTimeout bounds every call: whoever asks has an answer by then, or an error.
const redisTimeout = 5 * time.Second

// A redisStore keeps everything in a Redis or Valkey server, which several processes
// may share. What it acknowledges is as durable as the server is told to make it.
type redisStore struct {
	client     *redis.Client
	address    string // the server's address, for errors
	prefix     string // of all keys; it ends in a colon
	replica    string // this replica
	cfg        Config
	lastToken  atomic.Int64
	locks      runLocks
	uncertain  uncertainRuns
	subscriber *subscriber
	heartbeat  *heartbeat
	takeover   takeover

	stop       context.CancelFunc
	background sync.WaitGroup
	closeOnce  sync.Once
	closeErr   error
}

// OpenRedis opens the store that a OpenRedis (7.0 or later) or Valkey server keeps:
//
//	redis://[USER:PASSWORD@]HOST:PORT/DB[?prefix=NAME]
//
// rediss:// is the same over TLS, unix:///PATH a socket. All keys and channels begin
// with the name and a colon ("streamassay:" if there is none): that is what the user
// needs access to. The server must not evict keys. For certain, what it acknowledges
// survives its death only with appendonly yes and appendfsync always.
func OpenRedis(ctx context.Context, url string, cfg Config) (Store, error) {
	options, prefix, err := parseRedisURL(url)
	if err != nil {
		return nil, err
	}
	heartbeatOptions := *options
	heartbeatOptions.PoolSize = 1000 // after so many failures a client looks for its server only once in a second
	logging.Disable()                // the client would print what is returned as an error anyway
	cfg.MaxRuns = cmp.Or(cfg.MaxRuns, 100_000)
	cfg.DeadAfter = cmp.Or(cfg.DeadAfter, 3*time.Second)
	s := &redisStore{
		client:  redis.NewClient(options),
		address: options.Addr,
		prefix:  prefix + ":",
		replica: rand.Text(),
		cfg:     cfg,
	}
	if err := s.checkServer(ctx); err != nil {
		_ = s.client.Close() // it holds nothing
		return nil, err
	}
	s.subscriber, s.heartbeat = newSubscriber(s), newHeartbeat(s, redis.NewClient(&heartbeatOptions))
	if err := s.startBackground(ctx); err != nil {
		_ = s.Close() // nobody has used it
		return nil, err
	}
	return s, nil
}

// startBackground starts what goes on beside the calls.
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

// parseRedisURL reads an address. What is wrong with it is not quoted: it may hold a
// password.
func parseRedisURL(address string) (o *redis.Options, prefix string, err error) {
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

// checkServer refuses a server that cannot keep what it is given.
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

// unsuitableReason says why a server cannot be used, by what it says of itself.
func unsuitableReason(info string) string {
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
	return fmt.Errorf("redis %s: %w", s.address, err)
}

// runScript runs a script, which has the prefix and these arguments, within bounds.
func (s *redisStore) runScript(ctx context.Context, script *redis.Script, args ...any) ([]any, error) {
	return s.runScriptOn(ctx, s.client, script, args...)
}

func (s *redisStore) runScriptOn(ctx context.Context, db *redis.Client, script *redis.Script, args ...any) ([]any, error) {
	ctx, cancel := context.WithTimeout(ctx, redisTimeout)
	defer cancel()
	reply, err := script.Run(ctx, db, []string{s.prefix}, args...).Slice()
	return reply, s.wrap(err)
}

// nextToken is a greater one each time; only this replica's are compared.
func (s *redisStore) nextToken() string { return strconv.FormatInt(s.lastToken.Add(1), 10) }

func (s *redisStore) key(kind, name string) string { return s.prefix + kind + name }

// encode is a Ref in one word.
func (r RunRef) encode() string { return strconv.Itoa(len(r.Thread)) + ":" + r.Thread + r.Run }

// parseRunRef reads it back.
func parseRunRef(id string) (RunRef, bool) {
	size, rest, _ := strings.Cut(id, ":")
	n, err := strconv.Atoi(size)
	if err != nil || n < 0 || n > len(rest) {
		return RunRef{}, false
	}
	return RunRef{Thread: rest[:n], Run: rest[n:]}, true
}

func (s *redisStore) Secret(ctx context.Context) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, redisTimeout)
	defer cancel()
	key := s.key("secret", "")
	secret, err := s.client.Get(ctx, key).Bytes()
	if errors.Is(err, redis.Nil) {
		mine := make([]byte, 32)
		_, _ = rand.Read(mine) // it never fails
		if err = s.client.SetNX(ctx, key, mine, 0).Err(); err == nil {
			secret, err = s.client.Get(ctx, key).Bytes() // another one may have been faster
		}
	}
	return secret, s.wrap(err)
}

// Ping writes: a server that is out of memory, cannot save, or is a replica, answers
// without keeping anything.
func (s *redisStore) Ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, redisTimeout)
	defer cancel()
	return s.wrap(s.client.Set(ctx, s.key("probe", ""), "1", time.Minute).Err())
}

// Close leaves the runs that are not over to the other replicas, at once.
func (s *redisStore) Close() error {
	s.closeOnce.Do(func() {
		s.stop()
		s.background.Wait()
		s.heartbeat.leave()
		s.closeErr = s.wrap(s.client.Close())
	})
	return s.closeErr
}
