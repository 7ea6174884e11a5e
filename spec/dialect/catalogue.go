package dialect

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"

	"github.com/goccy/go-yaml"

	"github.com/streamassay/streamassay/spec"
)

// A catalogueContent is the content of a catalogue file. If the field Extends is not "", it names a
// version, and the catalogue consists of the requirements of that version and those in the field
// Requirements. The field Without lists the ids of requirements of that version that are left out.
// A requirement in Requirements replaces one of that version with the same id.
type catalogueContent struct {
	Extends      string             `yaml:"extends"`
	Without      []string           `yaml:"without"`
	Requirements []spec.Requirement `yaml:"requirements"`
}

// readCatalogue reads the catalogue of a version from the directory dir in files. The argument
// version is either a version, such as "2026-04", or the name of a document file. The results are
// the requirements of the catalogue and its sources: its own file first, then the files of the
// catalogues that it extends.
//
// readCatalogue returns an error if a file is missing or invalid, if a catalogue extends itself or
// lists a requirement twice, or if its field Without has an id that the extended catalogue lacks.
// The argument extending lists the files that extend this catalogue, directly or indirectly, so
// that cycles are detected. It is nil except in recursive calls.
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
	own := map[string]bool{}
	for _, r := range ext.Requirements {
		if own[r.ID] {
			return nil, nil, fmt.Errorf("%s: requirement %s is listed twice", f.name, r.ID)
		}
		own[r.ID] = true
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
		e := f.yamlError(err)
		if _, ok := errors.AsType[*yaml.UnknownFieldError](err); ok {
			e.Message += "; a requirement has id, level, quote, english, of, source, checks, about and excluded; " +
				"a catalogue is a list of requirements, or has extends, without and requirements"
		}
		return content, e
	}
	return content, nil
}

// isYAMLList reports whether data, a YAML document, appears to be a list. It examines only the
// first line with content. It returns true if there is none.
func isYAMLList(data []byte) bool {
	line := firstContent(data)
	return len(line) == 0 || line[0] == '-' || line[0] == '['
}

// firstContent returns the first line of data, a YAML document, that is neither blank nor a comment
// nor "---", without the space around it. It returns nil if there is no such line.
func firstContent(data []byte) []byte {
	for line := range bytes.Lines(data) {
		if line = bytes.TrimSpace(line); len(line) > 0 && line[0] != '#' && string(line) != "---" {
			return line
		}
	}
	return nil
}
