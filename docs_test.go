package streamassay_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/streamassay/streamassay/internal/fault"
)

// TestNumberOfFaults checks every number of faults that a document states by hand.
func TestNumberOfFaults(t *testing.T) {
	paths, err := filepath.Glob("docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	stated := 0
	for _, path := range append(paths, "README.md") {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`\b(\d+) faults\b`).FindAllSubmatch(text, -1) {
			stated++
			if n, _ := strconv.Atoi(string(m[1])); n != len(fault.All) {
				t.Errorf("%s says %s; there are %d", path, m[0], len(fault.All))
			}
		}
	}
	if stated == 0 {
		t.Error("found no number of faults, want that of docs/faults.md at least")
	}
}

// TestTwoCommands checks that README states the command for the main job and the one for the tests,
// and that CI runs both.
func TestTwoCommands(t *testing.T) {
	for _, path := range []string{"README.md", ".ci/run"} {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, command := range []string{"go run ./cmd/streamassay run", "go test ./..."} {
			if !strings.Contains(string(text), command) {
				t.Errorf("%s lacks the command %q", path, command)
			}
		}
	}
}
