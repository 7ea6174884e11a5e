package transcript

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func seed(f *testing.F, pattern string) {
	f.Helper()
	paths, err := filepath.Glob(filepath.Join("testdata", pattern))
	if err != nil || len(paths) == 0 {
		f.Fatalf("no seeds %s: %v", pattern, err)
	}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
}

// fuzzed checks that Format preserves what was parsed, and that errors have one line that begins
// with the file's name.
func fuzzed(t *testing.T, tr *Transcript, err error) {
	t.Helper()
	if err != nil {
		if !strings.HasPrefix(err.Error(), "fuzzed") || strings.Contains(err.Error(), "\n") {
			t.Errorf("error: %q", err)
		}
		return
	}
	if len(tr.Playback) != len(tr.Trace.Exchanges) || len(tr.Playback) == 0 {
		t.Errorf("%d exchanges, cues for %d", len(tr.Trace.Exchanges), len(tr.Playback))
	}
	file := Format(tr)
	again, err := Parse("again", file)
	if err != nil {
		t.Fatalf("%v\n%s", err, file)
	}
	// After one round trip, secrets are gone and times are truncated.
	if second := Format(again); string(second) != string(file) {
		t.Errorf("written a second time, it is another file:\n%q\n%q", file, second)
	}
	for i, x := range tr.Trace.Exchanges {
		y := again.Trace.Exchanges[i]
		if string(x.Response.Body) != string(y.Response.Body) || string(x.Request.Body) != string(y.Request.Body) ||
			x.Response.Status != y.Response.Status || !sameEnd(x.Response.End, y.Response.End) {
			t.Errorf("exchange %d:\n%s\n%s", i, show(x), show(y))
		}
	}
}

func FuzzParse(f *testing.F) {
	seed(f, "*.txtar")
	f.Fuzz(func(t *testing.T, data []byte) {
		tr, err := Parse("fuzzed", data)
		fuzzed(t, tr, err)
	})
}

func FuzzCurl(f *testing.F) {
	paths, _ := filepath.Glob(filepath.Join("testdata", "*.http"))
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		run, err := os.ReadFile(strings.TrimSuffix(path, ".http") + ".request.json")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data, run)
	}
	f.Fuzz(func(t *testing.T, data, beside []byte) {
		run, err := parseCurlInvocation("fuzzed.request.json", beside)
		if err != nil {
			fuzzed(t, nil, err)
			run = recordedCurlCall{}
		}
		tr, err := parseCurl("fuzzed.http", data, run)
		fuzzed(t, tr, err)
	})
}

func FuzzHAR(f *testing.F) {
	seed(f, "*.har")
	f.Fuzz(func(t *testing.T, data []byte) {
		tr, err := parseHAR("fuzzed.har", data)
		fuzzed(t, tr, err)
	})
}
