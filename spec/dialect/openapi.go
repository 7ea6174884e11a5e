package dialect

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/goccy/go-yaml/parser"

	"github.com/streamassay/streamassay/internal/near"
)

// checkOpenAPI returns an error if the document is not valid OpenAPI 3.2. It reads the document
// with package openapi3, independently of the rest of this package. Examples are not validated,
// because templates contain placeholders.
func (d *Dialect) checkOpenAPI() error {
	root := d.document.lookup("")
	switch version := root.get("openapi"); {
	case strings.HasPrefix(version.text(), "3.2."):
	case has(root.object(), "openapi"):
		return d.errorAt("/openapi", "the document has OpenAPI version %s, want 3.2.0",
			displayValue(version.value))
	case has(root.object(), "swagger"):
		return d.errorAt("/swagger", "a Swagger 2.0 document: want an OpenAPI document of version 3.2 (openapi: 3.2.0)")
	default:
		return d.errorAt("/openapi", "the version of OpenAPI is missing, want openapi: 3.2.0")
	}
	if !has(root.object(), "info") {
		return d.errorAt("/info", "not valid OpenAPI: info is missing (an object with title and version is required)")
	}
	text, err := d.Document()
	if err != nil {
		return err
	}
	loader := openapi3.NewLoader()
	loader.IncludeOrigin = true
	loaded, err := loader.LoadFromData(text)
	if err != nil {
		return d.loadError(err)
	}
	if err := loaded.Validate(context.Background(), openapi3.DisableExamplesValidation()); err != nil {
		at := openAPIPointer(err, text)
		if unknown, ok := errors.AsType[*openapi3.ExtraSiblingFieldsError](err); ok {
			return d.unknownMemberError(at, unknown.Fields[0])
		}
		return d.errorAt(at, "not valid OpenAPI: %v", err)
	}
	return nil
}

// openAPIMembers lists the members of objects of an OpenAPI document. The keys are patterns for
// [path.Match] that match the JSON pointers of the objects.
var openAPIMembers = map[string][]string{
	"": {
		"openapi", "$self", "info", "jsonSchemaDialect", "servers", "paths", "webhooks", "components", "security", "tags",
		"externalDocs",
	},
	"/info": {"title", "summary", "description", "termsOfService", "contact", "license", "version"},
	"/components": {
		"schemas", "responses", "parameters", "examples", "requestBodies", "headers", "securitySchemes", "links",
		"callbacks", "pathItems", "mediaTypes",
	},
	"/paths/*": append(slices.Clone(httpMethods), "summary", "description", "servers", "parameters"),
	"/paths/*/*": {
		"tags", "summary", "description", "externalDocs", "operationId", "parameters", "requestBody", "responses",
		"callbacks", "deprecated", "security", "servers",
	},
	"/paths/*/*/requestBody":           {"description", "content", "required"},
	"/paths/*/*/requestBody/content/*": {"schema", "itemSchema", "example", "examples", "encoding"},
	"/paths/*/*/responses/*":           {"summary", "description", "headers", "content", "links"},
	"/paths/*/*/responses/*/content/*": {"schema", "itemSchema", "example", "examples", "encoding"},
}

// unknownMemberError returns an error about a member with the given name that OpenAPI does not
// define. If the object at the given JSON pointer has a member with that name, the error is about
// that member. Otherwise, openAPIPointer has found no position or the wrong one. The error is then
// about the top-level member of the document with that name or, if there is none, about the first
// keyword with that name.
func (d *Dialect) unknownMemberError(pointer, name string) error {
	if !has(d.document.lookup(pointer).object(), name) {
		pointer = ""
	}
	at := pointer + "/" + escape(name)
	if !has(d.document.lookup(pointer).object(), name) {
		for keyword, n := range d.document.keywords() {
			_, isString := n.value.(string)
			switch {
			case keyword != name || name == "$ref" && isString:
			case name == "$ref":
				return d.errorAt(n.pointer, "not valid OpenAPI: $ref is %s: expected a string", displayValue(n.value))
			default:
				return d.errorAt(n.pointer, "not valid OpenAPI: unknown member %q", name)
			}
		}
	}
	suggestion := ""
	for pattern, members := range openAPIMembers {
		if matches, _ := path.Match(pattern, pointer); matches {
			suggestion = near.Suggest(name, members)
		}
	}
	return d.errorAt(at, "not valid OpenAPI: unknown member %q%s", name, suggestion)
}

// errorAt returns an error about the value at the given JSON pointer of the document. The message
// is fmt.Sprintf(format, args...).
func (d *Dialect) errorAt(pointer, format string, args ...any) *FileError {
	return errorAt(d.document.sources, pointer, fmt.Sprintf(format, args...))
}

// openAPIPointer returns the JSON pointer to the value that err, a validation error of package
// openapi3, is about. This is the innermost value whose position err contains. If err contains no
// position, it is the section, path or operation that err names. If err names none, the result is
// "". The argument text is the document as YAML.
func openAPIPointer(err error, text []byte) string {
	at := ""
	var origin *openapi3.Origin
	for ; err != nil; err = errors.Unwrap(err) {
		switch e := err.(type) {
		case *openapi3.SectionValidationError:
			at += "/" + escape(e.Section)
		case *openapi3.PathValidationError:
			at += "/" + escape(e.Path)
		case *openapi3.OperationValidationError:
			at += "/" + strings.ToLower(e.Method)
		}
		// Each of the many types of errors has a field of its own for the position.
		if v := reflect.Indirect(reflect.ValueOf(err)); v.Kind() == reflect.Struct {
			if field := v.FieldByName("Origin"); field.IsValid() {
				if found, ok := field.Interface().(*openapi3.Origin); ok && found != nil && found.Key != nil {
					origin = found
				}
			}
		}
	}
	if origin != nil {
		if tree, err := parser.ParseBytes(text, 0); err == nil && len(tree.Docs) > 0 {
			if exact := pointerAt(tree.Docs[0].Body, origin.Key.Line, origin.Key.Column, ""); strings.HasPrefix(exact, at) {
				return exact
			}
		}
	}
	return at
}

// wrongType matches an error of the OpenAPI loader about a field of the wrong type. Its groups are
// the JSON type of the value, the name of the field, and the Go type of the field.
var wrongType = regexp.MustCompile(`cannot unmarshal (\w+) into field (?:\w+\.)*(\w+) of type (\S+)`)

// loadError returns an error with a position in the document for err, an error of the OpenAPI
// loader. The position is that of a likely cause: a reference without a target, a reference of an
// unsupported form, an invalid schema, or the value of the wrong type that err mentions. If the
// document has none of these, the position is the beginning of the document.
func (d *Dialect) loadError(err error) error {
	for name, n := range d.document.keywords() {
		ref, isRef := n.value.(string)
		switch {
		case name != "$ref" || !isRef:
		case !strings.HasPrefix(ref, "#/"):
			return d.errorAt(n.pointer, "the reference %s does not begin with #/, which is all that is supported",
				displayValue(ref))
		case !d.document.lookup(ref[1:]).exists():
			return d.errorAt(n.pointer, "not valid OpenAPI: the reference %s leads nowhere", displayValue(ref))
		}
	}
	if err := d.checkSchemas(); err != nil {
		return err
	}
	if wrong := wrongType.FindStringSubmatch(err.Error()); wrong != nil {
		for name, n := range d.document.keywords() {
			if name == wrong[2] && goType(n.value) == wrong[1] {
				return d.errorAt(n.pointer, "not valid OpenAPI: %s is %s: expected %s", name, displayValue(n.value),
					describeGoType(wrong[3]))
			}
		}
	}
	return d.errorAt("", "not valid OpenAPI: %s", lastCause(err))
}

// describeGoType returns the phrase that messages use for a value of a field of the OpenAPI loader
// with the given Go type.
func describeGoType(goType string) string {
	switch {
	case goType == "string":
		return typeNames["string"]
	case goType == "bool":
		return typeNames["boolean"]
	case strings.HasPrefix(goType, "[]"):
		return typeNames["array"]
	case strings.HasPrefix(goType, "uint"), strings.HasPrefix(goType, "int"):
		return typeNames["integer"]
	case strings.HasPrefix(goType, "float"):
		return typeNames["number"]
	}
	return typeNames["object"]
}

// lastCause returns the message of err, an error of the OpenAPI loader, on one line and without the
// parts that do not state the reason for the failure. These are the parts about attempts to decode
// the document in other ways, which come first.
func lastCause(err error) string {
	text := err.Error()
	if i := strings.LastIndex(text, "json: "); i >= 0 {
		text = text[i+len("json: "):]
	}
	return strings.ReplaceAll(text, "\n", " ")
}

// goType returns the name that package encoding/json uses in error messages for the type of v, a
// decoded JSON value.
func goType(v any) string {
	switch v.(type) {
	case bool:
		return "bool"
	case json.Number:
		return "number"
	}
	return jsonType(v)
}
