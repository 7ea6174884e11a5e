package fault

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// maxSpecs is the maximum number of faults in a list that [Parse] accepts.
const maxSpecs = 32

// Parse parses header, a list of faults from an HTTP header or the command line, and returns the
// faults in the same order. Faults are separated by commas. Each fault is a name followed by any
// number of settings NAME=VALUE, each preceded by a semicolon. A value that contains a comma, a
// semicolon or a double quote, or begins or ends with a space, must be in double quotes. Within the
// quotes, a backslash must precede each double quote and each backslash of the value:
//
//	abort; event=3, http-error; status=503; text="come back later, please"
//
// Parse returns nil for an empty list. It returns an error if the syntax is invalid, a fault or
// parameter is unknown, a parameter is set twice, a value is invalid, a fault has more than one
// trigger, or there are more than 32 faults.
func Parse(header string) (specs []Spec, err error) {
	rest := strings.TrimSpace(header)
	for rest != "" {
		if len(specs) == maxSpecs {
			return nil, fmt.Errorf("more than %d faults", maxSpecs)
		}
		var name string
		settings := map[string]string{}
		if name, rest = cutWord(rest); name == "" {
			return nil, errors.New("missing fault name")
		}
		for strings.HasPrefix(rest, ";") {
			var key, text string
			if key, text, rest, err = parseSetting(rest[1:]); err != nil {
				return nil, fmt.Errorf("fault %s: %w", name, err)
			}
			if _, duplicate := settings[key]; duplicate {
				return nil, fmt.Errorf("fault %s: %s is set twice", name, key)
			}
			settings[key] = text
		}
		u, err := newSpec(name, settings)
		if err != nil {
			return nil, err
		}
		specs = append(specs, u)
		if rest == "" {
			break
		}
		if rest = strings.TrimSpace(rest[1:]); rest == "" {
			return nil, errors.New("missing fault after the last comma")
		}
	}
	return specs, nil
}

// cutWord returns the text in s before the first comma or semicolon, without white space around it,
// and the rest of s, which is "" or begins with a comma or semicolon.
func cutWord(s string) (word, rest string) {
	i := strings.IndexAny(s, ",;")
	if i < 0 {
		i = len(s)
	}
	return strings.TrimSpace(s[:i]), s[i:]
}

// parseSetting parses a setting "key=text" at the beginning of s, in which text may be quoted. The
// result rest is the text after the setting: "", or text that begins with a comma or semicolon.
// parseSetting returns an error if the equals sign, the key or a closing quote is missing, or if
// anything else follows the closing quote.
func parseSetting(s string) (key, text, rest string, err error) {
	key, s, ok := strings.Cut(s, "=")
	key = strings.TrimSpace(key)
	if !ok || key == "" || strings.ContainsAny(key, ";,\"") {
		return "", "", "", fmt.Errorf("invalid setting %q (want name=value)", strings.TrimSpace(key))
	}
	s = strings.TrimLeft(s, " \t")
	if !strings.HasPrefix(s, `"`) {
		text, rest = cutWord(s)
		return key, text, rest, nil
	}
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == '\\' && i+1 < len(s):
			i++
			b.WriteByte(s[i])
		case s[i] == '"':
			rest = strings.TrimLeft(s[i+1:], " \t")
			if rest != "" && rest[0] != ',' && rest[0] != ';' {
				return "", "", "", fmt.Errorf("%s: want a comma or semicolon after the closing quote", key)
			}
			return key, b.String(), rest, nil
		default:
			b.WriteByte(s[i])
		}
	}
	return "", "", "", fmt.Errorf("%s: missing closing quote", key)
}

// String returns the fault with its settings in the syntax of [Parse]. It returns "" for a Spec
// without a Fault.
func (u Spec) String() string {
	if u.Fault == nil {
		return ""
	}
	var b strings.Builder
	b.WriteString(u.Fault.Name)
	if u.Trigger.IsSet() {
		b.WriteString("; " + u.Trigger.String())
	}
	for _, key := range slices.Sorted(maps.Keys(u.params)) {
		b.WriteString("; " + key + "=" + quoteValue(u.params[key].text))
	}
	return b.String()
}

// quoteValue returns text as a value in the syntax of [Parse]. If text is empty, contains a
// character that has a meaning in that syntax, or begins or ends with white space, it is put in
// double quotes, with a backslash before each double quote and each backslash. Otherwise text is
// returned unchanged.
func quoteValue(text string) string {
	if text != "" && !strings.ContainsAny(text, "\",;\\") && strings.TrimSpace(text) == text {
		return text
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text) + `"`
}

// MarshalText implements encoding.TextMarshaler. It returns the result of [Spec.String] and no
// error.
func (u Spec) MarshalText() ([]byte, error) { return []byte(u.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler. It returns an error and leaves u unchanged
// unless text is exactly one fault in the syntax of [Parse].
func (u *Spec) UnmarshalText(text []byte) error {
	specs, err := Parse(string(text))
	if err == nil && len(specs) != 1 {
		err = fmt.Errorf("got %d faults, want 1", len(specs))
	}
	if err == nil {
		*u = specs[0]
	}
	return err
}
