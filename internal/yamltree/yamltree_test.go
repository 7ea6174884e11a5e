package yamltree

import (
	"errors"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/parser"
)

// TestErrorText checks that a tab has the same message wherever it indents a line.
func TestErrorText(t *testing.T) {
	for _, text := range []string{"a:\n\t- b\n", "a: |\n  b\n\tc: d\n"} {
		_, err := parser.ParseBytes([]byte(text), 0)
		var e yaml.Error
		if !errors.As(err, &e) || ErrorText(e) != "found a tab character where an indentation space is expected" {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// TestFind checks the line and the number of steps for paths that exist, that end early, and that
// lead through an anchor.
func TestFind(t *testing.T) {
	file, err := parser.ParseBytes([]byte("# comment\na:\n  b: [x, y]\nc: &anchor\n  - d: 1\n    \"e f\": 2\n"), 0)
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]struct{ line, steps int }{
		"": {2, 0}, "a": {2, 1}, "a/b": {3, 2}, "a/b/1": {3, 3}, "a/b/2": {3, 2}, "a/x": {2, 1}, "x/b": {2, 0},
		"c/0": {5, 2}, "c/0/e f": {6, 3}, "c/-1": {4, 1},
	} {
		tokens := strings.FieldsFunc(path, func(r rune) bool { return r == '/' })
		if _, line, steps := Find(file.Docs[0].Body, tokens...); line != want.line || steps != want.steps {
			t.Errorf("%q leads to line %d in %d steps, want line %d in %d steps", path, line, steps, want.line, want.steps)
		}
	}
	if line := Line(nil); line != 1 {
		t.Errorf("nothing begins on line %d, want 1", line)
	}
}
