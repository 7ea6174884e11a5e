package dialect

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// A document is a parsed OpenAPI document. JSON pointers identify the values in it: a schema is
// compiled by its pointer, and a schema error names the pointer of the schema that was violated.
type document struct {
	url          string
	root         map[string]any
	sources      []sourceFile // its file, and those of the documents that it extends
	compiler     *jsonschema.Compiler
	compileMu    sync.Mutex
	refusals     map[string]any      // pointer → x-error
	requirements map[string]any      // pointer → x-requirement
	variantCache map[string]*variant // "POINTER REQUIREMENT" → variant; schemas may be recursive
}

// readDocument reads the OpenAPI document of a version from the directory dir of files. If the file
// has x-extends, it is a JSON merge patch (RFC 7396), which is applied to the document of the
// version that x-extends names. It returns an error if a file is missing or invalid.
func readDocument(files fs.FS, dir, version string) (*document, error) {
	tree, sources, err := readTree(files, dir, version, nil)
	if err != nil {
		return nil, err
	}
	// The URL is absolute because a relative one is resolved against the working
	// directory, whose path would then appear in every finding.
	s := &document{
		url: "dialect:///" + url.PathEscape(path.Join(dir, version)), root: tree, sources: sources,
		compiler: jsonschema.NewCompiler(), refusals: map[string]any{}, requirements: map[string]any{},
		variantCache: map[string]*variant{},
	}
	s.compiler.AssertFormat()
	s.index()
	return s, s.compiler.AddResource(s.url, tree)
}

// readTree returns the document of a version as decoded JSON, and the files of which the document
// consists. If the file of the version extends another version, it is a merge patch: tree is then
// the other document after the patch, and sources also contains the files of the other document.
// The parameter extending lists the files that extend this one. readTree returns an error if a file
// is missing or invalid, or extends itself.
func readTree(files fs.FS, dir, version string, extending []string) (
	tree map[string]any, sources []sourceFile, err error,
) {
	name := path.Join(dir, documentFile(version))
	if slices.Contains(extending, name) {
		return nil, nil, fmt.Errorf("%s: extends itself", name)
	}
	f, err := readSource(files, name)
	if err != nil {
		return nil, nil, err
	}
	text, err := parseYAML(f)
	if err != nil {
		return nil, nil, err
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, nil, f.yamlError(err)
	}
	tree, ok := v.(map[string]any)
	if !ok {
		return nil, nil, &FileError{File: f.name, Line: 1, Message: "not an OpenAPI document: want a mapping with " +
			"the members openapi, info and paths"}
	}
	base, ok := tree["x-extends"].(string)
	if !ok {
		return tree, []sourceFile{f}, nil
	}
	delete(tree, "x-extends")
	baseTree, sources, err := readTree(files, dir, base, append(extending, name))
	if err != nil {
		return nil, nil, fmt.Errorf("%s extends %s: %w", f.name, base, err)
	}
	delete(baseTree, "x-default")
	return mergePatch(baseTree, tree).(map[string]any), append([]sourceFile{f}, sources...), nil
}

// readSource reads a file, and returns an error if it cannot be read. If files is a [boundedDir],
// the name of the result is the path of the file as the user gave it.
func readSource(files fs.FS, name string) (sourceFile, error) {
	data, err := fs.ReadFile(files, name)
	if dir, ok := files.(boundedDir); ok {
		name = dir.path(name)
	}
	return sourceFile{name, data}, err
}

// mergePatch returns target with the JSON merge patch applied (RFC 7396). It modifies neither, but
// the result may share memory with both.
func mergePatch(target, patch any) any {
	p, ok := patch.(map[string]any)
	if !ok {
		return patch
	}
	t, _ := target.(map[string]any)
	if t = maps.Clone(t); t == nil {
		t = map[string]any{}
	}
	for k, v := range p {
		if v == nil {
			delete(t, k)
		} else {
			t[k] = mergePatch(t[k], v)
		}
	}
	return t
}

// index records every x-requirement and x-error of the document, by the pointer of the object that
// has it, and every x-without by its own pointer.
func (s *document) index() {
	s.walk("", s.root, func(pointer, name string, v any) bool {
		parent := pointer[:strings.LastIndexByte(pointer, '/')]
		switch name {
		case "x-error":
			s.refusals[parent] = v
		case "x-requirement":
			s.requirements[parent] = v
		case "x-without":
			s.requirements[pointer] = v
		}
		return true
	})
}

// compile returns the compiled schema at a pointer. It returns an error if there is no valid
// schema. It is safe for concurrent use.
func (s *document) compile(at string) (*jsonschema.Schema, error) {
	s.compileMu.Lock()
	defer s.compileMu.Unlock()
	return s.compiler.Compile(s.url + "#" + at)
}

// validator returns a function that validates a decoded JSON value against the schema at the JSON
// Pointer at. That function returns an error if the value violates the schema, and panics if the
// schema is invalid, which the tests of this package rule out. It compiles the schema in its first
// call, since most runs need few of a document's schemas.
func (s *document) validator(at string) func(v any) error {
	compiled := sync.OnceValues(func() (*jsonschema.Schema, error) { return s.compile(at) })
	return func(v any) error {
		schema, err := compiled()
		if err != nil {
			panic(err)
		}
		return schema.Validate(v)
	}
}

// A node is a value within a document together with its JSON pointer.
type node struct {
	doc     *document
	pointer string
	value   any
}

// lookup returns the node at a JSON pointer. If the document has no such value, the node's value is
// nil.
func (s *document) lookup(pointer string) node {
	return node{s, pointer, valueAt(s.root, tokensOf(pointer))}
}

// object returns the value of n as an object, or nil if it is not an object.
func (n node) object() map[string]any { m, _ := n.value.(map[string]any); return m }

// followRefs returns an iterator over n, the node that n refers to by $ref, the node that this one
// refers to, and so on.
func followRefs(n node) iter.Seq[node] {
	return func(yield func(node) bool) {
		for range 32 {
			if !yield(n) {
				return
			}
			ref, ok := n.object()["$ref"].(string)
			if !ok || !strings.HasPrefix(ref, "#/") {
				return
			}
			n = n.doc.lookup(ref[1:])
		}
	}
}

// deref returns the node that n refers to by $ref, directly or through further references. It
// returns n itself if n is not a reference.
func (n node) deref() (last node) {
	for at := range followRefs(n) {
		last = at
	}
	return last
}

// get returns the member of the object n whose name is key. If n is a reference, its target is
// searched as well, which may be a reference too. If there is no such member, the value of the
// returned node is nil.
func (n node) get(key string) node {
	for at := range followRefs(n) {
		n = at
		if v, ok := n.object()[key]; ok {
			return node{n.doc, n.pointer + "/" + escape(key), v}
		}
	}
	return node{n.doc, n.pointer + "/" + escape(key), nil}
}

// exists reports whether the document has a value, other than null, at the node's pointer.
func (n node) exists() bool { return n.value != nil }

// text returns the value of n as a string, or "" if it is not a string.
func (n node) text() string { t, _ := n.value.(string); return t }

// items returns the items of n, or nil if n is not an array.
func (n node) items() (all []node) {
	list, _ := n.value.([]any)
	for i, v := range list {
		all = append(all, node{n.doc, n.pointer + "/" + strconv.Itoa(i), v})
	}
	return all
}

// members returns the sorted names of the members of n and, in the same order, the members. Both
// are nil if n is not an object.
func (n node) members() (names []string, all []node) {
	names = slices.Sorted(maps.Keys(n.object()))
	for _, name := range names {
		all = append(all, node{n.doc, n.pointer + "/" + escape(name), n.object()[name]})
	}
	return names, all
}

// strings returns the strings that n consists of: n itself if it is a string, or the strings in n,
// at any depth, if it is an array. Numbers count as strings. For any other value it returns nil.
func (n node) strings() (all []string) {
	switch v := n.value.(type) {
	case string:
		return []string{v}
	case json.Number:
		return []string{v.String()}
	case []any:
		for _, item := range n.items() {
			all = append(all, item.strings()...)
		}
	}
	return all
}

var (
	escapes   = strings.NewReplacer("~", "~0", "/", "~1")
	unescapes = strings.NewReplacer("~1", "/", "~0", "~")
)

// escape and unescape convert a string to and from a reference token of a JSON pointer, in which
// "~" and "/" are escaped (RFC 6901).
func escape(token string) string   { return escapes.Replace(token) }
func unescape(token string) string { return unescapes.Replace(token) }
