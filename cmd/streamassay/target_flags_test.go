package main

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// TestTargetFlagAndField checks that each option of a target, given as a flag, as a field of a
// --config file, or as a flag beside a --config file without the field, has the same effect.
func TestTargetFlagAndField(t *testing.T) {
	set := func(args ...string) targetOptions {
		t.Helper()
		o := newTargetOptions()
		cmd := &cobra.Command{}
		o.addRunFlags(cmd)
		if err := cmd.ParseFlags(args); err != nil {
			t.Fatal(err)
		}
		return o
	}
	read := func(fields string, flags targetOptions) targetOptions {
		t.Helper()
		file := filepath.Join(t.TempDir(), "c.yaml")
		if err := os.WriteFile(file, []byte("targets:\n  - url: reference\n"+fields), 0o600); err != nil {
			t.Fatal(err)
		}
		list, err := readConfig(file, flags)
		if err != nil {
			t.Fatal(err)
		}
		list[0].URL, list[0].source = "", configSource{}
		return list[0]
	}
	values := map[string]struct{ flag, field string }{ // by flag
		"dialect": {"runs", "[runs]"}, "header": {"A: b", "['A: b']"}, "other-header": {"A: b", "['A: b']"}, "claim": {"tool", "[tool]"},
		"lacks": {"tool", "[tool]"}, "prompts": {"natural", "natural"}, "prompt": {"text=hello", "{text: hello}"}, "stream-limit": {"5", "5"},
		"only": {"text", "[text]"}, "skip": {"text", "[text]"}, "strict": {"true", "true"}, "timeout": {"7s", "7s"}, "idle-timeout": {"7s", "7s"},
		"max-time": {"7s", "7s"}, "max-bytes": {"2KiB", "2048"}, "max-events": {"5", "5"}, "max-event": {"2KiB", "2KiB"}, "parallel": {"5", "5"},
		"seed": {"5", "5"}, "salt": {"5", "5"}, "sequences": {"5", "5"}, "repeat": {"5", "5"}, "ca": {"a.pem", "a.pem"}, "insecure": {"true", "true"},
		"report": {"json=a,b", "['json=a,b']"}, "transcripts": {"dir", "dir"},
	}
	for _, o := range targetFlags {
		if o.usage == "" {
			continue
		}
		v, ok := values[o.name]
		if !ok {
			t.Errorf("--%s: the test has no value", o.name)
			continue
		}
		want := set("--" + o.name + "=" + v.flag)
		if reflect.DeepEqual(want, newTargetOptions()) {
			t.Errorf("--%s has no effect", o.name)
		}
		if got := read("    "+o.fieldName()+": "+v.field+"\n", newTargetOptions()); !reflect.DeepEqual(got, want) {
			t.Errorf("%s in a file: %+v, want %+v", o.fieldName(), got, want)
		}
		if got := read("", want); !reflect.DeepEqual(got, want) {
			t.Errorf("--%s beside a file: %+v, want %+v", o.name, got, want)
		}
	}
}

// TestDiffFlags checks that the flags of diff have the defaults of the flags of run.
func TestDiffFlags(t *testing.T) {
	sh := stdio{}
	run, diff := runCommand(sh).Flags(), diffCommand(sh).Flags()
	for _, o := range targetFlags {
		if o.diff == "" {
			continue
		}
		if f := diff.Lookup(o.name); f == nil || f.DefValue != run.Lookup(o.name).DefValue || strings.Contains(f.Usage, asInRun) {
			t.Errorf("--%s of diff is %+v", o.name, f)
		}
	}
}
