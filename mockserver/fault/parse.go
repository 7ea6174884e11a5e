package fault

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// mostUses bounds how many faults one header can name.
const mostUses = 32

// Parse reads faults as headers and command lines name them: the name, then what is
// set, each after a semicolon; faults are parted by commas. What holds a comma, a
// semicolon, a quote or a space at its ends stands in double quotes:
//
//	abort; event=3, http-error; status=503; text="come back later, please"
func Parse(header string) (uses []Use, err error) {
	rest := strings.TrimSpace(header)
	for rest != "" {
		if len(uses) == mostUses {
			return nil, fmt.Errorf("more than %d faults at once", mostUses)
		}
		var name string
		said := map[string]string{}
		if name, rest, err = word(rest); err != nil {
			return nil, err
		}
		for strings.HasPrefix(rest, ";") {
			var key, text string
			if key, text, rest, err = setting(rest[1:]); err != nil {
				return nil, fmt.Errorf("fault %s: %w", name, err)
			}
			if _, twice := said[key]; twice {
				return nil, fmt.Errorf("fault %s: %s is set twice", name, key)
			}
			said[key] = text
		}
		u, err := use(name, said)
		if err != nil {
			return nil, err
		}
		uses = append(uses, u)
		if rest == "" {
			break
		}
		if rest = strings.TrimSpace(rest[1:]); rest == "" {
			return nil, errors.New("a fault is wanted after the last comma")
		}
	}
	return uses, nil
}

// word takes a name from the front of s.
func word(s string) (name, rest string, err error) {
	i := strings.IndexAny(s, ",;")
	if i < 0 {
		i = len(s)
	}
	if name = strings.TrimSpace(s[:i]); name == "" {
		return "", "", errors.New("the name of a fault is missing")
	}
	return name, s[i:], nil
}

// setting takes "key=value" from the front of s.
func setting(s string) (key, text, rest string, err error) {
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
func (u Use) String() string {
	if u.Fault == nil {
		return ""
	}
	var b strings.Builder
	b.WriteString(u.Fault.Name)
	if u.At.Set() {
		b.WriteString("; " + u.At.String())
	}
	for _, key := range slices.Sorted(maps.Keys(u.set)) {
		b.WriteString("; " + key + "=" + quoted(u.set[key].text))
	}
	return b.String()
}

// quoted is a text as it stands in a header.
func quoted(text string) string {
	if text != "" && !strings.ContainsAny(text, "\",;\\") && strings.TrimSpace(text) == text {
		return text
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text) + `"`
}

// MarshalText is [Use.String].
func (u Use) MarshalText() ([]byte, error) { return []byte(u.String()), nil }

// UnmarshalText reads one use as [Parse] does.
func (u *Use) UnmarshalText(text []byte) error {
	uses, err := Parse(string(text))
	if err == nil && len(uses) != 1 {
		err = fmt.Errorf("%d faults where one is wanted", len(uses))
	}
	if err == nil {
		*u = uses[0]
	}
	return err
}
