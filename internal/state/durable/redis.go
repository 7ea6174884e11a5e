package durable

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/streamassay/streamassay/internal/state"
)

// A redisStore is a [state.Store] that keeps its data in a Redis or Valkey server. Several
// processes, called replicas in this package, may share the server.
type redisStore struct {
	*redisClient
	*state.Notifier
	replica    string // random id of this store
	cfg        state.Config
	lastToken  atomic.Int64 // the latest result of nextToken
	locks      appendLocks
	uncertain  inDoubtRuns
	subscriber *redisSubscriber
	heartbeat  *replicaHeartbeat
	takeover   claimState

	stop       context.CancelFunc // ends the background goroutines
	background sync.WaitGroup     // the goroutines that startBackground started
	closeOnce  sync.Once
	closeErr   error // what Close returns
}

// RedisMaxRuns is the default of Config.MaxRuns of a store in Redis.
const RedisMaxRuns = 100_000

// OpenRedis opens the store in a Redis (7.0 or later) or Valkey server with a URL of this form:
//
//	redis://[USER:PASSWORD@]HOST:PORT/DB[?prefix=NAME]
//
// With rediss:// instead of redis://, the connections use TLS. A URL unix:///PATH?db=DB refers to a
// Unix socket. The names of all keys and channels begin with NAME, by default "streamassay", and a
// colon. The user of the URL needs access to those keys and channels. The server must not evict
// keys. Acknowledged data is guaranteed to survive a crash of the server only if the server is
// configured with "appendonly yes" and "appendfsync always". OpenRedis returns an error if the URL
// is invalid, or if the server cannot be reached or is unsuitable.
func OpenRedis(ctx context.Context, url string, cfg state.Config) (state.Store, error) {
	address, err := parseRedisURL(url)
	if err != nil {
		return nil, err
	}
	cfg.MaxRuns = cmp.Or(cfg.MaxRuns, RedisMaxRuns)
	cfg.DeadAfter = cmp.Or(cfg.DeadAfter, 3*time.Second)
	s := &redisStore{
		redisClient: newRedisClient(address), replica: rand.Text(), cfg: cfg,
		locks:     appendLocks{byRun: map[state.RunRef]*runAppendLock{}},
		uncertain: inDoubtRuns{runs: map[state.RunRef]uncertainStart{}},
	}
	info, err := redis.String(s.do(ctx, "INFO"))
	if why := unsuitableReason(info); err == nil && why != "" {
		err = s.wrap(errors.New(why))
	}
	if err != nil {
		_ = s.close() // err is more useful
		return nil, s.describeFirstError(ctx, err)
	}
	s.subscriber = newSubscriber(s)
	s.heartbeat = &replicaHeartbeat{store: s, client: newRedisClient(address), halt: make(chan struct{})}
	s.Notifier = state.NewNotifier(maxQueuedCancels, s.subscriber.setWatched)
	if err := s.startBackground(ctx); err != nil {
		_ = s.Close() // err is more useful
		return nil, err
	}
	return s, nil
}

// describeFirstError returns the error to report if the first command to a server failed with err.
// If there was no reply or an invalid one, the returned error states that the server may not be a
// Redis server. Any other err, and each err if ctx is done, is returned unchanged.
func (c *redisClient) describeFirstError(ctx context.Context, err error) error {
	timeout, isNet := errors.AsType[net.Error](err)
	switch {
	case ctx.Err() != nil:
		return err
	case strings.Contains(err.Error(), "redigo: "): // protocol errors of package redis have no exported type
		return c.wrap(errors.New("the server is not a Redis server"))
	case errors.Is(err, io.EOF), errors.Is(err, syscall.ECONNRESET):
		return c.wrap(errors.New("the connection was closed without a reply: is it a Redis server?"))
	case isNet && timeout.Timeout():
		return c.wrap(fmt.Errorf("no reply within %v: is it a Redis server?", redisTimeout))
	}
	return err
}

// startBackground starts the goroutines of the heartbeat and the subscription. It waits until the
// server has recorded the first heartbeat and confirmed the subscription. It returns an error if
// one of these fails, ctx is done, or redisTimeout has passed. Even after an error, the caller must
// close s, which ends the goroutines.
func (s *redisStore) startBackground(ctx context.Context) error {
	background, stop := context.WithCancel(context.Background())
	s.stop = stop
	s.background.Go(func() { s.subscriber.run(background) })
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

// unsuitableReason returns the reason why a server cannot be used as a store, or "" if it can. The
// argument info is the server's reply to the INFO command.
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

// nextToken returns a decimal number that identifies a call of StartRun, Append or ClaimOrphans. If
// the call is sent again with the same token, the server recognizes the repetition. The tokens of
// one replica increase; those of different replicas are never compared.
func (s *redisStore) nextToken() string { return strconv.FormatInt(s.lastToken.Add(1), 10) }

// encodeRef returns r as one string for use in the names of keys. It consists of the length of the
// thread's name in bytes, a colon, the thread's name and the run's name.
func encodeRef(r state.RunRef) string { return strconv.Itoa(len(r.Thread)) + ":" + r.Thread + r.Run }

// parseRunRef returns the RunRef for which encodeRef returns id. The second result is false if
// there is none.
func parseRunRef(id string) (state.RunRef, bool) {
	size, rest, _ := strings.Cut(id, ":")
	n, err := strconv.Atoi(size)
	if err != nil || n < 0 || n > len(rest) {
		return state.RunRef{}, false
	}
	return state.RunRef{Thread: rest[:n], Run: rest[n:]}, true
}

func (s *redisStore) Secret(ctx context.Context) ([]byte, error) {
	key := s.key("secret", "")
	secret, err := redis.Bytes(s.do(ctx, "GET", key))
	if errors.Is(err, redis.ErrNil) {
		if _, err = s.do(ctx, "SET", key, newSecret(), "NX"); err == nil {
			secret, err = redis.Bytes(s.do(ctx, "GET", key)) // another replica may have set it first
		}
	}
	return secret, err
}

// Ping implements [state.Store]. It writes a key, because a server that is out of memory, cannot
// save, or has become a replica still answers reads and the PING command.
func (s *redisStore) Ping(ctx context.Context) error {
	_, err := s.do(ctx, "SET", s.key("probe", ""), "1", "EX", 60)
	return err
}

// Close closes the connections. Other replicas can then immediately claim the runs that this
// replica was executing. The caller must ensure that no other call is in progress. Close returns an
// error if a connection cannot be closed. Later calls return the result of the first.
func (s *redisStore) Close() error {
	s.closeOnce.Do(func() {
		s.stop()
		s.background.Wait()
		s.heartbeat.leave()
		s.closeErr = s.close()
	})
	return s.closeErr
}
