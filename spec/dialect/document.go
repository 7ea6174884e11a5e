package dialect

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// A document is a document as it is written, so that every place in it has a
// pointer: schemas are compiled by it, and what breaks one leads back to it.
type document struct {
	url          string
	root         map[string]any
	compiler     *jsonschema.Compiler
	compileMu    sync.Mutex
	refusals     map[string]any      // pointer → x-error
	requirements map[string]any      // pointer → x-requirement
	variantCache map[string]*variant // pointer and law → word: contents stand in messages, messages in runs
}

// readDocument reads FAMILY/VERSION.yaml. A document that extends another is a JSON
// merge patch (RFC 7396) over it.
func readDocument(files fs.FS, family, version string) (*document, error) {
	tree, err := readTree(files, family, version)
	if err != nil {
		return nil, err
	}
	// An absolute URL: a relative one is resolved against the working directory,
	// and a machine's path would stand in every finding.
	s := &document{
		url: "dialect:///" + family + "/" + version, root: tree, compiler: jsonschema.NewCompiler(),
		refusals: map[string]any{}, requirements: map[string]any{}, variantCache: map[string]*variant{},
	}
	s.compiler.AssertFormat()
	s.index("", tree)
	return s, s.compiler.AddResource(s.url, tree)
}

func readTree(files fs.FS, family, version string) (map[string]any, error) {
	name := family + "/" + version + ".yaml"
	data, err := fs.ReadFile(files, name)
	if err != nil {
		return nil, err
	}
	text, err := yaml.YAMLToJSON(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	tree, ok := v.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("%s: not an object", name)
	}
	base, ok := tree["x-extends"].(string)
	if !ok {
		return tree, nil
	}
	delete(tree, "x-extends")
	baseTree, err := readTree(files, family, base)
	if err != nil {
		return nil, fmt.Errorf("%s extends %s: %w", name, base, err)
	}
	delete(baseTree, "x-default")
	return mergePatch(baseTree, tree).(map[string]any), nil
}

// mergePatch is RFC 7396.
func mergePatch(target, patch any) any {
	p, ok := patch.(map[string]any)
	if !ok {
		return patch
	}
	t, ok := target.(map[string]any)
	if !ok {
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

// index notes where requirements and demands stand, so that nobody has to walk
// the tree for them.
func (s *document) index(at string, v any) {
	switch v := v.(type) {
	case map[string]any:
		for k, member := range v {
			switch k {
			case "x-error":
				s.refusals[at] = member
			case "x-requirement":
				s.requirements[at] = member
			case "x-without":
				s.requirements[at+"/"+k] = member
			case "example", "examples", "default", "x-write", "enum":
			default:
				s.index(at+"/"+escape(k), member)
			}
		}
	case []any:
		for i, member := range v {
			s.index(at+"/"+strconv.Itoa(i), member)
		}
	}
}

func (s *document) compile(at string) (*jsonschema.Schema, error) {
	s.compileMu.Lock()
	defer s.compileMu.Unlock()
	return s.compiler.Compile(s.url + "#" + at)
}

// validator is a schema that is compiled when it is first needed: most of a
// document's are not, in most runs. A schema that cannot be compiled is a fault of
// the program, which a test finds.
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

// A node is one place in the document.
type node struct {
	doc     *document
	pointer string
	value   any
}

// lookup is the node at a pointer; its value is nil if nothing stands there.
func (s *document) lookup(pointer string) node {
	var v any = s.root
	if pointer != "" {
		for token := range strings.SplitSeq(pointer[1:], "/") {
			token = unescape(token)
			switch in := v.(type) {
			case map[string]any:
				v = in[token]
			case []any:
				i, err := strconv.Atoi(token)
				if err != nil || i < 0 || i >= len(in) {
					return node{s, pointer, nil}
				}
				v = in[i]
			default:
				return node{s, pointer, nil}
			}
		}
	}
	return node{s, pointer, v}
}

func (n node) object() map[string]any { m, _ := n.value.(map[string]any); return m }

// deref follows $ref to what it means.
func (n node) deref() node {
	for range 32 {
		ref, ok := n.object()["$ref"].(string)
		if !ok || !strings.HasPrefix(ref, "#/") {
			return n
		}
		n = n.doc.lookup(ref[1:])
	}
	return n
}

// get is a member of an object, through references.
func (n node) get(key string) node {
	if v, ok := n.object()[key]; ok {
		return node{n.doc, n.pointer + "/" + escape(key), v}
	}
	d := n.deref()
	if v, ok := d.object()[key]; ok {
		return node{n.doc, d.pointer + "/" + escape(key), v}
	}
	return node{n.doc, d.pointer + "/" + escape(key), nil}
}

func (n node) exists() bool { return n.value != nil }

func (n node) text() string { t, _ := n.value.(string); return t }

// items are the members of an array.
func (n node) items() (all []node) {
	list, _ := n.value.([]any)
	for i, v := range list {
		all = append(all, node{n.doc, n.pointer + "/" + strconv.Itoa(i), v})
	}
	return all
}

// members are those of an object, by name.
func (n node) members() (names []string, all []node) {
	names = slices.Sorted(maps.Keys(n.object()))
	for _, name := range names {
		all = append(all, node{n.doc, n.pointer + "/" + escape(name), n.object()[name]})
	}
	return names, all
}

// strings is a string, or a list of them.
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

// escape and unescape are those of JSON Pointer (RFC 6901).
func escape(token string) string   { return escapes.Replace(token) }
func unescape(token string) string { return unescapes.Replace(token) }
