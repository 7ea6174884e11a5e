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
)

// checkOpenAPI returns an error if the document is not valid OpenAPI 3.2. It uses another OpenAPI
// reader than the rest of this package. It does not validate examples, because templates contain
// placeholders.
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
	err = loaded.Validate(context.Background(), openapi3.DisableExamplesValidation())
	if err != nil {
		return d.errorAt(openAPIPointer(err, text), "not valid OpenAPI: %v", err)
	}
	return nil
}

// errorAt returns an error about the value at a JSON pointer of the document.
func (d *Dialect) errorAt(pointer, format string, args ...any) *FileError {
	return errorAt(d.document.sources, pointer, fmt.Sprintf(format, args...))
}

// openAPIPointer returns the pointer to the value to which err refers, where err is an error from
// validating text. This is the innermost value for which err has a position, or else the section or
// path that err names.
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

// wrongType matches the errors of the loader that name a field with a value of the wrong type.
var wrongType = regexp.MustCompile(`cannot unmarshal (\w+) into field (?:\w+\.)*(\w+) of type`)

// loadError returns err, an error of the OpenAPI loader, as an error with a position. Because the
// loader states no position, loadError uses that of the first reference without a target, or of the
// first member that has the name and the type in the message.
func (d *Dialect) loadError(err error) error {
	message, at := "not valid OpenAPI: "+lastCause(err), ""
	wrong := wrongType.FindStringSubmatch(err.Error())
	d.document.walk("", d.document.root, func(pointer, name string, v any) bool {
		ref, isRef := v.(string)
		switch {
		case name == "$ref" && isRef && strings.HasPrefix(ref, "#/") && !d.document.lookup(ref[1:]).exists():
			message = fmt.Sprintf("not valid OpenAPI: the reference %s leads nowhere", displayValue(ref))
		case name == "$ref" && isRef && !strings.HasPrefix(ref, "#/"):
			message = fmt.Sprintf("the reference %s does not begin with #/, which is all that is supported", displayValue(ref))
		case wrong != nil && name == wrong[2] && goType(v) == wrong[1]:
			message = fmt.Sprintf("not valid OpenAPI: %s is a value of the wrong type: %s", name, jsonType(v))
		default:
			return true
		}
		at = pointer
		return false
	})
	return d.errorAt(at, "%s", message)
}

// lastCause returns the last cause in the message of err, an error of the OpenAPI loader. It omits
// the failed attempts that the message lists before that cause.
func lastCause(err error) string {
	text := err.Error()
	if i := strings.LastIndex(text, "json: "); i >= 0 {
		text = text[i+len("json: "):]
	}
	return strings.ReplaceAll(text, "\n", " ")
}

// goType returns the name that package encoding/json uses in errors for the type of a decoded
// value.
func goType(v any) string {
	switch v.(type) {
	case bool:
		return "bool"
	case json.Number:
		return "number"
	}
	return jsonType(v)
}
