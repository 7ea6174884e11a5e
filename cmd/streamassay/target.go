package main

import (
	"bytes"
	"crypto/x509"
	"fmt"
	"net/url"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/spf13/cobra"

	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
	"github.com/streamassay/streamassay/spec/rules"
	"github.com/streamassay/streamassay/suites"
)

// A target is what a run is told about one server, by flags or by a file.
type target struct {
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
	Parallel     int               `yaml:"parallel"`
	Seed         uint64            `yaml:"seed"`
	Salt         uint64            `yaml:"salt"`
	Sequences    int               `yaml:"sequences"`
	Repeat       int               `yaml:"repeat"`
	CA           string            `yaml:"ca"`
	Insecure     bool              `yaml:"insecure"`
	MaxEvent     int               `yaml:"max-event"`
	Reports      []string          `yaml:"reports"`
	Transcripts  string            `yaml:"transcripts"`

	verbose bool // of the text for people; a matter of the command line alone
}

// addFlags lets a command line say everything that a file can.
func (t *target) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringSliceVar(&t.Dialects, "dialect", nil, "the dialects to hold it to, NAME or NAME@VERSION")
	f.StringArrayVar(&t.Headers, "header", nil, "`'Name: value'` sent with every request (repeatable); never shown anywhere")
	f.StringArrayVar(&t.OtherHeaders, "other-header", nil, "`'Name: value'` of a second user, in place of the first one's credentials (repeatable); never shown anywhere")
	f.IntVar(&t.StreamLimit, "stream-limit", 0, "how many streams at once the target allows one user, from 1 on (0: nobody knows)")
	f.StringVar(&t.Prompts, "prompts", "conformance", "`conformance|natural`: ask in the prompts of docs/prompts.md, or in plain words")
	f.StringToStringVar(&t.Prompt, "prompt", nil, "`SCENARIO=TEXT`: ask for a scenario with these words")
	f.StringSliceVar(&t.Claim, "claim", nil, "a `capability` that the target promises (repeatable; all: every one)")
	f.StringSliceVar(&t.Lacks, "lacks", nil, "a `capability` that the target does not have (repeatable)")
	f.StringArrayVar(&t.Only, "only", nil, "`glob` of check, requirement or scenario ids to judge (repeatable)")
	f.StringArrayVar(&t.Skip, "skip", nil, "`glob` of check, requirement or scenario ids to leave out (repeatable)")
	f.BoolVar(&t.Strict, "strict", false, "a broken SHOULD fails too")
	f.StringVar(&t.Timeout, "timeout", "15s", "how long an exchange may be silent")
	f.IntVar(&t.Parallel, "parallel", 16, "how many scenarios are played at once")
	f.Uint64Var(&t.Seed, "seed", 0, "`NUMBER` that fixes all random choices: the same seed plays the same steps (0: another one each time, see the report)")
	f.Uint64Var(&t.Salt, "salt", 0, "`NUMBER` that fixes the names of state, such as ids of conversations, which are new in every run otherwise: with --seed, the same bytes again, for a target that was restarted")
	f.IntVar(&t.Sequences, "sequences", 0, "how many `sequences` of steps to make up from --seed and play, after the scenarios")
	f.IntVar(&t.Repeat, "repeat", 1, "how many `rounds` to play: tells verdicts that are not alike in all of them, and judges what was recorded again (a difference there is the harness's fault: exit 5)")
	f.BoolVarP(&t.verbose, "verbose", "v", false, "name what was silent, skipped or excluded too")
	f.StringVar(&t.CA, "ca", "", "`FILE` of PEM certificates to trust")
	f.BoolVar(&t.Insecure, "insecure", false, "trust any certificate")
	f.IntVar(&t.MaxEvent, "max-event", dialect.MaxEvent, "the most `bytes` that one event may have")
	f.StringArrayVar(&t.Reports, "report", nil, "`FORMAT[=PATH]`: write a report (repeatable; without PATH or with -: to stdout)")
	f.StringVar(&t.Transcripts, "transcripts", "", "`DIR` to write each conversation to")
	_ = cmd.RegisterFlagCompletionFunc("dialect", cobra.FixedCompletions(dialect.Names(), cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("claim", cobra.FixedCompletions(suites.Capabilities(), cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("lacks", cobra.FixedCompletions(suites.Capabilities(), cobra.ShellCompDirectiveNoFileComp))
}

// readConfig reads a file of targets. What a target does not say is taken from
// the command line.
func readConfig(file string, flags target) ([]target, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, usage("--config %s: %v", file, plainError(err))
	}
	var raw struct {
		Targets []yaml.MapSlice `yaml:"targets"`
	}
	dec := yaml.NewDecoder(bytes.NewReader(data), yaml.Strict())
	if err := dec.Decode(&raw); err != nil {
		return nil, usage("--config %s: %s", file, yamlError(err))
	}
	if len(raw.Targets) == 0 {
		return nil, usage("--config %s: no targets: it needs a list `targets:` of items with `url:` and `dialects:`", file)
	}
	var list []target
	for i, item := range raw.Targets {
		text, err := yaml.Marshal(item)
		if err != nil {
			return nil, usage("--config %s: target %d: %s", file, i+1, yamlError(err))
		}
		t := flags
		t.Prompt = nil
		if err := yaml.UnmarshalWithOptions(text, &t, yaml.Strict()); err != nil {
			return nil, usage("--config %s: target %d: %s", file, i+1, yamlError(err))
		}
		if t.URL == "" {
			return nil, usage("--config %s: target %d has no `url:`", file, i+1)
		}
		list = append(list, t)
	}
	return list, nil
}

func yamlError(err error) string { return oneLine(yaml.FormatError(err, false, false)) }

// plainError is an error about a file without the file's name, which the caller
// says.
func plainError(err error) error {
	if e, ok := err.(*os.PathError); ok {
		return e.Err
	}
	return err
}

// suite makes what the suites need of a target, for one dialect.
func (t target) suite(d *dialect.Dialect, base *url.URL) (suites.Target, error) {
	s := suites.Target{
		Dialect: d, Base: base, Prompts: suites.Prompts(t.Prompts), Prompt: t.Prompt, Claims: t.Claim, Lacks: t.Lacks,
		Only: t.Only, Skip: t.Skip, Parallel: t.Parallel, Seed: t.Seed, Salt: t.Salt, Insecure: t.Insecure, MaxEvent: t.MaxEvent,
		Streams: t.StreamLimit, Sequences: t.Sequences,
	}
	if s.Prompts != suites.Conformance && s.Prompts != suites.Natural {
		return s, usage("--prompts %q: it is conformance or natural", t.Prompts)
	}
	var err error
	if s.Timeout, err = time.ParseDuration(t.Timeout); err != nil || s.Timeout <= 0 {
		return s, usage("--timeout %q: it is a duration such as 15s", t.Timeout)
	}
	if t.Parallel < 1 || t.Parallel > 1024 {
		return s, usage("--parallel %d: it is a number from 1 to 1024", t.Parallel)
	}
	if t.MaxEvent < 1 {
		return s, usage("--max-event %d: it is a number of bytes", t.MaxEvent)
	}
	if s.Header, err = headers("--header", t.Headers); err != nil {
		return s, err
	}
	if s.Other, err = headers("--other-header", t.OtherHeaders); err != nil {
		return s, err
	}
	if t.CA != "" {
		if s.CA, err = readCA(t.CA); err != nil {
			return s, err
		}
	}
	return s, nil
}

func headers(flag string, lines []string) (list spec.Header, err error) {
	for _, line := range lines {
		name, value, ok := strings.Cut(line, ":")
		if name = strings.TrimSpace(name); !ok || name == "" {
			return nil, usage("%s: it is 'Name: value', with a colon", flag)
		}
		list = append(list, spec.Field{Name: name, Value: strings.TrimSpace(value)})
	}
	return list, nil
}

func readCA(file string) (*x509.CertPool, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, usage("--ca %s: %v", file, plainError(err))
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(data) {
		return nil, usage("--ca %s: no PEM certificate in it", file)
	}
	return pool, nil
}

// baseURL is the prefix of a dialect's paths at a target: its own path, or the
// document's.
func baseURL(text string, d *dialect.Dialect) (*url.URL, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return nil, usage("target %q is no URL: it is like http://127.0.0.1:8080", text)
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, usage("target %q has no scheme: it begins with http:// or https://", text)
	case u.Host == "":
		return nil, usage("target %q names no host", text)
	}
	if u.Path == "" || u.Path == "/" {
		u.Path = d.Base
	}
	u.Path = strings.TrimSuffix(u.Path, "/")
	return u, nil
}

// secrets are the values that must not be shown: those of headers, what follows the
// scheme in them, and what follows the names in those of cookies.
func (t target) secrets() (all []string) {
	for _, line := range slices.Concat(t.Headers, t.OtherHeaders) {
		_, value, _ := strings.Cut(line, ":")
		value = strings.TrimSpace(value)
		all = append(all, value)
		if _, token, ok := strings.Cut(value, " "); ok {
			all = append(all, strings.TrimSpace(token))
		}
		for pair := range strings.SplitSeq(value, ";") {
			if _, cookie, ok := strings.Cut(pair, "="); ok {
				all = append(all, strings.TrimSpace(cookie))
			}
		}
	}
	if u, err := url.Parse(t.URL); err == nil && u.User != nil {
		if password, ok := u.User.Password(); ok {
			all = append(all, password)
		}
	}
	return slices.DeleteFunc(all, func(s string) bool { return len(s) < 4 })
}

// checkGlobs finds selections that select nothing.
func (t target) checkGlobs(dialects []*dialect.Dialect) error {
	known := suites.Names()
	for n := range min(t.Sequences, suites.MostSequences) {
		known = append(known, suites.SequenceName(n+1))
	}
	for _, c := range rules.All {
		known = append(known, c.ID)
	}
	for _, d := range dialects {
		for _, r := range d.Requirements {
			known = append(known, r.ID)
		}
	}
	for _, glob := range slices.Concat(t.Only, t.Skip) {
		if _, err := path.Match(glob, ""); err != nil {
			return usage("%q is no glob: %v", glob, err)
		}
		if !slices.ContainsFunc(known, func(id string) bool { ok, _ := path.Match(glob, id); return ok }) {
			return usage("%q matches no check, requirement or scenario: streamassay list names them", glob)
		}
	}
	return nil
}

// shown is a target's URL without its secrets.
func shown(u *url.URL) string {
	plain := *u
	plain.User = nil
	return fmt.Sprint(&plain)
}
