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

// Limits on connections to a Redis server and on the repetition of commands.
const (
	connectTimeout = 2 * time.Second       // for a new connection
	replyTimeout   = 2 * time.Second       // for one reply
	idleTimeout    = 5 * time.Minute       // for which an unused connection is kept
	maxRetries     = 2                     // of a command whose connection was lost
	retryWait      = 10 * time.Millisecond // before the first retry; doubles with each
)

// A redisAddress holds the network address of a Redis server, and the user, the database and the
// transport with which to connect to it.
type redisAddress struct {
	network, address   string
	username, password string
	database           int
	useTLS             bool
}

// parseRedisURL parses the URL of a server and returns its address, and the prefix of all keys. Its
// errors do not quote the URL, which may contain a password.
func parseRedisURL(location string) (a redisAddress, prefix string, err error) {
	u, err := url.Parse(location)
	if err != nil {
		return a, "", errors.New("redis: invalid URL, want redis://[USER:PASSWORD@]HOST:PORT/DB")
	}
	query := u.Query()
	database := strings.Trim(u.Path, "/")
	a = redisAddress{network: "tcp", useTLS: u.Scheme == "rediss", username: u.User.Username()}
	a.password, _ = u.User.Password()
	a.address = net.JoinHostPort(cmp.Or(u.Hostname(), "localhost"), cmp.Or(u.Port(), "6379"))
	known := []string{"prefix"}
	switch u.Scheme {
	case "redis", "rediss":
	case "unix":
		a.network, a.address, database = "unix", u.Path, query.Get("db")
		known = append(known, "db")
	default:
		return a, "", fmt.Errorf("redis %s: invalid URL scheme: %s", a.address, u.Scheme)
	}
	for name := range query {
		if !slices.Contains(known, name) {
			return a, "", fmt.Errorf("redis %s: unexpected option: %s", a.address, url.QueryEscape(name))
		}
	}
	if a.database, err = strconv.Atoi(cmp.Or(database, "0")); err != nil {
		return a, "", fmt.Errorf("redis %s: invalid database number: %q", a.address, database)
	}
	return a, cmp.Or(query.Get("prefix"), "streamassay"), nil
}

// dial opens a connection.
func (a redisAddress) dial(ctx context.Context) (redis.Conn, error) {
	return redis.DialContext(ctx, a.network, a.address,
		redis.DialUsername(a.username), redis.DialPassword(a.password), redis.DialDatabase(a.database),
		redis.DialUseTLS(a.useTLS),
		redis.DialConnectTimeout(connectTimeout), redis.DialTLSHandshakeTimeout(connectTimeout),
		redis.DialReadTimeout(replyTimeout), redis.DialWriteTimeout(replyTimeout))
}

// A redisClient sends commands to a Redis server. It repeats a command if the connection is lost,
// so each command must have the same effect if it is executed twice. It is safe for concurrent use.
type redisClient struct {
	address redisAddress
	pool    *redis.Pool
}

func newRedisClient(address redisAddress) *redisClient {
	connections := 10 * runtime.GOMAXPROCS(0)
	return &redisClient{address: address, pool: &redis.Pool{
		DialContext: address.dial, MaxActive: connections, MaxIdle: connections, IdleTimeout: idleTimeout, Wait: true,
	}}
}

// close closes the connections. No call may be in progress.
func (c *redisClient) close() error { return c.pool.Close() }

// do sends a command and returns its reply: nil, an int64, a string for a status, a []byte for
// other text, or a list of replies as []any. The error is a redis.Error if the server refuses the
// command.
func (c *redisClient) do(ctx context.Context, command string, args ...any) (any, error) {
	return c.retry(ctx, func(conn redis.Conn) (any, error) { return redis.DoContext(conn, ctx, command, args...) })
}

// doScript executes a script and returns its reply in the same form as do.
func (c *redisClient) doScript(ctx context.Context, script *redis.Script, args []any) (any, error) {
	return c.retry(ctx, func(conn redis.Conn) (any, error) { return script.DoContext(ctx, conn, args...) })
}

// retry calls send with a connection. After an error that may be temporary, it calls send again
// with a new connection, at most maxRetries times. It returns the results of the last call of send,
// or the error of opening a connection or of ctx.
func (c *redisClient) retry(ctx context.Context, send func(redis.Conn) (any, error)) (reply any, err error) {
	// The server may have closed any connection of the pool meanwhile, so each retry has a new one.
	get := c.pool.GetContext
	for n := 0; ; n, get = n+1, c.address.dial {
		conn, err := get(ctx)
		if err != nil {
			return nil, err
		}
		reply, err = send(conn)
		_ = conn.Close() // returns it to the pool, or else ends an unused connection
		if n == maxRetries || !isTransient(err) {
			return reply, err
		}
		select {
		case <-time.After(retryWait << n):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// isTransient reports whether the command that failed with err may succeed if it is sent again at
// once: the connection was lost, or the server is starting or changing its role. It returns false
// if err is nil.
func isTransient(err error) bool {
	refusal, ok := errors.AsType[redis.Error](err)
	if !ok {
		return err != nil
	}
	word, _, _ := strings.Cut(string(refusal), " ")
	return slices.Contains([]string{"LOADING", "MASTERDOWN", "READONLY", "TRYAGAIN"}, word)
}
