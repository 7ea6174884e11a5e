package spec

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestDocumentKinds checks that a document may name every kind of package spec except those that
// stand for no schema: what HTTP, the bytes of a stream or the absence of a schema tell, and
// features.
func TestDocumentKinds(t *testing.T) {
	withoutSchema := []Kind{HTTPRequest, HTTPResponse, BodyEnd, Comment, Incomplete, Undecodable, Done}
	file, err := parser.ParseFile(token.NewFileSet(), "event.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	ast.Inspect(file, func(n ast.Node) bool {
		v, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if id, ok := v.Type.(*ast.Ident); !ok || id.Name != "Kind" {
			return true
		}
		text, _ := strconv.Unquote(v.Values[0].(*ast.BasicLit).Value)
		found++
		want := !slices.Contains(withoutSchema, Kind(text)) && !strings.HasPrefix(text, "slot.")
		if got := slices.Contains(DocumentKinds, Kind(text)); got != want {
			t.Errorf("a document may name the kind %s: %t, want %t", v.Names[0], got, want)
		}
		return true
	})
	if found < len(DocumentKinds) {
		t.Errorf("event.go has %d kinds, fewer than the %d of documents", found, len(DocumentKinds))
	}
}
