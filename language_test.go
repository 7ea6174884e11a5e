package streamassay_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// maxLine is how many characters a line of Go may have, outside of test files and of
// tables, whose rows are composite literals or strings.
const maxLine = 120

// isNo matches "X is no Y", which reads as a translation of "X is not a Y". "There is no
// Y" is fine.
var isNo = regexp.MustCompile(`(?i)(\S+) (?:is|are|was|were) no [a-z]`)

// TestLanguage holds the code to the parts of docs/glossary.md and of plain English that a
// machine can check. Doc comments of exported names are staticcheck's (staticcheck.conf).
func TestLanguage(t *testing.T) {
	types := map[string][]string{} // unexported type → the packages that declare it
	eachFile(t, func(path, pkg string, fset *token.FileSet, file *ast.File) {
		if strings.HasSuffix(path, "_test.go") {
			return
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.TypeSpec:
				if name := n.Name.Name; !ast.IsExported(name) && !slices.Contains(types[name], pkg) {
					types[name] = append(types[name], pkg)
				}
			case *ast.ValueSpec:
				for _, name := range n.Names {
					if rest, ok := strings.CutPrefix(name.Name, "most"); ok && startsUpper(rest) {
						t.Errorf("%v: constant %s: a maximum is called max%s", fset.Position(name.Pos()), name.Name, rest)
					}
				}
			case *ast.BasicLit:
				for _, m := range isNo.FindAllStringSubmatch(n.Value, -1) {
					if n.Kind == token.STRING && !strings.HasSuffix(strings.ToLower(m[1]), "there") {
						t.Errorf("%v: %q: write \"is not a\"", fset.Position(n.Pos()), m[0])
					}
				}
			}
			return true
		})
		longLines(t, path)
	})
	for name, in := range types {
		if len(in) > 1 {
			t.Errorf("type %s is declared in %s: rename one", name, strings.Join(in, ", "))
		}
	}
}

func startsUpper(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return unicode.IsUpper(r)
}

// row matches a line of a table: an element of a composite literal, or a string.
var row = regexp.MustCompile("^\\s*(\\{|\"|`|[A-Za-z.]+:\\s|\\S+\\((\\d+, )?\"|(var )?\\S+\\s*= \\[\\]string\\{|return \"|const \\S+ = \"|.*`)")

// longLines reports the lines of a file that are longer than maxLine.
func longLines(t *testing.T, path string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i, line := range strings.Split(string(text), "\n") {
		if n := utf8.RuneCountInString(line); n > maxLine && !row.MatchString(line) {
			t.Errorf("%s:%d: %d characters, at most %d", path, i+1, n, maxLine)
		}
	}
}

// TestGlossary finds terms of docs/glossary.md that nothing uses.
func TestGlossary(t *testing.T) {
	text, err := os.ReadFile("docs/glossary.md")
	if err != nil {
		t.Fatal(err)
	}
	var code strings.Builder
	eachFile(t, func(path, _ string, _ *token.FileSet, _ *ast.File) {
		if src, err := os.ReadFile(path); err == nil {
			code.WriteString(strings.ToLower(string(src)))
		}
	})
	terms := 0
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(line, "|")
		if len(cells) != 5 || strings.HasPrefix(cells[1], "---") || strings.TrimSpace(cells[1]) == "term" {
			continue
		}
		for term := range strings.SplitSeq(strings.TrimSpace(cells[1]), ", ") {
			terms++
			if !strings.Contains(code.String(), term) {
				t.Errorf("%q is used in no Go file", term)
			}
		}
	}
	if terms < 50 {
		t.Errorf("%d terms: the table was not read", terms)
	}
}

// eachFile calls visit with every Go file of the module, but not those of testdata.
func eachFile(t *testing.T, visit func(path, pkg string, fset *token.FileSet, file *ast.File)) {
	t.Helper()
	files := 0
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() && (entry.Name() == "testdata" || entry.Name() == "node_modules" || path == "bench" || path == "clients") {
			return filepath.SkipDir
		}
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") {
			return err
		}
		files++
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, path, nil, parser.ParseComments)
		if err == nil {
			visit(path, filepath.ToSlash(filepath.Dir(path)), fset, file)
		}
		return err
	})
	if err != nil || files < 200 {
		t.Fatalf("%d files: %v", files, err)
	}
}
