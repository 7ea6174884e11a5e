package main

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/streamassay/streamassay/suites"
)

// TestBadConfig checks that an invalid --config file results in a single line that names the file,
// the line, the target, the field and the valid values, but no flag.
func TestBadConfig(t *testing.T) {
	const good = "targets:\n  - url: http://127.0.0.1:1\n    dialects: [agkit]\n"
	for _, c := range []struct{ text, says string }{
		{"", "c.yaml: is empty: want a list `targets:`"},
		{" \n\n", "c.yaml: is empty"},
		{"# nothing\n", "c.yaml: no targets"},
		{"targets:\n", "c.yaml: no targets"},
		{"targets: []\n", "c.yaml: no targets"},
		{"targets: 5\n", "c.yaml:1: targets: must be a list"},
		{"targets: [\n", "c.yaml:1:"},
		{"hello\n", "c.yaml:1:"},
		{"[1, 2]\n", "c.yaml:1:"},
		{"target:\n  - url: http://127.0.0.1:1\n", `c.yaml:1: unknown field "target"; did you mean targets?`},
		{"targets:\n  - just text\n", "c.yaml:2: target 1: must be a mapping"},
		{"targets:\n  - dialects: [agkit]\n", "c.yaml:2: target 1: url is missing"},
		{"targets:\n  - url:\n", "c.yaml:2: target 1: url: must be a string"},
		{"targets:\n  - url: ''\n", "c.yaml:2: target 1: url is missing"},
		{"targets:\n  - url: http://127.0.0.1:1\n", "c.yaml:2: target 1: dialects is missing"},
		{good + "    urll: x\n", "c.yaml:4: target 1: urll: unknown field; did you mean url?"},
		{good + "    dialect: agkit\n", "c.yaml:4: target 1: dialect: unknown field; did you mean dialects?"},
		{good + "    dialects: [runs]\n", "c.yaml:4:"},
		{good + "    timeout: soon\n", "c.yaml:4: target 1: timeout"},
		{good + "    timeout: 99999h\n", "c.yaml:4: target 1: timeout"},
		{good + "    parallel: many\n", "c.yaml:4: target 1: parallel many: must be a whole number"},
		{good + "    parallel: 0\n", "c.yaml:4: target 1: parallel 0: must be from 1"},
		{good + "    repeat: -1\n", "c.yaml:4: target 1: repeat -1"},
		{good + "    seed: -1\n", "c.yaml:4: target 1: seed -1: must be a whole number from 0 to 18446744073709551615"},
		{good + "    strict: maybe\n", "c.yaml:4: target 1: strict maybe: must be true or false"},
		{good + "    max-event: much\n", "c.yaml:4: target 1: max-event much: must be a whole number of bytes above 0, optionally with KiB, MiB, GiB, kB, MB or GB"},
		{good + "    headers: [s3cr3t]\n", "c.yaml:4: target 1: headers: must be 'Name: value'"},
		{good + "    headers: ['A: b', 'Host: x']\n", "c.yaml:4: target 1: headers (number 2 of 2): Host cannot be set"},
		{good + "    headers: {Authorization: s3cr3t}\n", "c.yaml:4: target 1: headers: must be a list of strings"},
		{good + "    headers: [A: b]\n", `c.yaml:4: target 1: headers: must be a list of strings (one that contains ": " needs`},
		{"\ufeff" + good + "    claim: [everything]\n", "c.yaml:4: target 1: claim"},
		{good + "    claim: [everything]\n", "c.yaml:4: target 1: claim"},
		{good + "    lacks: [text]\n", "c.yaml:4: target 1: lacks"},
		{good + "    prompt: {nothing: x}\n", "c.yaml:4: target 1: prompt"},
		{good + "    prompts: {tex: hello}\n",
			"prompts: must be one of conformance, natural; texts by scenario go in prompt:"},
		{good + "    prompts: rude\n", "c.yaml:4: target 1: prompts"},
		{good + "    only: ['zz*']\n", "c.yaml:4: target 1: only"},
		{good + "    skip: ['*']\n", "target 1: nothing is left to judge after skip"},
		{good + "    ca: missing.pem\n", "c.yaml:4: target 1: ca missing.pem: no such file"},
		{good + "    reports: [pdf]\n", "--config c.yaml:4: target 1: reports: unknown format"},
		{good + "    reports: [json=missing/r.json]\n", "c.yaml:4: target 1: reports json=missing/r.json: directory missing does not exist"},
		{good + "    transcripts: c.yaml\n", "c.yaml:4: target 1: transcripts c.yaml"},
		{good + "  - url: ftp://127.0.0.1\n    dialects: [agkit]\n", `c.yaml:4: target 2: url "ftp://127.0.0.1" has the scheme ftp`},
		{good + "  - url: http://127.0.0.1:2\n    dialects: [nope]\n", "c.yaml:5: target 2: dialects"},
		{good + "---\ntargets: []\n", "c.yaml:5: second YAML document"},
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "c.yaml"), []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		code, out, said := streamassay(t, dir, "run", "--config", "c.yaml")
		if code != exitUsage || out != "" || strings.Count(said, "\n") != 1 || !strings.Contains(said, c.says) || strings.Contains(said, "s3cr3t") {
			t.Errorf("%q: exit %d, stdout %q, stderr %q: want exit 2 and one line with %q", c.text, code, out, said, c.says)
		}
		if files := listing(t, dir); len(files) != 1 {
			t.Errorf("%q: there are %v", c.text, files)
		}
	}
}

// TestConfigAndFlags checks that fields that a target in a --config file does not set have the
// values of the flags, and that prompts are merged by scenario.
func TestConfigAndFlags(t *testing.T) {
	file := filepath.Join(t.TempDir(), "c.yaml")
	text := "targets:\n  - &first\n    url: http://127.0.0.1:1\n    dialects: [agkit]\n    prompt: {text: mine}\n    max-event: 16MiB\n" +
		"  - <<: *first\n    url: http://127.0.0.1:2\n    claim: [tool]\n  - url: reference\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	flags := targetOptions{Dialects: []string{"runs"}, suite: suites.Target{
		PromptOverrides: map[string]string{"text": "yours", "tool": "call it"}, ClaimedCapabilities: []string{"recall"}, Timeout: 7 * time.Second, MaxEventBytes: 5,
	}}
	mine := map[string]string{"text": "mine", "tool": "call it"}
	list, err := readConfig(file, flags)
	if err != nil || len(list) != 3 {
		t.Fatalf("%d targets, %v", len(list), err)
	}
	for i, want := range []targetOptions{
		{URL: "http://127.0.0.1:1", Dialects: []string{"agkit"}, suite: suites.Target{
			PromptOverrides: mine, ClaimedCapabilities: []string{"recall"}, Timeout: 7 * time.Second, MaxEventBytes: 16 << 20,
		}},
		{URL: "http://127.0.0.1:2", Dialects: []string{"agkit"}, suite: suites.Target{
			PromptOverrides: mine, ClaimedCapabilities: []string{"tool"}, Timeout: 7 * time.Second, MaxEventBytes: 16 << 20,
		}},
		{URL: "reference", Dialects: []string{"runs"}, suite: flags.suite},
	} {
		got := list[i]
		got.source = targetPosition{}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("target %d is %+v, want %+v", i+1, got, want)
		}
	}
}

// TestReferencePromises checks that the embedded reference has no findings, also with natural
// prompts and with --lacks scripted, where nothing may be expected of a scripted agent.
func TestReferencePromises(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"--prompts", "natural"}, {"--lacks", "scripted"}, {}} {
		began := time.Now()
		code, out, said := streamassay(t, t.TempDir(), append([]string{"run", "reference", "--dialect", "agkit"}, args...)...)
		if code != exitOK || strings.Contains(out, "WARNED") || strings.Contains(out, "FAILED") || !strings.Contains(out, "PASSED") {
			t.Errorf("%v (%v): exit %d\n%s%s", args, time.Since(began), code, out, said)
		}
	}
}
