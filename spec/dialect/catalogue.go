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

// A catalogueExtension is the content of a catalogue file that extends the catalogue of another
// version. The resulting catalogue has the requirements of that version except those in Without,
// and in addition those in Requirements, which replace requirements with the same id.
type catalogueExtension struct {
	Extends      string             `yaml:"extends"`
	Without      []string           `yaml:"without"`
	Requirements []spec.Requirement `yaml:"requirements"`
}

// readCatalogue returns the requirements of the catalogue of a version in the directory dir of
// files, and the files of which the catalogue consists. If the catalogue extends another one, the
// requirements of both are merged. The parameter extending lists the catalogues that extend this
// one, so that a cycle is found. The error is about a file that is missing, invalid or part of a
// cycle, or that leaves out a requirement which the extended catalogue does not have.
func readCatalogue(files fs.FS, dir, version string, extending []string) (
	list []spec.Requirement, sources []sourceFile, err error,
) {
	name := path.Join(dir, catalogueFile(version))
	if slices.Contains(extending, name) {
		return nil, nil, fmt.Errorf("%s: extends itself", name)
	}
	f, err := readSource(files, name)
	if err != nil {
		return nil, nil, err
	}
	sources = []sourceFile{f}
	if isYAMLList(f.data) {
		if err := yaml.UnmarshalWithOptions(f.data, &list, yaml.Strict()); err != nil {
			return nil, nil, f.yamlError(err)
		}
		return list, sources, nil
	}
	var ext catalogueExtension
	if err := yaml.UnmarshalWithOptions(f.data, &ext, yaml.Strict()); err != nil {
		return nil, nil, f.yamlError(err)
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

// isYAMLList reports whether the first line of data that is not empty, a comment or the start of a
// document begins a list. It returns true if there is no such line.
func isYAMLList(data []byte) bool {
	for line := range bytes.Lines(data) {
		if line = bytes.TrimSpace(line); len(line) > 0 && line[0] != '#' && string(line) != "---" {
			return line[0] == '-' || line[0] == '['
		}
	}
	return true
}
