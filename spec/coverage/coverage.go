// Package coverage accounts for every line of the protocol documents: what obliges
// somebody is named with the requirements that stand for it, what does not with the
// reason why.
//
// A map is NNN.yaml, for the document whose name begins with NNN_:
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
// Clauses stand in the order of their lines and share none; only blank lines may lie
// between. Requirements are of any version: what one version follows and another does
// not is one clause. Where an obliging word stands in lines that oblige nobody, it is
// said after although, so that nobody overlooks it.
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

	"github.com/streamassay/streamassay/spec/dialect"
)

//go:embed *.yaml
var mapFiles embed.FS

// A Document is the map of one protocol document.
type Document struct {
	File    string   `yaml:"document"` // as the sources of requirements name it
	Clauses []Clause `yaml:"clauses"`  // in the order of their lines
}

// A Clause is some lines of a document, and what they mean for us. It either has
// requirements or is informative.
type Clause struct {
	Lines         Lines    `yaml:"lines"`
	Summary       string   `yaml:"says"`         // the obligation, in a few words of ours
	Requirements  []string `yaml:"requirements"` // ids, of any version of any dialect
	Informative   string   `yaml:"informative"`  // why the lines oblige nobody
	NormativeWord string   `yaml:"although"`     // an obliging word that stands in them nevertheless
}

// Lines are those From one To another, both among them; the first is 1.
type Lines struct{ From, To int }

// UnmarshalYAML reads "12" and "12-15".
func (l *Lines) UnmarshalYAML(decode func(any) error) error {
	var text string
	if err := decode(&text); err != nil {
		return err
	}
	var err error
	*l, err = parseLines(text)
	return err
}

func parseLines(text string) (Lines, error) {
	from, to, isRange := strings.Cut(text, "-")
	if !isRange {
		to = from
	}
	a, fromErr := strconv.Atoi(from)
	b, toErr := strconv.Atoi(to)
	if cmp.Or(fromErr, toErr) != nil || a < 1 || b < a {
		return Lines{}, fmt.Errorf("%q are no lines: write 12, or 12-15", text)
	}
	return Lines{a, b}, nil
}

func (l Lines) String() string {
	if l.From == l.To {
		return strconv.Itoa(l.From)
	}
	return fmt.Sprintf("%d-%d", l.From, l.To)
}

// Overlaps says whether some line is among both.
func (l Lines) Overlaps(other Lines) bool { return l.From <= other.To && other.From <= l.To }

// Load reads the maps of all documents, and holds them to their form: clauses in
// the order of their lines, each either informative or with requirements that some
// catalogue has.
func Load() ([]Document, error) {
	all, err := dialect.All()
	if err != nil {
		return nil, err
	}
	return load(mapFiles, all)
}

func load(files fs.FS, dialects []*dialect.Dialect) ([]Document, error) {
	known := map[string]bool{}
	for _, d := range dialects {
		for _, r := range d.Requirements {
			known[r.ID] = true
		}
	}
	names, err := fs.Glob(files, "*.yaml")
	if err != nil {
		return nil, err
	}
	var documents []Document
	for _, name := range names {
		data, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, fmt.Errorf("coverage: %w", err)
		}
		var d Document
		if err := yaml.UnmarshalWithOptions(data, &d, yaml.Strict()); err != nil {
			return nil, fmt.Errorf("coverage %s: %w", name, err)
		}
		if !strings.HasPrefix(d.File, strings.TrimSuffix(name, path.Ext(name))+"_") {
			return nil, fmt.Errorf("coverage %s: its document is %q, and not one that begins with the map's name", name, d.File)
		}
		if err := d.validate(known); err != nil {
			return nil, fmt.Errorf("coverage %s: %w", name, err)
		}
		documents = append(documents, d)
	}
	return documents, nil
}

func (d Document) validate(known map[string]bool) error {
	last := Lines{}
	for i, c := range d.Clauses {
		if c.Lines.From == 0 {
			return fmt.Errorf("clause %d, after lines %s, names no lines", i+1, last)
		}
		if c.Lines.From <= last.To {
			return fmt.Errorf("lines %s come after lines %s: clauses stand in order and share no line", c.Lines, last)
		}
		if err := c.validate(known); err != nil {
			return fmt.Errorf("lines %s %w", c.Lines, err)
		}
		last = c.Lines
	}
	if len(d.Clauses) == 0 {
		return fmt.Errorf("%s has no clauses", d.File)
	}
	return nil
}

func (c Clause) validate(known map[string]bool) error {
	switch {
	case (c.Informative == "") == (len(c.Requirements) == 0):
		return fmt.Errorf("are either informative, with the reason, or have requirements")
	case (c.Informative == "") == (c.Summary == ""):
		return fmt.Errorf("say what they oblige to if they have requirements, and only then")
	case c.Informative == "" && c.NormativeWord != "":
		return fmt.Errorf("have requirements: although is said of informative ones")
	}
	for i, id := range c.Requirements {
		if !known[id] {
			return fmt.Errorf("name the requirement %q, which no catalogue has", id)
		}
		if slices.Contains(c.Requirements[:i], id) {
			return fmt.Errorf("name the requirement %q twice", id)
		}
	}
	return nil
}
