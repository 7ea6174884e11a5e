package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/streamassay/streamassay/internal/near"
)

// checkCommand returns an error if the first argument does not name a command. It runs
// before flags are parsed, because the valid flags depend on the command.
func checkCommand(root *cobra.Command, args []string) error {
	// Names such as "__complete" are hidden commands of cobra.
	if len(args) == 0 || strings.HasPrefix(args[0], "-") || strings.HasPrefix(args[0], "__") {
		return nil
	}
	return checkSubcommand(root, args[0])
}

// checkSubcommand returns a usage error if word is not the name of a subcommand of parent.
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
	return usageError("unknown command %q%s", word, near.Suggest(word, names))
}

// helpCommand returns the command help, which in contrast to cobra's own returns an error for an
// unknown command.
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

// runCompletion is what the command completion does if the shell is missing or unknown: it returns
// a usage error.
func runCompletion(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return cmd.Help()
	}
	return usageError("completion: unknown shell %q (want one of bash, fish, powershell, zsh)", args[0])
}

// flagError turns an error of the flag parser into a usage error that names the flag and says which
// values it takes.
func flagError(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	var valueless *pflag.ValueRequiredError
	var invalid *pflag.InvalidValueError
	switch {
	case errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() == "":
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		name := unknown.GetSpecifiedName()
		if miss, ok := strings.CutPrefix(near.Suggest(name, names), "; did you mean "); ok {
			return usageError("unknown flag: --%s; did you mean --%s", name, miss)
		}
		return usageError("unknown flag: --%s (%s --help lists the flags)", name, cmd.CommandPath())
	case errors.As(err, &valueless):
		return usageError("--%s needs a value", valueless.GetFlag().Name)
	case errors.As(err, &invalid):
		f := invalid.GetFlag()
		value := fmt.Sprintf("%.200s", invalid.GetValue())
		if strings.TrimSpace(value) == "" {
			value = strconv.Quote(value)
		}
		return usageError("--%s %s: %s", f.Name, value, expectedValue(f, errors.Unwrap(err)))
	}
	return usageError("%v (%s --help lists the flags)", err, cmd.CommandPath())
}

// expectedValue returns a description of the values that the type of a flag accepts. For types
// without one it returns the text of err.
func expectedValue(f *pflag.Flag, err error) string {
	switch f.Value.Type() {
	case "bool":
		return "must be true or false"
	case "int":
		return "must be a whole number"
	case "uint64":
		return "must be a whole number, 0 or more"
	case "stringToString":
		return "must be SCENARIO=TEXT"
	}
	return err.Error()
}

// checkEmptyFlags returns an error if a flag was given an empty value. That often comes from
// a shell variable that is not set, and must not be taken for a flag that was left out.
func checkEmptyFlags(cmd *cobra.Command) (err error) {
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if t := f.Value.Type(); err == nil && f.Value.String() == "" && (t == "string" || t == singleValueType) {
			err = usageError("--%s is empty: give it a value or leave it out", f.Name)
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
	}
	return nil
}

// A nameList is the value of a flag that takes names, separated by commas or in repeated flags.
type nameList []string

// Set appends the names of a comma-separated list. Empty names are errors.
func (n *nameList) Set(text string) error {
	for name := range strings.SplitSeq(text, ",") {
		name = strings.TrimSpace(name)
		switch {
		case name == "" && strings.TrimSpace(text) == "":
			return errors.New("is empty: give a name or leave it out")
		case name == "":
			return errors.New("has an empty name between commas (a comma too many)")
		}
		*n = append(*n, name)
	}
	return nil
}

func (n *nameList) Type() string   { return "strings" }
func (n *nameList) String() string { return strings.Join(*n, ",") }

// singleValueType is the name that the flag parser sees as the type of a [singleValue].
const singleValueType = "text"

// A singleValue is the value of a flag that must not be repeated: with two values, the intended one is unknown.
type singleValue struct {
	value *string
	isSet bool
}

// Set stores the value; a second call is an error.
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

// firstChangedFlag returns the first of the given flags that is on the command line, with its
// dashes, "" if none is.
func firstChangedFlag(cmd *cobra.Command, flags ...string) string {
	i := slices.IndexFunc(flags, func(name string) bool { f := cmd.Flags().Lookup(name); return f != nil && f.Changed })
	if i < 0 {
		return ""
	}
	return "--" + flags[i]
}
