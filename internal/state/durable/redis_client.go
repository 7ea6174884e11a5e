package durable

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gomodule/redigo/redis"
)

// Limits on calls and connections to a Redis server and on the repetition of commands.
const (
	redisTimeout   = 5 * time.Second       // for one call, with its retries
	connectTimeout = 2 * time.Second       // for a new connection
	replyTimeout   = 2 * time.Second       // for one reply
	idleTimeout    = 5 * time.Minute       // after which an unused connection is closed
	maxRetries     = 2                     // for one command, after a temporary failure
	retryWait      = 10 * time.Millisecond // before the first retry; doubles for each further one
)

// A redisAddress holds what is needed to connect to a Redis server, and the prefix of the names of
// all keys and channels.
type redisAddress struct {
	network, address   string // "tcp" and HOST:PORT, or "unix" and the path of the socket
	username, password string // "" if the URL has none
	database           int
	useTLS             bool
	prefix             string // ends in a colon
}

// parseRedisURL parses the URL of a server; see [OpenRedis]. It returns an error if the URL is
// invalid. Its errors do not quote the URL, which may contain a password.
func parseRedisURL(location string) (a redisAddress, err error) {
	u, err := url.Parse(location)
	if err != nil {
		return a, errors.New("redis: invalid URL, want redis://[USER:PASSWORD@]HOST:PORT/DB")
	}
	query := u.Query()
	database := strings.Trim(u.Path, "/")
	a = redisAddress{network: "tcp", useTLS: u.Scheme == "rediss", username: u.User.Username()}
	a.prefix = cmp.Or(query.Get("prefix"), "streamassay") + ":"
	a.password, _ = u.User.Password()
	a.address = net.JoinHostPort(cmp.Or(u.Hostname(), "localhost"), cmp.Or(u.Port(), "6379"))
	known := []string{"prefix"}
	switch u.Scheme {
	case "redis", "rediss":
	case "unix":
		a.network, a.address, database = "unix", u.Path, query.Get("db")
		known = append(known, "db")
	default:
		return a, fmt.Errorf("redis %s: invalid URL scheme: %s", a.address, u.Scheme)
	}
	for name := range query {
		if !slices.Contains(known, name) {
			return a, fmt.Errorf("redis %s: unexpected option: %s", a.address, url.QueryEscape(name))
		}
	}
	if a.database, err = strconv.Atoi(cmp.Or(database, "0")); err != nil {
		return a, fmt.Errorf("redis %s: invalid database number: %q", a.address, database)
	}
	return a, nil
}

// dial opens a connection to the server. It returns an error if the server cannot be reached,
// refuses the user or the database, or does not reply in time, or if ctx is done.
func (a redisAddress) dial(ctx context.Context) (redis.Conn, error) {
	return redis.DialContext(ctx, a.network, a.address,
		redis.DialUsername(a.username), redis.DialPassword(a.password), redis.DialDatabase(a.database),
		redis.DialUseTLS(a.useTLS),
		redis.DialConnectTimeout(connectTimeout), redis.DialTLSHandshakeTimeout(connectTimeout),
		redis.DialReadTimeout(replyTimeout), redis.DialWriteTimeout(replyTimeout))
}

// A redisClient sends commands to a Redis server. It repeats a command if the connection is lost,
// so each command must have the same effect if it is executed twice. It is safe for concurrent use.
// Its errors begin with the address of the server.
type redisClient struct {
	redisAddress
	pool *redis.Pool
}

func newRedisClient(address redisAddress) *redisClient {
	connections := 10 * runtime.GOMAXPROCS(0)
	return &redisClient{address, &redis.Pool{
		DialContext: address.dial, MaxActive: connections, MaxIdle: connections, IdleTimeout: idleTimeout, Wait: true,
	}}
}

// close closes the connections. The caller must ensure that no call is in progress.
func (c *redisClient) close() error { return c.wrap(c.pool.Close()) }

// wrap returns an error that wraps err and whose text begins with the address of the server, or nil
// if err is nil.
func (c *redisClient) wrap(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("redis %s: %w", c.address, err)
}

// key returns the name of a Redis key or channel: the prefix of the store, the kind, such as "t:",
// and the given name. The comment of scriptPrelude lists the kinds.
func (c *redisClient) key(kind, name string) string { return c.prefix + kind + name }

// do sends a command and returns its reply as package redis represents it: nil, an int64, a string
// (for a status such as OK), a []byte (for any other string), or an []any. The error wraps a
// redis.Error if the server refuses the command. Any other error means that no reply was received.
func (c *redisClient) do(ctx context.Context, command string, args ...any) (any, error) {
	return c.retry(ctx, func(ctx context.Context, conn redis.Conn) (any, error) {
		return redis.DoContext(conn, ctx, command, args...)
	})
}

// runScript executes a script and returns its reply. The prefix of all keys becomes KEYS[1] of the
// script, and args become ARGV. runScript returns an error if the script fails or the reply is not
// a list.
func (c *redisClient) runScript(ctx context.Context, script *redis.Script, args ...any) ([]any, error) {
	return redis.Values(c.retry(ctx, func(ctx context.Context, conn redis.Conn) (any, error) {
		return script.DoContext(ctx, conn, append([]any{c.prefix}, args...)...)
	}))
}

// retry calls send, which must send a command on the given connection and return the reply. If send
// returns an error that may be temporary (see isTransient), retry calls it again with a new
// connection, at most maxRetries times. It returns the results of the last call. If no connection
// can be opened, ctx is done or redisTimeout has passed, it returns an error and no reply.
func (c *redisClient) retry(
	ctx context.Context, send func(context.Context, redis.Conn) (any, error),
) (reply any, err error) {
	ctx, cancel := context.WithTimeout(ctx, redisTimeout)
	defer cancel()
	// The server may have closed any connection of the pool meanwhile, so each retry has a new one.
	get := c.pool.GetContext
	for n := 0; ; n, get = n+1, c.dial {
		conn, err := get(ctx)
		if err != nil {
			return nil, c.wrap(err)
		}
		reply, err = send(ctx, conn)
		_ = conn.Close() // returns it to the pool, or else ends an unused connection
		if n == maxRetries || !isTransient(err) {
			return reply, c.wrap(err)
		}
		select {
		case <-time.After(retryWait << n):
		case <-ctx.Done():
			return nil, c.wrap(ctx.Err())
		}
	}
}

// isTransient reports whether a command that failed with err may succeed when it is sent again. The
// result is true if err is not from the server, for example because the connection was lost, or if
// the server is starting or changing its role. It is false if err is nil.
func isTransient(err error) bool {
	refusal, ok := errors.AsType[redis.Error](err)
	if !ok {
		return err != nil
	}
	word, _, _ := strings.Cut(string(refusal), " ")
	return slices.Contains([]string{"LOADING", "MASTERDOWN", "READONLY", "TRYAGAIN"}, word)
}
