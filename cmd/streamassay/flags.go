package main

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/streamassay/streamassay/internal/near"
	"github.com/streamassay/streamassay/spec/dialect"
)

// checkCommand returns a usage error if the first element of args is neither a flag nor the name of
// a command of root, or if checkDashes or checkBoolFlags returns an error. It must be called before
// flags are parsed, because the valid flags depend on the command.
func checkCommand(root *cobra.Command, args []string) error {
	if err := checkDashes(args); err != nil {
		return err
	}
	// Names such as "__complete" are hidden commands of cobra.
	if len(args) == 0 || strings.HasPrefix(args[0], "-") || strings.HasPrefix(args[0], "__") {
		return nil
	}
	if err := checkSubcommand(root, args[0]); err != nil {
		return err
	}
	cmd, rest, err := root.Find(args)
	if err != nil {
		return nil // the parser reports it
	}
	return checkBoolFlags(cmd, rest)
}

// checkBoolFlags returns a usage error if one of args, up to the first "--", is a boolean flag of
// cmd, and the next one is "true" or "false", which would otherwise be taken for a file or a
// target.
func checkBoolFlags(cmd *cobra.Command, args []string) error {
	for i, arg := range args[:max(len(args)-1, 0)] {
		value := args[i+1]
		if arg == "--" {
			return nil
		}
		f := cmd.Flags().Lookup(strings.TrimPrefix(arg, "--"))
		isBool := f != nil && strings.HasPrefix(arg, "--") && f.Value.Type() == "bool"
		if isBool && (value == "true" || value == "false") {
			return usageError("%s %s: want %[1]s=%[2]s", arg, value)
		}
	}
	return nil
}

// checkDashes returns a usage error if one of args, up to the first "--", begins with a dash that
// is not a hyphen, which word processors and web pages put in the place of hyphens.
func checkDashes(args []string) error {
	for _, arg := range args {
		name := strings.TrimLeft(arg, "-\u2010\u2011\u2012\u2013\u2014\u2212")
		switch dashes := strings.TrimSuffix(arg, name); {
		case arg == "--":
			return nil
		case strings.Trim(dashes, "-") != "":
			return usageError("%s begins with a dash that is not a hyphen: write --%s", arg, name)
		}
	}
	return nil
}

// checkSubcommand returns a usage error if word is not the name or an alias of a subcommand of
// parent.
func checkSubcommand(parent *cobra.Command, word string) error {
	var names []string
	for _, c := range parent.Commands() {
		if c.Name() == word || c.HasAlias(word) {
			return nil
		}
		if !c.Hidden {
			names = append(names, c.Name())
		}
	}
	if len(names) == 0 {
		return usageError("%s has no subcommand %q", parent.CommandPath(), word)
	}
	if slices.Contains([]string{"check", "script", "scripts"}, word) {
		return usageError("unknown command %q; to check a script: streamassay mock --check FILE", word)
	}
	if slices.Contains([]string{"version", "v"}, word) {
		return usageError("unknown command %q; to print the version: streamassay --version", word)
	}
	if slices.Contains([]string{"test", "verify", "conformance"}, word) || strings.Contains(word, "://") {
		return usageError("unknown command %q; to test a server: streamassay run TARGET", word)
	}
	return usageError("unknown command %q%s", word, near.Suggest(word, names))
}

// dialectHint returns the end of an error message about word, a superfluous argument. If word is the
// name of a dialect, the result says how a dialect is selected. Otherwise it is "".
func dialectHint(word string) string {
	if _, err := dialect.Open(word); err != nil {
		return ""
	}
	return "; a dialect is given as --dialect " + word
}

// helpCommand returns the help command for root. Unlike cobra's help command, it returns an error
// if its arguments do not name a command.
func helpCommand(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Help about any command",
		RunE: func(_ *cobra.Command, args []string) error {
			at := root
			for _, word := range args {
				if err := checkSubcommand(at, word); err != nil {
					return err
				}
				at, _, _ = at.Find([]string{word}) // checked above
			}
			return at.Help()
		},
	}
}

// runCompletion runs the completion command when it is called without a valid subcommand. If args
// is empty, runCompletion prints the help. Otherwise it returns a usage error, because args[0] is
// not a known shell.
func runCompletion(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return cmd.Help()
	}
	return usageError("completion: unknown shell %q (want one of bash, fish, powershell, zsh)", args[0])
}

// unknownFlagError returns a usage error that lists the unknown flags in args, the command line of
// cmd, and suggests flags with similar names. The argument name is the name of the first unknown
// flag, without dashes.
func unknownFlagError(cmd *cobra.Command, name string, args []string) error {
	switch {
	case strings.HasPrefix(name, "script"):
		return usageError("unknown flag: --%s; scripts are arguments: streamassay mock FILE", name)
	case name == "replay" || name == "recordings":
		return usageError("unknown flag: --%s; recordings are arguments: streamassay mock DIR", name)
	case slices.Contains([]string{"port", "host", "listen", "bind"}, name) && cmd.Flags().Lookup("addr") != nil:
		return usageError("unknown flag: --%s; to choose the address: --addr HOST:PORT", name)
	case !cmd.HasParent() && hasFlag(cmd, "run", name):
		example := strings.TrimSuffix("--dialect agkit --"+name, " --dialect")
		return usageError("unknown flag: --%s; a command must come first, e.g. streamassay run TARGET %s", name, example)
	}
	help := fmt.Sprintf(" (%s --help lists the flags)", cmd.CommandPath())
	unknown := unknownFlags(cmd, name, args)
	if similar := similarFlags(cmd, name); len(unknown) == 1 && len(similar) > 0 {
		return usageError("unknown flag: --%s; did you mean --%s?", name, strings.Join(similar, " or --"))
	} else if len(unknown) == 1 {
		return usageError("unknown flag: --%s%s", name, help)
	}
	for i, name := range unknown {
		unknown[i] = "--" + name
		if similar := similarFlags(cmd, name); len(similar) > 0 {
			unknown[i] += " (did you mean --" + strings.Join(similar, " or --") + "?)"
		}
	}
	return usageError("unknown flags: %s%s", strings.Join(unknown, ", "), help)
}

// hasFlag reports whether the subcommand of root called command has a flag with the given name. It
// returns false if there is no such subcommand.
func hasFlag(root *cobra.Command, command, name string) bool {
	cmd, _, err := root.Find([]string{command})
	return err == nil && cmd.Flags().Lookup(name) != nil
}

// unknownFlags returns the names of the unknown flags in args, the command line of cmd, without
// dashes and duplicates. The argument first is the name of the first unknown flag, at which the
// flag parser stopped.
func unknownFlags(cmd *cobra.Command, first string, args []string) []string {
	names, found := []string{first}, false
	for _, arg := range args {
		if arg == "--" {
			break
		}
		name, _, _ := strings.Cut(strings.TrimPrefix(arg, "--"), "=")
		switch {
		case !strings.HasPrefix(arg, "--"):
		case name == first:
			found = true
		case found && name != "" && cmd.Flags().Lookup(name) == nil && !slices.Contains(names, name):
			names = append(names, name)
		}
	}
	return names
}

// maxSimilarFlags is the maximum number of flags that an error suggests for one unknown flag.
const maxSimilarFlags = 3

// similarFlags returns the names of the flags of cmd that resemble name, the name of an unknown
// flag. If [near.Similar] finds a similar flag, the result contains only that flag. Otherwise it
// contains the flags that share a hyphen-separated word with name. If there are more than
// [maxSimilarFlags], the result is nil.
func similarFlags(cmd *cobra.Command, name string) []string {
	var all, shared []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		all = append(all, f.Name)
		words := strings.Split(f.Name, "-")
		if slices.ContainsFunc(strings.Split(name, "-"), func(w string) bool { return slices.Contains(words, w) }) {
			shared = append(shared, f.Name)
		}
	})
	if nearest := near.Similar(name, all); nearest != "" {
		return []string{nearest}
	}
	if len(shared) > maxSimilarFlags {
		return nil
	}
	return shared
}

// flagError converts err, an error of the flag parser, to a usage error. The usage error names the
// flag and, if its value is invalid, describes the values that the flag accepts. The argument args
// is the command line of cmd.
func flagError(cmd *cobra.Command, err error, args []string) error {
	var unknown *pflag.NotExistError
	var valueless *pflag.ValueRequiredError
	var invalid *pflag.InvalidValueError
	switch {
	case errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() == "":
		return unknownFlagError(cmd, unknown.GetSpecifiedName(), args)
	case unknown != nil:
		if name, _, _ := strings.Cut(unknown.GetSpecifiedShortnames(), "="); cmd.Flags().Lookup(name) != nil {
			return usageError("unknown flag: -%s; did you mean --%s?", name, name)
		}
	case errors.As(err, &valueless):
		return usageError("--%s needs a value", valueless.GetFlag().Name)
	case errors.As(err, &invalid):
		f := invalid.GetFlag()
		if strings.TrimSpace(invalid.GetValue()) == "" {
			return emptyFlagError(f)
		}
		return invalidValueError("--"+f.Name, f, invalid.GetValue(), errors.Unwrap(err))
	}
	return usageError("%v (%s --help lists the flags)", err, cmd.CommandPath())
}

// invalidValueError returns a usage error for value, which the flag f rejected with err. In the
// error, name stands for the flag: "--seed", for example, or the name of the field if the value is
// from a --config file.
func invalidValueError(name string, f *pflag.Flag, value string, err error) error {
	if value = oneLine(fmt.Sprintf("%.200s", value)); value == "" {
		value = `""`
	}
	return usageError("%s %s: %s", name, value, expectedValue(f, err))
}

// emptyFlagError returns a usage error for the flag f, whose value is empty.
func emptyFlagError(f *pflag.Flag) error {
	return usageError("--%s is empty: give it a value or leave it out", f.Name)
}

// expectedValue returns a description of the values that the flag f accepts, based on the type of
// its value. For other types than bool and uint64, the result is the text of err, the error with
// which f rejected a value.
func expectedValue(f *pflag.Flag, err error) string {
	switch f.Value.Type() {
	case "bool":
		return "must be true or false"
	case "uint64":
		return fmt.Sprintf("must be a whole number from 0 to %d", uint64(math.MaxUint64))
	}
	return err.Error()
}

// checkEmptyFlags returns a usage error if a flag of cmd that takes a string was given an empty
// value. An empty value often comes from a shell variable that is not set, and must not have the
// same effect as leaving the flag out.
func checkEmptyFlags(cmd *cobra.Command) (err error) {
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if t := f.Value.Type(); err == nil && f.Value.String() == "" && (t == "string" || t == singleValueType) {
			err = emptyFlagError(f)
		}
	})
	return err
}

// checkPaths returns a usage error if any of the paths is empty.
func checkPaths(paths []string) error {
	for i, path := range paths {
		if path == "" {
			return usageError("file %d of %d has an empty name", i+1, len(paths))
		}
		if strings.HasPrefix(path, "http://") || strings.HasPrefix(path, "https://") {
			return usageError("%s is a URL, want a file; to test a server: streamassay run URL; "+
				"to record its responses: streamassay mock --record URL", withoutSecrets(path))
		}
	}
	return nil
}

// A nameList is the value of a flag that takes a list of names, separated by commas. If the flag is
// repeated, the lists are joined.
type nameList []string

// Set appends the names in text, a comma-separated list, to *n. It returns an error if a name is
// empty. Names before the empty one are still appended.
func (n *nameList) Set(text string) error {
	for name := range strings.SplitSeq(text, ",") {
		name = strings.TrimSpace(name)
		switch {
		case name == "" && strings.TrimSpace(text) == "":
			return errors.New("is empty: give a name or leave it out")
		case name == "":
			return errors.New("a name is missing before or after a comma (a comma too many)")
		}
		*n = append(*n, name)
	}
	return nil
}

func (n *nameList) Type() string   { return "strings" }
func (n *nameList) String() string { return strings.Join(*n, ",") }

// singleValueType is the type name that a [singleValue] reports to the flag parser.
const singleValueType = "text"

// A singleValue is a [pflag.Value] for a flag that must not be repeated, because it would be
// unclear which of the values is meant.
type singleValue struct {
	value *string // the variable to set; nil only in the zero value
	isSet bool    // Set has stored a value
}

// Set stores text in *o.value. If a value has already been set, it returns an error instead.
func (o *singleValue) Set(text string) error {
	if o.isSet {
		return fmt.Errorf("given twice, first as %q", *o.value)
	}
	*o.value, o.isSet = text, true
	return nil
}

func (o *singleValue) Type() string { return singleValueType }
func (o *singleValue) String() string {
	if o.value == nil {
		return ""
	}
	return *o.value
}

// firstChangedFlag returns the first of the given flags that is set on the command line of cmd, in
// the form "--NAME", or "" if none is set. The argument flags holds names without dashes.
func firstChangedFlag(cmd *cobra.Command, flags ...string) string {
	i := slices.IndexFunc(flags, cmd.Flags().Changed)
	if i < 0 {
		return ""
	}
	return "--" + flags[i]
}
