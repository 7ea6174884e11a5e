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

// checkCommand returns what is wrong if the first word is no command. It comes before the
// flags, which nobody can judge without the command.
func checkCommand(root *cobra.Command, args []string) error {
	if len(args) == 0 || strings.HasPrefix(args[0], "-") || strings.HasPrefix(args[0], "__") { // cobra's own, for completion
		return nil
	}
	return checkSubcommand(root, args[0])
}

// checkSubcommand returns the error for a word that is no command of a parent; nil if it is one.
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
		return usageError("%s has no command %q", parent.CommandPath(), word)
	}
	return usageError("no command %q%s", word, near.Suggest(word, names))
}

// helpCommand is "help", which refuses what is no command.
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
				at, _, _ = at.Find([]string{word}) // it is there
			}
			return at.Help()
		},
	}
}

// runCompletion is "completion" without a shell, or with one that there is no script for.
func runCompletion(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return cmd.Help()
	}
	return usageError("completion %s: there are bash, fish, powershell and zsh", args[0])
}

// flagError says what is wrong with a flag.
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
		return usageError("unknown flag: --%s: %s --help lists the flags", name, cmd.CommandPath())
	case errors.As(err, &valueless):
		return usageError("--%s takes a value", valueless.GetFlag().Name)
	case errors.As(err, &invalid):
		f := invalid.GetFlag()
		value := fmt.Sprintf("%.200s", invalid.GetValue())
		if strings.TrimSpace(value) == "" {
			value = strconv.Quote(value)
		}
		return usageError("--%s %s: %s", f.Name, value, expectedValue(f, errors.Unwrap(err)))
	}
	return usageError("%v: %s --help lists the flags", err, cmd.CommandPath())
}

// expectedValue says what the value of a flag is.
func expectedValue(f *pflag.Flag, err error) string {
	switch f.Value.Type() {
	case "bool":
		return "it is true or false"
	case "int":
		return "it is a whole number"
	case "uint64":
		return "it is a whole number from 0 on"
	case "stringToString":
		return "it is SCENARIO=TEXT"
	}
	return err.Error()
}

// checkEmptyFlags returns what is wrong if a flag was given without anything in it, as by a
// variable of the shell that is not set: that is not the same as leaving the flag out.
func checkEmptyFlags(cmd *cobra.Command) (err error) {
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if t := f.Value.Type(); err == nil && f.Value.String() == "" && (t == "string" || t == singleValueType) {
			err = usageError("--%s is empty: give a value, or leave it out", f.Name)
		}
	})
	return err
}

// checkPaths returns what is wrong if one of several paths is empty.
func checkPaths(paths []string) error {
	for i, path := range paths {
		if path == "" {
			return usageError("the name of file %d of %d is empty", i+1, len(paths))
		}
	}
	return nil
}

// Names is a list of names, separated by commas or given in several flags.
type nameList []string

func (n *nameList) Set(text string) error {
	for name := range strings.SplitSeq(text, ",") {
		name = strings.TrimSpace(name)
		switch {
		case name == "" && strings.TrimSpace(text) == "":
			return errors.New("it is empty: give a name, or leave it out")
		case name == "":
			return errors.New("there is a comma too many")
		}
		*n = append(*n, name)
	}
	return nil
}

func (n *nameList) Type() string   { return "strings" }
func (n *nameList) String() string { return strings.Join(*n, ",") }

// singleValueType is the type of a text that can be given only once.
const singleValueType = "text"

// Once is a text that can be given only once: where there are two, nobody knows which is meant.
type singleValue struct {
	value *string
	isSet bool
}

func (o *singleValue) Set(text string) error {
	if o.isSet {
		return fmt.Errorf("it is given twice, first as %q", *o.value)
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

// firstChangedFlag returns the first of some flags that was given on the command line; "" if none was.
func firstChangedFlag(cmd *cobra.Command, flags ...string) string {
	i := slices.IndexFunc(flags, func(name string) bool { f := cmd.Flags().Lookup(name); return f != nil && f.Changed })
	if i < 0 {
		return ""
	}
	return "--" + flags[i]
}
