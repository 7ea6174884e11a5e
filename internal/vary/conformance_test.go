package vary_test

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/streamassay/streamassay/internal/identity"
	"github.com/streamassay/streamassay/internal/vary"
	"github.com/streamassay/streamassay/reference"
	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
	"github.com/streamassay/streamassay/suites"
)

// TestSuite checks that the reference passes the suite with its output varied, over real
// connections. The environment variable VARY_SEEDS sets the number of seeds to try in each dialect;
// by default, one seed is tried in the default version of each protocol.
func TestSuite(t *testing.T) {
	seeds, err := strconv.ParseUint(os.Getenv("VARY_SEEDS"), 10, 32)
	isShort := err != nil
	if isShort {
		seeds = 1
	}
	for _, name := range dialect.Names() {
		d, err := dialect.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		family, _, _ := strings.Cut(name, "@")
		if byDefault, err := dialect.Open(family); isShort && (err != nil || byDefault.Name != name) {
			continue
		}
		for seed := range seeds {
			t.Run(fmt.Sprint(name, "/", seed), func(t *testing.T) {
				t.Parallel()
				inner := server(d)
				v := vary.New(seed, d)
				var streams atomic.Uint64
				h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if cursor := r.Header.Get("Last-Event-ID"); cursor != "" {
						r = r.Clone(r.Context())
						r.Header.Set("Last-Event-ID", vary.DecodeCursor(cursor))
					}
					said := &variedWriter{ResponseWriter: w, v: v, seed: streams.Add(1)}
					inner.ServeHTTP(said, r)
					said.close()
				})
				suites.Test(t, h, name, known)
				if t.Failed() {
					t.Logf("%v", v.Traits())
				}
			})
		}
	}
}

// server returns a reference server for dialect d with two users.
func server(d *dialect.Dialect) *reference.Server {
	users := &identity.StaticTokens{}
	for _, pair := range []string{"ann:token-of-ann", "bob:token-of-bob"} {
		if err := users.Add(pair); err != nil {
			panic(err)
		}
	}
	return reference.New(d, reference.Scripted, reference.Config{Authenticator: users, Limits: reference.Limits{StreamsPerUser: 40}})
}

// known sets the capabilities, limits and credentials in target to those of the server that the
// function server returns.
func known(target *suites.Target) {
	target.ClaimedCapabilities, target.Parallel, target.StreamLimit = []string{"all"}, 16, 40
	target.Header = spec.Header{}.With("Authorization", "Bearer token-of-ann")
	target.OtherHeader = spec.Header{}.With("Authorization", "Bearer token-of-bob")
}

// A variedWriter is an http.ResponseWriter that applies the variation v to a response. The method
// close must be called at the end of the response.
type variedWriter struct {
	http.ResponseWriter
	v      *vary.Variation
	seed   uint64
	begun  bool
	stream *vary.StreamEncoder
	json   bool
	rest   []byte
}

func (w *variedWriter) WriteHeader(status int) {
	if w.begun || status < 200 {
		w.ResponseWriter.WriteHeader(status)
		return
	}
	w.begun = true
	switch media := (spec.Header{{Name: "Content-Type", Value: w.Header().Get("Content-Type")}}).MediaType(); {
	case media == spec.EventStream:
		w.stream = w.v.NewStream(w.seed)
	case strings.HasSuffix(media, "json"):
		w.json = true
		w.Header().Del("Content-Length")
	}
	w.v.EncodeHeader(w.Header())
	w.ResponseWriter.WriteHeader(status)
}

func (w *variedWriter) Write(p []byte) (int, error) {
	if !w.begun {
		w.WriteHeader(http.StatusOK)
	}
	if w.stream == nil && !w.json {
		return w.ResponseWriter.Write(p)
	}
	w.rest = append(w.rest, p...)
	for w.stream != nil {
		i := bytes.Index(w.rest, []byte("\n\n"))
		if i < 0 {
			break
		}
		segments := w.stream.EncodeFrame(nil, w.rest[:i+2])
		for n, segment := range segments {
			if _, err := w.ResponseWriter.Write(segment); err != nil {
				return 0, err
			}
			if n < len(segments)-1 || !w.stream.CanJoin() {
				if err := http.NewResponseController(w.ResponseWriter).Flush(); err != nil {
					return 0, err
				}
			}
		}
		w.rest = w.rest[i+2:]
	}
	return len(p), nil
}

func (w *variedWriter) FlushError() error {
	return http.NewResponseController(w.ResponseWriter).Flush()
}

func (w *variedWriter) Flush() { _ = w.FlushError() }

func (w *variedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *variedWriter) close() {
	if w.json {
		w.rest = w.v.EncodeReply(w.seed, w.rest)
	}
	_, _ = w.ResponseWriter.Write(w.rest) // the client may have left
}
