package state

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Open opens the store that an address names:
//
//	memory                                        [Memory]
//	sqlite:PATH                                   [SQLite]
//	redis://…, rediss://… (TLS), unix://SOCKET    [Redis]
func Open(ctx context.Context, url string, cfg Config) (Store, error) {
	kind, rest, _ := strings.Cut(url, ":")
	switch {
	case url == "memory":
		return NewMemory(cfg), nil
	case kind == "sqlite" && rest == "":
		return nil, errors.New("sqlite: which file? sqlite:PATH")
	case kind == "sqlite":
		return OpenSQLite(rest, cfg)
	case strings.HasPrefix(rest, "//") && (kind == "redis" || kind == "rediss" || kind == "unix"):
		return OpenRedis(ctx, url, cfg)
	}
	if strings.ContainsFunc(kind, func(r rune) bool { return r < 'a' || r > 'z' }) {
		kind = "…" // who knows what it holds
	}
	return nil, fmt.Errorf("%.40q is no store: memory, sqlite:PATH, redis://[USER:PASSWORD@]HOST:PORT/DB, rediss://… or unix://SOCKET", kind)
}

// randomTag is where the tags of threads begin: those of another server, or of this one
// before it lost everything, are hardly the same.
func randomTag() uint32 {
	var b [4]byte
	_, _ = rand.Read(b[:]) // it never fails
	return binary.LittleEndian.Uint32(b[:])
}

// dayOf is the day on which a message was said, in UTC.
func dayOf(m Message) string { return m.At.UTC().Format(time.DateOnly) }
