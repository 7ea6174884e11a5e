package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// helpWidth is the number of columns to which the descriptions of flags in help texts are wrapped.
const helpWidth = 110

// longWidth is the number of columns to which the long descriptions of commands are wrapped.
const longWidth = 92

// A flagWithPlaceholder wraps the value of a flag, so that the help shows the placeholder, such as
// FILE, instead of the type of the value.
type flagWithPlaceholder struct {
	pflag.Value
	placeholder string
}

func (v flagWithPlaceholder) Type() string { return v.placeholder }

// describeFlags returns the help text of the flags in set, wrapped to [helpWidth]. A usage text can
// begin with a placeholder in backquotes, such as `FILE`, which the help shows after the name of
// the flag. The set is not modified.
func describeFlags(set *pflag.FlagSet) string {
	shown := pflag.NewFlagSet("", pflag.ContinueOnError)
	shown.SortFlags = set.SortFlags
	set.VisitAll(func(f *pflag.Flag) {
		entry := *f
		if quoted, text, ok := strings.Cut(strings.TrimPrefix(f.Usage, "`"), "` "); ok && strings.HasPrefix(f.Usage, "`") {
			entry.Usage, entry.Value = text, flagWithPlaceholder{f.Value, quoted}
			if f.DefValue == "[]" { // an empty list
				entry.DefValue = ""
			}
		}
		shown.AddFlag(&entry)
	})
	return shown.FlagUsagesWrapped(helpWidth)
}

// init makes describeFlags and helpNotes available to the templates of help texts.
func init() {
	cobra.AddTemplateFunc("describeFlags", describeFlags)
	cobra.AddTemplateFunc("helpNotes", helpNotes)
}

// A flagGroup is a titled group of flags in the help of a command.
type flagGroup struct {
	title    string
	addFlags func(*pflag.FlagSet) // adds the flags of the group to a set
}

// addFlagGroups adds the flags of all groups to cmd. It also replaces the help function of cmd with
// one that prints the flags group by group.
func addFlagGroups(cmd *cobra.Command, groups []flagGroup) {
	sets := make([]*pflag.FlagSet, len(groups))
	seen := map[string]bool{}
	cmd.Flags().SortFlags = false
	for i, g := range groups {
		g.addFlags(cmd.Flags())
		sets[i] = pflag.NewFlagSet(g.title, pflag.ContinueOnError)
		sets[i].SortFlags = false
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if !seen[f.Name] {
				seen[f.Name] = true
				sets[i].AddFlag(f)
			}
		})
	}
	cmd.SetHelpFunc(func(cmd *cobra.Command, _ []string) {
		out := cmd.OutOrStdout()
		fmt.Fprintf(out, "%s\n\nUsage:\n  %s\n\nExamples:\n%s\n", cmd.Long, cmd.UseLine(), cmd.Example)
		for i, g := range groups {
			fmt.Fprintf(out, "\n%s:\n%s", g.title, describeFlags(sets[i]))
		}
		fmt.Fprint(out, helpNotes(cmd))
	})
}

// helpNotes returns the notes at the end of the help of cmd, one line for each word in the help
// that needs an explanation, such as DURATION. If the help contains no such word, the result is "".
func helpNotes(cmd *cobra.Command) (notes string) {
	text := cmd.Long + describeFlags(cmd.LocalFlags())
	for _, note := range [][2]string{
		{" SIZE ", "A SIZE is written as 65536, 64KiB, 1MiB or 10MB (1MiB is 1024 × 1024 bytes, 1MB 1000 × 1000)."},
		{" DURATION ", "A DURATION is written as 500ms, 30s or 10m."},
		{"docs/", "The directory docs is in the repository github.com/streamassay/streamassay."},
	} {
		if strings.Contains(text, note[0]) {
			notes += "\n" + note[1]
		}
	}
	if notes != "" {
		notes = "\n" + notes[1:] + "\n"
	}
	return notes
}

// wrapHelp breaks text at white space into lines of at most [longWidth] bytes. A word that is
// longer gets a line of its own. Line breaks in text are not kept.
func wrapHelp(text string) string {
	var b strings.Builder
	at := 0
	for word := range strings.FieldsSeq(text) {
		switch {
		case at > 0 && at+1+len(word) > longWidth:
			b.WriteByte('\n')
			at = 0
		case at > 0:
			b.WriteByte(' ')
			at++
		}
		b.WriteString(word)
		at += len(word)
	}
	return b.String()
}
