package main

import (
	"cmp"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"

	"github.com/streamassay/streamassay/internal/redact"
	"github.com/streamassay/streamassay/internal/rules"
	"github.com/streamassay/streamassay/reports"
	"github.com/streamassay/streamassay/spec/dialect"
	"github.com/streamassay/streamassay/suites"
)

// A targetOptions holds the options of a run against one target. They come from flags or from a
// target in a --config file (see [targetFlags]).
type targetOptions struct {
	URL          string            // base URL; "" means the embedded reference server
	Dialects     []string          // names of dialects; empty means all if the target is the reference server
	Settings     map[string]string // settings of the dialects, by name of the setting
	Headers      []string          // headers to send with every request, as 'Name: value'
	OtherHeaders []string          // headers of a second user, as 'Name: value'
	CA           string            // PEM file with certificates to trust; "" means none
	Strict       bool              // also fail if only a SHOULD requirement is violated
	Repeat       int               // number of rounds
	Reports      []string          // reports to write, as FORMAT[=PATH]
	Transcripts  string            // directory for transcripts; "" means not to write any
	suite        suites.Target     // the options that the suite uses as they are; its other fields are not set

	verbose bool           // show details in the text report; a flag that is not a field of a --config file
	source  targetPosition // position in the --config file; zero if the target comes from flags
}

// reportUsage returns the help text of the --report flag, with the names of all report formats.
func reportUsage() string {
	names := make([]string, 0, len(reports.Formats))
	for _, f := range reports.Formats {
		names = append(names, f.Name)
	}
	return "`FORMAT[=PATH]` report to write (repeatable): to PATH, or to stdout instead of the text report if PATH is " +
		"- or missing; FORMAT is one of " + strings.Join(names, ", ")
}

// withoutPath returns err without the name of a file, so that callers can name the file themselves.
// If err is or wraps an [os.PathError], [os.LinkError] or [exec.Error], the result is the Err field
// of that error. Other errors, and nil, are returned unchanged.
func withoutPath(err error) error {
	if e, ok := errors.AsType[*os.PathError](err); ok {
		return e.Err
	}
	if e, ok := errors.AsType[*os.LinkError](err); ok {
		return e.Err
	}
	if e, ok := errors.AsType[*exec.Error](err); ok {
		return e.Err
	}
	return err
}

// suiteTarget returns a [suites.Target] with the options in t, for dialect d. If t has no URL, the
// base URL of the result is a placeholder, because the embedded reference server is not running
// yet. suiteTarget returns a usage error if an option is invalid.
func (t targetOptions) suiteTarget(d *dialect.Dialect) (s suites.Target, err error) {
	s = t.suite
	s.Dialect, s.Confirm = d, t.Repeat <= 1
	if s.Base, err = baseURL(t.source.settingName("url"), cmp.Or(t.URL, "http://127.0.0.1/"), d); err != nil {
		return s, err
	}
	if s.Header, err = parseTestHeaders(t.source.settingName("header"), t.Headers); err != nil {
		return s, err
	}
	if s.OtherHeader, err = parseTestHeaders(t.source.settingName("other-header"), t.OtherHeaders); err != nil {
		return s, err
	}
	if t.CA != "" {
		if t.suite.Insecure {
			return s, usageError("%s and %s cannot be used together: the latter accepts every certificate",
				t.source.settingName("ca"), t.source.settingName("insecure"))
		}
		if s.CA, err = readCA(t.CA); err != nil {
			return s, usageError("%s %s: %v", t.source.settingName("ca"), t.CA, err)
		}
	}
	err = s.Check()
	if invalid, ok := errors.AsType[*suites.FieldError](err); ok {
		for _, o := range targetFlags {
			if o.suiteField == invalid.Field {
				return s, usageError("%s: %v", t.source.settingName(o.name), invalid.Err)
			}
		}
	}
	if err != nil {
		return s, usageError("%v", err)
	}
	return s, nil
}

// readCA returns a pool of the certificates in the PEM file. It returns an error if the file cannot
// be read or contains no certificate. The error does not contain the file name; the caller must add
// it.
func readCA(file string) (*x509.CertPool, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, withoutPath(err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(data) {
		return nil, errors.New("contains no PEM certificate")
	}
	return pool, nil
}

// secretValues returns the texts to redact in all output: the values of headers that may contain a
// secret, and the secret parts of these values, such as the values of cookies.
func (t targetOptions) secretValues() (all []string) {
	for _, line := range slices.Concat(t.Headers, t.OtherHeaders) {
		name, value, _ := strings.Cut(line, ":")
		if name = strings.TrimSpace(name); !redact.IsHarmless(name) {
			for _, secret := range redact.SecretValues(name, value) {
				all = append(all, secret, suites.SharedSecret(secret))
			}
		}
	}
	return all
}

// checkGlobs returns a usage error if a glob of --only or --skip is malformed or matches nothing.
// Globs match the names of conversations, and the ids of the checks and requirements of the
// dialects.
func (t targetOptions) checkGlobs(dialects []*dialect.Dialect) error {
	known := t.conversationNames()
	for _, d := range dialects {
		for _, planned := range d.Plan(rules.All).PlannedChecks {
			known = append(known, planned.Check.ID)
		}
		for _, r := range d.Requirements {
			known = append(known, r.ID)
		}
	}
	return t.checkGlobsMatch(known, "check, requirement or scenario of "+dialectNames(dialects)+" "+seeLists)
}

// checkOnlyApplies returns a usage error if a glob of --only matches scenarios, but none that can be
// played in any of the dialects.
func (t targetOptions) checkOnlyApplies(dialects []*dialect.Dialect) error {
	for _, glob := range t.suite.Only {
		known, applies := false, false
		for _, s := range suites.Scenarios() {
			if ok, _ := path.Match(glob, s.Name); ok {
				known, applies = true, applies || slices.ContainsFunc(dialects, s.AppliesTo)
			}
		}
		if known && !applies {
			return usageError("%s %q matches no scenario of %s", t.source.settingName("only"), glob, dialectNames(dialects))
		}
	}
	return nil
}

// conversationNames returns the names of the conversations that the options t allow to play: the
// scenarios, the generated sequences of requests, and the generated combinations of requests.
func (t targetOptions) conversationNames() (all []string) {
	for _, s := range suites.Scenarios() {
		all = append(all, s.Name)
	}
	for n := range t.suite.Sequences {
		all = append(all, suites.SequenceName(n+1))
	}
	for n := range suites.MaxCombinations {
		all = append(all, suites.CombinationName(n+1))
	}
	return all
}

// checkGlobsMatch returns a usage error if a glob of --only or --skip is malformed or matches none
// of the known names. The argument noun says what these names stand for, such as "scenario of
// runs@2026-04". It follows the words "matches no" in the message.
func (t targetOptions) checkGlobsMatch(known []string, noun string) error {
	for _, flag := range []struct {
		name  string
		globs []string
	}{{"only", t.suite.Only}, {"skip", t.suite.Skip}} {
		for _, glob := range flag.globs {
			name := t.source.settingName(flag.name)
			if _, err := path.Match(glob, ""); err != nil {
				return usageError("%s %q: invalid glob: a \"[\" without \"]\", or a \"\\\" at the end (want e.g. tool.*)",
					name, glob)
			}
			if !slices.ContainsFunc(known, func(id string) bool { ok, _ := path.Match(glob, id); return ok }) {
				if suites.IsSequence(glob) {
					noun += fmt.Sprintf("; %s is %d: increase it to generate more sequences",
						t.source.settingName("sequences"), t.suite.Sequences)
				} else if strings.Contains(glob, ",") {
					noun += "; commas do not separate: give " + name + " several times"
				}
				return usageError("%s %q matches no %s", name, glob, noun)
			}
		}
	}
	return nil
}

// dialectNames returns the names of dialects, separated by commas, for messages. If there are more
// than three dialects, it returns only their number, as in "the 4 dialects".
func dialectNames(dialects []*dialect.Dialect) string {
	if len(dialects) > 3 {
		return fmt.Sprintf("the %d dialects", len(dialects))
	}
	var names []string
	for _, d := range dialects {
		names = append(names, d.Name)
	}
	return strings.Join(names, ", ")
}

// selectionText returns the globs of --only and --skip as text for messages. Each glob follows the
// name of the flag or field in which the user gave it.
func (t targetOptions) selectionText() string {
	var all []string
	for _, glob := range t.suite.Only {
		all = append(all, fmt.Sprintf("%s %q", t.source.settingName("only"), glob))
	}
	for _, glob := range t.suite.Skip {
		all = append(all, fmt.Sprintf("%s %q", t.source.settingName("skip"), glob))
	}
	return strings.Join(all, " and ")
}
