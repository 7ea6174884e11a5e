// Package coverage accounts for every line of the protocol documents: a line either has
// requirements that stand for it, or is informative for a stated reason.
//
// The file maps/NNN.yaml is the map of the document whose name begins with NNN_, and maps/NAME.yaml
// that of the fact sheet NAME.md:
//
//	document: 000_12d5b25074bebf3c.txt
//	clauses:
//	- lines: 23-26
//	  says: role is one of assistant, user, system
//	  requirements: [agentscope.message-role]
//	- lines: 30-31
//	  informative: an example of what lines 23-26 say
//	  although: must
//
// Clauses are listed in the order of their lines and do not overlap. Only blank lines may lie
// between clauses. The requirements of a clause may belong to different versions of a protocol. If
// informative lines contain a normative word such as "must", the word is repeated under although,
// to show that it was not overlooked.
package coverage

import (
	"cmp"
	"embed"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
)

// mapFiles contains one YAML file, with a [DocumentMap], for each protocol document.
//
//go:embed maps/*.yaml
var mapFiles embed.FS

// A DocumentMap maps the lines of one protocol document to requirements.
type DocumentMap struct {
	File    string   `yaml:"document"` // file name, as cited in the sources of requirements
	Clauses []Clause `yaml:"clauses"`  // in the order of their lines
}

// A Clause is a range of lines of a document. It either names the requirements that express what
// these lines require, or states why they require nothing.
type Clause struct {
	Lines         LineRange `yaml:"lines"`
	Summary       string    `yaml:"says"`         // what the lines require, in short; "" if Informative is set
	Requirements  []string  `yaml:"requirements"` // ids of requirements of any dialects; empty if Informative is set
	Informative   string    `yaml:"informative"`  // why the lines require nothing; "" if there are requirements
	NormativeWord string    `yaml:"although"`     // word such as "must" that informative lines contain; "" if none
}

// A LineRange is a range of lines, including both ends. The first line of a document has number 1.
type LineRange struct{ From, To int }

// UnmarshalYAML decodes a range of lines in the notation "12" or "12-15". The YAML decoder passes
// decode, which decodes the YAML value into the variable that its argument points to. UnmarshalYAML
// returns an error if decode returns one, or if the value is not a valid range.
func (l *LineRange) UnmarshalYAML(decode func(any) error) error {
	var text string
	if err := decode(&text); err != nil {
		return err
	}
	var err error
	*l, err = parseLines(text)
	return err
}

// parseLines parses a range of lines in the notation "12" or "12-15". It returns an error if the
// notation is invalid, the first line is less than 1, or the last line is less than the first.
func parseLines(text string) (LineRange, error) {
	from, to, isRange := strings.Cut(text, "-")
	if !isRange {
		to = from
	}
	a, fromErr := strconv.Atoi(from)
	b, toErr := strconv.Atoi(to)
	if cmp.Or(fromErr, toErr) != nil || a < 1 || b < a {
		return LineRange{}, fmt.Errorf("invalid lines %q (e.g. 12, 12-15)", text)
	}
	return LineRange{a, b}, nil
}

// String returns the range in the notation of a map, such as "12" or "12-15".
func (l LineRange) String() string {
	if l.From == l.To {
		return strconv.Itoa(l.From)
	}
	return fmt.Sprintf("%d-%d", l.From, l.To)
}

// Overlaps reports whether l and other have a line in common.
func (l LineRange) Overlaps(other LineRange) bool { return l.From <= other.To && other.From <= l.To }

// Load returns the embedded maps of all protocol documents, sorted by the names of the map files.
// It returns an error if a map is invalid. In a valid map, the clauses are in the order of their
// lines and do not overlap. Each clause is informative or names requirements of at least one
// catalogue.
func Load() ([]DocumentMap, error) {
	all, err := dialect.All()
	if err != nil {
		return nil, err
	}
	return load(mapFiles, all)
}

// requirementsOf returns the requirements in the catalogue of d, those for servers before those for
// clients.
func requirementsOf(d *dialect.Dialect) []spec.Requirement {
	return slices.Concat(d.Requirements, d.ClientRequirements)
}

// load is like [Load], for the map files in files and the catalogues of the given dialects.
func load(files fs.FS, dialects []*dialect.Dialect) ([]DocumentMap, error) {
	known := map[string]bool{}
	for _, d := range dialects {
		for _, r := range requirementsOf(d) {
			known[r.ID] = true
		}
	}
	names, err := fs.Glob(files, "maps/*.yaml")
	if err != nil {
		return nil, err
	}
	var documents []DocumentMap
	for _, name := range names {
		data, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, fmt.Errorf("coverage: %w", err)
		}
		var d DocumentMap
		if err := yaml.UnmarshalWithOptions(data, &d, yaml.Strict()); err != nil {
			return nil, fmt.Errorf("coverage %s: %w", name, err)
		}
		base := strings.TrimSuffix(path.Base(name), path.Ext(name))
		if !strings.HasPrefix(d.File, base+"_") && d.File != base+".md" {
			return nil, fmt.Errorf("coverage %s: document is %q, want a name that begins with that of the map", name, d.File)
		}
		if err := d.validate(known); err != nil {
			return nil, fmt.Errorf("coverage %s: %w", name, err)
		}
		documents = append(documents, d)
	}
	return documents, nil
}

// validate returns an error if the map has no clauses, if a clause is invalid or has no lines, or
// if the clauses are out of order or overlap. The argument known is the set of the ids of all
// requirements.
func (d DocumentMap) validate(known map[string]bool) error {
	last := LineRange{}
	for i, c := range d.Clauses {
		if c.Lines.From == 0 {
			return fmt.Errorf("clause %d, after lines %s, has no lines", i+1, last)
		}
		if c.Lines.From <= last.To {
			return fmt.Errorf("lines %s follow lines %s: clauses must be in order and must not overlap", c.Lines, last)
		}
		if err := c.validate(known); err != nil {
			return fmt.Errorf("lines %s: %w", c.Lines, err)
		}
		last = c.Lines
	}
	if len(d.Clauses) == 0 {
		return fmt.Errorf("%s has no clauses", d.File)
	}
	return nil
}

// validate returns an error if the clause is invalid. A valid clause has either requirements and a
// summary, or a reason why it is informative. Only an informative clause may have a normative word.
// The requirements are distinct, and their ids are in known, the set of the ids of all
// requirements.
func (c Clause) validate(known map[string]bool) error {
	switch {
	case (c.Informative == "") == (len(c.Requirements) == 0):
		return fmt.Errorf("want either requirements or informative, with the reason")
	case (c.Informative == "") == (c.Summary == ""):
		return fmt.Errorf("says is required with requirements, and not allowed otherwise")
	case c.Informative == "" && c.NormativeWord != "":
		return fmt.Errorf("although is allowed only with informative")
	}
	for i, id := range c.Requirements {
		if !known[id] {
			return fmt.Errorf("requirement %q is in no catalogue", id)
		}
		if slices.Contains(c.Requirements[:i], id) {
			return fmt.Errorf("requirement %q is listed twice", id)
		}
	}
	return nil
}
