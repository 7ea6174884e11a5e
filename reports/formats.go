package reports

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// A Format is one way to write a report, such as JSON.
type Format struct {
	Name   string                         // as users name the format, such as "json"
	Suffix string                         // of file names, such as ".json"
	Doc    string                         // description in a few words
	Write  func(io.Writer, *Report) error // writes a report in the format
}

// Formats lists all formats in which a report can be written.
var Formats = []Format{
	{"json", ".json", "everything, for programs", WriteJSON},
	{"junit", ".xml", "JUnit XML, for CI systems", WriteJUnit},
	{"html", ".html", "one page, for a browser", WriteHTML},
	{"markdown", ".md", "for the summary of a CI job", WriteMarkdown},
	{"text", ".txt", "for people", func(w io.Writer, r *Report) error { return WriteText(w, r, TextStyle{}) }},
}

// FormatByName returns the format in [Formats] that has the given name. If there is no such format,
// it returns an error that lists the known names.
func FormatByName(name string) (Format, error) {
	if i := slices.IndexFunc(Formats, func(f Format) bool { return f.Name == name }); i >= 0 {
		return Formats[i], nil
	}
	var known []string
	for _, f := range Formats {
		known = append(known, f.Name)
	}
	return Format{}, fmt.Errorf("unknown format %q (want one of %s)", name, strings.Join(known, ", "))
}
