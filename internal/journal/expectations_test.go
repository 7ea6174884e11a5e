package journal

import (
	"fmt"
	"strings"
	"testing"

	"github.com/streamassay/streamassay/spec/dialect"
)

// builtIn returns the built-in dialects.
func builtIn(t testing.TB) []*dialect.Dialect {
	t.Helper()
	all, err := dialect.All()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestImpossibleCalls checks that calls which no client of agui@1.0 can make are refused, unless
// they are expected not to occur.
func TestImpossibleCalls(t *testing.T) {
	d, err := dialect.Open("agui@1.0")
	if err != nil {
		t.Fatal(err)
	}
	for call, want := range map[string]string{
		"{dialect: foo}":            `x:1: call 1: invalid dialect "foo" (want agui@1.0)`,
		"{dialect: runs}":           `x:1: call 1: invalid dialect "runs" (want agui@1.0)`,
		"{dialect: agui}":           "",
		"{path: agent}":             `x:1: call 1: invalid path "agent" (want a path that begins with a slash)`,
		"{path: '*/agent'}":         "",
		"{op: cancel}":              "x:1: call 1: op cancel is not part of agui@1.0",
		"{op: cancel, at-least: 0}": "x:1: call 1: op cancel is not part of agui@1.0",
		"{op: cancel, exactly: 0}":  "",
		"{op: run}":                 "",
	} {
		_, err := LoadExpectations("x", strings.NewReader("calls: ["+call+"]"), []*dialect.Dialect{d})
		if got := fmt.Sprint(err); got != want && (err != nil || want != "") {
			t.Errorf("%s: %s, want %q", call, got, want)
		}
	}
}

func TestLoad(t *testing.T) {
	for _, c := range []struct{ name, file, want string }{
		{"empty", "", ""},
		{"yaml", "allow-unmatched: true\nstrict: true\nin-order: true\ncalls:\n  - {name: a, op: run, exactly: 2}\n  - path: /x\n    at-least: 1\n    at-most: 3\n", ""},
		{"json", `{"calls":[{"op":"run","at-least":0,"status":"2XX"}]}`, ""},
		{"unknown", "strict: true\nstrikt: true\n", `x:2: unknown field "strikt"; did you mean strict?`},
		{"unknown in a call", "calls:\n  - op: run\n  - operation: run\n", `x:3: unknown field "operation"; want one of allow-unmatched, `},
		{"typo in a call", "calls:\n  - op: run\n    exaktly: 1\n", `x:3: unknown field "exaktly"; did you mean exactly?`},
		{"type", "calls:\n  - op: run\n    exactly: many\n", `x:3: call 1: exactly must be a whole number, got "many"`},
		{"type in another call", "calls: [{op: run}, {at-most: [1]}]", "x:1: call 2: at-most must be a whole number, got a list"},
		{"type of a text", "calls:\n- op: run\n- op: {is: run}\n", "x:3: call 2: op must be a text, got an object"},
		{"type of a large number", "calls: [{exactly: 99999999999999999999}]",
			"x:1: call 1: exactly must be a whole number, got \"9999"},
		{"type of a switch", "strict: 'yes'\n", `x:1: strict must be true or false, got "yes"`},
		{"fraction", "calls: [{exactly: 1.9}]", "x:1: call 1: exactly must be a whole number, got 1.9"},
		{"number as a text", "calls: [{op: run}, {at-most: '1'}]",
			`x:1: call 2: at-most must be a whole number, got "1"`},
		{"number with a point", "calls: [{op: run, at-least: 1.0}]", ""},
		{"type of the calls", "calls: {op: run}\n",
			"x:1: calls must be a list of objects (e.g. [{op: run, exactly: 1}]), got an object"},
		{"type of a call", "calls:\n- run\n", `x:2: call 1 must be an object (e.g. {op: run, exactly: 1}), got "run"`},
		{"type of the file", "- op: run\n", "x:1: the file must be an object with calls, got a list"},
		{"tab", "calls:\n\t- op: run\n", "x:2: found a tab character where an indentation space is expected"},
		{"syntax", "calls: [\n", "x:1: "},
		{"both", "calls:\n  - op: run\n    exactly: 1\n    at-most: 2\n", "x:2: call 1: exactly cannot be combined"},
		{"none", "calls:\n  - op: run\n\n  - op: a\n    at-least: 3\n    at-most: 2\n", "x:4: call 2: at-least 3 is greater than at-most 2"},
		{"negative", "calls: [{exactly: -1}]", "x:1: call 1: invalid exactly -1"},
		{"status", "calls: [{status: teapot}]", `x:1: call 1: invalid status "teapot"`},
		{"ended", "calls: [{ended: well}]", `x:1: call 1: invalid ended "well" (want open, whole`},
		{"method", "calls: [{op: run}, {method: FETCH, exactly: 0}]",
			`x:1: call 2: invalid method "FETCH" (want CONNECT, DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT, TRACE)`},
		{"method in small letters", "calls: [{method: get}]", ""},
		{"missing braces", "calls: [op: run, exactly: 1]", "x:1: call 2: does not say which requests: want op, method, "},
		{"only counts", "calls:\n- op: run\n- at-least: 1\n  at-most: 3\n", "x:3: call 2: does not say which requests"},
		{"only counts with a name", "calls: [{name: all, at-most: 3}]", ""},
		{"empty call", "calls: [{}]", "x:1: call 1: does not say which requests"},
		{"empty mapping", "{}", "x:1: expects nothing: want calls (e.g. calls: [{op: run, exactly: 1}]), strict or "},
		{"only a comment", "# calls: [{op: run}]\n", "x:1: expects nothing: want calls"},
		{"calls without a value", "calls:\n", "x:1: expects nothing: want calls"},
		{"no calls", "calls: []", ""},
		{"large", strings.Repeat("# much\n", maxExpectationBytes/7+1), "x: file is larger than"},
	} {
		_, err := LoadExpectations("x", strings.NewReader(c.file), builtIn(t))
		switch {
		case c.want == "" && err != nil, c.want != "" && (err == nil || !strings.HasPrefix(err.Error(), c.want)):
			t.Errorf("%s: %v, not %s", c.name, err, c.want)
		case err != nil && strings.Contains(err.Error(), "\n"):
			t.Errorf("%s has more than one line: %v", c.name, err)
		}
	}
}

func loaded(t *testing.T, file string) Expectations {
	t.Helper()
	x, err := LoadExpectations("expect.yaml", strings.NewReader(file), builtIn(t))
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// TestByteOrderMark checks that a file may begin with a byte order mark.
func TestByteOrderMark(t *testing.T) {
	if x := loaded(t, "\ufeffstrict: true\n"); !x.Strict {
		t.Errorf("loaded %+v, want strict", x)
	}
}
