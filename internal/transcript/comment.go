package transcript

import (
	"bytes"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/streamassay/streamassay/internal/redact"
)

// A settingCodec reads and writes one kind of setting. A setting is a line KEY: VALUE in the
// comment of a transcript.
type settingCodec struct {
	key        string
	repeatable bool                                   // the setting may occur more than once
	expects    string                                 // the form of a valid value, for errors
	read       func(t *Transcript, value string) bool // stores value in t; false if value is invalid
	write      func(t *Transcript) []string           // returns the values; those that are "" are not written
}

// settings lists all settings that the comment of a transcript may have, in the order in which
// Format writes them.
var settings = []settingCodec{
	textSetting("dialect", "a dialect (e.g. runs@2026-04)", func(t *Transcript) *string { return &t.Dialect }),
	textSetting("target", "a base URL", func(t *Transcript) *string { return &t.Target }),
	textSetting("scenario", "a name", func(t *Transcript) *string { return &t.Scenario }),
	{
		key: "recorded", expects: "a time (e.g. 2026-01-31T12:00:00Z)",
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
	switchSetting("scripted", "yes", func(t *Transcript) *bool { return &t.Trace.Scripted }),
	{
		key: "streams", expects: "a number of at least 1",
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
	switchSetting("replay", "no", func(t *Transcript) *bool { return &t.Trace.NoReplay }),
	{
		key: "lacks", expects: "the name of a capability", repeatable: true,
		read: func(t *Transcript, value string) bool {
			t.Trace.LackedCapabilities = append(t.Trace.LackedCapabilities, value)
			return value != ""
		},
		write: func(t *Transcript) []string { return t.Trace.LackedCapabilities },
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

// switchSetting returns a setting whose value is "yes" or "no". The field that field points to is
// true if the value is when. If the field is false, the setting is not written.
func switchSetting(key, when string, field func(*Transcript) *bool) settingCodec {
	return settingCodec{
		key: key, expects: "yes or no",
		read: func(t *Transcript, value string) bool {
			*field(t) = value == when
			return value == "yes" || value == "no"
		},
		write: func(t *Transcript) []string {
			if !*field(t) {
				return nil
			}
			return []string{when}
		},
	}
}

// textSetting returns the codec of a setting that has the given key and accepts any non-empty
// value. The string expects describes a valid value, for error messages. The function field returns
// a pointer to the field of a transcript that holds the value.
func textSetting(key, expects string, field func(*Transcript) *string) settingCodec {
	return settingCodec{
		key: key, expects: expects,
		read:  func(t *Transcript, value string) bool { *field(t) = value; return value != "" },
		write: func(t *Transcript) []string { return []string{*field(t)} },
	}
}

var (
	// settingPattern matches a line that has the form of a setting. Its groups are the name and the
	// value.
	settingPattern = regexp.MustCompile(`^([a-z][a-z-]*):(?:[ \t]+(.*))?$`)
	// misspelledSetting matches a line that is probably meant as a setting. It also matches valid
	// settings, so a line must be compared with settingPattern first.
	misspelledSetting = regexp.MustCompile(`^(?i)(dialect|want|scripted): *\S+$`)
)

// parseComment parses comment, the comment of a transcript. It stores the settings in t, and the
// remaining prose in t.Comment. It returns an error with the file name and the line if a setting is
// unknown or invalid, if a setting that is not repeatable occurs twice, or if a line looks like a
// misspelled setting.
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
				return at.errorAt("%s: settings are in lower case (%s:), and prose that looks like a setting must be indented",
					almost[1], strings.ToLower(almost[1]))
			}
			prose = append(prose, line)
			continue
		}
		key, value := m[1], oneLine(m[2])
		i := slices.IndexFunc(settings, func(s settingCodec) bool { return s.key == key })
		switch {
		case i < 0:
			var known []string
			for _, s := range settings {
				known = append(known, s.key)
			}
			return at.errorAt("%s: unknown setting (want one of %s; prose that begins with a word and a colon must be indented)",
				excerpt(key), strings.Join(known, ", "))
		case seen[key] && !settings[i].repeatable:
			return at.errorAt("%s: setting occurs twice", key)
		case !settings[i].read(t, value):
			return at.errorAt("%s: invalid value %q: want %s", key, excerpt(value), settings[i].expects)
		}
		seen[key] = true
	}
	t.Comment = strings.Trim(strings.Join(prose, "\n"), "\n")
	return nil
}

// writeComment writes the comment of the transcript t to b: the prose, followed by the settings. It
// uses hide to replace secrets.
func writeComment(b *bytes.Buffer, t *Transcript, hide secretRedactor) {
	var prose []string
	for line := range strings.Lines(hide.String(t.Comment)) {
		prose = append(prose, proseLine(line))
	}
	if text := strings.Trim(strings.Join(prose, "\n"), "\n"); text != "" {
		b.WriteString(text + "\n\n")
	}
	for _, s := range settings {
		for _, value := range s.write(t) {
			if value == "" {
				continue
			}
			if s.key == "target" {
				value = redact.WithoutUser(value)
			}
			b.WriteString(s.key + ": " + oneLine(hide.String(value)) + "\n")
		}
	}
}

// proseLine returns line, a line of prose, as Format writes it: on one line and without trailing
// spaces. A line that looks like a setting or a section marker is indented, so that Parse reads it
// as prose.
func proseLine(line string) string {
	text := strings.TrimLeft(line, " ")
	line = strings.TrimRight(line[:len(line)-len(text)]+oneLine(text), " ")
	marker := strings.HasPrefix(line, markerPrefix) && strings.HasSuffix(line, markerSuffix)
	if marker || settingPattern.MatchString(line) || misspelledSetting.MatchString(line) {
		line = " " + line
	}
	return line
}
