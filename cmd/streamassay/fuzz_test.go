package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// FuzzConfig checks that any --config file is either read, or results in a one-line error that
// contains the file name.
func FuzzConfig(f *testing.F) {
	for _, text := range []string{
		"targets:\n  - url: http://127.0.0.1:1\n    dialects: [runs, agkit@0.0.10]\n    headers: ['A: b']\n    timeout: 3s\n    prompt: {text: hi}\n",
		"targets: []\n", "targets:\n- url: x\n  parallel: 1e9\n", "targets: &a [*a]\n", "- 1\n", "targets: [{url: }]\n", "targets:\n  - url: a\n    url: b\n", "\xff", "%YAML 9\n---\n", "a: [\n",
		"targets:\n- &t {url: a}\n- <<: *t\n  dialects: [runs]\n", "targets:\n- {url: a, lacks: [text], claim: all, reports: [json=x]}\n",
	} {
		f.Add([]byte(text))
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, data []byte) {
		file := filepath.Join(dir, "fuzzed.yaml")
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
		list, err := readConfig(file, targetOptions{})
		if err != nil {
			text := err.Error()
			if !strings.Contains(text, "--config "+file) || strings.Contains(text, "\n") || len(text) > 2000 {
				t.Errorf("error: %q", text)
			}
			return
		}
		if len(list) == 0 {
			t.Error("no targets, and no error")
		}
		for _, one := range list {
			if one.URL == "" {
				t.Error("a target without a URL")
			}
			_ = one.secretValues()
		}
	})
}
