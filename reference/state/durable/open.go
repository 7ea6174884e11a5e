// Package durable provides stores of state that outlive the process: in a file of SQLite, or in a
// Redis server that several processes share.
package durable

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/streamassay/streamassay/reference/state"
)

// Open opens the store that a URL names. Its errors do not contain passwords.
//
//	memory                                        [state.NewMemory]
//	sqlite:PATH                                   [OpenSQLite]
//	redis://…, rediss://… (TLS), unix://SOCKET    [OpenRedis]
func Open(ctx context.Context, url string, cfg state.Config) (state.Store, error) {
	kind, rest, _ := strings.Cut(url, ":")
	switch {
	case url == "memory":
		return state.NewMemory(cfg), nil
	case kind == "sqlite" && rest == "":
		return nil, errors.New("sqlite: missing file name (sqlite:PATH)")
	case kind == "sqlite":
		return OpenSQLite(rest, cfg)
	case strings.HasPrefix(rest, "//") && (kind == "redis" || kind == "rediss" || kind == "unix"):
		return OpenRedis(ctx, url, cfg)
	}
	if strings.ContainsFunc(kind, func(r rune) bool { return r < 'a' || r > 'z' }) {
		kind = "…" // it may contain a password
	}
	return nil, fmt.Errorf("unknown store %.40q: want memory, sqlite:PATH, redis://[USER:PASSWORD@]HOST:PORT/DB, "+
		"rediss://… or unix://SOCKET", kind)
}
