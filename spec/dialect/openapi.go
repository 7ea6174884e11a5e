package dialect

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"
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
	if version := root.get("openapi").text(); !strings.HasPrefix(version, "3.2.") {
		return d.errorAt("/openapi", "not an OpenAPI document of version 3.2: openapi is %s, want 3.2.0",
			displayValue(root.get("openapi").value))
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

// openAPIMembers lists the members of an OpenAPI document.
var openAPIMembers = []string{
	"openapi", "$self", "info", "jsonSchemaDialect", "servers", "paths", "webhooks", "components", "security", "tags",
	"externalDocs",
}

// unknownMemberError returns an error about a member with the given name that OpenAPI does not
// define. If the object at the given JSON pointer has a member with that name, the error is about
// that member. Otherwise, the error is about the top-level member of the document with that name.
// In that case, openAPIPointer has returned the pointer to the first member of the document.
func (d *Dialect) unknownMemberError(pointer, name string) error {
	if at := pointer + "/" + escape(name); d.document.lookup(at).exists() {
		return d.errorAt(at, "not valid OpenAPI: unknown member %q", name)
	}
	return d.errorAt("/"+escape(name), "not valid OpenAPI: unknown member %q%s", name, near.Suggest(name, openAPIMembers))
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
// the JSON type of the value and the name of the field.
var wrongType = regexp.MustCompile(`cannot unmarshal (\w+) into field (?:\w+\.)*(\w+) of type`)

// loadError returns an error with a position in the document for err, an error of the OpenAPI
// loader. The position is that of a likely cause: a reference without a target, a reference of an
// unsupported form, or the value of the wrong type that err mentions. If the document has none of
// these, the position is the beginning of the document.
func (d *Dialect) loadError(err error) error {
	message := "not valid OpenAPI: " + lastCause(err)
	wrong := wrongType.FindStringSubmatch(err.Error())
	for name, n := range d.document.keywords() {
		ref, isRef := n.value.(string)
		switch {
		case name == "$ref" && isRef && strings.HasPrefix(ref, "#/") && !d.document.lookup(ref[1:]).exists():
			message = fmt.Sprintf("not valid OpenAPI: the reference %s leads nowhere", displayValue(ref))
		case name == "$ref" && isRef && !strings.HasPrefix(ref, "#/"):
			message = fmt.Sprintf("the reference %s does not begin with #/, which is all that is supported", displayValue(ref))
		case wrong != nil && name == wrong[2] && goType(n.value) == wrong[1]:
			message = fmt.Sprintf("not valid OpenAPI: %s is a value of the wrong type: %s", name, jsonType(n.value))
		default:
			continue
		}
		return d.errorAt(n.pointer, "%s", message)
	}
	return d.errorAt("", "%s", message)
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
