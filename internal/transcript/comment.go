package transcript

import (
	"bytes"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/streamassay/streamassay/internal/redact"
)

// A commentSetting is a line of the comment that is not only for the reader.
type commentSetting struct {
	key        string
	repeatable bool // it may be given more than once
	expects    string
	read       func(t *Transcript, value string) bool
	write      func(t *Transcript) []string
}

// settings are all there are, in the order in which they are written.
var settings = []commentSetting{
	textSetting("dialect", "a protocol, like runs@2026-04", func(t *Transcript) *string { return &t.Dialect }),
	textSetting("target", "a base URL", func(t *Transcript) *string { return &t.Target }),
	textSetting("scenario", "a name", func(t *Transcript) *string { return &t.Scenario }),
	{
		key: "recorded", expects: "a time like 2026-01-31T12:00:00Z",
		read: func(t *Transcript, value string) (ok bool) {
			at, err := time.Parse(time.RFC3339Nano, value)
			t.Recorded = at
			return err == nil
		},
		write: func(t *Transcript) []string {
			if t.Recorded.IsZero() {
				return nil
			}
			return []string{t.Recorded.Format(time.RFC3339Nano)}
		},
	},
	{
		key: "scripted", expects: "yes or no",
		read: func(t *Transcript, value string) bool {
			t.Trace.Scripted = value == "yes"
			return value == "yes" || value == "no"
		},
		write: func(t *Transcript) []string {
			if !t.Trace.Scripted {
				return nil
			}
			return []string{"yes"}
		},
	},
	{
		key: "streams", expects: "a number from 1 on",
		read: func(t *Transcript, value string) bool {
			n, err := strconv.Atoi(value)
			t.Trace.StreamLimit = n
			return err == nil && n > 0
		},
		write: func(t *Transcript) []string {
			if t.Trace.StreamLimit <= 0 {
				return nil
			}
			return []string{strconv.Itoa(t.Trace.StreamLimit)}
		},
	},
	{
		key: "want", expects: "the ID of a check", repeatable: true,
		read: func(t *Transcript, value string) bool {
			t.FailingChecks = append(t.FailingChecks, value)
			return value != ""
		},
		write: func(t *Transcript) []string { return t.FailingChecks },
	},
}

// textSetting is a setting that is kept as it is.
func textSetting(key, takes string, field func(*Transcript) *string) commentSetting {
	return commentSetting{
		key: key, expects: takes,
		read:  func(t *Transcript, value string) bool { *field(t) = value; return value != "" },
		write: func(t *Transcript) []string { return slices.DeleteFunc([]string{*field(t)}, isEmpty) },
	}
}

func isEmpty(s string) bool { return s == "" }

func settingNames() string {
	var all []string
	for _, s := range settings {
		all = append(all, s.key)
	}
	return strings.Join(all, ", ")
}

var (
	// settingPattern is what makes a line of the comment a setting.
	settingPattern = regexp.MustCompile(`^([a-z][a-z-]*):(?:[ \t]+(.*))?$`)
	// misspelledSetting is a setting that somebody took for a heading.
	misspelledSetting = regexp.MustCompile(`^(?i)(dialect|want|scripted): *\S+$`)
)

// parseComment reads the settings; the rest is prose.
func (t *Transcript) parseComment(comment string) error {
	var prose []string
	seen := map[string]bool{}
	at := position{t.Name, 0}
	for line := range strings.Lines(comment) {
		at.line++
		line = strings.TrimRight(line, " \t\r\n")
		m := settingPattern.FindStringSubmatch(line)
		if m == nil {
			if almost := misspelledSetting.FindStringSubmatch(line); almost != nil {
				return at.errorAt("%s: a setting is written in lower case (%s:), and a line of prose that looks like one is indented", almost[1], strings.ToLower(almost[1]))
			}
			prose = append(prose, line)
			continue
		}
		key, value := m[1], oneLine(m[2])
		i := slices.IndexFunc(settings, func(s commentSetting) bool { return s.key == key })
		switch {
		case i < 0:
			return at.errorAt("%s: there is no such setting: there are %s (a line of prose that begins with a word and a colon is indented)", excerpt(key), settingNames())
		case seen[key] && !settings[i].repeatable:
			return at.errorAt("%s: it is given twice", key)
		case !settings[i].read(t, value):
			return at.errorAt("%s: %q: it takes %s", key, excerpt(value), settings[i].expects)
		}
		seen[key] = true
	}
	t.Comment = strings.Trim(strings.Join(prose, "\n"), "\n")
	return nil
}

// writeComment writes prose and settings.
func writeComment(b *bytes.Buffer, t *Transcript, hide secretRedactor) {
	var prose []string
	for line := range strings.Lines(hide.text(t.Comment)) {
		prose = append(prose, proseLine(line))
	}
	if text := strings.Trim(strings.Join(prose, "\n"), "\n"); text != "" {
		b.WriteString(text + "\n\n")
	}
	for _, s := range settings {
		for _, value := range s.write(t) {
			if s.key == "target" {
				value = withoutUser(value)
			}
			b.WriteString(s.key + ": " + oneLine(hide.text(value)) + "\n")
		}
	}
}

// proseLine is a line of prose, indented as it was, or so that nothing mistakes it
// for a setting or a section.
func proseLine(line string) string {
	text := strings.TrimLeft(line, " ")
	line = strings.TrimRight(line[:len(line)-len(text)]+oneLine(text), " ")
	marker := strings.HasPrefix(line, markerPrefix) && strings.HasSuffix(line, markerSuffix)
	if marker || settingPattern.MatchString(line) || misspelledSetting.MatchString(line) {
		line = " " + line
	}
	return line
}

// withoutUser is a URL without the user and the password in it.
func withoutUser(s string) string {
	u, err := url.Parse(s)
	if err != nil || u.User == nil {
		return s
	}
	u.User = url.User(redact.Placeholder)
	return u.String()
}
