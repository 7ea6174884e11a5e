package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/streamassay/streamassay/reports"
)

// A reportOutput is one --report flag: a format and where to write the report.
type reportOutput struct {
	format      reports.Format
	flagText    string // for messages: "--report json=r.json"
	path        string
	destination destination
}

// parseOutputs parses the values FORMAT[=PATH] of the flag or field name. An error begins with that
// name.
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

// resolveOutputs sets the destination of each report, and checks that it can be written. Each
// argument has the reports of one target. A report whose file an earlier target writes gets the
// number of its target added to the name: r-2.json instead of r.json.
func resolveOutputs(targets ...[]reportOutput) error {
	var taken []reportOutput
	for i, list := range targets {
		for k := range list {
			o := &list[k]
			if err := o.resolve(); err != nil {
				return err
			}
			if _, ok := sameDestination(taken, *o); ok && o.destination.isFile() {
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

// resolve sets the destination of the report from its path. It returns an error if the report
// cannot be written there.
func (o *reportOutput) resolve() (err error) {
	if o.destination, err = newDestination(o.path); err == nil {
		err = o.destination.checkWritable()
	}
	if err != nil {
		return usageError("%s: %v", o.flagText, err)
	}
	return nil
}

// checkConflict returns an error if the report would overwrite other output. own are earlier
// reports of the same target, others those of earlier targets. Standard output counts too, if it is
// redirected to the file of the report.
func (o *reportOutput) checkConflict(others, own []reportOutput) error {
	if other, ok := sameDestination(own, *o); ok {
		return usageError("%s and %s go to the same place", other.flagText, o.flagText)
	}
	if other, ok := sameDestination(others, *o); ok && o.destination.isFile() {
		return usageError("%s and %s of another target go to the same place, %s", o.flagText, other.flagText, o.path)
	}
	if o.destination.isStdout() {
		return usageError("%s: standard output is redirected to the same file (use %s=-)", o.flagText, o.format.Name)
	}
	return nil
}

// sameDestination returns the first report in list that goes to the same destination as o. It
// returns false if none does.
func sameDestination(list []reportOutput, o reportOutput) (reportOutput, bool) {
	for _, other := range list {
		if other.destination.isSame(o.destination) {
			return other, true
		}
	}
	return reportOutput{}, false
}

// withNumber adds the number of a target to a file name: r.json becomes r-2.json for i = 1, the
// index of the second target.
func withNumber(path string, i int) string {
	ext := filepath.Ext(path)
	return fmt.Sprintf("%s-%d%s", strings.TrimSuffix(path, ext), i+1, ext)
}

// usesStdout reports whether a report goes to standard output, so that nothing else may be printed there.
func usesStdout(list []reportOutput) bool {
	for _, o := range list {
		if o.destination.fd == 1 {
			return true
		}
	}
	return false
}

// writeReports writes all reports, even if some of them cannot be written, and returns one error
// for all of these. It prints the text report in the given style to standard output, unless another
// report goes there.
func writeReports(r *reports.Report, list []reportOutput, sh stdio, style reports.TextStyle) error {
	var failed []string
	for _, o := range list {
		if err := o.write(r, sh); err != nil {
			failed = append(failed, fmt.Sprintf("%s: %v", o.flagText, err))
		}
	}
	if !usesStdout(list) {
		if err := reports.WriteText(sh.out, r, style); err != nil {
			failed = append(failed, fmt.Sprintf("standard output: %v", withoutPath(err)))
		}
	}
	if len(failed) > 0 {
		return exitError{exitInternal, strings.Join(failed, "; ")}
	}
	return nil
}

// write writes the report to its destination.
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

// replaceFile writes a file in one step, by renaming. An existing file keeps its permissions.
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
	if _, err = tmp.Write(data); err == nil {
		err = tmp.Chmod(mode)
	}
	if closed := tmp.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return err
	}
	return os.Rename(tmp.Name(), path)
}
