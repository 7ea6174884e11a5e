package reports

import (
	"reflect"
	"slices"

	"github.com/streamassay/streamassay/internal/redact"
)

// trustedFields lists the fields of each type that [Report.Redact] leaves unchanged: their texts
// come from streamassay or the documents of the dialects and cannot contain secrets.
var trustedFields = map[reflect.Type][]string{
	reflect.TypeFor[Report]():            {"Tool", "Version"},
	reflect.TypeFor[DialectResults]():    {"Dialect"},
	reflect.TypeFor[Cause]():             {"Kind", "Scenario"},
	reflect.TypeFor[RequirementResult](): {"Dialect", "ID", "Quote", "English", "Source", "Checks", "Excluded"},
	reflect.TypeFor[Check]():             {"ID", "Title", "Scenario", "Requirements"},
	reflect.TypeFor[Finding]():           {"Requirement"},
}

// Redact replaces the given secrets by a placeholder, in all texts of r that may repeat parts of a
// request or response. It also finds secrets that are encoded, for example in a URL, in JSON or in
// Base64 text. It ignores secrets shorter than 4 bytes.
func (r *Report) Redact(secrets []string) {
	if hide := redact.New(secrets...); hide != nil {
		redactAll(reflect.ValueOf(r).Elem(), hide)
	}
}

// redactAll replaces secrets in place, in all strings that can be reached from v except those in
// [trustedFields]. The value v must be settable.
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

// redactText returns s with secrets replaced by a placeholder. If s was truncated, the placeholder
// also replaces the beginning of a secret at the end of the text.
func redactText(s string, hide *redact.Redactor) string {
	shown, note := cutTruncationNote(s)
	if note == "" {
		return hide.Shortened(s)
	}
	return hide.Fragment(hide.Shortened(shown)) + note
}
