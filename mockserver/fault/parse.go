package fault

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// maxSpecs bounds how many faults one header can name.
const maxSpecs = 32

// Parse reads faults as headers and command lines name them: the name, then what is
// set, each after a semicolon; faults are parted by commas. What holds a comma, a
// semicolon, a quote or a space at its ends stands in double quotes:
//
//	abort; event=3, http-error; status=503; text="come back later, please"
func Parse(header string) (specs []Spec, err error) {
	rest := strings.TrimSpace(header)
	for rest != "" {
		if len(specs) == maxSpecs {
			return nil, fmt.Errorf("more than %d faults at once", maxSpecs)
		}
		var name string
		settings := map[string]string{}
		if name, rest, err = parseName(rest); err != nil {
			return nil, err
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
			return nil, errors.New("a fault is wanted after the last comma")
		}
	}
	return specs, nil
}

// parseName takes a name from the front of s.
func parseName(s string) (name, rest string, err error) {
	i := strings.IndexAny(s, ",;")
	if i < 0 {
		i = len(s)
	}
	if name = strings.TrimSpace(s[:i]); name == "" {
		return "", "", errors.New("the name of a fault is missing")
	}
	return name, s[i:], nil
}

// parseSetting takes "key=value" from the front of s.
func parseSetting(s string) (key, text, rest string, err error) {
	key, s, ok := strings.Cut(s, "=")
	key = strings.TrimSpace(key)
	if !ok || key == "" || strings.ContainsAny(key, ";,\"") {
		return "", "", "", fmt.Errorf("%q is no setting: name=value is wanted", strings.TrimSpace(key))
	}
	s = strings.TrimLeft(s, " \t")
	if !strings.HasPrefix(s, `"`) {
		i := strings.IndexAny(s, ",;")
		if i < 0 {
			i = len(s)
		}
		return key, strings.TrimSpace(s[:i]), s[i:], nil
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
				return "", "", "", fmt.Errorf("%s: a comma or a semicolon is wanted after the quotes", key)
			}
			return key, b.String(), rest, nil
		default:
			b.WriteByte(s[i])
		}
	}
	return "", "", "", fmt.Errorf("%s: the closing quote is missing", key)
}

// String is the use as [Parse] reads it.
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

// quoteValue is a text as it stands in a header.
func quoteValue(text string) string {
	if text != "" && !strings.ContainsAny(text, "\",;\\") && strings.TrimSpace(text) == text {
		return text
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text) + `"`
}

// MarshalText is [Use.String].
func (u Spec) MarshalText() ([]byte, error) { return []byte(u.String()), nil }

// UnmarshalText reads one use as [Parse] does.
func (u *Spec) UnmarshalText(text []byte) error {
	uses, err := Parse(string(text))
	if err == nil && len(uses) != 1 {
		err = fmt.Errorf("%d faults where one is wanted", len(uses))
	}
	if err == nil {
		*u = uses[0]
	}
	return err
}
