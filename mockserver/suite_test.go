package mockserver_test

import (
	"context"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/streamassay/streamassay/internal/identity"
	"github.com/streamassay/streamassay/mockserver"
	"github.com/streamassay/streamassay/reference"
	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
	"github.com/streamassay/streamassay/suites"
)

// made returns a mock with the configuration cfg that serves the named dialects. The mock is shut
// down when the test ends.
func made(t testing.TB, cfg mockserver.Config, names ...string) *mockserver.Server {
	t.Helper()
	for _, name := range names {
		d, err := dialect.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		cfg.Dialects = append(cfg.Dialects, d)
	}
	m, err := mockserver.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return m
}

// strict runs the suite of the named dialect against the handler h and fails the test if a
// requirement is violated. If only is not empty, only its scenarios are run. The scenarios that send
// the same forms of requests with other texts are left out.
func strict(t *testing.T, h http.Handler, name string, streams int, only ...string) {
	t.Helper()
	suites.Test(t, h, name, func(target *suites.Target) {
		target.ClaimedCapabilities, target.Only, target.Skip = []string{"all"}, only, []string{"payloads*", "combination-*"}
		target.Header, target.OtherHeader, target.StreamLimit = bearer("token-of-ann"), bearer("token-of-bob"), streams
	})
}

func bearer(token string) spec.Header {
	return spec.Header{{Name: "Authorization", Value: "Bearer " + token}}
}

func users(t testing.TB) identity.Authenticator {
	t.Helper()
	known := &identity.StaticTokens{}
	for _, pair := range []string{"ann:token-of-ann", "bob:token-of-bob"} {
		if err := known.Add(pair); err != nil {
			t.Fatal(err)
		}
	}
	return known
}

const maxStreams = 40

// TestSuite checks that an unconfigured mock passes the suite of each family's default version.
func TestSuite(t *testing.T) {
	for _, name := range dialect.Names() {
		if d, err := dialect.Open(name[:strings.Index(name, "@")]); err != nil || d.Name != name {
			continue // TestSuiteVaried plays all versions
		}
		t.Run(name, func(t *testing.T) {
			cfg := mockserver.Config{Server: reference.Config{Authenticator: users(t), Limits: reference.Limits{StreamsPerUser: maxStreams}}}
			strict(t, made(t, cfg, name), name, maxStreams)
		})
	}
}

// TestSuiteVaried checks that a mock with variations passes the suites. VARY_SEEDS is the
// number of seeds to try; every tenth seed runs all scenarios, the others those of
// contentScenarios. Without it, two seeds run those, since the tests of package vary run all.
func TestSuiteVaried(t *testing.T) {
	seeds, err := strconv.ParseUint(os.Getenv("VARY_SEEDS"), 10, 32)
	isShort := err != nil
	if isShort {
		seeds = 2
	}
	for seed := range seeds {
		for _, name := range dialect.Names() {
			t.Run(name+"/"+strconv.FormatUint(seed, 10), func(t *testing.T) {
				t.Parallel()
				cfg := mockserver.Config{
					Server:   reference.Config{Authenticator: users(t), Limits: reference.Limits{StreamsPerUser: maxStreams}},
					Defaults: mockserver.Defaults{Vary: &seed},
				}
				var only []string
				if isShort || seed%10 != 0 {
					only = contentScenarios
				}
				strict(t, made(t, cfg, name), name, maxStreams, only...)
			})
		}
	}
}
