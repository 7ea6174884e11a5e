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

// An output is a report that was asked for.
type output struct {
	format reports.Format
	text   string // as it was given: "--report json=r.json"
	path   string
	to     destination
}

// outputs reads FORMAT[=PATH] of each; name is what messages call such a thing.
func outputs(name string, list []string) (all []output, err error) {
	for _, text := range list {
		if text == "" {
			return nil, usage("%s is empty: it is FORMAT or FORMAT=PATH", name)
		}
		format, path, given := strings.Cut(text, "=")
		text = name + " " + text
		f, err := reports.Named(format)
		if err != nil {
			return nil, usage("%s: %v", text, err)
		}
		if !given {
			path = stdoutPath
		}
		if path == "" {
			return nil, usage("%s: no path after the =", text)
		}
		all = append(all, output{format: f, text: text, path: path})
	}
	return all, nil
}

// placeOutputs finds where the reports of each target go, and makes sure that they can be
// written there. Where a later target has a file that an earlier one writes already, a number
// is put into its name: r.json, r-2.json.
func placeOutputs(targets ...[]output) error {
	var taken []output
	for i, list := range targets {
		for k := range list {
			o := &list[k]
			if err := o.place(); err != nil {
				return err
			}
			if _, ok := sharing(taken, *o); ok && o.to.isFile() {
				o.path = numbered(o.path, i)
				if err := o.place(); err != nil {
					return err
				}
			}
			if err := o.collides(taken, list[:k]); err != nil {
				return err
			}
		}
		taken = append(taken, list...)
	}
	return nil
}

// place finds where the report goes, and whether it can be written there.
func (o *output) place() (err error) {
	if o.to, err = newDestination(o.path); err == nil {
		err = o.to.check()
	}
	if err != nil {
		return usage("%s: %v", o.text, err)
	}
	return nil
}

// collides returns what is wrong if the report goes where another one goes: one of the same
// target, a file of another, or what is printed.
func (o *output) collides(others, own []output) error {
	if other, ok := sharing(own, *o); ok {
		return usage("%s and %s go to the same place", other.text, o.text)
	}
	if other, ok := sharing(others, *o); ok && o.to.isFile() {
		return usage("%s and %s of another target go to the same place, %s", o.text, other.text, o.path)
	}
	if o.to.isStdout() {
		return usage("%s: standard output goes to that file too: %s=- writes there", o.text, o.format.Name)
	}
	return nil
}

// sharing returns the first of some reports that goes to the same place.
func sharing(list []output, o output) (output, bool) {
	for _, other := range list {
		if other.to.same(o.to) {
			return other, true
		}
	}
	return output{}, false
}

// numbered is a path with the number of a target, the first of which is 0.
func numbered(path string, i int) string {
	ext := filepath.Ext(path)
	return fmt.Sprintf("%s-%d%s", strings.TrimSuffix(path, ext), i+1, ext)
}

// printed reports whether a report for programs goes to standard output, so that nothing else may.
func printed(list []output) bool {
	for _, o := range list {
		if o.to.fd == 1 {
			return true
		}
	}
	return false
}

// write writes the reports, each of them even if another cannot be written; to standard
// output comes the text for people unless another report goes there.
func write(r *reports.Report, list []output, sh shell, style reports.Style) error {
	var failed []string
	for _, o := range list {
		if err := o.write(r, sh); err != nil {
			failed = append(failed, fmt.Sprintf("%s: %v", o.text, err))
		}
	}
	if !printed(list) {
		if err := reports.WriteText(sh.out, r, style); err != nil {
			failed = append(failed, fmt.Sprintf("standard output: %v", plainError(err)))
		}
	}
	if len(failed) > 0 {
		return exitError{exitInternal, strings.Join(failed, "; ")}
	}
	return nil
}

func (o output) write(r *reports.Report, sh shell) error {
	var b bytes.Buffer
	if err := o.format.Write(&b, r); err != nil {
		return err
	}
	if o.to.fd == 1 {
		_, err := sh.out.Write(b.Bytes())
		return plainError(err)
	}
	return plainError(o.to.write(context.Background(), b.Bytes()))
}

// replaceFile writes a file in one step. One that is there keeps its permissions.
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
