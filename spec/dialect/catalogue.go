package dialect

import (
	"bytes"
	"fmt"
	"io/fs"
	"path"
	"slices"

	"github.com/goccy/go-yaml"

	"github.com/streamassay/streamassay/spec"
)

// A catalogueContent is the content of a catalogue file. If Extends is not "", it is the version
// whose catalogue the file extends. The resulting catalogue then has the requirements of that
// version, except those whose ids are in Without, and also those in Requirements, which replace
// requirements with the same id. If Extends is "", the catalogue has only those in Requirements.
type catalogueContent struct {
	Extends      string             `yaml:"extends"`
	Without      []string           `yaml:"without"`
	Requirements []spec.Requirement `yaml:"requirements"`
}

// readCatalogue reads the catalogue of a version from the directory dir in files. The argument
// version is either a version, such as "2026-04", or the name of a document file. readCatalogue
// returns the requirements of the catalogue (see catalogueContent) and its sources: the catalogue's
// own file, followed by those of the catalogues that it extends.
//
// The parameter extending lists the catalogue files that extend this one, so that a cycle is
// detected. It is nil in calls from other functions. readCatalogue returns an error if a file is
// missing or invalid, if a catalogue extends itself, or if it leaves out a requirement that the
// extended catalogue does not have.
func readCatalogue(files fs.FS, dir, version string, extending []string) (
	list []spec.Requirement, sources []sourceFile, err error,
) {
	name := path.Join(dir, catalogueFile(version))
	f, err := readSource(files, name, extending)
	if err != nil {
		return nil, nil, err
	}
	sources = []sourceFile{f}
	ext, err := f.parseCatalogue()
	if err != nil || isYAMLList(f.data) {
		return ext.Requirements, sources, err
	}
	if ext.Extends != "" {
		var more []sourceFile
		if list, more, err = readCatalogue(files, dir, ext.Extends, append(extending, name)); err != nil {
			return nil, nil, fmt.Errorf("%s extends %s: %w", f.name, ext.Extends, err)
		}
		sources = append(sources, more...)
	}
	for _, id := range ext.Without {
		if !slices.ContainsFunc(list, func(r spec.Requirement) bool { return r.ID == id }) {
			return nil, nil, fmt.Errorf("%s: without %s, which %s does not have", f.name, id, ext.Extends)
		}
		list = slices.DeleteFunc(list, func(r spec.Requirement) bool { return r.ID == id })
	}
	for _, r := range ext.Requirements {
		if i := slices.IndexFunc(list, func(o spec.Requirement) bool { return o.ID == r.ID }); i >= 0 {
			list[i] = r
		} else {
			list = append(list, r)
		}
	}
	return list, sources, nil
}

// parseCatalogue parses f, a catalogue file, and returns its content. If the file is just a list,
// the items of the list become content.Requirements, and the other fields are empty.
func (f sourceFile) parseCatalogue() (content catalogueContent, err error) {
	var target any = &content
	if isYAMLList(f.data) {
		target = &content.Requirements
	}
	if err := yaml.UnmarshalWithOptions(f.data, target, yaml.Strict()); err != nil {
		return content, f.yamlError(err)
	}
	return content, nil
}

// isYAMLList reports whether data, a YAML document, appears to be a list. It examines only the
// first line, skipping blank lines, comments and "---". It returns true if all lines are skipped.
func isYAMLList(data []byte) bool {
	for line := range bytes.Lines(data) {
		if line = bytes.TrimSpace(line); len(line) > 0 && line[0] != '#' && string(line) != "---" {
			return line[0] == '-' || line[0] == '['
		}
	}
	return true
}
