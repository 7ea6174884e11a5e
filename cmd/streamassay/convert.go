package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/streamassay/streamassay/mockserver/replay"
	"github.com/streamassay/streamassay/spec/dialect"
)

// A convertOptions is what convert was told.
type convertOptions struct {
	format, dir, base string
	force             bool
	dialects          []string
}

func convertCommand(sh stdio) *cobra.Command {
	c := convertOptions{}
	cmd := &cobra.Command{
		Use:   "convert FILE…",
		Short: "Make recordings and scripts for the mock of what other tools write down",
		Long: `Make transcripts (.txtar), one for each conversation, of what browsers (.har) and curl
(.http, .sse) recorded; and scripts (.yaml) of the fixture files of aimock (.json). What
cannot be said is named, and makes the exit code 1; what is said otherwise is named too.`,
		Example: `  streamassay convert page.har --dialect runs --out recordings
  streamassay convert fixtures/*.json --out scripts`,
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usageError("convert what? name the files: .har, .http, .sse or .json")
			}
			if err := checkPaths(args); err != nil {
				return err
			}
			return c.run(sh, args)
		},
	}
	f := cmd.Flags()
	f.Var((*nameList)(&c.dialects), "dialect", "what a recording speaks; what is not of it is left out")
	f.StringVar(&c.format, "to", "", "`FORMAT`: transcript or script (default: what the file can become)")
	f.StringVar(&c.base, "base", "", "`PATH`, or URL, at which the recorded server had the base of the dialect")
	f.StringVar(&c.dir, "out", ".", "`DIR` to write to; it is made if need be")
	f.BoolVar(&c.force, "force", false, "write over files that are there")
	_ = cmd.RegisterFlagCompletionFunc("dialect", cobra.FixedCompletions(dialect.Names(), cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func (c convertOptions) run(sh stdio, paths []string) error {
	o := replay.ConvertOptions{Format: replay.Format(c.format), BaseURL: c.base}
	if o.Format != "" && o.Format != replay.Transcript && o.Format != replay.Script {
		return usageError("--to %s: it is %s or %s", c.format, replay.Transcript, replay.Script)
	}
	if len(c.dialects) > 1 {
		return usageError("--dialect: a recording speaks one, and %d are named", len(c.dialects))
	}
	if len(c.dialects) == 1 {
		d, err := dialect.Open(c.dialects[0])
		if err != nil {
			return usageError("%v", err)
		}
		o.Dialect = d
	}
	for _, path := range paths {
		if _, err := os.Stat(path); err != nil {
			return usageError("%s: %v", path, withoutPath(err))
		}
	}
	if err := os.MkdirAll(c.dir, 0o755); err != nil {
		return usageError("--out %s: %v", c.dir, withoutPath(err))
	}
	left := 0
	for _, path := range paths {
		made, problems := replay.Convert(path, o)
		for _, p := range problems {
			fmt.Fprintln(sh.err, p)
			if p.Severity == replay.Error {
				left++
			}
		}
		for _, f := range made {
			if err := c.write(f); err != nil {
				return err
			}
			fmt.Fprintln(sh.out, filepath.Join(c.dir, f.Name))
		}
	}
	if left > 0 {
		return exitError{exitFailed, countNoun(left, "thing") + " could not be converted"}
	}
	return nil
}

// write writes a file, and none over another unless it was told to.
func (c convertOptions) write(f replay.OutputFile) error {
	path, how := filepath.Join(c.dir, filepath.Base(f.Name)), os.O_WRONLY|os.O_CREATE|os.O_EXCL
	if c.force {
		how = os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	}
	file, err := os.OpenFile(path, how, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return usageError("%s: it is there already: --force writes over it", path)
	}
	if err == nil {
		_, err = file.Write(f.Data)
		err = errors.Join(err, file.Close())
	}
	if err != nil {
		return usageError("%s: %v", path, withoutPath(err))
	}
	return nil
}
