package main

import (
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/streamassay/streamassay/internal/redact"
	"github.com/streamassay/streamassay/reports"
	"github.com/streamassay/streamassay/spec/dialect"
	"github.com/streamassay/streamassay/spec/rules"
	"github.com/streamassay/streamassay/suites"
)

// A targetOptions holds the options of a run for one target, which come from flags or from a target
// in a --config file.
type targetOptions struct {
	URL          string            `yaml:"url"`
	Dialects     []string          `yaml:"dialects"`
	Headers      []string          `yaml:"headers"`       // "Name: value"
	OtherHeaders []string          `yaml:"other-headers"` // the same for a second user
	StreamLimit  int               `yaml:"stream-limit"`
	Prompts      string            `yaml:"prompts"`
	Prompt       map[string]string `yaml:"prompt"`
	Claim        []string          `yaml:"claim"`
	Lacks        []string          `yaml:"lacks"`
	Only         []string          `yaml:"only"`
	Skip         []string          `yaml:"skip"`
	Strict       bool              `yaml:"strict"`
	Timeout      string            `yaml:"timeout"`
	IdleTimeout  string            `yaml:"idle-timeout"`
	MaxTime      string            `yaml:"max-time"`
	MaxBytes     byteSize          `yaml:"max-bytes"`
	MaxEvents    int               `yaml:"max-events"`
	Parallel     int               `yaml:"parallel"`
	Seed         uint64            `yaml:"seed"`
	Salt         uint64            `yaml:"salt"`
	Sequences    int               `yaml:"sequences"`
	Repeat       int               `yaml:"repeat"`
	CA           string            `yaml:"ca"`
	Insecure     bool              `yaml:"insecure"`
	MaxEvent     byteSize          `yaml:"max-event"`
	Reports      []string          `yaml:"reports"`
	Transcripts  string            `yaml:"transcripts"`

	verbose bool         // details in the text report; only a flag, not a field of the file
	source  configSource // position in the --config file
}

// addFlags adds the flags of the command run that describe a target to cmd. Each field of a target
// in a --config file has such a flag, except the URL, which is an argument.
func (t *targetOptions) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.Var((*nameList)(&t.Dialects), "dialect", "`DIALECT` dialect to test: NAME or NAME@VERSION (repeatable)")
	f.StringArrayVar(&t.Headers, "header", nil,
		"`'Name: value'` header to send with every request (repeatable); the value is never shown")
	f.StringArrayVar(&t.OtherHeaders, "other-header", nil,
		"`'Name: value'` header of a second user, sent instead of the first user's credentials (repeatable); the "+
			"value is never shown")
	f.IntVar(&t.StreamLimit, "stream-limit", 0,
		"`N` maximum number of concurrent streams per user that the target allows (0 = unknown, not tested)")
	f.StringVar(&t.Prompts, "prompts", "conformance",
		"`STYLE` style of prompts: conformance (those of docs/prompts.md) or natural (plain language)")
	f.StringToStringVar(&t.Prompt, "prompt", nil, "`SCENARIO=TEXT` prompt to use for a scenario (repeatable)")
	f.Var((*nameList)(&t.Claim), "claim",
		"`CAPABILITY` capability that the target has (repeatable; all = every one): its checks fail if the target "+
			"does not exercise "+
			"them, instead of being reported as not tested")
	f.Var((*nameList)(&t.Lacks), "lacks",
		"`CAPABILITY` capability that the target does not have (repeatable); its checks are skipped")
	f.StringArrayVar(&t.Only, "only", nil,
		"`GLOB` judge only checks, requirements or scenarios whose id matches (repeatable)")
	f.StringArrayVar(&t.Skip, "skip", nil,
		"`GLOB` leave out checks, requirements or scenarios whose id matches (repeatable)")
	f.BoolVar(&t.Strict, "strict", false, "fail if a SHOULD requirement is violated too")
	t.addLimitFlags(f)
	f.IntVar(&t.Parallel, "parallel", 16, "`N` maximum number of scenarios that run concurrently")
	f.Uint64Var(&t.Seed, "seed", 0, "`NUMBER` seed for random choices (0 = random; the seed used is in the report)")
	f.Uint64Var(&t.Salt, "salt", 0,
		"`NUMBER` salt for ids of threads, runs and messages (0 = random, so that every run uses new ids); give the "+
			"same --salt "+
			"and --seed to repeat the same requests, e.g. after restarting the target")
	f.IntVar(&t.Sequences, "sequences", 0,
		"`N` number of random request sequences to run after the scenarios, reproducible with --seed")
	f.IntVar(&t.Repeat, "repeat", 1,
		"`N` number of rounds; requirements whose verdict differs between rounds are reported as flaky")
	f.BoolVarP(&t.verbose, "verbose", "v", false,
		"also list checks that found nothing to judge, were skipped or were excluded")
	f.StringVar(&t.CA, "ca", "", "`FILE` PEM file with certificates to trust")
	f.BoolVar(&t.Insecure, "insecure", false, "accept any TLS certificate")
	f.StringArrayVar(&t.Reports, "report", nil,
		"`FORMAT[=PATH]` report to write (repeatable; to stdout if PATH is - or missing); FORMAT is one of "+
			""+reportFormatNames())
	f.Var(&singleValue{value: &t.Transcripts}, "transcripts", "`DIR` directory for the transcript of each conversation")
	completeFlag(cmd, "dialect", dialect.Names())
	completeFlag(cmd, "claim", suites.Capabilities())
	completeFlag(cmd, "lacks", suites.Capabilities())
}

// reportFormatNames returns the names of the report formats, separated by commas, for help texts.
func reportFormatNames() string {
	names := make([]string, 0, len(reports.Formats))
	for _, f := range reports.Formats {
		names = append(names, f.Name)
	}
	return strings.Join(names, ", ")
}

// withoutPath returns the cause of err if err is an error that contains the name of a file, for
// callers that name the file themselves. Other errors are returned unchanged.
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

// suiteTarget converts the options to a target of package suites, for dialect d and the base URL
// base. It returns a usage error if an option is invalid.
func (t targetOptions) suiteTarget(d *dialect.Dialect, base *url.URL) (suites.Target, error) {
	s := suites.Target{
		Dialect: d, Base: base, PromptStyle: suites.PromptStyle(t.Prompts), PromptOverrides: t.Prompt,
		ClaimedCapabilities: t.Claim, LackedCapabilities: t.Lacks, Only: t.Only, Skip: t.Skip,
		Parallel: t.Parallel, Seed: t.Seed, Salt: t.Salt, Insecure: t.Insecure,
		StreamLimit: t.StreamLimit, Sequences: t.Sequences, Confirm: t.Repeat <= 1,
	}
	if s.PromptStyle != suites.ConformancePrompts && s.PromptStyle != suites.NaturalPrompts {
		return s, usageError("%s %q: must be conformance or natural", t.source.settingName("prompts"), t.Prompts)
	}
	if err := t.applyLimits(&s); err != nil {
		return s, err
	}
	if t.Sequences < 0 || t.Sequences > suites.MaxSequences {
		name := t.source.settingName("sequences")
		return s, usageError("%s %d: must be from 0 to %d", name, t.Sequences, suites.MaxSequences)
	}
	if t.StreamLimit < 0 || t.StreamLimit > suites.MaxStreamLimit {
		return s, usageError("%s %d: must be from 1 to %d, or 0 for unknown",
			t.source.settingName("stream-limit"), t.StreamLimit, suites.MaxStreamLimit)
	}
	var err error
	if t.Parallel < 1 || t.Parallel > maxParallel {
		return s, usageError("%s %d: must be from 1 to %d", t.source.settingName("parallel"), t.Parallel, maxParallel)
	}
	if s.Header, err = parseHeaders(t.source.settingName("headers"), t.Headers); err != nil {
		return s, err
	}
	if s.OtherHeader, err = parseHeaders(t.source.settingName("other-headers"), t.OtherHeaders); err != nil {
		return s, err
	}
	if t.CA != "" {
		if s.CA, err = readCA(t.CA); err != nil {
			return s, usageError("%s %s: %v", t.source.settingName("ca"), t.CA, err)
		}
	}
	return s, nil
}

// Upper limits of --timeout, --idle-timeout and --max-time, and of --parallel.
const (
	maxTimeout  = time.Hour
	maxParallel = 1024
)

// parseTimeout parses a duration. It returns an error if the duration is invalid, not above 0, or
// above [maxTimeout].
func parseTimeout(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 || d > maxTimeout {
		return 0, fmt.Errorf("must be a duration above 0 and up to %s (e.g. 500ms, 15s)", new(positiveDuration(maxTimeout)))
	}
	return d, nil
}

// readCA reads the PEM certificates in a file. It returns an error if there are none. Errors do not
// contain the file name.
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

// secretValues returns the values that must not be shown: the values of headers that may hold a
// secret, the parts of them that are secret by themselves, such as the values of cookies, and the
// password of the URL.
func (t targetOptions) secretValues() (all []string) {
	for _, line := range slices.Concat(t.Headers, t.OtherHeaders) {
		name, value, _ := strings.Cut(line, ":")
		if name = strings.TrimSpace(name); !redact.IsHarmless(name) {
			all = append(all, redact.SecretValues(name, value)...)
		}
	}
	if u, err := url.Parse(t.URL); err == nil && u.User != nil {
		if password, ok := u.User.Password(); ok {
			all = append(all, password)
		}
	}
	return all
}

// checkGlobs returns a usage error if a glob of --only or --skip is malformed, or matches no check,
// requirement, scenario or sequence of the dialects.
func (t targetOptions) checkGlobs(dialects []*dialect.Dialect) error {
	known := suites.ScenarioNames()
	for n := range min(t.Sequences, suites.MaxSequences) {
		known = append(known, suites.SequenceName(n+1))
	}
	for _, d := range dialects {
		for _, duty := range d.Plan(rules.All).Obligations {
			known = append(known, duty.Check.ID)
		}
		for _, r := range d.Requirements {
			known = append(known, r.ID)
		}
	}
	for key, globs := range map[string][]string{"only": t.Only, "skip": t.Skip} {
		for _, glob := range globs {
			name := t.source.settingName(key)
			if _, err := path.Match(glob, ""); err != nil {
				return usageError("%s %q: invalid glob: %v", name, glob, err)
			}
			if !slices.ContainsFunc(known, func(id string) bool { ok, _ := path.Match(glob, id); return ok }) {
				return usageError("%s %q matches no check, requirement or scenario of %s (see streamassay list)",
					name, glob, dialectNames(dialects))
			}
		}
	}
	return nil
}

// dialectNames returns the names of the dialects, separated by commas, for messages. If there are
// more than three, it returns only their number.
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

// selectionText returns the values of --only and --skip, each with the name of the flag or field
// that the user gave, for messages.
func (t targetOptions) selectionText() string {
	var all []string
	for _, glob := range t.Only {
		all = append(all, fmt.Sprintf("%s %q", t.source.settingName("only"), glob))
	}
	for _, glob := range t.Skip {
		all = append(all, fmt.Sprintf("%s %q", t.source.settingName("skip"), glob))
	}
	return strings.Join(all, " and ")
}

// urlWithoutUser returns u as text, without user name and password.
func urlWithoutUser(u *url.URL) string {
	plain := *u
	plain.User = nil
	return fmt.Sprint(&plain)
}
