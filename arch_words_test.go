package streamassay_test

import (
	"encoding/json"
	"go/ast"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/streamassay/streamassay/spec/dialect"
)

// An exemption allows files to contain words of protocols, and states the reason.
type exemption struct {
	path    string   // prefix of the paths of the files
	words   []string // nil: all
	because string
}

var exemptions = []exemption{
	{"spec/dialect/", nil, "it reads the documents"},
	{"internal/transcript/har.go", []string{"mimeType"}, "HTTP archives have the same key"},
	{"internal/fault/", []string{"type", "status", "code", "text", "data"}, "names of parameters of faults"},
	{"internal/replay/aimock", nil, "fixtures of another mock have keys of their own"},
	{"internal/script/schema.go", []string{"$ref", "properties", "type"}, "it writes the JSON Schema of scripts"},
	{"internal/control/scripts.go", []string{"source"}, "a member of the control API"},
	{"internal/vary/encode_frame.go", []string{"id", "event", "data"}, "fields of event streams"},
	{"internal/model/", nil, "it is a client of another protocol, chat completions"},
	{"internal/state/durable/", []string{"role"}, "a field of a report of Redis"},
	{"cmd/streamassay/serve_backends.go", []string{"runs"}, "runs are what the store has"},
}

// TestWordsOfProtocols checks that no code but package dialect decides by the name of a dialect,
// knows a requirement, reads an extension of OpenAPI, resolves a reference, or has a JSON key or a
// fixed value of a protocol: these stand in the documents, and code asks for them by kind and slot.
func TestWordsOfProtocols(t *testing.T) {
	vocabulary := readVocabulary(t)
	used := make([]bool, len(exemptions))
	literals := 0
	eachFile(t, func(name, _ string, set *token.FileSet, file *ast.File) {
		if strings.HasSuffix(name, "_test.go") {
			return
		}
		eachLiteral(file, func(pos token.Pos, text string, index bool) {
			literals++
			for word, what := range vocabulary.find(text, index) {
				i := slices.IndexFunc(exemptions, func(e exemption) bool {
					return strings.HasPrefix(name, e.path) && (e.words == nil || slices.Contains(e.words, word))
				})
				if i < 0 {
					t.Errorf("%s has %s %q: it stands in a document, so ask package dialect", set.Position(pos), what, word)
					continue
				}
				used[i] = true
			}
		})
	})
	for i, e := range exemptions {
		if !used[i] {
			t.Errorf("%s has no words of protocols any more: remove it from exemptions", e.path)
		}
	}
	if literals < 5000 || len(vocabulary.texts) < 500 || len(vocabulary.words) < 100 {
		t.Errorf("looked for %d texts and %d words in %d literals", len(vocabulary.texts), len(vocabulary.words), literals)
	}
}

// eachLiteral calls visit with the string literals of a file other than import paths. The argument
// index reports whether the literal is the index of a map.
func eachLiteral(file *ast.File, visit func(pos token.Pos, text string, index bool)) {
	indices := map[ast.Expr]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.IndexExpr:
			indices[n.Index] = true
		case *ast.BasicLit:
			if text, err := strconv.Unquote(n.Value); err == nil && n.Kind == token.STRING {
				visit(n.Pos(), text, indices[n])
			}
		}
		return true
	})
}

// A vocabulary holds the words of all protocols.
type vocabulary struct {
	names, families []string // of dialects
	requirements    []string
	texts           map[string]string // what a literal must not be as a whole, and what that is
	words           map[string]string // what a literal must not contain as a word
	keys            map[string]bool   // members of JSON objects, also those that are common words
}

// distinctive matches keys and values that contain an underscore, or a capital letter after a small
// one, and therefore are not ordinary words.
var distinctive = regexp.MustCompile(`^\w*(_|[a-z][A-Z])\w*$`)

// readVocabulary returns the vocabulary of the documents and catalogues of all dialects.
func readVocabulary(t *testing.T) vocabulary {
	v := vocabulary{texts: map[string]string{"$ref": "the keyword"}, words: map[string]string{}, keys: map[string]bool{}}
	all, err := dialect.All()
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range all {
		v.names, v.families = append(v.names, d.Name), append(v.families, d.Family)
		v.texts[d.Name], v.texts[d.Family] = "the dialect", "the dialect"
		for _, r := range d.Requirements {
			v.requirements = append(v.requirements, r.ID)
			v.texts[r.ID] = "the requirement"
		}
		text, err := d.Document()
		if err == nil {
			text, err = yaml.YAMLToJSON(text)
		}
		var tree any
		if err == nil {
			err = json.Unmarshal(text, &tree)
		}
		if err != nil {
			t.Fatal(err)
		}
		v.read("", tree)
	}
	return v
}

// read adds the words of a value of a document to the vocabulary. key is the key of the value.
func (v vocabulary) read(key string, value any) {
	switch value := value.(type) {
	case map[string]any:
		for name, member := range value {
			if strings.HasPrefix(name, "x-") {
				v.texts[name] = "the extension"
			}
			if key == "properties" {
				v.keys[name] = true
				v.addWord(name, "the key")
			}
			if key == "x-code" {
				name = key // a map from statuses to codes
			}
			v.read(name, member)
		}
	case []any:
		for _, item := range value {
			v.read(key, item)
		}
	case string:
		switch {
		case key == "keep-alive" || key == "sentinel":
			v.texts[value] = "the text"
		case slices.Contains([]string{"enum", "const", "default", "code", "x-code", "x-write"}, key):
			v.addWord(value, "the value")
		}
	}
}

// addWord adds a key or value to v.words if it is distinctive. what is its description.
func (v vocabulary) addWord(word, what string) {
	if distinctive.MatchString(word) {
		v.words[word] = what
	}
}

// find returns the words of protocols that a literal contains, each with its description. index is
// as in eachLiteral.
func (v vocabulary) find(text string, index bool) map[string]string {
	found := map[string]string{}
	if what := v.texts[text]; what != "" {
		found[text] = what
	}
	if index && v.keys[text] {
		found[text] = "the key"
	}
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return !isWordRune(r) }) {
		if what := v.words[word]; what != "" {
			found[word] = what
		}
	}
	if v.selectsDialects(text) {
		found[text] = "the pattern"
	}
	return found
}

// isWordRune reports whether r can be part of a key or value.
func isWordRune(r rune) bool {
	return r == '_' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
}

// selectsDialects reports whether text is a pattern that matches some dialects and not others, or
// requirements of some families only.
func (v vocabulary) selectsDialects(text string) bool {
	if !strings.ContainsAny(text, "*?[") {
		return false
	}
	matches := func(pattern string, names []string) (n int) {
		for _, name := range names {
			if ok, _ := path.Match(pattern, name); ok {
				n++
			}
		}
		return n
	}
	if n := matches(text, v.names); n > 0 && n < len(v.names) {
		return true
	}
	family, _, _ := strings.Cut(text, ".")
	n := matches(family, v.families)
	return n > 0 && n < len(v.families) && matches(text, v.requirements) > 0
}
