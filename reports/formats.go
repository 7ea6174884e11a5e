package reports

import (
	"fmt"
	"io"
	"strings"
)

// A Format is one way to write a report.
type Format struct {
	Name  string
	Doc   string
	Write func(io.Writer, *Report) error
}

// Formats lists them. To add one: a file, and a line here.
var Formats = []Format{
	{"json", "everything, for programs", WriteJSON},
	{"junit", "JUnit XML, for CI systems", WriteJUnit},
	{"text", "for people", func(w io.Writer, r *Report) error { return WriteText(w, r, Style{}) }},
}

// Named finds a format.
func Named(name string) (Format, error) {
	var known []string
	for _, f := range Formats {
		if f.Name == name {
			return f, nil
		}
		known = append(known, f.Name)
	}
	return Format{}, fmt.Errorf("no format %q: there are %s", name, strings.Join(known, ", "))
}
