package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/spf13/pflag"

	"github.com/streamassay/streamassay/internal/near"
	"github.com/streamassay/streamassay/internal/textfile"
	"github.com/streamassay/streamassay/internal/yamltree"
)

// maxConfig is the maximum size of a --config file in bytes.
const maxConfig = 1 << 20

// A targetPosition is the position of a target in a --config file. The zero value stands for a
// target that is defined by flags.
type targetPosition struct {
	file       string         // path of the --config file
	index      int            // number of the target in the file, from 1
	line       int            // line on which the target begins, from 1
	fieldLines map[string]int // line of each field of the target, from 1, by the name of the field
}

// settingName returns how error messages name an option of the target. The parameter name is the
// name of the option in [targetFlags]. If the --config file sets the option for this target, the
// result is the name of the field, such as "timeout"; otherwise it is the flag, such as
// "--timeout", or "TARGET" for the URL.
func (s targetPosition) settingName(name string) string {
	i := slices.IndexFunc(targetFlags, func(o optionDeclaration) bool { return o.name == name })
	if field := targetFlags[i].fieldName(); s.fieldLines[field] > 0 {
		return field
	}
	if name == "url" {
		return "TARGET"
	}
	return "--" + name
}

// locate adds the position of the target in the --config file to the text of err, an error about
// the target. It returns err unchanged if err is not a usage error or already has a position, or if
// the target is defined by flags.
func (s targetPosition) locate(err error) error {
	var exit exitError
	located := "--config " + s.file + ":"
	if s.file == "" || !errors.As(err, &exit) || exit.code != exitUsage || strings.HasPrefix(exit.message, located) {
		return err
	}
	return usageError("%s%s", s.locationPrefix(exit.message), exit.message)
}

// locationPrefix returns a prefix for message that states where the error is, such as "--config
// targets.yaml:12: target 2: ". The argument message is an error message about the target. If it
// begins with the name of a field, the prefix has the line of that field; otherwise, it has the
// first line of the target.
func (s targetPosition) locationPrefix(message string) string {
	line := s.line
	if key, _, _ := strings.Cut(strings.TrimSuffix(message, ":"), " "); s.fieldLines[strings.TrimSuffix(key, ":")] > 0 {
		line = s.fieldLines[strings.TrimSuffix(key, ":")]
	}
	return fmt.Sprintf("--config %s:%d: target %d: ", s.file, line, s.index)
}

// readConfig returns the targets in a --config file, in the order of the file. Options that a
// target does not set have the values that they have in flags. Errors are usage errors that name
// the file and, if known, the line.
func readConfig(file string, flags targetOptions) ([]targetOptions, error) {
	data, err := readConfigFile(file)
	if err != nil {
		return nil, usageError("--config %s: %v", file, err)
	}
	items, err := configItems(data)
	if err != nil {
		return nil, usageError("--config %s%v", file, err)
	}
	list := make([]targetOptions, 0, len(items))
	for _, item := range items {
		t := flags
		t.source = item.targetPosition
		t.source.file = file
		if err := t.setFields(item.fields); err != nil {
			return nil, t.source.locate(err)
		}
		if t.URL == "" {
			return nil, t.source.locate(usageError("url is missing"))
		}
		list = append(list, t)
	}
	return list, nil
}

// readConfigFile returns the content of a --config file. It returns an error if the file cannot be
// read, is empty or is larger than [maxConfig] bytes. The error does not contain the file name,
// which the caller adds.
func readConfigFile(file string) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, withoutPath(err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxConfig+1))
	switch {
	case err != nil:
		return nil, withoutPath(err)
	case len(data) > maxConfig:
		return nil, fmt.Errorf("larger than %d bytes", maxConfig)
	case len(bytes.TrimSpace(data)) == 0:
		return nil, errors.New("is empty: want a list `targets:` of items with `url:` and `dialects:`")
	}
	return data, nil
}

// A targetEntry is one target of a --config file, parsed as YAML. Its fields have not been checked
// yet, and the path of the file is not set.
type targetEntry struct {
	targetPosition
	fields yaml.MapSlice
}

// configItems splits data, the content of a --config file, into its targets, in the order of the
// file. It returns an error if data is invalid or has no targets. Errors begin with ":" or
// ":LINE:", so that the caller can put the file name before them.
func configItems(data []byte) ([]targetEntry, error) {
	data, problem := textfile.Decode(data)
	if problem != nil {
		return nil, fmt.Errorf(":%d: %s", problem.Line, problem.Message)
	}
	file, err := parser.ParseBytes(data, 0)
	if err != nil {
		return nil, yamlError(err)
	}
	if len(file.Docs) > 1 && file.Docs[1].Body != nil {
		return nil, fmt.Errorf(":%d: second YAML document, want only one", file.Docs[1].Body.GetToken().Position.Line)
	}
	if len(file.Docs) > 0 && file.Docs[0].Body != nil && file.Docs[0].Body.Type() == ast.SequenceType {
		return nil, fmt.Errorf(":%d: got a list, want a mapping: put `targets:` before the list",
			file.Docs[0].Body.GetToken().Position.Line)
	}
	var raw yaml.MapSlice
	if err := yaml.UnmarshalWithOptions(data, &raw, yaml.UseOrderedMap()); err != nil {
		return nil, yamlError(err)
	}
	var list []any
	var root ast.Node
	if len(file.Docs) > 0 {
		root = file.Docs[0].Body
	}
	lines := fieldLineNumbers(root)
	for _, field := range raw {
		key := fmt.Sprint(field.Key)
		if key != "targets" {
			if slices.ContainsFunc(targetFlags, func(o optionDeclaration) bool { return o.fieldName() == key }) {
				return nil, fmt.Errorf(":%d: %s is a field of a target: put it into the items of targets", lines[key], key)
			}
			return nil, fmt.Errorf(":%d: unknown field %q%s", lines[key], key, near.Suggest(key, []string{"targets"}))
		}
		var ok bool
		if list, ok = field.Value.([]any); !ok && field.Value != nil {
			return nil, fmt.Errorf(":%d: targets: must be a list of items with `url:` and `dialects:`", lines[key])
		}
	}
	if len(list) == 0 {
		return nil, errors.New(": no targets: want a list `targets:` of items with `url:` and `dialects:`")
	}
	var items []targetEntry
	for i, one := range list {
		node, line, _ := yamltree.Find(root, "targets", strconv.Itoa(i))
		fields, ok := one.(yaml.MapSlice)
		if !ok {
			return nil, fmt.Errorf(":%d: target %d: must be a mapping with `url:` and `dialects:`", line, i+1)
		}
		position := targetPosition{index: i + 1, line: line, fieldLines: fieldLineNumbers(node)}
		items = append(items, targetEntry{position, fields})
	}
	return items, nil
}

// yamlError converts err, an error of the YAML parser, to an error whose text is one line. The text
// begins with ":LINE:", where LINE is the line on which the error was found, or with ":" if the
// line is unknown.
func yamlError(err error) error {
	var at yaml.Error
	if errors.As(err, &at) && at.GetToken() != nil {
		return fmt.Errorf(":%d: %s", at.GetToken().Position.Line, yamltree.ErrorText(at))
	}
	return fmt.Errorf(": %s", oneLine(err.Error()))
}

// fieldLineNumbers returns the line number, from 1, of each field of the YAML mapping n, by the
// name of the field. The result is empty if n is not a mapping.
func fieldLineNumbers(n ast.Node) map[string]int {
	lines := map[string]int{}
	for _, field := range yamltree.Fields(n) {
		lines[yamltree.Key(field)] = yamltree.Line(field.Key)
	}
	return lines
}

// setFields sets the options in t from fields, the fields of a target in a --config file. If the
// value of a field is a mapping, its entries are added to those that the option already has in t,
// and replace entries with the same key. Errors are usage errors that name the field.
func (t *targetOptions) setFields(fields yaml.MapSlice) error {
	set := pflag.NewFlagSet("", pflag.ContinueOnError)
	var names []string
	for _, o := range targetFlags {
		o.addTo(set, t, "")
		names = append(names, o.fieldName())
	}
	for _, field := range fields {
		key := fmt.Sprint(field.Key)
		i := slices.Index(names, key)
		if i < 0 {
			if similar := near.Similar(key, names); similar != "" {
				return usageError("%s: unknown field; did you mean %s?", key, similar)
			}
			return usageError("%s: unknown field (a target has %s; see docs/targets.yaml)", key, strings.Join(names, ", "))
		}
		if err := targetFlags[i].setField(set, t, key, field.Value); err != nil {
			return err
		}
		if t.source.fieldLines[key] == 0 { // from a YAML merge key
			t.source.fieldLines[key] = t.source.line
		}
	}
	return nil
}

// setField sets the option o in t to value, the value of the field key in a --config file. The flag
// set must contain the flag of o, bound to t. If value is invalid, setField returns a usage error
// that names the field.
func (o optionDeclaration) setField(set *pflag.FlagSet, t *targetOptions, key string, value any) error {
	switch to := o.value(t).(type) {
	case *[]string, *nameList:
		if _, isText := value.(string); isText && key == "dialects" {
			return usageError("%s: must be a list, e.g. [agkit]", key)
		} else if isText {
			return usageError("%s: must be a list of strings, e.g. [first, second]", key)
		}
		if !convertYAML(value, to) {
			return usageError(`%s: must be a list of strings (one that contains ": " needs quotation marks)`, key)
		}
		return nil
	case *map[string]string:
		all, own := maps.Clone(*to), map[string]string{}
		if !convertYAML(value, &own) {
			return usageError("%s: must be a mapping from names to strings", key)
		}
		if *to = own; all != nil {
			maps.Copy(all, own)
			*to = all
		}
		return nil
	}
	f := set.Lookup(o.name)
	switch value.(type) {
	case nil, []any, yaml.MapSlice:
		if _, isMap := value.(yaml.MapSlice); isMap && key == "prompts" {
			return usageError("%s: %s; texts by scenario go in prompt:", key, expectedValue(f, f.Value.Set("")))
		}
		if err := f.Value.Set(""); err != nil {
			return usageError("%s: %s", key, expectedValue(f, err))
		}
		return usageError("%s: must be a string", key)
	}
	text := fmt.Sprint(value)
	if err := f.Value.Set(text); err != nil {
		return invalidValueError(key, f, text, err)
	}
	return nil
}

// convertYAML stores value, a decoded YAML value, in the variable to which dst points. It reports
// whether it succeeded: it fails if value is null or cannot be converted to the type of the
// variable.
func convertYAML(value, dst any) bool {
	text, err := yaml.Marshal(value)
	return err == nil && value != nil && yaml.Unmarshal(text, dst) == nil
}
