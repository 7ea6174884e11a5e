package main

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// TestTargetFlagAndField checks that each option of a target, given as a flag, as a field of a
// --config file, or as a flag beside a --config file without the field, has the same effect.
func TestTargetFlagAndField(t *testing.T) {
	set := func(flag, value string) (o targetOptions, err error) {
		o = newTargetOptions()
		cmd := &cobra.Command{}
		o.addFlags(cmd, false)
		return o, cmd.ParseFlags([]string{"--" + flag + "=" + value})
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
		list[0].URL, list[0].source = "", targetPosition{}
		return list[0]
	}
	for _, o := range targetFlags {
		if o.usage == "" {
			continue
		}
		value, want := "", newTargetOptions()
		for _, try := range []string{"true", "5", "7s", "2KiB", "natural", "text=hello"} { // one of them is valid and not the default
			if got, err := set(o.name, try); err == nil && !reflect.DeepEqual(got, newTargetOptions()) {
				value, want = try, got
				break
			}
		}
		if value == "" {
			t.Errorf("--%s accepts none of the values of the test", o.name)
			continue
		}
		defaults := newTargetOptions()
		switch o.value(&defaults).(type) {
		case *[]string, *nameList:
			value = "['" + value + "']"
		case *string, pflag.Value:
			value = "'" + value + "'"
		case *map[string]string:
			value = "{text: hello}"
		}
		if got := read("    "+o.fieldName()+": "+value+"\n", defaults); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %s in a file: %+v, want %+v", o.fieldName(), value, got, want)
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
