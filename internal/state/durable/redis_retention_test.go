package durable

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gomodule/redigo/redis"

	"github.com/streamassay/streamassay/internal/state"
)

func TestRedisAddress(t *testing.T) {
	for _, c := range []struct{ address, addr, prefix, err string }{
		{"redis://host:1/2", "host:1", "streamassay", ""},
		{"redis://host", "host:6379", "streamassay", ""},
		{"rediss://u:secret@host:1/2?prefix=x", "host:1", "x", ""},
		{"redis://host:1/2?prefix=x", "host:1", "x", ""},
		{"unix:///run/redis?prefix=x&db=3", "/run/redis", "x", ""},
		{"redis://u:secret@host:1/x", "", "", "redis host:1: invalid database number: \"x\""},
		{"redis://u:secret@host:1/2?nonsense=secret", "", "", "redis host:1: unexpected option: nonsense"},
		{"http://u:secret@host:1", "", "", "redis host:1: invalid URL scheme: http"},
		{"redis://u:secret%zz@host:1", "", "", "redis: invalid URL, want redis://[USER:PASSWORD@]HOST:PORT/DB"},
		{"redis://u:secret@host:port", "", "", "redis: invalid URL, want redis://[USER:PASSWORD@]HOST:PORT/DB"},
	} {
		a, err := parseRedisURL(c.address)
		if c.err != "" {
			if err == nil || err.Error() != c.err {
				t.Errorf("%s: %v, not %s", c.address, err, c.err)
			}
			continue
		}
		if err != nil || a.address != c.addr || a.prefix != c.prefix+":" {
			t.Errorf("%s: %q %q %v", c.address, a.address, a.prefix, err)
		}
	}
}

func TestRedisUnfit(t *testing.T) {
	for _, c := range []struct{ info, why string }{
		{"# Server\r\nredis_version:7.0.15\r\nredis_mode:standalone\r\nrole:master\r\nmaxmemory:0\r\nmaxmemory_policy:allkeys-lru\r\n", ""},
		{"redis_version:7.2.4\r\nvalkey_version:8.1.0\r\nmaxmemory:9\r\nmaxmemory_policy:noeviction\r\n", ""},
		{"redis_version:6.2.16\r\n", "version 6.2.16, want 7.0 or later"},
		{"role:master\r\n", "redis_version"},
		{"redis_version:7.0.15\r\nredis_mode:cluster\r\n", "cluster"},
		{"redis_version:7.0.15\r\nrole:slave\r\n", "replica"},
		{"redis_version:7.0.15\r\nmaxmemory:9\r\nmaxmemory_policy:allkeys-lru\r\n", "evicts"},
	} {
		if why := unsuitableReason(c.info); (why == "") != (c.why == "") || !strings.Contains(why, c.why) {
			t.Errorf("%q is unfit because %q", c.info, why)
		}
	}
}

func TestRedisRefused(t *testing.T) {
	r := startRedis(t, "--requirepass", "secret")
	start := time.Now()
	for _, address := range []string{"redis://:wrong@" + r.addr(), "redis://" + r.addr(), "redis://:secret@127.0.0.1:1"} {
		_, err := OpenRedis(t.Context(), address, state.Config{})
		if err == nil || !strings.Contains(err.Error(), "redis 127.0.0.1:") || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", address, err)
		}
	}
	if took := time.Since(start); took > 2*redisTimeout {
		t.Errorf("it took %v", took)
	}
	s := openRedis(t, "redis://:secret@"+r.addr(), state.Config{})

	// A user needs what begins with the prefix, and nothing else.
	acl := func(rules ...any) {
		t.Helper()
		args := append([]any{"setuser", "narrow", "reset", "on", ">secret", "+@all"}, rules...)
		if _, err := s.do(t.Context(), "ACL", args...); err != nil {
			t.Fatal(err)
		}
	}
	address := "redis://narrow:secret@" + r.addr() + "?prefix=mine"
	acl("~mine:*", "&other:*")
	if _, err := OpenRedis(t.Context(), address, state.Config{}); err == nil || !strings.Contains(err.Error(), "NOPERM") {
		t.Errorf("it cannot listen: %v", err)
	}
	acl("~mine:*", "&mine:*")
	narrow := openRedis(t, address, state.Config{})
	run := state.RunRef{Thread: "t", Run: "r"}
	begin(t, narrow, run, "u", state.Message{ID: "m"})
	tell(t, narrow, run, "1")
	if err := narrow.Cancel(t.Context(), run); err != nil {
		t.Error(err)
	}
	if _, err := narrow.ClaimOrphans(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := narrow.Secret(t.Context()); err != nil {
		t.Error(err)
	}
	end(t, narrow, run)
	if got := heard(t, narrow, run, 0); got != "1:1 over" {
		t.Errorf("got %q", got)
	}
}

func TestRefID(t *testing.T) {
	for _, run := range []state.RunRef{{Thread: "", Run: ""}, {Thread: "a", Run: "b"}, {Thread: "1:", Run: "2:3"}, {Thread: "\x00\xff", Run: ":"}} {
		if got, ok := parseRunRef(encodeRef(run)); !ok || got != run {
			t.Errorf("%q is %q (%v)", run, got, ok)
		}
	}
	for _, id := range []string{"", "x", "2:a", "-1:a", "a:b"} {
		if run, ok := parseRunRef(id); ok {
			t.Errorf("%q is %q", id, run)
		}
	}
}

// TestRedisForgets checks that dropped threads leave no keys behind.
func TestRedisForgets(t *testing.T) {
	r := startRedis(t)
	s := r.open(t, state.Config{MaxRuns: 1})
	for i := range 60 {
		run := state.RunRef{Thread: fmt.Sprint("t", i%7), Run: fmt.Sprint("r", i)}
		begin(t, s, run, fmt.Sprint("u", i%7), state.Message{ID: "m", At: noon})
		tell(t, s, run, "1", "2")
		if err := s.Cancel(t.Context(), run); err != nil {
			t.Fatal(err)
		}
		if _, _, err := s.Append(t.Context(), run, state.AppendBatch{Events: blobs("3"), Messages: []state.Message{{ID: "n", At: noon}}, End: true}); err != nil {
			t.Fatal(err)
		}
	}
	db := r.client()
	defer db.close()
	keys, err := redis.Strings(db.do(t.Context(), "KEYS", "*"))
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(keys)
	var want []string
	for _, name := range strings.Fields("all beats d:t3 e:2:t3r59 m:t3 o:u3 over r:2:t3r59 t:t3") {
		want = append(want, s.prefix+name)
	}
	if !cmp.Equal(keys, want) {
		t.Errorf("what is left: %s", cmp.Diff(want, keys))
	}
	if n, err := s.hashNumber(t.Context(), s.key("all", ""), "size"); n != 3 || err != nil {
		t.Errorf("%d bytes are counted, %v", n, err)
	}
}

func TestRedisForgetsBytes(t *testing.T) {
	s := startRedis(t).open(t, state.Config{MaxBytes: 100})
	alive := state.RunRef{Thread: "t", Run: "alive"}
	begin(t, s, alive, "u")
	tell(t, s, alive, strings.Repeat("x", 1000)) // it is not over: it does not count
	for i := range 10 {
		run := state.RunRef{Thread: "t", Run: fmt.Sprint(i)}
		begin(t, s, run, "u")
		tell(t, s, run, strings.Repeat("x", 30))
		end(t, s, run)
	}
	for i := range 10 {
		_, _, err := s.EventsAfter(t.Context(), state.RunRef{Thread: "t", Run: fmt.Sprint(i)}, 0, 1)
		if kept := i >= 7; kept != (err == nil) || !kept && !errors.Is(err, state.ErrNotFound) {
			t.Errorf("run %d: %v", i, err)
		}
	}
	if thread, err := s.Thread(t.Context(), "t"); thread.LastPosition != 11 || thread.LastForgotten != 8 || err != nil {
		t.Errorf("the thread is %+v, %v", thread, err)
	}
	if got := heard(t, s, alive, 0); len(got) != 1002 {
		t.Errorf("the run that is not over is %q", got)
	}
}

// TestRedisLatest checks that LatestThread finds a thread by its prefix even at the end of the
// owner's long list of threads.
func TestRedisLatest(t *testing.T) {
	s := startRedis(t).open(t, state.Config{})
	for i := range 2*maxThreadPage + 5 {
		begin(t, s, state.RunRef{Thread: fmt.Sprintf("%d/x", i%3000), Run: "r"}, "")
	}
	for prefix, want := range map[string]string{"": "2004/x", "0/": "0/x", "1004/": "1004/x", "1005/": "1005/x", "none": "", "19": "1999/x"} {
		if got, err := s.LatestThread(t.Context(), "", prefix); got != want || err != nil {
			t.Errorf("the latest of %q is %q, not %q (%v)", prefix, got, want, err)
		}
	}
	if got, err := s.LatestThread(t.Context(), "u", ""); got != "" || err != nil {
		t.Errorf("who has none has %q, %v", got, err)
	}
}

func TestRedisMessages(t *testing.T) {
	s := startRedis(t).open(t, state.Config{})
	var said []state.Message
	for i := range 3 * maxReadItems { // two days that overlap, and a hidden one
		m := state.Message{ID: fmt.Sprint(i), Text: "x", At: noon.AddDate(0, 0, -i%2)}
		if i == 10 {
			m.At, m.Hidden = noon.AddDate(0, 0, 5), true
		}
		said = append(said, m)
	}
	begin(t, s, state.RunRef{Thread: "t", Run: "r"}, "u", said...)
	for i := range said {
		said[i].Seq = int64(i) + 1
	}
	for _, c := range []struct {
		before int64
		most   int
		want   []state.Message
	}{
		{0, 1 << 20, said}, {0, 2, said[len(said)-2:]}, {1000, maxReadItems + 1, said[999-maxReadItems-1 : 999]},
		{1, 9, nil}, {5, 9, said[:4]}, {1 << 40, 1, said[len(said)-1:]},
	} {
		got, err := s.Messages(t.Context(), "t", c.before, c.most)
		if err != nil || !cmp.Equal(got, c.want) {
			t.Errorf("%d before %d: %d messages (%v), not %d", c.most, c.before, len(got), err, len(c.want))
		}
	}
	var days []string
	for before, more := "", true; more; {
		var day string
		var got []state.Message
		var err error
		if day, got, more, err = s.DayMessages(t.Context(), "t", before); err != nil {
			t.Fatal(err)
		}
		days = append(days, fmt.Sprint(day, " ", len(got), " from ", got[0].ID))
		before = day
	}
	if want := []string{"2024-05-06 767 from 0", "2024-05-05 768 from 1"}; !cmp.Equal(days, want) {
		t.Errorf("the days are %q", days)
	}
	if day, _, more, err := s.DayMessages(t.Context(), "t", "2024-05-05"); day != "" || more || err != nil {
		t.Errorf("before all days is %q, %v, %v", day, more, err)
	}
}

func TestRedisSocket(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "redis.sock")
	startRedis(t, "--unixsocket", socket)
	s := openRedis(t, "unix://"+socket+"?prefix=x&db=1", state.Config{})
	run := state.RunRef{Thread: "t", Run: "r"}
	begin(t, s, run, "u")
	tell(t, s, run, "1")
	if got := heard(t, s, run, 0); got != "1:1" {
		t.Errorf("got %q", got)
	}
}
