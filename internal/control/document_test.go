package control

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
)

// documented returns the OpenAPI document of the control port, after validating it.
func documented(t testing.TB) *openapi3.T {
	t.Helper()
	doc, err := openapi3.NewLoader().LoadFromData(openAPI)
	if err != nil {
		t.Fatal(err)
	}
	if err := doc.Validate(context.Background()); err != nil {
		t.Fatal(err)
	}
	return doc
}

// TestDocumentAndRoutes checks that the documented and the served operations are the same.
func TestDocumentAndRoutes(t *testing.T) {
	doc := documented(t)
	if !strings.HasPrefix(doc.OpenAPI, "3.1") {
		t.Errorf("openapi is %s", doc.OpenAPI)
	}
	var written, served []string
	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			written = append(written, method+" "+path)
			if op.OperationID == "" || op.Summary == "" || op.Responses.Default() == nil {
				t.Errorf("%s %s lacks an id, a summary or its problems", method, path)
			}
		}
	}
	for _, at := range (&server{}).apiRoutes() {
		served = append(served, at.method+" "+at.path)
	}
	slices.Sort(written)
	slices.Sort(served)
	if len(served) < 25 || !slices.Equal(written, served) {
		t.Errorf("documented:\n%s\nserved:\n%s", strings.Join(written, "\n"), strings.Join(served, "\n"))
	}
}

// TestDocumentSchemas checks that every schema of the document is used.
func TestDocumentSchemas(t *testing.T) {
	text := string(openAPI)
	for name := range documented(t).Components.Schemas {
		if name == "Note" { // the data of the feed's events, to which OpenAPI 3.1 cannot refer
			continue
		}
		if !strings.Contains(text, `"#/components/schemas/`+name+`"`) {
			t.Errorf("schema %s is not used", name)
		}
	}
}
