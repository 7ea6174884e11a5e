package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/streamassay/streamassay/reports"
	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/suites"
)

// An output is a report that was asked for.
type output struct {
	format reports.Format
	path   string // "-" is stdout
}

// outputs reads --report FORMAT[=PATH], and makes sure before anything is sent
// that the reports can be written.
func outputs(list []string) (all []output, err error) {
	for _, text := range list {
		name, path, given := strings.Cut(text, "=")
		f, err := reports.Named(name)
		if err != nil {
			return nil, usage("--report %s: %v", text, err)
		}
		if !given {
			path = "-"
		}
		if path == "" {
			return nil, usage("--report %s: no path after the =", text)
		}
		if path != "-" {
			if info, err := os.Stat(filepath.Dir(path)); err != nil || !info.IsDir() {
				return nil, usage("--report %s: there is no folder %s", text, filepath.Dir(path))
			}
			if info, err := os.Stat(path); err == nil && info.IsDir() {
				return nil, usage("--report %s: %s is a folder", text, path)
			}
		}
		all = append(all, output{f, path})
	}
	return all, nil
}

// write writes the reports; to standard output comes the text for people unless
// another report goes there.
func write(r *reports.Report, list []output, sh shell, style reports.Style) error {
	talked := false
	for _, o := range list {
		var b bytes.Buffer
		if err := o.format.Write(&b, r); err != nil {
			return exitError{exitInternal, fmt.Sprintf("report %s: %v", o.format.Name, err)}
		}
		if o.path == "-" {
			talked = true
			if _, err := io.Copy(sh.out, &b); err != nil {
				return exitError{exitInternal, err.Error()}
			}
			continue
		}
		if err := replaceFile(o.path, b.Bytes()); err != nil {
			return exitError{exitInternal, fmt.Sprintf("report %s: %v", o.path, err)}
		}
	}
	if talked {
		return nil
	}
	return reports.WriteText(sh.out, r, style)
}

// replaceFile writes a file in one step.
func replaceFile(path string, data []byte) error {
	tmp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name())
	if _, err = tmp.Write(data); err == nil {
		err = tmp.Chmod(0o644)
	}
	if closed := tmp.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return err
	}
	return os.Rename(tmp.Name(), path)
}

// dialectReport is what the parts of one dialect came to. base is what the
// requests of a reproduction begin with; file names the transcript of a part.
func dialectReport(parts []suites.Part, catalogue []spec.Requirement, name, base string, file func(suites.Part) string) reports.Dialect {
	d := reports.Dialect{Dialect: name}
	var results []spec.Result
	for _, p := range parts {
		for _, r := range p.Hearing.Results {
			results = append(results, r)
			c := reports.Entry(p.Scenario.Name, r)
			c.Curl = reproduce(base, p, r)
			c.Transcript = file(p)
			d.Checks = append(d.Checks, c)
		}
	}
	d.Requirements = reports.Requirements(catalogue, results)
	return d
}

// reproduce is the request that shows a result: that of its first finding, or the
// first one.
func reproduce(base string, p suites.Part, r spec.Result) string {
	i := 0
	if len(r.Findings) > 0 {
		i = r.Findings[0].Event.Exchange
	}
	if i >= len(p.Trace.Exchanges) || p.Trace.Exchanges[i].Request.Method == "" {
		return ""
	}
	return reports.Curl(base, p.Trace.Exchanges[i].Request)
}
