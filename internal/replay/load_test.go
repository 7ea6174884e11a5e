package replay_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/streamassay/streamassay/internal/replay"
	"github.com/streamassay/streamassay/internal/transcript"
	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
)

func TestLoad(t *testing.T) {
	runs, agkit := openDialect(t, "runs"), openDialect(t, "agkit")
	dir := t.TempDir()
	for name, text := range map[string]string{
		"sub/deep/a.txtar": conversationText, "more.txtar": conversationText, "b.sse": "data: {}\n\n", "notes.md": "no", ".hidden.txtar": "nonsense", ".git/x.txtar": "nonsense",
		"bad/x.txtar": "dialekt: x\n", "bad2/x.txtar": "dialect: nothing\n-- 1.request --\n-- 1.response --\nHTTP/1.1 200 OK\n", "none/x.md": "",
		"empty/x.txtar": "dialect: runs\n", "unnamed/x.txtar": "-- 1.request --\n-- 1.response --\nHTTP/1.1 200 OK\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	in := func(name string) string { return filepath.Join(dir, name) }
	for _, tt := range []struct {
		paths    []string
		dialects []*dialect.Dialect
		len      int
		level    replay.Severity
		want     string
	}{
		{[]string{in("sub")}, []*dialect.Dialect{runs}, 3, "", ""},
		{[]string{in("sub"), in("sub/deep/a.txtar")}, []*dialect.Dialect{runs, agkit}, 3, "", ""},
		{[]string{in("sub"), in("sub")}, []*dialect.Dialect{runs}, 3, "", ""},
		{[]string{in("sub"), in("b.sse")}, []*dialect.Dialect{runs}, 4, "", ""},
		{
			[]string{in("b.sse")}, []*dialect.Dialect{runs, agkit}, 0, replay.Error,
			"b.sse: the recording does not name its dialect: give exactly one --dialect",
		},
		{
			[]string{in("unnamed/x.txtar")}, []*dialect.Dialect{runs, agkit}, 0, replay.Error,
			`does not name its dialect: add a line like "dialect: runs@2026-04", or give exactly one --dialect`,
		},
		{[]string{in("sub"), in("b.sse")}, []*dialect.Dialect{agkit}, 1, replay.Warning, "its dialect is runs@2026-04, served is agkit@0.0.10"},
		{[]string{in("sub/deep/a.txtar")}, []*dialect.Dialect{agkit}, 0, replay.Error,
			"a.txtar: the recording is of runs@2026-04, not of agkit@0.0.10: use --dialect runs@2026-04"},
		{[]string{in("sub"), in("more.txtar")}, []*dialect.Dialect{agkit}, 0, replay.Error,
			"recordings: all are of runs@2026-04, not of agkit@0.0.10: use --dialect runs@2026-04"},
		{[]string{in("none")}, []*dialect.Dialect{runs}, 0, replay.Error, "the directory contains no recordings"},
		{[]string{in("notes.md")}, []*dialect.Dialect{runs}, 0, replay.Error, "the file is not a recording"},
		{[]string{in("gone")}, []*dialect.Dialect{runs}, 0, replay.Error, "cannot be read: no such file"},
		{[]string{in("bad")}, []*dialect.Dialect{runs}, 0, replay.Error, "x.txtar:1: dialekt: unknown setting"},
		{[]string{in("bad2")}, []*dialect.Dialect{runs}, 0, replay.Error, `unknown dialect "nothing"`},
		{[]string{in("empty")}, []*dialect.Dialect{runs}, 0, replay.Error, ""},
	} {
		l, problems := replay.Load(tt.paths, tt.dialects)
		found := tt.level == "" && len(problems) == 0
		for _, p := range problems {
			found = found || p.Severity == tt.level && strings.Contains(p.String(), tt.want)
		}
		if l.Len() != tt.len || !found || (l == nil) != (tt.len == 0) {
			t.Errorf("%v: %d exchanges, problems %v, want %d and %q", tt.paths, l.Len(), problems, tt.len, tt.want)
		}
	}
}

// TestRealServers checks that recordings of real servers are replayed byte for byte.
func TestRealServers(t *testing.T) {
	folders, err := filepath.Glob(recordings + "/recordings/*/*")
	if err != nil || len(folders) < 6 {
		t.Fatalf("%v, %v", folders, err)
	}
	names := map[string]string{"agkit": "agkit", "agui": "agui", "agentscope/0": "agentscope@0.1", "agentscope/1": "agentscope@1.1", "agentscope-java/0": "agentscope-java@0.1", "agentscope-java/1": "agentscope-java@1.0"}
	played := 0
	for _, folder := range folders {
		family, version := filepath.Base(filepath.Dir(folder)), filepath.Base(folder)
		name := names[family]
		if name == "" {
			name = names[family+"/"+version[:1]]
		}
		d := openDialect(t, name)
		l, problems := replay.Load([]string{folder}, []*dialect.Dialect{d})
		if l == nil {
			t.Errorf("%s: %v", folder, problems)
			continue
		}
		files, _ := filepath.Glob(folder + "/*.http")
		for _, file := range files {
			tr, err := transcript.Open(file)
			if err != nil {
				t.Fatal(err)
			}
			tr.StripBasePath(d.Base)
			for _, x := range tr.Trace.Exchanges {
				if !playable(d, x) || x.Request.Method == "" {
					continue
				}
				played++
				if a, why := l.Find(d, x.Request, nil, nil); a == nil {
					t.Errorf("%s: %v", file, why)
				} else if strings.Contains(a.Source, file) && !bytes.Equal(a.Body, x.Response.Body) {
					t.Errorf("%s is played otherwise", file)
				}
			}
		}
	}
	if played < 50 {
		t.Errorf("only %d were played", played)
	}
}

// TestSwapKeepsPieces checks, for random splits of a body and random ids, that the chunks of a
// replay add up to the body with the ids replaced.
func TestSwapKeepsPieces(t *testing.T) {
	runs := openDialect(t, "runs")
	recorded := parsed(t, "talk.txtar", conversationText)
	rapid.Check(t, func(rt *rapid.T) {
		tr := *recorded
		tr.Trace.Exchanges = append([]spec.Exchange(nil), recorded.Trace.Exchanges...)
		r := &tr.Trace.Exchanges[1].Response
		r.Arrivals = nil
		for _, end := range rapid.SliceOfN(rapid.IntRange(1, len(r.Body)), 0, 20).Draw(rt, "ends") {
			if n := len(r.Arrivals); n == 0 || end > r.Arrivals[n-1].End {
				r.Arrivals = append(r.Arrivals, spec.Arrival{End: end})
			}
		}
		run := rapid.StringMatching(`[a-z0-9"\\é<]{1,12}`).Draw(rt, "run")
		l, _ := replay.NewLibrary([]*transcript.Transcript{&tr}, []*dialect.Dialect{runs})
		seen := &replay.PlaybackState{}
		ask := runs.ParseRequest(createRequest(otherThread, "x", "hello"))
		ask.Run = run
		if a, why := l.Find(runs, createRequest(otherThread, "x", "hello"), &ask, seen); a == nil {
			rt.Fatal(why)
		}
		ask = runs.ParseRequest(streamRequest(otherThread, "x", ""))
		ask.Run = run
		a, why := l.Find(runs, streamRequest(otherThread, "x", ""), &ask, seen)
		if a == nil {
			rt.Fatal(why)
		}
		body, _ := playAll(a, 1)
		pieces := split(a, 1)
		if !bytes.Equal(body, a.Body) || len(pieces) > len(r.Arrivals)+1 {
			rt.Fatalf("%d pieces of %d\n%s", len(pieces), len(r.Arrivals), body)
		}
		for e := range runs.Events(spec.Trace{Exchanges: []spec.Exchange{{Request: streamRequest(otherThread, "x", ""), Response: spec.Response{Status: 200, Header: a.Header, Body: body}}}}) {
			if e.IsFrame() && e.Run != run || len(e.Flaws) > 0 {
				rt.Fatalf("the run is %q, want %q in %s", e.Run, run, e.Raw)
			}
		}
	})
}

// TestManyClients checks that each of several concurrent clients with different threads receives
// the recorded exchanges in order.
func TestManyClients(t *testing.T) {
	l, seen := library(t, parsed(t, "talk.txtar", conversationText)), &replay.PlaybackState{}
	runs := openDialect(t, "runs")
	var all sync.WaitGroup
	for i := range 50 {
		all.Go(func() {
			thread := fmt.Sprintf("00000000-0000-4000-8000-%012d", i)
			for n, want := range []string{"task-r1", "task-r2", "task-r1"} {
				run := fmt.Sprintf("run-%d-%d", i, n)
				a, why := l.Find(runs, createRequest(thread, run, "hello"), nil, seen)
				if a == nil || !bytes.Contains(a.Body, []byte(want)) || !bytes.Contains(a.Body, []byte(thread)) || !bytes.Contains(a.Body, []byte(run)) {
					t.Errorf("client %d, request %d: %v, %v", i, n, a, why)
				}
			}
		})
	}
	all.Wait()
}
