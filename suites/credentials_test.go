package suites_test

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/streamassay/streamassay/internal/transcript"
	"github.com/streamassay/streamassay/reference"
	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
	"github.com/streamassay/streamassay/suites"
)

func newAccessServer(wrong string) *accessServer {
	return &accessServer{
		tokens: map[string]string{"token-of-ann": "ann", "token-of-bob": "bob", "streamassay": "somebody"}, maxStreams: 3, wrong: wrong,
		owners: map[string]string{}, latest: map[string]string{}, prompts: map[string]string{}, runs: map[string]*accessServerRun{}, streams: map[string]int{},
	}
}

func bearer(token string) spec.Header {
	return spec.Header{{Name: "Authorization", Value: "Bearer " + token}}
}

// knock tests a server with the scenarios about access. It returns one line for each verdict on a
// requirement on access, except silent ones, and for each other verdict that is worse than passed,
// except those on histories.
func knock(t *testing.T, h http.Handler, adjust func(*suites.Target)) string {
	t.Helper()
	runs, err := dialect.Open("runs@2026-04")
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(h)
	defer srv.Close()
	defer srv.CloseClientConnections()
	base, _ := url.Parse(srv.URL + runs.Base)
	target := suites.Target{
		Dialect: runs, Base: base, Seed: 1, Limits: suites.Limits{IdleTimeout: 5 * time.Second},
		Only: []string{"credentials", "second-user", "stream-limit", "text"},
	}
	adjust(&target)
	parts, err := suites.Run(t.Context(), target, nil)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]spec.Verdict{}
	for _, p := range parts {
		if p.Err != nil {
			t.Errorf("%s: %v", p.Scenario.Name, p.Err)
		}
		sameAgain(t, p)
		for _, r := range p.Evaluation.Results {
			for _, law := range r.PlannedCheck.Requirements {
				made := strings.HasPrefix(law.ID, "runs.history.") // a door keeps nothing
				if v := r.VerdictOn(law); v > spec.Passed && !made || v > spec.Silent && about(law.ID) {
					got[law.ID] = max(got[law.ID], v)
				}
			}
		}
	}
	var lines []string
	for _, id := range slices.Sorted(maps.Keys(got)) {
		lines = append(lines, fmt.Sprint(id, " ", got[id]))
	}
	return strings.Join(lines, "\n")
}

// sameAgain checks that a conversation leads to the same findings after it was written to a
// transcript and read again.
func sameAgain(t *testing.T, p suites.ScenarioResult) {
	t.Helper()
	if len(p.Trace.Exchanges) == 0 {
		return
	}
	written := transcript.Format(&transcript.Transcript{Dialect: p.Dialect.Name, Trace: p.Trace})
	read, err := transcript.Parse("again", written)
	if err != nil {
		t.Fatal(err)
	}
	if live, lint := conclusions(p.Dialect, p.Trace), conclusions(p.Dialect, read.Trace); !slices.Equal(live, lint) {
		t.Errorf("%s: live and written down differ:\n%s", p.Scenario.Name, strings.NewReplacer("read  ", "live  ", "live  ", "lint  ").Replace(difference(live, lint)))
	}
}

// about reports whether the requirement with the given id is about access.
func about(id string) bool {
	return strings.HasPrefix(id, "runs.auth.") || strings.Contains(id, ".limit-") || strings.HasSuffix(id, "sse-limit")
}

// right lists the verdicts on access for a correct server without attachments.
const right = `runs.auth.bad-token passed
runs.auth.cancel-401 passed
runs.auth.cancel-403 passed
runs.auth.create-401 passed
runs.auth.events-401 passed
runs.auth.events-403 passed
runs.auth.events-403-cursor passed
runs.auth.more-401 passed
runs.auth.more-403 passed
runs.auth.own-history passed
runs.auth.plain passed
runs.errors.code-sse-limit passed
runs.stream.limit-429 passed
runs.stream.limit-frees passed
runs.stream.limit-plain passed`

func allKnown(t *suites.Target) {
	t.Header, t.OtherHeader, t.StreamLimit = bearer("token-of-ann"), bearer("token-of-bob"), 3
	t.LackedCapabilities = []string{"attachments", "transcribe"}
}

// TestWhoMayAsk checks that a correct server passes, and that in each faulty server exactly its own
// fault is found.
func TestWhoMayAsk(t *testing.T) {
	t.Parallel()
	for wrong, faults := range map[string]string{
		"":                        "",
		"lets nobody in":          "cancel-401 create-401 events-401 plain slow", // a denied cancel ends the run
		"lets strangers in":       "bad-token? plain slow",
		"compares the beginning":  "bad-token?",
		"compares what it gets":   "bad-token?",
		"hides":                   "bad-token? cancel-401 create-401 events-401",
		"refuses with a stream":   "plain plain", // auth.plain and errors.plain
		"tells anybody":           "events-403 events-403-cursor plain",
		"resumes for anybody":     "events-403 events-403-cursor plain",
		"cancels for anybody":     "cancel-403 slow",
		"hides threads":           "cancel-403 events-403 events-403-cursor",
		"tells anybody's history": "own-history",
		"has no limit":            "code-sse-limit? limit-429 limit-plain",
		"says busy":               "code-sse-limit?",
		"never frees":             "limit-frees?",

		"remembers what it refused": "recall",
	} {
		t.Run(wrong, func(t *testing.T) {
			t.Parallel()
			got := knock(t, newAccessServer(wrong), allKnown)
			if wrong == "" && got != right {
				t.Errorf("a right server gets\n%s", got)
			}
			var found []string
			for line := range strings.Lines(got) {
				id, verdict, _ := strings.Cut(strings.TrimSpace(line), " ")
				short := id[strings.LastIndex(id, ".")+1:]
				switch verdict {
				case "failed":
					found = append(found, short)
				case "warned":
					found = append(found, short+"?")
				}
			}
			if is := strings.Join(found, " "); is != faults {
				t.Errorf("found %q, want %q:\n%s", is, faults, got)
			}
		})
	}
}

// TestReferenceMayBeAsked checks that every requirement on access is judged, and passes, on the
// reference.
func TestReferenceMayBeAsked(t *testing.T) {
	d, err := dialect.Open("runs@2026-04")
	if err != nil {
		t.Fatal(err)
	}
	h := reference.New(d, reference.Scripted, reference.Config{Authenticator: twoUsers(t), Limits: reference.Limits{StreamsPerUser: 20}})
	got := knock(t, h, func(t *suites.Target) {
		t.Header, t.OtherHeader, t.StreamLimit = bearer("token-of-ann"), bearer("token-of-bob"), 20
	})
	want := "runs.auth.attachments-401 passed\nruns.auth.attachments-403 passed\n" +
		strings.Replace(right, "runs.auth.more-401", "runs.auth.hides-history passed\nruns.auth.more-401", 1)
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestNobodySaidWho checks that requirements on access are not judged if the target's configuration
// does not have the credentials for them. A server that requires no credentials then violates
// nothing.
func TestNobodySaidWho(t *testing.T) {
	open := func() *accessServer {
		d := newAccessServer("")
		d.tokens, d.maxStreams = nil, 0
		return d
	}
	tenant := spec.Header{{Name: "X-Tenant", Value: "t"}}
	user := func(name string) spec.Header { return spec.Header{{Name: "X-User", Value: name}} }
	lacks := []string{"attachments", "transcribe"}
	for name, c := range map[string]struct {
		door   *accessServer
		adjust func(*suites.Target)
		want   string
	}{
		"an open server":              {open(), func(t *suites.Target) {}, ""},
		"an open server, all claimed": {open(), func(t *suites.Target) { t.ClaimedCapabilities = []string{"all"} }, ""},
		"another header":              {open(), func(t *suites.Target) { t.Header = tenant }, ""},
		"a server that takes anybody": {newAccessServer(""), func(t *suites.Target) { t.Header = tenant }, ""},
		"a credential of its own name": {newAccessServer(""), func(t *suites.Target) {
			t.Header, t.OtherHeader, t.StreamLimit, t.LackedCapabilities = append(user("token-of-ann"), tenant...), user("token-of-bob"), 3, lacks
		}, right},
		"only the user": {newAccessServer(""), func(t *suites.Target) { t.Header, t.LackedCapabilities = bearer("token-of-ann"), lacks }, `runs.auth.bad-token passed
runs.auth.cancel-401 passed
runs.auth.create-401 passed
runs.auth.events-401 passed
runs.auth.more-401 passed
runs.auth.plain passed`},
		"said to be lacking": {newAccessServer(""), func(t *suites.Target) {
			allKnown(t)
			t.StreamLimit, t.LackedCapabilities = 0, []string{"credentials", "second-user", "stream-limit"}
		}, strings.ReplaceAll("attachments-401 attachments-403 bad-token cancel-401 cancel-403 create-401 events-401 events-403 "+
			"events-403-cursor more-401 more-403 plain code-sse-limit limit-429 limit-plain", " ", " skipped ") + " skipped"},
		"an open server that was said to know its user": {open(), func(t *suites.Target) { t.Header, t.LackedCapabilities = bearer("token-of-ann"), lacks },
			`runs.auth.bad-token warned
runs.auth.cancel-401 failed
runs.auth.create-401 failed
runs.auth.events-401 failed
runs.auth.plain failed
runs.scripted.slow failed`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := knock(t, c.door, c.adjust)
			if strings.HasSuffix(c.want, "skipped") {
				got = excerpt(got)
			}
			if got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

// excerpt returns a list of verdicts as one line, without the prefixes of the requirement ids.
func excerpt(verdicts string) string {
	for _, area := range []string{"runs.auth.", "runs.errors.", "runs.stream."} {
		verdicts = strings.ReplaceAll(verdicts, area, "")
	}
	return strings.ReplaceAll(verdicts, "\n", " ")
}

// TestUsersThatMakeNoSense checks that invalid credentials and stream limits in the configuration
// are reported before anything is sent.
func TestUsersThatMakeNoSense(t *testing.T) {
	d, err := dialect.Open("runs")
	if err != nil {
		t.Fatal(err)
	}
	base, _ := url.Parse("http://127.0.0.1:1")
	for says, target := range map[string]suites.Target{
		"add --header 'Auth":        {OtherHeader: bearer("b")},
		"credentials of the first":  {Header: bearer("a"), OtherHeader: bearer("a")},
		"invalid stream limit -1":   {StreamLimit: -1},
		"invalid stream limit 1000": {StreamLimit: 1000},
	} {
		target.Dialect, target.Base = d, base
		if err := target.Check(); err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "Bearer") {
			t.Errorf("%v, want it to say %q", err, says)
		}
	}
}

// TestSharedSecret checks which part of a secret is a part of invalid credentials, too.
func TestSharedSecret(t *testing.T) {
	for secret, want := range map[string]string{
		"alice": "", "user-12": "", "token-of-user-12": "", "token-of-ann": "token-of-an", "YWxpY2U6cHc=": "YWxpY2U6cH",
		strings.Repeat("1", 32): strings.Repeat("1", 31), "Bearer token-of-ann": "", "": "", "====": "",
	} {
		if got := suites.SharedSecret(secret); got != want {
			t.Errorf("of %q: %q, want %q", secret, got, want)
		}
	}
}
