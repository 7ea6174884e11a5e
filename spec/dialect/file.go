package dialect

import (
	"errors"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/streamassay/streamassay/spec"
)

// nameGrammar matches a valid family or version of a dialect. The characters are restricted because
// both are used in paths and file names.
var nameGrammar = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

const nameCharacters = `letters, digits, ".", "_" and "-"`

// OpenFile returns the dialect that a document and its catalogue define. It reads the document from
// path, such as ./my-agent.yaml, and the catalogue from ./my-agent.requirements.yaml. A document
// that x-extends names is read from the same directory. The family of the dialect is the name of
// the file without its extension, here my-agent, and its version is info.version of the document.
//
// OpenFile validates both files as [Dialect.Validate] does. The parameter checks lists the checks
// that the catalogue may name. Errors name the file. An error about one place in a file also has
// the line and the JSON pointer of that place, and is or wraps a [*FileError].
func OpenFile(path string, checks []*spec.Check) (*Dialect, error) {
	dir, file := filepath.Split(path)
	files := sizeLimitedDirFS{strings.TrimSuffix(filepath.ToSlash(dir), "/")}
	switch {
	case strings.HasSuffix(file, ".json"):
		const message = "is not the name of a YAML file: rename it to NAME.yaml (JSON is valid YAML)"
		return nil, &FileError{File: path, Message: message}
	case !isYAMLFile(file):
		return nil, &FileError{File: path, Message: "is not the name of a YAML file: want NAME.yaml"}
	case dir != "" && files.dir == "":
		files.dir = "/"
	}
	document, err := readDocument(files, ".", file)
	if err != nil {
		return nil, err
	}
	d := newDialect(document)
	d.File = path
	if err := d.checkDocument(); err != nil {
		return nil, err
	}
	if err := d.nameAfter(file); err != nil {
		return nil, err
	}
	err = d.addCatalogue(files, ".", file)
	if err == nil && len(d.requirements) == 0 {
		err = &FileError{File: d.catalogue[0].name, Message: "has no requirements"}
		if firstContent(d.catalogue[0].data) == nil {
			err = &FileError{File: d.catalogue[0].name, Message: "is empty"}
		}
	}
	if err != nil {
		e, ok := errors.AsType[*FileError](err)
		if ok && e.Line == 0 && e.File == catalogueFile(filepath.ToSlash(path)) { // there is no such file, for example
			e.Message += ": expected the catalogue of " + path + ", a list of its requirements"
		}
		return nil, err
	}
	d.addOperations()
	if err := d.checkContents(checks); err != nil {
		return nil, err
	}
	return d, nil
}

// nameAfter sets the family, version and name of d. The argument file is the name of the document
// file. The family is that name without its extension, and the version is the one in the document.
// nameAfter returns an error if the family or the version cannot be used in paths, or if an
// embedded dialect has the same name.
func (d *Dialect) nameAfter(file string) error {
	version := d.document.lookup("/info/version")
	d.Family = strings.TrimSuffix(strings.TrimSuffix(file, ".yaml"), ".yml")
	d.Version = version.text()
	d.Name = d.Family + "@" + d.Version
	switch {
	case !nameGrammar.MatchString(d.Family):
		return d.errorAt("", "the name of the file is that of the dialect: expected %s", nameCharacters)
	case !nameGrammar.MatchString(d.Version):
		return d.errorAt(version.pointer, "the version is part of the dialect's name: expected %s", nameCharacters)
	case slices.Contains(Names(), d.Name):
		return d.errorAt(version.pointer, "%s is an embedded dialect: expected another version or file name", d.Name)
	}
	return nil
}
