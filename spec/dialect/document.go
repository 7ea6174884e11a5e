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

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// An openAPIDocument is a parsed OpenAPI document. The values in it are identified by their JSON
// pointers, such as "/components/schemas/Run". Schemas are compiled by pointer, and a schema error
// names the pointer of the schema that was violated.
type openAPIDocument struct {
	url          string         // absolute URL that identifies the document in the compiler
	root         map[string]any // the document as decoded JSON
	sources      []sourceFile   // its file, and those of the documents that it extends
	compiler     *jsonschema.Compiler
	compileMu    sync.Mutex          // guards compiler
	refusals     map[string]any      // pointer of the object with the x-error → x-error
	requirements map[string]any      // pointer of the object with the x-requirement → x-requirement; see index
	variantCache map[string]*variant // "POINTER REQUIREMENT" → variant; see parseVariant

	values          sync.Map // pointer → value, for the pointers that lookup was called with
	constantMembers sync.Map // pointers of alternative schemas → []discriminatingMember
}

// readDocument reads the OpenAPI document of a version from the directory dir in files. The
// argument version is as in readCatalogue. If the file has x-extends, it is a JSON merge patch (RFC
// 7396) for the document of the version that x-extends names, and the result is the patched
// document. readDocument returns an error if a file is missing or invalid.
func readDocument(files fs.FS, dir, version string) (*openAPIDocument, error) {
	tree, sources, err := readTree(files, dir, version, nil)
	if err != nil {
		return nil, err
	}
	// The URL is absolute because a relative one is resolved against the working
	// directory, whose path would then appear in every finding.
	s := &openAPIDocument{
		url: "dialect:///" + url.PathEscape(path.Join(dir, version)), root: tree, sources: sources,
		compiler: jsonschema.NewCompiler(), refusals: map[string]any{}, requirements: map[string]any{},
		variantCache: map[string]*variant{},
	}
	s.compiler.AssertFormat()
	s.index()
	return s, s.compiler.AddResource(s.url, tree)
}

// readTree reads a document as [readDocument] does, but returns it as decoded JSON. It also returns
// the sources of the document: its own file, followed by those of the documents that it extends.
// The argument extending is as in readCatalogue.
func readTree(files fs.FS, dir, version string, extending []string) (
	tree map[string]any, sources []sourceFile, err error,
) {
	name := path.Join(dir, documentFile(version))
	f, err := readSource(files, name, extending)
	if err != nil {
		return nil, nil, err
	}
	text, err := yaml.YAMLToJSON(f.data)
	if err != nil {
		return nil, nil, f.yamlError(err)
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

// readSource reads the file called name from files. The name in the result is for error messages:
// it is name itself or, if files is a [sizeLimitedDirFS], the path of the file, which begins with
// the directory as the user wrote it. The argument extending lists the files that extend this one,
// directly or indirectly. readSource returns an error if name is in that list, or if the file
// cannot be read.
func readSource(files fs.FS, name string, extending []string) (sourceFile, error) {
	if slices.Contains(extending, name) {
		return sourceFile{}, fmt.Errorf("%s: extends itself", name)
	}
	data, err := fs.ReadFile(files, name)
	if dir, ok := files.(sizeLimitedDirFS); ok {
		name = dir.path(name)
	}
	return sourceFile{name, data}, err
}

// mergePatch returns target with the JSON merge patch applied (RFC 7396). Both are decoded JSON
// values. mergePatch modifies neither, but the result may share memory with both.
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

// index records every x-error of the document in s.refusals and every x-requirement in
// s.requirements. In both maps, the key is the pointer of the object that has the extension.
func (s *openAPIDocument) index() {
	for name, n := range s.keywords() {
		parent := strings.TrimSuffix(n.pointer, "/"+name)
		switch name {
		case "x-error":
			s.refusals[parent] = n.value
		case "x-requirement":
			s.requirements[parent] = n.value
		}
	}
}

// compile returns the compiled schema at the given JSON pointer. It returns an error if there is no
// valid schema at that place. It is safe for concurrent use.
func (s *openAPIDocument) compile(pointer string) (*jsonschema.Schema, error) {
	s.compileMu.Lock()
	defer s.compileMu.Unlock()
	return s.compiler.Compile(s.url + "#" + pointer)
}

// validator returns a function that validates a decoded JSON value against the schema at the given
// JSON pointer. The function compiles the schema in its first call and is safe for concurrent use.
// It panics if the schema is invalid. [Dialect.Validate] returns an error for a document with such
// a schema.
func (s *openAPIDocument) validator(pointer string) func(v any) error {
	compiled := sync.OnceValues(func() (*jsonschema.Schema, error) { return s.compile(pointer) })
	return func(v any) error {
		schema, err := compiled()
		if err != nil {
			panic(err)
		}
		if hasLargeExponent(v) {
			v = withSmallExponents(v)
		}
		return schema.Validate(v)
	}
}

// maxExponentDigits is the number of digits to which withSmallExponents shortens exponents.
const maxExponentDigits = 3

// hasLargeExponent reports whether withSmallExponents would shorten a number in v.
func hasLargeExponent(v any) bool {
	switch v := v.(type) {
	case json.Number:
		return withSmallExponents(v) != v
	case []any:
		return slices.ContainsFunc(v, hasLargeExponent)
	case map[string]any:
		for _, member := range v {
			if hasLargeExponent(member) {
				return true
			}
		}
	}
	return false
}

// withSmallExponents returns v, a decoded JSON value, with the exponents of all numbers shortened
// to maxExponentDigits digits: 1e9999999 becomes 1e999. Package jsonschema expands numbers to all
// their digits, which takes long if the exponent is large, and panics above 1e1000000. A shortened
// number is still outside of all bounds that a schema plausibly has. v is not modified.
func withSmallExponents(v any) any {
	switch v := v.(type) {
	case json.Number:
		i := strings.IndexAny(string(v), "eE") + 1
		digits := strings.TrimLeft(string(v[i:]), "+-0")
		if i > 0 && len(digits) > maxExponentDigits {
			sign := strings.TrimRight(string(v[i:i+1]), "0123456789")
			return v[:i] + json.Number(sign+digits[:maxExponentDigits])
		}
	case []any:
		list := make([]any, len(v))
		for i, item := range v {
			list[i] = withSmallExponents(item)
		}
		return list
	case map[string]any:
		object := make(map[string]any, len(v))
		for name, member := range v {
			object[name] = withSmallExponents(member)
		}
		return object
	}
	return v
}

// A node is a value within a document together with its JSON pointer. The value is nil if the
// document has none at the pointer. The methods get and deref follow references ($ref); object,
// exists, text, items, members and strings do not.
type node struct {
	doc     *openAPIDocument
	pointer string
	value   any
}

// lookup returns the node at the given JSON pointer. If the document has no such value, the value
// of the node is nil.
func (s *openAPIDocument) lookup(pointer string) node {
	if v, ok := s.values.Load(pointer); ok {
		return node{s, pointer, v}
	}
	v := valueAt(s.root, tokensOf(pointer))
	s.values.Store(pointer, v)
	return node{s, pointer, v}
}

// object returns the value of n if it is an object, and nil otherwise.
func (n node) object() map[string]any { m, _ := n.value.(map[string]any); return m }

// followRefs returns an iterator over a chain of references: n, the node to which the $ref of n
// refers, the node to which the $ref of that node refers, and so on. It ends after 32 nodes, so
// that it ends even if the references form a cycle.
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

// deref returns the node to which n refers by $ref, directly or through further references, or n
// itself if n is not a reference to this document. Its value is nil if a $ref points to nothing.
func (n node) deref() (last node) {
	for at := range followRefs(n) {
		last = at
	}
	return last
}

// get returns the member of the object n with the name key. If n has no such member but is a
// reference, get returns the member of the object to which n refers, directly or through further
// references. If there is no such member either, the value of the returned node is nil.
func (n node) get(key string) node {
	for at := range followRefs(n) {
		n = at
		if v, ok := n.object()[key]; ok {
			return node{n.doc, n.pointer + "/" + escape(key), v}
		}
	}
	return node{n.doc, n.pointer + "/" + escape(key), nil}
}

// exists reports whether n has a value other than null.
func (n node) exists() bool { return n.value != nil }

// text returns the value of n as a string, or "" if it is not a string.
func (n node) text() string { t, _ := n.value.(string); return t }

// items returns the items of the array n in order, or nil if n is not an array.
func (n node) items() (all []node) {
	list, _ := n.value.([]any)
	for i, v := range list {
		all = append(all, node{n.doc, n.pointer + "/" + strconv.Itoa(i), v})
	}
	return all
}

// allowedValues returns the values that the schema n allows with enum or const, or nil if it has
// neither.
func (n node) allowedValues() []node {
	if c := n.get("const"); c.exists() {
		return []node{c}
	}
	return n.get("enum").items()
}

// members returns an iterator over the names and values of the members of the object n, ordered by
// name. It yields nothing if n is not an object.
func (n node) members() iter.Seq2[string, node] {
	return func(yield func(string, node) bool) {
		object := n.object()
		for _, name := range slices.Sorted(maps.Keys(object)) {
			if !yield(name, node{n.doc, n.pointer + "/" + escape(name), object[name]}) {
				return
			}
		}
	}
}

// strings returns the strings and numbers in n. If the value of n is a string or a number, the
// result has only this value. If the value is an array, the result has all strings and numbers in
// the array and in arrays nested in it, and no other items. For any other value, such as an object,
// the result is nil. Numbers are returned in their JSON form.
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

// escape returns s as a reference token of a JSON pointer, in which "~" and "/" are escaped (RFC
// 6901).
func escape(s string) string { return escapes.Replace(s) }

// unescape returns the string that a reference token of a JSON pointer stands for. It is the
// inverse of escape.
func unescape(token string) string { return unescapes.Replace(token) }
