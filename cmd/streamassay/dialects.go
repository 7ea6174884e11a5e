package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/streamassay/streamassay/internal/rules"
	"github.com/streamassay/streamassay/internal/transcript"
	"github.com/streamassay/streamassay/spec/dialect"
)

// dialectUsage describes the values of the --dialect flag in the help of commands.
var dialectUsage = "NAME (its default version) or NAME@VERSION (see streamassay list dialects), or the path of an " +
	"OpenAPI document (.yaml) extended as in docs/own-dialect.md"

// openDialect returns the dialect that the user named. A name for which isDocumentPath reports true
// is the path of a document that defines a dialect. Any other name is that of a dialect embedded in
// the program. The error is one line of text that contains name.
func openDialect(name string) (*dialect.Dialect, error) {
	if isDocumentPath(name) {
		return dialect.OpenFile(name, rules.All)
	}
	d, err := dialect.Open(name)
	if err != nil {
		return nil, fmt.Errorf("%w; or give the path of an OpenAPI document, NAME.yaml", err)
	}
	return d, nil
}

// isDocumentPath reports whether name, a value of --dialect, is the path of a document and not the
// name of an embedded dialect. A path contains a slash or backslash, or ends with .yaml, .yml or
// .json. [dialect.OpenFile] does not accept .json, and its error says what to do.
func isDocumentPath(name string) bool {
	return strings.ContainsAny(name, `/\`) || isScript(name) || strings.HasSuffix(name, ".json")
}

// documentPaths returns the paths of documents among names, the values of --dialect.
func documentPaths(names []string) (paths []string) {
	for _, name := range names {
		if isDocumentPath(name) {
			paths = append(paths, name)
		}
	}
	return paths
}

// dialectsNamed returns all embedded dialects if names is empty, and otherwise the dialects with
// the given names, as givenDialects does. If a name is invalid, it returns a usage error that
// begins with flag, the name of the flag or field that holds the names.
func dialectsNamed(flag string, names []string) ([]*dialect.Dialect, error) {
	if len(names) > 0 {
		return givenDialects(flag, names)
	}
	all, err := dialect.All()
	if err != nil {
		return nil, exitError{exitInternal, err.Error()}
	}
	return all, nil
}

// givenDialects returns the dialects with the given names, in the order of names and without
// duplicates. If a name is invalid, it returns a usage error that begins with flag, the name of the
// flag or field that holds the names.
func givenDialects(flag string, names []string) (list []*dialect.Dialect, err error) {
	for _, name := range names {
		d, err := openDialect(name)
		if err != nil {
			return nil, usageError("%s: %v", flag, err)
		}
		if !slices.ContainsFunc(list, func(other *dialect.Dialect) bool { return other.Name == d.Name }) {
			list = append(list, d)
		}
	}
	return list, nil
}

// singleDialect returns the dialect with the given names, which are the values of --dialect, as a
// slice with one element. If names is empty, the slice is empty. If a name is invalid, or if the
// names belong to several dialects, singleDialect returns a usage error.
func singleDialect(names []string) ([]*dialect.Dialect, error) {
	given, err := givenDialects("--dialect", names)
	if err == nil && len(given) > 1 {
		err = usageError("--dialect: got %d dialects, want one", len(given))
	}
	return given, err
}

// recordedDialect returns the dialect of the recording t. The argument selected holds the dialects
// of the --dialect flag. If it has exactly one element, that is the result, whatever dialect t
// names. Otherwise, t must name its dialect, which recordedDialect looks up in selected and then
// among the embedded dialects.
//
// If there is no such dialect, recordedDialect returns a usage error.
func recordedDialect(t *transcript.Transcript, selected []*dialect.Dialect) (*dialect.Dialect, error) {
	if len(selected) == 1 {
		return selected[0], nil
	}
	for _, d := range selected {
		if t.Dialect == d.Name {
			return d, nil
		}
	}
	if t.Dialect == "" {
		return nil, usageError("%s does not name its dialect: --dialect is required (one of %s)",
			t.Name, strings.Join(dialect.Names(), ", "))
	}
	d, err := dialect.Open(t.Dialect)
	if err != nil {
		return nil, usageError("%s: %v", t.Name, err)
	}
	return d, nil
}

// addDialectFlag adds the --dialect flag to cmd, with completion of its values. The flag takes
// names separated by commas, may be repeated, and appends all names to *list. The argument purpose
// is the beginning of the help text, such as "dialect to serve".
func addDialectFlag(cmd *cobra.Command, list *[]string, purpose string) {
	usage := "`DIALECT` " + purpose + ": " + dialectUsage + " (repeatable; default: all)"
	cmd.Flags().Var((*nameList)(list), "dialect", usage)
	completeDialects(cmd)
}

// completeDialects makes shells offer the names of the embedded dialects as completions for the
// --dialect flag of cmd. If no name begins with what the user has typed, shells offer file names
// instead.
func completeDialects(cmd *cobra.Command) {
	_ = cmd.RegisterFlagCompletionFunc("dialect", cobra.FixedCompletions(dialect.Names(), cobra.ShellCompDirectiveDefault))
}
