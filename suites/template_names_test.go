package suites

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/streamassay/streamassay/spec/dialect"
)

// TestTemplateNames checks that every template that a scenario or an action names exists in at
// least one document: one that does not would never be sent, and nothing else would tell.
func TestTemplateNames(t *testing.T) {
	all, err := dialect.All()
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, d := range all {
		for _, name := range d.Templates() {
			known[name] = true
		}
	}
	names := templateNames(t, "*.go", "../spec/dialect/*.go")
	for at, name := range names {
		if !known[name] {
			t.Errorf("%s: no document has the template %q", at, name)
		}
	}
	if len(names) < 200 {
		t.Errorf("found only %d names of templates", len(names))
	}
}

// templateNames returns the names of templates in the Go files that match the first pattern, by
// position. A name is a string literal that is passed as, assigned to, compared with or listed in a
// parameter, field, variable or map whose name has the word template. The functions that are called
// may also be declared in the files that match the other patterns.
func templateNames(t *testing.T, pattern string, declarations ...string) map[string]string {
	set := token.NewFileSet()
	var files []*ast.File
	f := templateFinder{set, map[string][]bool{}, map[string]string{}}
	for i, p := range append([]string{pattern}, declarations...) {
		paths, _ := filepath.Glob(p)
		for _, path := range paths {
			file, err := parser.ParseFile(set, path, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(file, f.declare)
			if i == 0 && !strings.HasSuffix(path, "_test.go") {
				files = append(files, file)
			}
		}
	}
	for _, file := range files {
		ast.Inspect(file, f.find)
	}
	return f.found
}

// A templateFinder finds the names of templates in Go files.
type templateFinder struct {
	set *token.FileSet
	// parameters maps a function or struct type to whether each parameter or field is a template.
	parameters map[string][]bool
	found      map[string]string // by position
}

// declare records which parameters of a function, and which fields of a struct, are templates.
func (f templateFinder) declare(n ast.Node) bool {
	record := func(name string, fields *ast.FieldList) {
		var all []bool
		for _, field := range fields.List {
			for _, id := range field.Names {
				all = append(all, isTemplate(id))
			}
		}
		if slices.Contains(all, true) {
			f.parameters[name] = all
		}
	}
	switch n := n.(type) {
	case *ast.FuncDecl:
		record(n.Name.Name, n.Type.Params)
	case *ast.TypeSpec:
		if s, ok := n.Type.(*ast.StructType); ok {
			record(n.Name.Name, s.Fields)
		}
	}
	return true
}

// find records the names of templates in one node.
func (f templateFinder) find(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.CallExpr:
		f.addArguments(n.Fun, n.Args)
		if isTemplate(n.Fun) || len(n.Args) > 1 && isTemplate(n.Args[0]) { // slices.Contains(s.Templates, ...)
			f.add(n.Args...)
		}
	case *ast.CompositeLit:
		f.addArguments(n.Type, n.Elts)
	case *ast.KeyValueExpr:
		if isTemplate(n.Key) {
			f.add(n.Value)
		}
	case *ast.ValueSpec:
		f.addNamed(n.Names[0], n.Values...)
	case *ast.AssignStmt:
		f.addNamed(n.Lhs[0], n.Rhs...)
	case *ast.RangeStmt:
		f.addNamed(n.Value, n.X)
	case *ast.BinaryExpr:
		f.addNamed(n.X, n.Y)
	case *ast.SwitchStmt:
		for _, c := range n.Body.List {
			f.addNamed(n.Tag, c.(*ast.CaseClause).List...)
		}
	}
	return true
}

// addArguments adds those of args that are templates. function is the function that is called with
// args, or the struct type of a literal with these values.
func (f templateFinder) addArguments(function ast.Expr, args []ast.Expr) {
	is := f.parameters[nameOf(function)]
	for i, arg := range args {
		if len(is) > 0 && is[min(i, len(is)-1)] {
			f.add(arg)
		}
	}
}

// addNamed adds the values if they are assigned to, or compared with, a template.
func (f templateFinder) addNamed(variable ast.Expr, values ...ast.Expr) {
	if variable != nil && isTemplate(variable) {
		f.add(values...)
	}
}

// add adds the string literals in the values: those of lists, the keys of maps, and those that are
// appended.
func (f templateFinder) add(values ...ast.Expr) {
	for _, v := range values {
		switch v := v.(type) {
		case *ast.BasicLit:
			if name, err := strconv.Unquote(v.Value); err == nil && v.Kind == token.STRING && name != "" {
				f.found[f.set.Position(v.Pos()).String()] = name
			}
		case *ast.CompositeLit:
			f.add(v.Elts...)
		case *ast.KeyValueExpr:
			f.add(v.Key)
		case *ast.CallExpr:
			if nameOf(v.Fun) == "append" {
				f.add(v.Args...)
			}
		}
	}
}

// isTemplate reports whether e is a variable, field or parameter whose name contains the word
// template.
func isTemplate(e ast.Expr) bool {
	return strings.Contains(strings.ToLower(nameOf(e)), "template")
}

// nameOf returns the last name in an expression such as t.dialect, or "".
func nameOf(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	}
	return ""
}
