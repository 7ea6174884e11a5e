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
	"github.com/streamassay/streamassay/spec/dialect"
	"github.com/streamassay/streamassay/spec/rules"
	"github.com/streamassay/streamassay/suites"
)

// A targetOptions is what a run is told about one server, by flags or by a file.
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

	verbose bool         // of the text for people; a matter of the command line alone
	source  configSource // where in a file it stands
}

// addFlags lets a command line say everything that a file can.
func (t *targetOptions) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.Var((*nameList)(&t.Dialects), "dialect", "the dialects to hold it to, NAME or NAME@VERSION")
	f.StringArrayVar(&t.Headers, "header", nil, "`'Name: value'` sent with every request (repeatable); never shown anywhere")
	f.StringArrayVar(&t.OtherHeaders, "other-header", nil, "`'Name: value'` of a second user, in place of the first one's credentials (repeatable); never shown anywhere")
	f.IntVar(&t.StreamLimit, "stream-limit", 0, "how many streams at once the target allows one user, from 1 on (0: nobody knows)")
	f.StringVar(&t.Prompts, "prompts", "conformance", "`conformance|natural`: ask in the prompts of docs/prompts.md, or in plain words")
	f.StringToStringVar(&t.Prompt, "prompt", nil, "`SCENARIO=TEXT`: ask for a scenario with these words")
	f.Var((*nameList)(&t.Claim), "claim", "a `capability` that the target promises (repeatable; all: every one)")
	f.Var((*nameList)(&t.Lacks), "lacks", "a `capability` that the target does not have (repeatable)")
	f.StringArrayVar(&t.Only, "only", nil, "`glob` of check, requirement or scenario ids to judge (repeatable)")
	f.StringArrayVar(&t.Skip, "skip", nil, "`glob` of check, requirement or scenario ids to leave out (repeatable)")
	f.BoolVar(&t.Strict, "strict", false, "a broken SHOULD fails too")
	t.addLimitFlags(f)
	f.IntVar(&t.Parallel, "parallel", 16, "how many scenarios are played at once")
	f.Uint64Var(&t.Seed, "seed", 0, "`NUMBER` that fixes all random choices: the same seed plays the same steps (0: another one each time, see the report)")
	f.Uint64Var(&t.Salt, "salt", 0, "`NUMBER` that fixes the names of state, such as ids of conversations, which are new in every run otherwise: with --seed, the same bytes again, for a target that was restarted")
	f.IntVar(&t.Sequences, "sequences", 0, "how many `sequences` of steps to make up from --seed and play, after the scenarios")
	f.IntVar(&t.Repeat, "repeat", 1, "how many `rounds` to play: tells verdicts that are not alike in all of them, and judges what was recorded again (a difference there is the harness's fault: exit 5)")
	f.BoolVarP(&t.verbose, "verbose", "v", false, "name what was silent, skipped or excluded too")
	f.StringVar(&t.CA, "ca", "", "`FILE` of PEM certificates to trust")
	f.BoolVar(&t.Insecure, "insecure", false, "trust any certificate")
	f.StringArrayVar(&t.Reports, "report", nil, "`FORMAT[=PATH]`: write a report (repeatable; without PATH or with -: to stdout)")
	f.Var(&singleValue{value: &t.Transcripts}, "transcripts", "`DIR` to write each conversation to")
	_ = cmd.RegisterFlagCompletionFunc("dialect", cobra.FixedCompletions(dialect.Names(), cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("claim", cobra.FixedCompletions(suites.Capabilities(), cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("lacks", cobra.FixedCompletions(suites.Capabilities(), cobra.ShellCompDirectiveNoFileComp))
}

// withoutPath is an error about a file without the file's name, which the caller
// says.
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

// suiteTarget makes what the suites need of a target, for one dialect.
func (t targetOptions) suiteTarget(d *dialect.Dialect, base *url.URL) (suites.Target, error) {
	s := suites.Target{
		Dialect: d, Base: base, PromptStyle: suites.PromptStyle(t.Prompts), PromptOverrides: t.Prompt, ClaimedCapabilities: t.Claim, LackedCapabilities: t.Lacks,
		Only: t.Only, Skip: t.Skip, Parallel: t.Parallel, Seed: t.Seed, Salt: t.Salt, Insecure: t.Insecure,
		StreamLimit: t.StreamLimit, Sequences: t.Sequences, Confirm: t.Repeat <= 1,
	}
	if s.PromptStyle != suites.ConformancePrompts && s.PromptStyle != suites.NaturalPrompts {
		return s, usageError("%s %q: it is conformance or natural", t.source.settingName("prompts"), t.Prompts)
	}
	if err := t.applyLimits(&s); err != nil {
		return s, err
	}
	var err error
	if t.Parallel < 1 || t.Parallel > maxParallel {
		return s, usageError("%s %d: it is a number from 1 to %d", t.source.settingName("parallel"), t.Parallel, maxParallel)
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

// Bounds of what a target can be told.
const (
	maxTimeout  = time.Hour
	maxParallel = 1024
)

func parseTimeout(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 || d > maxTimeout {
		return 0, fmt.Errorf("it is a duration such as 15s, above 0 and up to %s", new(positiveDuration(maxTimeout)))
	}
	return d, nil
}

func readCA(file string) (*x509.CertPool, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, withoutPath(err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(data) {
		return nil, errors.New("no PEM certificate in it")
	}
	return pool, nil
}

// secretValues are the values that must not be shown: those of headers, what follows the
// scheme in them, what follows the names in those of cookies, and the password of the
// URL.
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

// checkGlobs finds selections that select nothing of what the dialects have.
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
				return usageError("%s %q is no glob: %v", name, glob, err)
			}
			if !slices.ContainsFunc(known, func(id string) bool { ok, _ := path.Match(glob, id); return ok }) {
				return usageError("%s %q matches no check, requirement or scenario of %s: streamassay list names them", name, glob, dialectNames(dialects))
			}
		}
	}
	return nil
}

// dialectNames names dialects, unless there are many.
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

// selectionText is what was asked to be judged or left out, in words.
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

// urlWithoutUser is a target's URL without its secrets.
func urlWithoutUser(u *url.URL) string {
	plain := *u
	plain.User = nil
	return fmt.Sprint(&plain)
}
