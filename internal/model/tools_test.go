package model

import (
	"encoding/json"
	"testing"
	"time"
)

func TestCurrentTime(t *testing.T) {
	now := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	for arguments, want := range map[string]string{
		`{}`:                        "2026-07-01T12:00:00Z",
		`null`:                      "2026-07-01T12:00:00Z",
		`{"zone":""}`:               "2026-07-01T12:00:00Z",
		`{"zone":"Local"}`:          "2026-07-01T12:00:00Z",
		`{"zone":"Europe/Berlin"}`:  "2026-07-01T14:00:00+02:00",
		`{"zone":"Asia/Kolkata"}`:   "2026-07-01T17:30:00+05:30",
		`{"zone":"Europe/Nowhere"}`: "",
		`{"zone":"../../etc/motd"}`: "",
		`{"zone":1}`:                "",
		`[]`:                        "",
	} {
		got, err := currentTime(now, arguments)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%s: %q %v, want %q", arguments, got, err, want)
		}
	}
}

func TestLookUp(t *testing.T) {
	for arguments, want := range map[string]string{
		`{"word":"größer"}`: `{"word":"größer","characters":6}`,
		`{"word":""}`:       `{"word":"","characters":0}`,
		`{}`:                "",
		`"x"`:               "",
	} {
		got, err := lookUp(t.Context(), arguments)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%s: %q %v, want %q", arguments, got, err, want)
		}
	}
}

func TestToolsAreWhole(t *testing.T) {
	if err := checkTools(BuiltinTools()); err != nil {
		t.Error(err)
	}
	for _, tool := range BuiltinTools() {
		if tool.Description == "" || !json.Valid(tool.Parameters) {
			t.Errorf("%+v", tool)
		}
		if _, err := tool.Run(t.Context(), `{"word":"x"}`); err != nil {
			t.Errorf("%s: %v", tool.Name, err)
		}
	}
}

// TestLine checks that a message of the model's server becomes one line, and that the line is
// truncated only after the API key was removed.
func TestLine(t *testing.T) {
	m := &upstreamModel{Config: Config{APIKey: "secret"}}
	for words, want := range map[string]string{
		"":                        "",
		" a\r\n\tb\x00 c\u2028d ": "a b c d",
		"Bearer secret.":          "Bearer ***.",
		"bad \xff byte":           "bad ? byte",
	} {
		if got := m.sanitize(words); got != want {
			t.Errorf("%q became %q, want %q", words, got, want)
		}
	}
	long := make([]byte, 0, 600)
	for len(long) < maxDetail-3 {
		long = append(long, 'x')
	}
	if got := m.sanitize(string(long) + "secret"); got != string(long)+"***" {
		t.Errorf("became %q", got)
	}
}
