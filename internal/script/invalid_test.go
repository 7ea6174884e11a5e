package script

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/streamassay/streamassay/spec/dialect"
)

// testDialects returns the dialects with the given names, or all dialects if there are no names.
func testDialects(t testing.TB, names ...string) (all []*dialect.Dialect) {
	t.Helper()
	if len(names) == 0 {
		names = dialect.Names()
	}
	for _, name := range names {
		d, err := dialect.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, d)
	}
	return all
}

// problemTexts returns the text of each problem.
func problemTexts(problems []Problem) (all []string) {
	for _, p := range problems {
		all = append(all, p.String())
	}
	return all
}

// invalidScripts are scripts that Load rejects. The expected problems are in testdata/bad.golden.
var invalidScripts = []struct{ name, script string }{
	{"empty", "# nothing\n"},
	{"list", "- reply: hi\n"},
	{"no rules", "defaults: {}\n"},
	{"syntax", "rules: [\n"},
	{"duplicate", "rules: []\nrules: []\n"},
	{"tag", "rules: !!seq []\n"},
	{"merge", "rules:\n- <<: {a: b}\n"},
	{"alias before anchor", "rules: *later\n"},
	{"two documents", "rules: []\n---\nrules: []\n"},
	{"no UTF-8", "rules:\n- name: \xff\n"},
	{"several at once", "rule: []\nrules:\n- name: a\n  whn: {}\n  reply: hi\n- name: a\n  priority: high\n  reply:\n  - txt: hi\n"},
	{"a name that another rule has by default", "rules:\n- name: rule 2\n  reply: hi\n- reply: hi\n"},
	{"says nothing", "rules:\n- name: a\n  when: {text: hi}\n"},
	{"two replies", "rules:\n- reply: hi\n  status: 503\n"},
	{"status that is none", "rules:\n- status: 200\n- status: {text: busy}\n"},
	{"default false", "rules:\n- default: false\n"},
	{"reply to a listener", "rules:\n- when: {operation: listen}\n  reply: hi\n"},
	{"unknown operation", "rules:\n- when: {operation: lisen}\n  status: 503\n"},
	{"unknown operation of a reply", "rules:\n- when: {operation: running}\n  reply: hi\n"},
	{"keys of the rule in a step", "rules:\n- reply: [{raw: 'data: x', dialects: [agkit], violates: true}]\n"},
	{"two keys of the rule in a step", "rules:\n- reply: [{text: a, times: 2, pace: {rate: 1}, wiat: 1s}]\n"},
	{"matcher that never matches", "rules:\n- when: {text: {contains: a, equals: b}, body: {/a: {contains: c, equals: d}}}\n  reply: hi\n" +
		"- when: {text: {contains: a, equals: bar}, body: {/a: {contains: c, equals: [c]}}}\n  reply: hi\n"},
	{"expression", "rules:\n- when: {text: {matches: '('}}\n  reply: hi\n"},
	{"matcher", "rules:\n- when: {text: {matchs: a}, thread: {}}\n  reply: hi\n"},
	{"turn", "rules:\n- when: {turn: 0}\n  reply: hi\n- when: {turn: {min: 3, max: 2}}\n  reply: hi\n"},
	{"last", "rules:\n- when: {last: assistant}\n  reply: hi\n- when: {last: user, tool-result: {name: a}}\n  reply: hi\n"},
	{"pointer", "rules:\n- when: {body: {metadata: 1}}\n  reply: hi\n- when: {body: {/a: 1, /b~: 2}}\n  reply: hi\n- 3\n"},
	{"state", "rules:\n- when: {state: started}\n  reply: hi\n"},
	{"step", "rules:\n- reply:\n  - hello\n  - text: a\n    wait: 1s\n  - {}\n"},
	{"wait", "rules:\n- reply:\n  - wait: soon\n  - wait: 25h\n"},
	{"tool without a result", "rules:\n- reply:\n  - tool: {name: lookup}\n"},
	{"result of the client", "rules:\n- reply:\n  - client-tool: {name: lookup, result: 1}\n"},
	{"tool without a name", "rules:\n- reply:\n  - tool: {arguments: {}, result: 1}\n  - tools: []\n"},
	{"after the error", "rules:\n- reply:\n  - error: broken\n  - text: hi\n"},
	{"after the client's call", "rules:\n- reply:\n  - client-tool: {name: a}\n  - text: hi\n"},
	{"after the interrupt", "rules:\n- reply:\n  - interrupt: {question: Sure?}\n  - text: hi\n"},
	{"template", "rules:\n- reply: '{{.Text'\n- reply: '{{shout .Text}}'\n- reply: '{{range 9}}a{{end}}'\n- reply: '{{printf .Text}}'\n- reply: '{{define \"a\"}}{{end}}'\n"},
	{"template blocks", "rules:\n- reply: '{{if .Text}}a'\n- reply: '{{if .Text}}a{{end}}{{- with .Text}}'\n" +
		"- reply: '{{if .Text'\n"},
	{"template arguments", "rules:\n- reply: 'hi {{header}}'\n- reply: '{{json}}'\n- reply: '{{upper header}}'\n" +
		"- reply: '{{\"a\" | random 1 2}}'\n- reply: '{{slice}}'\n- reply: '{{if pick}}{{end}}'\n"},
	{"template names", "rules:\n- reply: '{{.Txt}}'\n- reply: '{{.Match.city}}'\n- when: {text: {matches: '(?<town>.)'}}\n  reply: '{{.Match.city}} {{body \"a\"}}'\n"},
	{"tab", "rules:\n\t- reply: hi\n"},
	{"states", "rules:\n- when: {state: paid}\n  set: checkout=paid\n  reply: hi\n"},
	{"quota", "rules:\n- quota: {requests: 5}\n- quota: {requests: 0, per: 0s}\n"},
	{"times", "rules:\n- times: 0\n  reply: hi\n"},
	{"pace", "defaults: {pace: {rat: 5}}\nrules:\n- pace: {first: soon}\n"},
	{"fault", "rules:\n- faults: [abrt, {abort: 3}, 7]\n"},
	{"dialect", "dialects: [agkitt, runs]\nrules: [{reply: hi}]\n"},
	{"no dialects", "dialects: []\nrules: [{reply: hi}]\n"},
	{"wrong types", "rules:\n- name: ''\n  when: {offers: {}, turn: {min: x}, header: 5, thread: [], text: {exists: 1, matches: []}}\n  reply: {text: hi}\n- 7\n"},
	{"wrong types of steps", "rules:\n- reply: [{error: []}, {tools: 5}, {text: ~}, {raw: }, {message: [{image: {}}, {tool: {}}]}]\n"},
	{"wrong types of a pace", "rules:\n- pace: {chunk: word, rate: fast, burst: -1, speed: 0, jitter: 5}\n- pace: {chunk: 0}\n"},
	{"parameters", "rules:\n- faults: [{abort: {evnt: 3}}, {abort: {event: many}}, {http-error: {status: {}}}, {}]\n- faults: [{abort: {event: many}}]\n"},
	{"range of a pace", "rules:\n- pace: {burst: 1000000}\n"},
	{"raw", "rules:\n- reply:\n  - raw: 'data: {'\n- reply:\n  - raw: {type: text-delta}\n"},
}

var update = flag.Bool("update", false, "rewrite the golden files")

// golden reports a test error if got differs from the content of the golden file at path. With the
// flag -update, it first writes got to that file.
func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got; -update writes it):\n%s", path, diff)
	}
}

func TestBadScriptsAreRefused(t *testing.T) {
	agkit := testDialects(t, "agkit")
	var messages strings.Builder
	for _, tt := range invalidScripts {
		set, problems := Load([]Source{{"s.yaml", []byte(tt.script)}}, agkit)
		if set != nil || !hasErrors(problems) {
			t.Errorf("%s: it was loaded", tt.name)
		}
		fmt.Fprintf(&messages, "# %s\n%s\n", tt.name, strings.Join(problemTexts(problems), "\n"))
	}
	golden(t, "testdata/bad.golden", messages.String())
}

func TestTooMuchIsRefused(t *testing.T) {
	bomb := "rules:\n- reply:\n  - interrupt:\n      a: &a [x, x, x, x, x, x, x, x, x, x]\n"
	for i, name := range strings.Split("bcdefgh", "") {
		before := string("abcdefg"[i])
		bomb += fmt.Sprintf("      %s: &%s [%s]\n", name, name, strings.TrimSuffix(strings.Repeat("*"+before+", ", 10), ", "))
	}
	long := "rules:\n- reply:\n  - interrupt:\n      a: &a " + strings.Repeat("x", 500_000) + "\n      b: [" + strings.Repeat("*a, ", 1000) + "*a]\n"
	rule := "- {reply: hi}\n"
	for _, tt := range []struct{ name, script, want string }{
		{"OpenAPI", "# x\nopenapi: 3.2.0\n", "s.yaml:2:1: this is an OpenAPI document, not a script: the flag --dialect takes the path of one"},
		{"bytes", strings.Repeat("#\n", maxFileSize), "s.yaml: the file is too large: 2097152 bytes, at most 1048576 are allowed"},
		{"rules", "rules:\n" + strings.Repeat(rule, maxRules+1), "s.yaml:2:1: rules has 10001 items, at most 10000 are allowed"},
		{"aliases", bomb, "the script is too large: at most 300000 values are allowed"},
		{"long aliases", long, "the script is too large: at most 300000 values are allowed"},
		{"depth in brackets", "rules: " + strings.Repeat("[", 100_000), "s.yaml:1:40: nested deeper than 32 levels"},
		{"depth in dashes", "rules:\n" + strings.Repeat("- ", 100_000), "nested deeper than 32 levels"},
		{"depth in lines", deep(400), "nested deeper than 32 levels"},
		{"lines of dashes", strings.Repeat("-\n", maxFileSize/4), "more than 1000 list entries have no value"},
		{"lines of members", "rules:\n- set:\n    " + strings.ReplaceAll(many(maxFileSize/16), ", ", "\n    "), "an object has at most 1000 members"},
		{"actions", "rules:\n- reply: '" + strings.Repeat("{{if 1}}", 1001) + "'\n", "too many actions: 1001, at most 1000 are allowed"},
		{"members", "rules:\n- set: {" + many(1001) + "}\n", "an object has at most 1000 members"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			began := time.Now()
			set, problems := Load([]Source{{"s.yaml", []byte(tt.script)}}, nil)
			if all := strings.Join(problemTexts(problems), "\n"); set != nil || !strings.Contains(all, tt.want) {
				t.Errorf("it says %.300s", all)
			}
			if took := time.Since(began); took > 20*time.Second {
				t.Errorf("it took %v", took)
			}
		})
	}
}

// deep returns the YAML text of n nested objects in block style.
func deep(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.Repeat(" ", i) + "a:\n")
	}
	return b.String()
}

// many returns the YAML text of n members of an object in flow style.
func many(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "k%d: v, ", i)
	}
	return b.String()
}
