package reports

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// A Format is one way to write a report.
type Format struct {
	Name   string
	Suffix string // of a file: ".json"
	Doc    string
	Write  func(io.Writer, *Report) error
}

// Formats lists them. To add one: a file, and a line here.
var Formats = []Format{
	{"json", ".json", "everything, for programs", WriteJSON},
	{"junit", ".xml", "JUnit XML, for CI systems", WriteJUnit},
	{"html", ".html", "one page, for people with a browser", WriteHTML},
	{"markdown", ".md", "the summary of a CI job", WriteMarkdown},
	{"text", ".txt", "for people", func(w io.Writer, r *Report) error { return WriteText(w, r, TextStyle{}) }},
}

// FormatByName finds a format. The error names those that there are.
func FormatByName(name string) (Format, error) {
	if i := slices.IndexFunc(Formats, func(f Format) bool { return f.Name == name }); i >= 0 {
		return Formats[i], nil
	}
	var known []string
	for _, f := range Formats {
		known = append(known, f.Name)
	}
	return Format{}, fmt.Errorf("no format %q: there are %s", name, strings.Join(known, ", "))
}
