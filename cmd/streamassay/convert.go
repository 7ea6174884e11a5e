package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/streamassay/streamassay/internal/printable"
	"github.com/streamassay/streamassay/internal/replay"
	"github.com/streamassay/streamassay/internal/transcript"
	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
	"github.com/streamassay/streamassay/suites"
)

// A convertOptions holds the flags of the convert command.
type convertOptions struct {
	format   string   // the only format of files to write, transcript or script; "" means both
	dir      string   // output directory
	base     string   // base path or URL of the recorded server, removed from the paths of requests; "" means none
	force    bool     // overwrite existing files
	dialects []string // values of --dialect, at most one; if empty, requests of all dialects are converted
}

// convertCommand returns the convert command, which converts recordings, and fixtures of other
// tools, to files that the mock can serve.
func convertCommand(sh stdio) *cobra.Command {
	c := convertOptions{}
	cmd := &cobra.Command{
		Use:   "convert FILE...",
		Short: "Convert recordings and fixtures of other tools to files for the mock",
		Long: `Convert recordings and fixtures of other tools to files for the mock:
  .har, .http, .sse   recordings of browsers and curl → transcripts: page.har becomes page.txtar;
                      with --dialect, each conversation (the exchanges of one thread; those
                      without a thread form another) becomes one transcript: page-1.txtar …
                      or, if there is only one, page.txtar
  .json               fixtures of aimock, a mock server of LLM APIs → scripts: a.json becomes a.yaml
The request of NAME.http is read from NAME.request.json, as in streamassay lint; do not give
that file as an argument. Whatever cannot be converted exactly is listed on standard error.
` + wrapHelp("In transcripts, "+redactedCredentials+" Without --dialect, transcripts do not name their dialect; "+
			"streamassay mock and lint then require --dialect.") + `
The mock also reads .har, .http and .sse files as they are. Convert them to edit them, to
split them into conversations, for a mock of several dialects, or to remove a base path.

If an output file exists, nothing is written, and the exit code is 2 (see --force).

Exit codes: 0 everything was converted, perhaps approximately, 1 something could not be
converted, or --dialect is given and the events of a file are not those of DIALECT, 2 usage
error.`,
		Example: `  streamassay convert page.har --dialect runs --out recordings
  streamassay convert fixtures/*.json --out scripts`,
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usageError("convert needs files: .har, .http, .sse or .json")
			}
			if err := checkPaths(args); err != nil {
				return err
			}
			return c.run(sh, args)
		},
	}
	f := cmd.Flags()
	f.Var((*nameList)(&c.dialects), "dialect",
		"`DIALECT` dialect of the recordings: "+dialectUsage+"; requests that call none of its operations are left out (default: none are "+
			"left out); no effect on .json files")
	f.StringVar(&c.format, "to", "", "`FORMAT` transcript (convert only .har, .http and .sse files) or script (only .json files); other "+
		"files are reported as not converted, with exit code 1 (default: convert all)")
	f.StringVar(&c.base, "base", "",
		"`PATH` base path or URL of the recorded server; it is removed from the paths of requests that begin with it "+
			"(of a URL, only the path counts); not needed for the dialect's own base path, such as /api/v1/agent of "+
			"runs; no effect on .json files")
	f.StringVar(&c.dir, "out", ".", "`DIR` output directory, created if missing")
	f.BoolVar(&c.force, "force", false, "overwrite existing files; without it they are a usage error")
	completeDialects(cmd)
	return cmd
}

// run converts the files at paths and writes the results to the output directory. It prints the
// paths of the results to standard output, and the problems that it found to standard error. It
// returns an error with exit code 1 if something could not be converted, or if --dialect is given
// and the events in a recording are not those of that dialect. It returns a usage error if a
// flag is invalid, an input file does not exist, a result cannot be written, two input files have
// the same output file, or an output file exists and --force is not given. If run returns a usage
// error, no file has been written, except that files written before a failed write remain.
func (c convertOptions) run(sh stdio, paths []string) error {
	o := replay.ConvertOptions{Format: replay.OutputFormat(c.format), BaseURL: c.base}
	if o.Format != "" && o.Format != replay.Transcript && o.Format != replay.Script {
		return usageError("--to %s: must be %s or %s", c.format, replay.Transcript, replay.Script)
	}
	if err := checkRecordedBase(c.base); err != nil {
		return err
	}
	given, err := singleDialect(c.dialects)
	if err != nil {
		return err
	}
	if len(given) > 0 {
		o.Dialect = given[0]
	}
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			return usageError("%s: %v", path, withoutPath(err))
		}
		if info.IsDir() {
			return usageError("%s: is a directory: name its files", path)
		}
	}
	failures := 0
	var made []replay.ConvertedFile
	var notes []string             // printed only if there is no usage error, the last one as the error
	sources := map[string]string{} // path of the input, by name of the output
	for _, path := range paths {
		files, problems := replay.Convert(path, o)
		for _, p := range problems {
			fmt.Fprintln(sh.err, p)
			if p.Severity == replay.Error {
				failures++
			}
		}
		for _, f := range files {
			if other, taken := sources[f.Name]; taken {
				return usageError("%s and %s have the same output, %s", other, path, filepath.Join(c.dir, f.Name))
			}
			if _, err := os.Lstat(c.outputPath(f)); err == nil && !c.force {
				return usageError("%s: the output %s exists already (--force overwrites it)", path, c.outputPath(f))
			}
			sources[f.Name] = path
		}
		if o.Dialect != nil {
			if like, foreign := foreignEvents(o.Dialect, files); foreign {
				notes = append(notes, path+": was converted, but "+foreignEventsText(o.Dialect, like))
			}
		}
		made = append(made, files...)
	}
	if err := os.MkdirAll(c.dir, 0o755); err != nil {
		return usageError("--out %s: %v", c.dir, withoutPath(err))
	}
	for _, f := range made {
		if err := c.write(f); err != nil {
			return err
		}
		fmt.Fprintln(sh.out, filepath.Join(c.dir, f.Name))
	}
	if failures > 0 {
		notes = append(notes, "not everything could be converted ("+printable.Count(failures, "error")+")")
	}
	if len(notes) == 0 {
		return nil
	}
	last := len(notes) - 1
	for _, note := range notes[:last] {
		fmt.Fprintln(sh.err, note)
	}
	return exitError{exitFailed, notes[last]}
}

// foreignEvents is like [suites.ForeignEvents] for the exchanges of all transcripts among files,
// which are results of a conversion.
func foreignEvents(d *dialect.Dialect, files []replay.ConvertedFile) (like string, foreign bool) {
	var all spec.Trace
	for _, f := range files {
		if t, err := transcript.Parse(f.Name, f.Data); err == nil { // scripts are not transcripts
			all.Exchanges = append(all.Exchanges, t.Trace.Exchanges...)
		}
	}
	d.UseEndpoint(&all)
	return suites.ForeignEvents(d, all)
}

// checkRecordedBase checks base, the value of --base. It returns a usage error unless base is
// empty, a path that begins with a slash and has no query or fragment, or a base URL (see
// [parseBase]).
func checkRecordedBase(base string) error {
	if strings.Contains(base, "://") {
		_, err := parseBase("--base", base)
		return err
	}
	if base != "" && (!strings.HasPrefix(base, "/") || strings.ContainsAny(base, "?#")) {
		return usageError("--base %s: must be a path that begins with a slash (e.g. /v1/bots/b1), or a base URL", base)
	}
	return nil
}

// outputPath returns the path to which f is written.
func (c convertOptions) outputPath(f replay.ConvertedFile) string {
	return filepath.Join(c.dir, filepath.Base(f.Name))
}

// write writes f to the output directory. It returns a usage error if f cannot be written, or if
// the output file exists and --force is not given.
func (c convertOptions) write(f replay.ConvertedFile) error {
	how := os.O_WRONLY | os.O_CREATE | os.O_EXCL
	if c.force {
		how = os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	}
	file, err := os.OpenFile(c.outputPath(f), how, 0o644)
	if err = writeAndClose(file, err, f.Data); err != nil {
		return usageError("--out %s: %v", c.outputPath(f), err)
	}
	return nil
}
