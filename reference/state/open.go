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

// Open opens the store that a URL names. Its errors do not contain passwords.
//
//	memory                                        [NewMemory]
//	sqlite:PATH                                   [OpenSQLite]
//	redis://…, rediss://… (TLS), unix://SOCKET    [OpenRedis]
func Open(ctx context.Context, url string, cfg Config) (Store, error) {
	kind, rest, _ := strings.Cut(url, ":")
	switch {
	case url == "memory":
		return NewMemory(cfg), nil
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

// randomTag returns a random number with which the numbering of the threads in a store begins.
// Because it is random, cursors of another store, or of this store before its data was lost, are
// unlikely to be accepted.
func randomTag() uint32 {
	var b [4]byte
	_, _ = rand.Read(b[:]) // never fails
	return binary.LittleEndian.Uint32(b[:])
}

// dayOf returns the day of a message in UTC, in the form "2006-01-02".
func dayOf(m Message) string { return m.At.UTC().Format(time.DateOnly) }
