package reports

import (
	"reflect"
	"slices"

	"github.com/streamassay/streamassay/internal/redact"
)

// trustedFields are the members whose texts come from the harness and the documents, by the type
// that they belong to: no target has a say in them.
var trustedFields = map[reflect.Type][]string{
	reflect.TypeFor[Report]():            {"Tool", "Version"},
	reflect.TypeFor[DialectReport]():     {"Dialect"},
	reflect.TypeFor[Cause]():             {"Kind", "Scenario"},
	reflect.TypeFor[RequirementResult](): {"Dialect", "ID", "Quote", "English", "Source", "Checks", "Excluded"},
	reflect.TypeFor[Check]():             {"ID", "Title", "Scenario", "Requirements"},
	reflect.TypeFor[Finding]():           {"Requirement"},
}

// Redact removes secrets from everything in the report that may repeat what was sent or
// received, in all forms that package redact knows. What it replaces in a command
// makes the command useless and harmless.
func (r *Report) Redact(secrets []string) {
	if hide := redact.New(secrets...); hide != nil {
		redactAll(reflect.ValueOf(r).Elem(), hide)
	}
}

// redactAll removes secrets from all strings that can be reached from v.
func redactAll(v reflect.Value, hide *redact.Redactor) {
	switch v.Kind() {
	case reflect.String:
		if s := v.String(); s != "" {
			v.SetString(redactText(s, hide))
		}
	case reflect.Pointer:
		if !v.IsNil() {
			redactAll(v.Elem(), hide)
		}
	case reflect.Slice:
		for i := range v.Len() {
			redactAll(v.Index(i), hide)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			field := v.Type().Field(i)
			if field.IsExported() && !slices.Contains(trustedFields[v.Type()], field.Name) {
				redactAll(v.Field(i), hide)
			}
		}
	}
}

// redactText removes secrets from a text, and what is left of one that the bound on
// what is shown cut in two.
func redactText(s string, hide *redact.Redactor) string {
	shown, note := cutTruncationNote(s)
	if note == "" {
		return hide.Shortened(s)
	}
	return hide.Fragment(hide.Shortened(shown)) + note
}
