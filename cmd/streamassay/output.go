package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/streamassay/streamassay/internal/exitcode"
	"github.com/streamassay/streamassay/reports"
)

// A reportOutput is the value of one --report flag: the format of a report, and the destination of
// the report.
type reportOutput struct {
	format      reports.Format
	flagText    string            // flag and value for messages, such as "--report json=r.json"
	path        string            // from the flag, or with a number added by resolveOutputs; "-" means standard output
	destination outputDestination // set by resolve
}

// parseOutputs parses list, whose elements have the form FORMAT[=PATH]. A report without PATH is
// for standard output. If an element is invalid, parseOutputs returns a usage error that begins
// with name, the name of the flag or field that holds the list. It does not set the destinations;
// [resolveOutputs] does.
func parseOutputs(name string, list []string) (all []reportOutput, err error) {
	for _, text := range list {
		if text == "" {
			return nil, usageError("%s is empty: want FORMAT or FORMAT=PATH", name)
		}
		format, path, given := strings.Cut(text, "=")
		text = name + " " + text
		f, err := reports.FormatByName(format)
		if err != nil {
			return nil, usageError("%s: %v", name, err)
		}
		if !given {
			path = stdoutPath
		}
		if path == "" {
			return nil, usageError("%s: no path after =", text)
		}
		all = append(all, reportOutput{format: f, flagText: text, path: path})
	}
	return all, nil
}

// resolveOutputs sets the destination of each report. Each element of targets holds the reports of
// one target. If a report would be written to the same file as a report of an earlier target,
// resolveOutputs adds the number of its target to the file name, as in r-2.json for r.json. It
// returns a usage error if a report cannot be written or would overwrite other output.
func resolveOutputs(targets ...[]reportOutput) error {
	var taken []reportOutput
	for i, list := range targets {
		for k := range list {
			o := &list[k]
			if err := o.resolve(); err != nil {
				return err
			}
			if sameDestination(taken, o) != nil && o.destination.isFile() {
				o.path = withNumber(o.path, i)
				if err := o.resolve(); err != nil {
					return err
				}
			}
			if err := o.checkConflict(taken, list[:k]); err != nil {
				return err
			}
		}
		taken = append(taken, list...)
	}
	return nil
}

// resolve sets o.destination from o.path. It returns a usage error if the report cannot be written
// to that destination.
func (o *reportOutput) resolve() (err error) {
	o.destination, err = writableDestination(o.flagText, o.path)
	return err
}

// checkConflict returns a usage error if the report has the same destination as a report in own,
// the earlier reports of the same target. It also returns a usage error if the report would
// overwrite the file of a report in others, the reports of earlier targets, or the file to which
// standard output is redirected.
func (o *reportOutput) checkConflict(others, own []reportOutput) error {
	if other := sameDestination(own, o); other != nil && o.path == stdoutPath {
		return usageError("%s and %s go to the same place, standard output (a file: %s=PATH)",
			other.flagText, o.flagText, o.format.Name)
	} else if other != nil {
		return usageError("%s and %s go to the same place", other.flagText, o.flagText)
	}
	if other := sameDestination(others, o); other != nil && o.destination.isFile() {
		return usageError("%s and %s of another target go to the same place, %s", o.flagText, other.flagText, o.path)
	}
	if o.destination.isStdout() {
		return usageError("%s: standard output is redirected to the same file (use %s=-)", o.flagText, o.format.Name)
	}
	return nil
}

// checkReports returns a usage error if a report in list would overwrite one of the inputs, which
// are paths of files and directories (see [outputDestination.checkInputs]), or has the path
// transcripts, the directory for transcripts. The argument flag is the name of the flag that sets
// transcripts. An empty transcripts means that no transcripts are written.
func checkReports(list []reportOutput, flag, transcripts string, inputs ...string) error {
	for _, o := range list {
		if err := o.destination.checkInputs(o.flagText, inputs...); err != nil {
			return err
		}
		dir, err := newDestination(filepath.Clean(transcripts))
		if transcripts == "" || err != nil {
			continue
		}
		if err := o.destination.checkDistinct(o.flagText, dir, flag+" "+transcripts); err != nil {
			return err
		}
	}
	return nil
}

// sameDestination returns the first report in list that has the same destination as o, or nil.
func sameDestination(list []reportOutput, o *reportOutput) *reportOutput {
	for i := range list {
		if list[i].destination.isSame(o.destination) {
			return &list[i]
		}
	}
	return nil
}

// withNumber adds the number of a target to the file name in path, before the extension. The
// argument i is the index of the target, from 0. For example, r.json becomes r-2.json if i is 1.
func withNumber(path string, i int) string {
	ext := filepath.Ext(path)
	return fmt.Sprintf("%s-%d%s", strings.TrimSuffix(path, ext), i+1, ext)
}

// usesStdout reports whether a report in list is written to standard output. If so, nothing else
// must be printed there.
func usesStdout(list []reportOutput) bool {
	return slices.ContainsFunc(list, func(o reportOutput) bool { return o.destination.fd == 1 })
}

// writeReports writes the report r to each destination in list, in the format selected for that
// destination. If writing to some of them fails, it still writes to the others and then returns one
// error for all failures. Unless standard output is one of the destinations, it also prints the
// text report to standard output, in the given style. If writing has failed and r.Exit is not the
// code for a signal, the text report shows the exit code for internal errors instead of r.Exit.
func writeReports(r *reports.Report, list []reportOutput, sh stdio, style reports.TextStyle) error {
	var failed []string
	for _, o := range list {
		if err := o.write(r, sh); err != nil {
			failed = append(failed, fmt.Sprintf("%s: %v", o.flagText, err))
		}
	}
	if !usesStdout(list) {
		shown := *r
		if len(failed) > 0 && r.Exit < exitcode.SignalBase {
			shown.Exit = exitInternal
		}
		if err := reports.WriteText(sh.out, &shown, style); err != nil {
			failed = append(failed, fmt.Sprintf("standard output: %v", withoutPath(err)))
		}
	}
	if len(failed) > 0 {
		return exitError{exitInternal, strings.Join(failed, "; ")}
	}
	return nil
}

// withUnwritten returns an error with the text of err and the messages in unwritten, which are
// about reports that could not be written. The argument err is the error with which the program
// would end; nil means that there is none. If err has the exit code for a signal, the result has
// the same code; otherwise it has the code for internal errors. If unwritten is empty,
// withUnwritten returns err unchanged.
func withUnwritten(err error, unwritten []string) error {
	if len(unwritten) == 0 {
		return err
	}
	var exit exitError
	if !errors.As(err, &exit) || exit.code != exitcode.Interrupted && exit.code != exitcode.Terminated {
		exit.code = exitInternal
	}
	if err != nil && err.Error() != "" {
		unwritten = append([]string{err.Error()}, unwritten...)
	}
	return exitError{exit.code, strings.Join(unwritten, "; ")}
}

// write writes the report r, in the format of o, to the destination of o. If that is standard
// output, it writes to sh.out. The error, if any, does not contain the path of the report.
func (o reportOutput) write(r *reports.Report, sh stdio) error {
	var b bytes.Buffer
	if err := o.format.Write(&b, r); err != nil {
		return err
	}
	if o.destination.fd == 1 {
		_, err := sh.out.Write(b.Bytes())
		return withoutPath(err)
	}
	return withoutPath(o.destination.write(context.Background(), b.Bytes()))
}

// replaceFile replaces the content of the file at path with data in one step, by renaming a
// temporary file. It creates the file if necessary. The permissions of an existing file are kept.
func replaceFile(path string, data []byte) error {
	mode := os.FileMode(0o644)
	if info, err := os.Stat(path); err == nil {
		mode = info.Mode().Perm()
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name())
	if err := errors.Join(tmp.Chmod(mode), writeAndClose(tmp, nil, data)); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), path)
}
