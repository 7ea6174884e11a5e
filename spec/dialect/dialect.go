package dialect

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/goccy/go-yaml"

	"github.com/streamassay/streamassay/spec"
)

// A Dialect is one version of one protocol, as its OpenAPI document and catalogue define it.
// It is immutable and safe for concurrent use.
type Dialect struct {
	Name         string             // family and version, such as "runs@2026-04"
	Family       string             // such as "runs"
	Version      string             // such as "2026-04"
	Title        string             // title of the document
	Base         string             // path of the server's URL in the document, such as "/api/v1/agent"; may be ""
	IsEndpoint   bool               // the document prescribes no path for the server; Base is an example
	Requirements []spec.Requirement // the requirements of its catalogue that are about servers
	File         string             // path of its document; "" if it is embedded

	ClientRequirements []spec.Requirement // the requirements of its catalogue that are about clients

	document     *openAPIDocument
	settings     map[string]string  // values of x-settings, by name
	requirements []spec.Requirement // all requirements of the catalogue, in its order
	catalogue    []sourceFile       // the file of the catalogue, and those of the catalogues that it extends
	operations   []*Operation
	kinds        func() []spec.Kind // returns the kinds for the method Kinds; computes them once
}

// A registry holds the dialects of a file system. It reads each dialect on first use. It is safe
// for concurrent use.
type registry struct {
	names    []string                            // FAMILY@VERSION, sorted
	dialects map[string]func() (*Dialect, error) // by name; the function reads the dialect once
	defaults map[string]func() (string, error)   // by family; the function finds the default version once
}

// embeddedRegistry returns the registry of the documents that are embedded in package spec.
var embeddedRegistry = sync.OnceValue(func() *registry { return newRegistry(spec.Documents) })

// newRegistry returns a registry of the files FAMILY/VERSION.yaml and
// FAMILY/VERSION.requirements.yaml in files. If only one of these two exists, the dialect is listed
// but cannot be opened.
func newRegistry(files fs.FS) *registry {
	s := &registry{dialects: map[string]func() (*Dialect, error){}, defaults: map[string]func() (string, error){}}
	found, _ := fs.Glob(files, "*/*.yaml")
	for _, name := range found {
		family, file := path.Dir(name), path.Base(name)
		version := strings.TrimSuffix(strings.TrimSuffix(file, ".yaml"), ".requirements")
		s.dialects[family+"@"+version] = sync.OnceValues(func() (*Dialect, error) { return load(files, family, version) })
		s.defaults[family] = sync.OnceValues(func() (string, error) { return s.findDefault(files, family) })
	}
	s.names = slices.Sorted(maps.Keys(s.dialects))
	return s
}

// findDefault returns the version of the given family whose document has "x-default: true", or ""
// if there is none. If several documents have it, findDefault returns the last of these versions in
// the order of s.names. It returns an error if it cannot read or parse a document of the family.
func (s *registry) findDefault(files fs.FS, family string) (chosen string, err error) {
	for _, name := range s.names {
		version, ok := strings.CutPrefix(name, family+"@")
		if !ok {
			continue
		}
		var document struct {
			Default bool `yaml:"x-default"`
		}
		file := family + "/" + version + ".yaml"
		data, err := fs.ReadFile(files, file)
		if err != nil {
			return "", err
		}
		if err := yaml.Unmarshal(data, &document); err != nil {
			return "", fmt.Errorf("%s: %w", file, err)
		}
		if document.Default {
			chosen = version
		}
	}
	return chosen, nil
}

// Names returns the names of all dialects, such as "runs@2026-04", sorted.
func Names() []string { return slices.Clone(embeddedRegistry().names) }

// IsDefault reports whether the dialect with the given name is the default version of an embedded
// family.
func IsDefault(name string) bool {
	family, version, _ := strings.Cut(name, "@")
	find := embeddedRegistry().defaults[family]
	if find == nil {
		return false
	}
	chosen, err := find()
	return err == nil && chosen == version
}

// Open returns the embedded dialect with the given name: "runs@2026-04", or "runs" for the default
// version of the family. It returns an error if the name is unknown, or if the document or
// catalogue is invalid.
func Open(name string) (*Dialect, error) { return embeddedRegistry().open(name) }

// All returns all embedded dialects, in the order of [Names]. It returns an error if one of them
// cannot be opened; the elements for such dialects are then nil.
func All() ([]*Dialect, error) {
	names := Names()
	all := make([]*Dialect, len(names))
	errs := make([]error, len(names))
	var wait sync.WaitGroup
	for i, name := range names {
		wait.Go(func() { all[i], errs[i] = Open(name) })
	}
	wait.Wait()
	return all, cmp.Or(errs...)
}

// open returns the dialect of the registry with the given name, in the same way as [Open] returns
// an embedded dialect.
func (s *registry) open(name string) (*Dialect, error) {
	family, version, versioned := strings.Cut(name, "@")
	if find := s.defaults[family]; !versioned && find != nil {
		var err error
		if version, err = find(); err != nil {
			return nil, err
		}
	}
	read := s.dialects[family+"@"+version]
	if read == nil {
		return nil, fmt.Errorf("unknown dialect %q (want one of %s; without @VERSION: the default version)",
			name, strings.Join(s.names, ", "))
	}
	return read()
}

// load reads the OpenAPI document and the catalogue of requirements for the given version of a
// family, and returns the dialect that they define. It reads them from the directory of files that
// has the name of the family. It returns nil and an error if the document or the catalogue is
// missing or invalid.
func load(files fs.FS, family, version string) (*Dialect, error) {
	document, err := readDocument(files, family, version)
	if err != nil {
		return nil, err
	}
	d := newDialect(document)
	if err := d.addCatalogue(files, family, version); err != nil {
		return nil, err
	}
	d.Name, d.Family, d.Version = family+"@"+version, family, version
	d.addOperations()
	return d, nil
}

// newDialect returns a dialect with the given document. The caller must add the name, the catalogue
// and the operations.
func newDialect(document *openAPIDocument) *Dialect {
	d := &Dialect{document: document}
	d.kinds = sync.OnceValue(d.findKinds)
	d.settings = d.document.settingDefaults()
	root := d.document.lookup("")
	d.Title = root.get("info").get("title").text()
	if servers := root.get("servers").items(); len(servers) > 0 {
		d.Base = strings.TrimSuffix(servers[0].get("url").text(), "/")
		if d.IsEndpoint = d.Base == "{endpoint}"; d.IsEndpoint {
			d.Base = servers[0].get("variables").get("endpoint").get("default").text()
		}
	}
	return d
}

// addCatalogue adds the requirements of a catalogue to d. It reads the catalogue from the directory
// dir in files. The argument version is as in readCatalogue. addCatalogue returns an error if the
// catalogue is missing or invalid.
func (d *Dialect) addCatalogue(files fs.FS, dir, version string) (err error) {
	d.requirements, d.catalogue, err = readCatalogue(files, dir, version, nil)
	for _, r := range d.requirements {
		if r.Of == spec.Client {
			d.ClientRequirements = append(d.ClientRequirements, r)
		} else {
			d.Requirements = append(d.Requirements, r)
		}
	}
	return err
}

// addOperations adds the operations of the document to d, in the order of their paths.
func (d *Dialect) addOperations() {
	for p, item := range d.document.lookup("/paths").members() {
		d.addPath(p, item)
	}
}

// Document returns the OpenAPI document as YAML: the content of its file or, if it extends the
// document of another version, the merged document. The caller must not modify the result. Document
// returns an error if the merged document cannot be encoded.
func (d *Dialect) Document() ([]byte, error) {
	if len(d.document.sources) == 1 {
		return d.document.sources[0].data, nil
	}
	text, err := json.Marshal(d.document.root)
	if err != nil {
		return nil, err
	}
	return yaml.JSONToYAML(text)
}

// Operations returns all operations of the document, ordered by path.
func (d *Dialect) Operations() []*Operation { return slices.Clone(d.operations) }

// Catalogue returns all requirements of the dialect, those about servers and those about clients,
// in the order of the catalogue.
func (d *Dialect) Catalogue() []spec.Requirement { return slices.Clone(d.requirements) }

// Kinds returns the kinds of all events and parts that the document describes, sorted. For each
// slot of [spec.Event] that an event, a part or a parameter of a request carries, the result also
// has a kind "slot.NAME", such as [spec.SlotSeq]. If the document describes chunks (x-chunk), the
// result also has [spec.SlotChunk].
func (d *Dialect) Kinds() []spec.Kind { return slices.Clone(d.kinds()) }

// findKinds computes the result of [Dialect.Kinds].
func (d *Dialect) findKinds() []spec.Kind {
	set := map[spec.Kind]bool{}
	var add func(variants []*variant)
	add = func(variants []*variant) {
		for _, w := range variants {
			set[w.kind] = true
			if w.chunk != nil {
				set[w.chunk.start], set[w.chunk.end], set[spec.SlotChunk] = true, true, true
			}
			for _, site := range w.slots {
				set[spec.Kind("slot."+site.slot)] = true
			}
			for _, part := range w.parts {
				add(part.variants)
			}
		}
	}
	for _, o := range d.operations {
		add(o.frameVariants)
		for _, r := range o.responses {
			add(r.variants)
		}
		add(o.requestVariants)
		for _, b := range o.bodies {
			for _, file := range b.files {
				set[file.kind] = true
			}
		}
		for _, p := range o.parameters {
			if p.slot != "" {
				set[spec.Kind("slot."+p.slot)] = true
			}
		}
		if o.sentinel != "" {
			set[spec.Done] = true
		}
	}
	delete(set, "")
	return slices.Sorted(maps.Keys(set))
}

// Plan returns the plan for judging servers of the dialect by those of the given checks that at
// least one requirement on servers names. Each planned check contains all requirements on servers
// that name the check. See also [spec.NewPlan].
func (d *Dialect) Plan(checks []*spec.Check) spec.Plan {
	return spec.NewPlan(checks, d.Requirements, d.Kinds())
}

// ClientPlan returns the plan for judging clients of the dialect by those of the given checks that
// at least one requirement on clients names, or that are checks of clients whose field Needs is
// empty. See also [spec.NewClientPlan].
func (d *Dialect) ClientPlan(checks []*spec.Check) spec.Plan {
	return spec.NewClientPlan(checks, d.ClientRequirements, d.Requirements, d.Kinds())
}
