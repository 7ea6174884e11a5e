package rules_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/streamassay/streamassay/internal/rules"
	"github.com/streamassay/streamassay/internal/transcript"
	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
)

var update = flag.Bool("update", false, "rewrite the expected files")

// servers maps each recorded server, named by its folder, to its dialect. The content of the
// answers is not judged because the agents behind these servers did not follow the prompts exactly.
var servers = map[string]string{
	"agentscope/1.1.5":                                           "agentscope@1.1",
	"agentscope/1.1.5-text":                                      "agentscope@1.1",
	"agentscope/0.1.6":                                           "agentscope@0.1",
	"agentscope-java/1.0.0":                                      "agentscope-java@1.0",
	"agentscope-java/1.0.0-unpaced":                              "agentscope-java@1.0",
	"agentscope-java/0.1.1-classes":                              "agentscope-java@0.1",
	"agkit/cloudbase-agent-server-0.1.1":                         "agkit@0.0.10",
	"agkit/cloudbase-agent-server-0.1.1+langgraph-adapter-0.1.1": "agkit@0.0.10",
	"agui/agno-3.1.10":                                           "agui@1.0",
	"agui/cloudbase-agent-server-0.1.22":                         "agui@1.0",
	"agui/pydantic-ai-2.68.0":                                    "agui@1.0",
}

// TestRecordings compares the findings in recordings of released servers with
// testdata/recordings.tsv. For each of these findings, testdata/decisions.tsv must state whether
// the server or the recording is wrong.
func TestRecordings(t *testing.T) {
	var rows []string
	for _, folder := range slices.Sorted(func(yield func(string) bool) {
		for f := range servers {
			if !yield(f) {
				return
			}
		}
	}) {
		rows = append(rows, recorded(t, folder)...)
	}
	got := "server\trecording\trequirement\tlevel\tcheck\tfindings\tfirst\n" + strings.Join(rows, "\n") + "\n"
	const table = "testdata/recordings.tsv"
	if *update {
		if err := os.WriteFile(table, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(table)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != got {
		t.Errorf("findings differ from %s (go test ./internal/rules -run Recordings -update, and decide):\n%s", table, difference(string(want), got))
	}
	decided(t, rows)
}

// recorded returns the findings in all recordings of one server, as one row per recording,
// requirement and check.
func recorded(t *testing.T, folder string) (rows []string) {
	d, err := dialect.Open(servers[folder])
	if err != nil {
		t.Fatal(err)
	}
	files, _ := filepath.Glob(filepath.Join("testdata/recordings", folder, "*.http"))
	if len(files) == 0 {
		t.Fatalf("no recordings of %s", folder)
	}
	list, err := transcript.OpenAll(files)
	if err != nil {
		t.Fatal(err)
	}
	var traces []*spec.Trace
	for _, tr := range list {
		traces = append(traces, &tr.Trace)
	}
	d.UseEndpoint(traces...)
	for _, tr := range list {
		h := spec.Run(d.Plan(rules.All), d.Events(tr.Trace), nil)
		type key struct{ requirement, check string }
		count, first := map[key]int{}, map[key]string{}
		for _, r := range h.Results {
			for _, f := range r.Findings {
				k := key{r.PlannedCheck.Requirement(f).ID, r.PlannedCheck.Check.ID}
				if count[k]++; count[k] == 1 {
					first[k] = f.Message
				}
			}
		}
		name := strings.TrimSuffix(filepath.Base(tr.Name), ".http")
		for k, n := range count {
			level := spec.Level("")
			for _, r := range d.Requirements {
				if r.ID == k.requirement {
					level = r.Level
				}
			}
			if level == spec.May { // a permission cannot be violated
				continue
			}
			message := strings.Join(strings.Fields(first[k]), " ")
			if len(message) > 160 {
				message = strings.ToValidUTF8(message[:160], "") + "…"
			}
			rows = append(rows, fmt.Sprintf("%s\t%s\t%s\t%s\t%s\t%d\t%s", folder, name, k.requirement, level, k.check, n, message))
		}
	}
	sort.Strings(rows)
	return rows
}

// decided checks that each of the findings in rows has a decision in testdata/decisions.tsv, and
// that each decision is about one of these findings.
func decided(t *testing.T, rows []string) {
	data, err := os.ReadFile("testdata/decisions.tsv")
	if err != nil {
		t.Fatal(err)
	}
	used := map[string]bool{}
	decisions := map[string]string{}
	for line := range strings.Lines(string(data)) {
		f := strings.Split(strings.TrimRight(line, "\n"), "\t")
		if len(f) == 4 && f[0] != "server" {
			if f[2] != "server" && f[2] != "recording" || f[3] == "" {
				t.Errorf("decisions.tsv: %q: expected `server` or `recording` with a reason (a wrong document or check is corrected, not listed)", line)
			}
			decisions[f[0]+"\t"+f[1]] = f[3]
		}
	}
	for _, row := range rows {
		f := strings.Split(row, "\t")
		key := f[0] + "\t" + f[2]
		if decisions[key] == "" {
			t.Errorf("%s: no decision whether the server is wrong: %s", key, row)
		}
		used[key] = true
	}
	for key := range decisions {
		if !used[key] {
			t.Errorf("decisions.tsv: %s: no such finding any more", key)
		}
	}
}

// difference returns the lines that only one of two texts has, marked with "-" for want and "+" for
// got.
func difference(want, got string) string {
	var b strings.Builder
	for _, side := range []struct{ sign, of, not string }{{"-", want, got}, {"+", got, want}} {
		lines := strings.Split(side.not, "\n")
		for line := range strings.Lines(side.of) {
			if line = strings.TrimRight(line, "\n"); !slices.Contains(lines, line) {
				fmt.Fprintf(&b, "%s %s\n", side.sign, line)
			}
		}
	}
	return b.String()
}
