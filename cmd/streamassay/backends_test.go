package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/streamassay/streamassay/internal/state"
)

func stateFlag(text string) *backendFlag[state.Store] {
	return &backendFlag[state.Store]{"state", text, stateKinds}
}

func TestOpenState(t *testing.T) {
	file := filepath.Join(t.TempDir(), "s.db")
	for _, text := range []string{"memory", "sqlite:" + file, startRedis(t)} {
		s, err := stateFlag(text).open(t.Context(), backendSettings{})
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if err := s.Ping(t.Context()); err != nil {
			t.Errorf("%s: %v", text, err)
		}
		if err := s.Close(); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestOpenStateRefuses checks that an invalid store is refused with the reason, and without the
// password in its URL. In particular, a store that does not exist opens none of the others.
func TestOpenStateRefuses(t *testing.T) {
	const forms = "must be memory, sqlite:PATH, redis://HOST:PORT or unix://PATH (a Redis socket)"
	for _, c := range []struct{ text, want string }{
		{"", forms},
		{"memory:", forms},
		{"disk", forms},
		{"postgres://user:hunter2@host/db", "--state postgres://host/db: " + forms},
		{"redis:user:hunter2@host", forms},
		{"redis:", forms},
		{"sqlite:", "nothing follows the colon; want memory, sqlite:PATH"},
		{"sqlite:/no/such/place/s.db", "sqlite /no/such/place/s.db: no directory /no/such/place: create it first"},
		{"redis://user:hunter2@host:port/db", forms},
		{"redis://user:hunter2@%zz", forms},
		{"redis://user:hunter2@127.0.0.1:1/0", "127.0.0.1:1"},
		{"rediss://user:hunter2@127.0.0.1:1/0?dial_timeout=no", "redis"},
		{"unix://user:hunter2@/no/such/socket", "/no/such/socket"},
	} {
		s, err := stateFlag(c.text).open(t.Context(), backendSettings{})
		if err == nil || s != nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, %v; not %q", c.text, s, err, c.want)
		}
		if err != nil && strings.Contains(err.Error(), "hunter2") {
			t.Errorf("the password is disclosed: %v", err)
		}
	}
}

// TestWithoutSecrets checks that withoutSecrets removes the user, the password and the query of a
// URL, and that it does not mistake another at sign for the end of the user and the password.
func TestWithoutSecrets(t *testing.T) {
	for text, want := range map[string]string{
		"http://h/p@q":                  "http://h/p@q",
		"http://u:p@h/x@y":              "http://h/x@y",
		"http://h?x=a@b":                "http://h?…",
		"http://u:p@h?x=a@b":            "http://h?…",
		"http://h#a@b":                  "http://h#a@b",
		"http://u@v:p@h/x":              "http://h/x",
		"http://u:p/w@h/x":              "http://h/x", // the password is not escaped
		"http://u:p?w@h/x":              "http://h/x",
		"openai:http://u:p/w@h/x":       "openai:http://h/x",
		"openai:http://u:p@h/x@y?key=k": "openai:http://h/x@y?…",
		"unix://u:p@/run/redis@1.sock":  "unix:///run/redis@1.sock",
		"u:p@h/x":                       "h/x",
		"redis:u:p@h":                   "h",
		"dir:/srv/a@b":                  "dir:/srv/a@b",
		"sqlite:a@b.db":                 "sqlite:a@b.db",
		"exec:whisper@1":                "exec:whisper@1",
		"exec:whisper a@b":              "exec:whisper a@b",
		"memory":                        "memory",
	} {
		if got := withoutSecrets(text); got != want {
			t.Errorf("withoutSecrets(%q) = %q, want %q", text, got, want)
		}
	}
}
