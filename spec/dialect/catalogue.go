package dialect

import (
	"fmt"
	"io/fs"
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

// readCatalogue returns the requirements of the catalogue FAMILY/VERSION.requirements.yaml in
// files, merged with those of the catalogue that it extends, if any. It returns an error if a file
// is missing or invalid, or leaves out a requirement that does not exist.
func readCatalogue(files fs.FS, family, version string) ([]spec.Requirement, error) {
	name := family + "/" + version + ".requirements.yaml"
	data, err := fs.ReadFile(files, name)
	if err != nil {
		return nil, err
	}
	var list []spec.Requirement
	if yaml.UnmarshalWithOptions(data, &list, yaml.Strict()) == nil {
		return list, nil
	}
	var ext catalogueExtension
	if err := yaml.UnmarshalWithOptions(data, &ext, yaml.Strict()); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if ext.Extends != "" {
		if list, err = readCatalogue(files, family, ext.Extends); err != nil {
			return nil, fmt.Errorf("%s extends %s: %w", name, ext.Extends, err)
		}
	}
	for _, id := range ext.Without {
		if !slices.ContainsFunc(list, func(r spec.Requirement) bool { return r.ID == id }) {
			return nil, fmt.Errorf("%s: without %s, which %s does not have", name, id, ext.Extends)
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
	return list, nil
}
