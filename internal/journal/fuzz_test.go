package journal

import (
	"bytes"
	"strings"
	"testing"

	"github.com/streamassay/streamassay/reports"
)

// FuzzExpect checks that each error of LoadExpectations is one line that begins with the name of
// the file, and that valid expectations can be concluded.
func FuzzExpect(f *testing.F) {
	for _, text := range []string{
		"calls:\n  - {op: run, at-least: 1, at-most: 3, name: a}\n", "calls:\n- op: run\n  exactly: 2\n  ended: whole\n", "calls: [{op: cancel, status: 2xx, contains: hi, path: /x, thread: t}]\n",
		"", "- a\n", "calls: {}\n", "calls: [{op: x}]\n---\ncalls: []\n", "a: &a [*a]\n", "calls:\n  - op: run\n    min: -1\n", "\t", "calls: [{min: 1e99}]",
	} {
		f.Add([]byte(text))
	}
	dialects := builtIn(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		x, err := LoadExpectations("fuzzed", bytes.NewReader(data), dialects)
		if err != nil {
			if text := err.Error(); !strings.HasPrefix(text, "fuzzed") || strings.Contains(text, "\n") || len(text) > 2000 {
				t.Errorf("error: %q", text)
			}
			return
		}
		for _, e := range x.Calls {
			if e.String() == "" {
				t.Error("an expectation has no words")
			}
		}
		found := x.Conclude(New(Config{})) // the caller says that there were no requests
		if text := found.Text(); found.Exit != reports.ExitInconclusive || strings.Contains(text, nothingReceived) {
			t.Errorf("exit %d, %q", found.Exit, text)
		}
	})
}
