package main

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/streamassay/streamassay/spec/dialect"
	"github.com/streamassay/streamassay/suites"
)

// An optionDeclaration declares one option of a target. Every option has a field in a --config
// file. Most options also have a flag of the run command, and some of these also have a flag of the
// diff command.
type optionDeclaration struct {
	name  string // name of the flag, without dashes
	field string // name of the field in a --config file; "" means the same as name
	usage string // text in the help of run; "" if run does not have the flag
	diff  string // text in the help of diff; "" if diff does not have the flag
	// syntax describes the values in errors; only for options that are maps.
	syntax string
	// value returns a pointer to the option in t, or a [pflag.Value] that sets the option.
	value    func(t *targetOptions) any
	complete func() []string // returns the values that shells offer as completions; nil means none
	rerun    bool            // the option belongs to the command line that plays a scenario again

	// suiteField is the name of the field of [suites.Target] that the option sets. It is needed
	// only if [suites.Target.Check] can reject values that the flag accepts.
	suiteField string
}

// asInRun is the value of the diff field of an option that has the same help text in diff as in
// run.
const asInRun = "(as in run)"

// targetFlags declares all options of a target. A new option needs an entry here. If the suite uses
// the option, it also needs a field in [suites.Target].
var targetFlags = []optionDeclaration{
	{name: "url", value: func(t *targetOptions) any { return &t.URL }},
	{name: "dialect", field: "dialects", value: func(t *targetOptions) any { return (*nameList)(&t.Dialects) },
		usage: "`DIALECT` dialect to test: " + dialectUsage + " (repeatable); required for a base URL",
		diff: "`DIALECT` dialect to compare: " + dialectUsage + " (repeatable); required for a base URL, and for " +
			"recordings that do not name theirs; a single one overrides that of recordings", complete: dialect.Names},
	{name: "set", value: func(t *targetOptions) any { return &t.Settings }, rerun: true, diff: asInRun,
		syntax: "NAME=VALUE (e.g. model=small)",
		usage: "`NAME=VALUE` value of a setting of the dialect, for its requests, e.g. model=small (repeatable); x-settings in " +
			"the dialect's document lists the settings (docs/own-dialect.md)"},
	{name: "header", field: "headers", value: func(t *targetOptions) any { return &t.Headers },
		usage: "`'Name: value'` header to send with every request (repeatable); scenarios that test missing or invalid " +
			"credentials leave a credential out or replace it",
		diff: "`'Name: value'` header to send with every request to both (repeatable); scenarios that test missing " +
			"or invalid credentials (see streamassay run --help) leave a credential out or replace it"},
	{name: "other-header", field: "other-headers", value: func(t *targetOptions) any { return &t.OtherHeaders },
		suiteField: "OtherHeader", diff: asInRun,
		usage: "`'Name: value'` header of a second user, sent instead of the first user's credentials, which must be given " +
			"too (repeatable)"},
	{name: "claim", value: func(t *targetOptions) any { return (*nameList)(&t.suite.ClaimedCapabilities) },
		suiteField: "ClaimedCapabilities", rerun: true, complete: suites.Capabilities,
		usage: "`CAPABILITY` capability that the target has, or \"all\", including \"scripted\" but not \"state\" and \"steps\" " +
			"(repeatable; --lacks overrides \"all\"); if a check of the capability finds nothing to judge, its " +
			"requirements count as violated " +
			"(without --claim: as not tested, unless the dialect requires the capability)"},
	{name: "lacks", value: func(t *targetOptions) any { return (*nameList)(&t.suite.LackedCapabilities) },
		suiteField: "LackedCapabilities", rerun: true, complete: suites.Capabilities,
		usage: "`CAPABILITY` capability that the target does not have (any except \"text\"; repeatable); its checks are skipped",
		diff:  "`CAPABILITY` capability that A or B does not have (any except \"text\"; repeatable); its scenarios are left out"},
	{name: "prompts", rerun: true,
		value: func(t *targetOptions) any {
			return wordValue((*string)(&t.suite.PromptStyle), string(suites.ConformancePrompts), string(suites.NaturalPrompts))
		},
		usage: "`STYLE` style of prompts: conformance, for agents that reply to test prompts as docs/prompts.md prescribes, " +
			"or natural (plain sentences), for any agent, such as one that uses a model; " +
			"exact content is judged only with conformance, and only if the agent is \"scripted\" (see above); " +
			"with natural, --claim has no effect on checks of replies whose kind depends on the prompt, such as a tool " +
			"call, reasoning or an error",
		diff: "`STYLE` style of prompts: conformance, for agents that reply to test prompts as docs/prompts.md prescribes, " +
			"or natural (plain sentences), " +
			"for any agent"},
	{name: "prompt", value: func(t *targetOptions) any { return &t.suite.PromptOverrides },
		suiteField: "PromptOverrides", rerun: true, syntax: "SCENARIO=TEXT (e.g. text='Say hello.')",
		usage: "`SCENARIO=TEXT` prompt to send in a scenario instead of each prompt of its own (repeatable)"},
	{name: "stream-limit", rerun: true,
		value: func(t *targetOptions) any {
			valid := fmt.Sprintf("from 1 to %d, or 0 for unknown", suites.MaxStreamLimit)
			return describedInt(&t.suite.StreamLimit, 0, suites.MaxStreamLimit, valid)
		},
		usage: "`N` maximum number of concurrent streams per user that the target allows (default 0: unknown, not tested)"},
	{name: "only", value: func(t *targetOptions) any { return &t.suite.Only },
		usage: "`GLOB` what to run and judge (repeatable; * stands for any characters): if GLOB matches ids of scenarios " +
			"or generated conversations (sequence-N, combination-N), only these are run; if it matches ids of checks or " +
			"requirements, everything is run, but judged only by these checks, or by the checks of these requirements; if " +
			"both, matching conversations are judged by all checks, the others by the matching checks",
		diff: "`GLOB` compare only conversations whose id matches (repeatable; * stands for any characters); the id of a " +
			"recording is that of its scenario or, if it names none, the file name without extension"},
	{name: "skip", value: func(t *targetOptions) any { return &t.suite.Skip },
		usage: "`GLOB` leave out scenarios and generated conversations whose id matches, and checks whose id matches or whose " +
			"requirements in the dialect all match; a check of which only some requirements match is applied in full (repeatable)",
		diff: "`GLOB` leave out conversations whose id matches, as for --only (repeatable)"},
	{name: "strict", value: func(t *targetOptions) any { return &t.Strict },
		usage: "also fail if only a SHOULD requirement is violated"},
	{name: "timeout", value: func(t *targetOptions) any { return durationValue(&t.suite.Timeout, maxTimeout) },
		rerun: true, diff: asInRun, usage: "`DURATION` maximum duration of one exchange; raise it for slow models"},
	{name: "idle-timeout", value: func(t *targetOptions) any { return durationValue(&t.suite.Limits.IdleTimeout, maxTimeout) },
		rerun: true, diff: asInRun,
		usage: fmt.Sprintf("`DURATION` maximum time without a byte in one exchange (default: %v, or --timeout if that is "+
			"less); has no effect above --timeout", suites.DefaultIdleTimeout)},
	{name: "max-time", value: func(t *targetOptions) any { return durationValue(&t.suite.Limits.RunTimeout, maxTimeout) },
		rerun: true,
		usage: "`DURATION` maximum duration of the test of a target, with all its dialects and rounds (at most 1h); then " +
			"no more requests are sent, the report is marked incomplete, and exit code 0 becomes 3 (default: no limit)",
		diff: "`DURATION` maximum duration of the comparison (at most 1h); then no more requests are sent, unfinished " +
			"scenarios are not compared, and exit code 0 becomes 3 (default: no limit)"},
	{name: "max-bytes", diff: asInRun,
		// A smaller limit would cut the responses of every server, and the report would blame the
		// server for it.
		value: func(t *targetOptions) any { return boundedSize(&t.suite.Limits.MaxBytes, 1<<10, maxLimit) },
		usage: "maximum size of one response body, from 1KiB to 1GiB"},
	{name: "max-events", diff: asInRun,
		value: func(t *targetOptions) any { return boundedInt(&t.suite.Limits.MaxEvents, 1, maxLimit) },
		usage: "`N` maximum number of events and comments in one stream"},
	{name: "max-event", diff: asInRun, usage: "maximum size of one event, at most 1GiB",
		value: func(t *targetOptions) any { return boundedSize(&t.suite.MaxEventBytes, 1, maxLimit) }},
	{name: "parallel", diff: asInRun, usage: "`N` maximum number of scenarios that run concurrently",
		value: func(t *targetOptions) any { return boundedInt(&t.suite.Parallel, 1, 1024) }},
	{name: "seed", value: func(t *targetOptions) any { return &t.suite.Seed }, diff: asInRun,
		usage: "`N` seed for random choices (default 0: random; the output shows the seed used)"},
	{name: "salt", value: func(t *targetOptions) any { return &t.suite.Salt },
		usage: "`N` number from which, with --seed, the ids of threads, runs and messages are made (default 0: random, so that " +
			"every execution uses new ids; --verbose shows it); the same --salt and --seed repeat the same requests, e.g. " +
			"after restarting the target",
		diff: "`N` number from which, with --seed, the ids of threads, runs and messages are made (default 0: random, so that " +
			"every execution uses new ids; the output shows it)"},
	{name: "sequences",
		value: func(t *targetOptions) any { return boundedInt(&t.suite.Sequences, 0, suites.MaxSequences) },
		usage: "`N` number of random sequences of requests (ids sequence-N; they start, read, resume and cancel runs of " +
			"several threads) to send after the scenarios"},
	{name: "deep", value: func(t *targetOptions) any { return &t.suite.Deep }, rerun: true,
		usage: "play all combinations (ids combination-N; up to a minute more for each dialect) instead of only the first " +
			"16, and longer forms of some scenarios; a combination varies the prompts sent before, the text of the prompt, " +
			"how the request is written, the connection, how the stream is read, and what is requested afterwards; " +
			"combinations are played only if the agent is \"scripted\""},
	{name: "repeat", value: func(t *targetOptions) any { return boundedInt(&t.Repeat, 1, maxRounds) },
		usage: "`N` number of rounds; requirements whose verdict differs between rounds are reported as flaky"},
	{name: "ca", value: func(t *targetOptions) any { return &t.CA }, rerun: true, diff: asInRun,
		usage: "`FILE` PEM file with the certificates to trust, instead of those of the system"},
	{name: "insecure", value: func(t *targetOptions) any { return &t.suite.Insecure }, rerun: true, diff: asInRun,
		usage: "accept any TLS certificate"},
	{name: "report", field: "reports", value: func(t *targetOptions) any { return &t.Reports }, usage: reportUsage()},
	{name: "transcripts", value: func(t *targetOptions) any { return &singleValue{value: &t.Transcripts} },
		usage: "`DIR` directory for the transcript of each conversation, DIALECT/ID.txtar (with --repeat: " +
			"round-N/DIALECT/ID.txtar; if two targets of --config have a dialect in common: DIR, DIR-2 …); " +
			"existing files are overwritten"},
}

// Maximum values of flags.
const (
	maxLimit   = 1 << 30   // of --max-bytes and --max-event, in bytes, and of --max-events
	maxTimeout = time.Hour // of --timeout, --idle-timeout and --max-time
)

// defaultSequences is the default of --sequences, the number of generated sequences of requests to
// play (docs/adr/0013-combinations-cover-pairs.md).
const defaultSequences = 4

// newTargetOptions returns the options of a target with their default values.
func newTargetOptions() targetOptions {
	return targetOptions{Repeat: 1, suite: suites.Target{
		PromptStyle: suites.ConformancePrompts, Parallel: suites.DefaultParallel, Timeout: suites.DefaultTimeout,
		Sequences:     defaultSequences,
		Limits:        suites.Limits{MaxBytes: suites.DefaultMaxBytes, MaxEvents: suites.DefaultMaxEvents},
		MaxEventBytes: dialect.MaxEventBytes,
	}}
}

// addFlags adds to cmd the flags that set the options in t: those of the diff command if isDiff is
// true, and those of the run command otherwise. The current values of the options become the
// defaults of the flags.
func (t *targetOptions) addFlags(cmd *cobra.Command, isDiff bool) {
	for _, o := range targetFlags {
		usage := o.usage
		if isDiff && o.diff != asInRun {
			usage = o.diff
		}
		if usage == "" {
			continue
		}
		o.addTo(cmd.Flags(), t, usage)
		if o.complete != nil {
			completeFlag(cmd, o.name, o.complete())
		}
	}
}

// addTo adds the flag of the option o to the given flag set, with the given help text. The flag
// sets the option in t. The current value of the option is the default of the flag.
func (o optionDeclaration) addTo(set *pflag.FlagSet, t *targetOptions, usage string) {
	switch to := o.value(t).(type) {
	case pflag.Value:
		set.Var(to, o.name, usage)
	case *string:
		set.StringVar(to, o.name, *to, usage)
	case *[]string:
		set.StringArrayVar(to, o.name, *to, usage)
	case *map[string]string:
		set.Var(&assignmentsValue{to: to, syntax: o.syntax}, o.name, usage)
	case *bool:
		set.BoolVar(to, o.name, *to, usage)
	case *uint64:
		set.Uint64Var(to, o.name, *to, usage)
	}
}

// fieldName returns the name of the option in a --config file.
func (o optionDeclaration) fieldName() string {
	if o.field != "" {
		return o.field
	}
	return o.name
}

// rerunFlags returns the flags with which a command line plays a scenario of j again: those of the
// options with optionDeclaration.rerun whose values are not the defaults. Each element holds one
// flag and, unless the flag is boolean, its value, quoted for a shell.
func (j targetRun) rerunFlags() (words []string) {
	defaults := newTargetOptions()
	for _, o := range targetFlags {
		values := o.texts(&j.targetOptions)
		if !o.rerun || slices.Equal(values, o.texts(&defaults)) {
			continue
		}
		for _, value := range values {
			word := "--" + o.name
			if _, isBool := o.value(&defaults).(*bool); !isBool {
				word += " " + shellWord(value)
			}
			words = append(words, word)
		}
	}
	return words
}

// texts returns the flag values that set the option o to its current value in t. If there are
// several, the flag must be repeated.
func (o optionDeclaration) texts(t *targetOptions) (all []string) {
	switch value := o.value(t).(type) {
	case *nameList:
		return *value
	case *map[string]string:
		for _, name := range slices.Sorted(maps.Keys(*value)) {
			all = append(all, name+"="+(*value)[name])
		}
		return all
	}
	set := pflag.NewFlagSet("", pflag.ContinueOnError)
	o.addTo(set, t, "")
	return []string{set.Lookup(o.name).DefValue}
}
