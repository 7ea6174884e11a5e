package durable

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/streamassay/streamassay/reference/state"
)

func TestOpen(t *testing.T) {
	file := filepath.Join(t.TempDir(), "s.db")
	for _, url := range []string{"memory", "sqlite:" + file} {
		s, err := Open(t.Context(), url, state.Config{})
		if err != nil {
			t.Fatalf("%s: %v", url, err)
		}
		if err := s.Ping(t.Context()); err != nil {
			t.Errorf("%s: %v", url, err)
		}
		if err := s.Close(); err != nil {
			t.Errorf("%s: %v", url, err)
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	const forms = "memory, sqlite:PATH, redis://"
	for _, c := range []struct{ url, want string }{
		{"", forms},
		{"memory:", forms},
		{"disk", `unknown store "disk"`},
		{"postgres://user:hunter2@host/db", `unknown store "postgres": want ` + forms},
		{"hunter2@host", forms},
		{"redis:user:hunter2@host", forms},
		{"sqlite:", "sqlite:PATH"},
		{"sqlite:/no/such/place/s.db", "sqlite /no/such/place/s.db: no directory /no/such/place: create it first"},
		{"redis://user:hunter2@host:port/db", "redis"},
		{"redis://user:hunter2@%zz", "redis"},
		{"redis://user:hunter2@127.0.0.1:1/0", "127.0.0.1:1"},
		{"rediss://user:hunter2@127.0.0.1:1/0?dial_timeout=no", "redis"},
		{"unix://user:hunter2@/no/such/socket", "/no/such/socket"},
	} {
		s, err := Open(t.Context(), c.url, state.Config{})
		if err == nil || s != nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, %v; not %q", c.url, s, err, c.want)
		}
		if err != nil && strings.Contains(err.Error(), "hunter2") {
			t.Errorf("the password is disclosed: %v", err)
		}
	}
}
