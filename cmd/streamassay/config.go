package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"github.com/streamassay/streamassay/internal/near"
)

// maxConfig is the largest --config file that is read, in bytes.
const maxConfig = 1 << 20

// A configSource is the position of a target in a --config file. The zero value stands for a target
// defined by flags.
type configSource struct {
	file       string
	index      int            // the number of the target in the file, starting at 1
	line       int            // line on which the target begins
	fieldLines map[string]int // line of each field of the target, by key
}

// settingName returns the name of the setting key for error messages: the key itself if the
// --config file sets it for this target, otherwise the corresponding flag, such as "--timeout".
func (s configSource) settingName(key string) string {
	if s.fieldLines[key] > 0 {
		return key
	}
	if flag, ok := flagNames[key]; ok {
		key = flag
	}
	return "--" + key
}

// flagNames maps keys of a --config file to the names of the corresponding flags, without dashes.
// It holds only the keys whose flags have a different name.
var flagNames = map[string]string{
	"dialects": "dialect", "headers": "header", "other-headers": "other-header", "reports": "report",
}

// locate adds the position of the target in the --config file to err if err is a usage error. The
// line is that of the field with which the message begins or, if it begins with no field, the first
// line of the target. Other errors, errors that already have their position, and errors of a target
// defined by flags are returned unchanged.
func (s configSource) locate(err error) error {
	var exit exitError
	located := "--config " + s.file + ":"
	if s.file == "" || !errors.As(err, &exit) || exit.code != exitUsage || strings.HasPrefix(exit.message, located) {
		return err
	}
	if strings.HasPrefix(exit.message, "--config "+s.file+":") { // reports have their position already
		return err
	}
	return usageError("%s%s", s.locationPrefix(exit.message), exit.message)
}

// locationPrefix returns the prefix of message, an error message about a target in a --config file:
// the file, the line and the number of the target. The line is that of the field with which the
// message begins or, if it begins with no field, the first line of the target.
func (s configSource) locationPrefix(message string) string {
	line := s.line
	if key, _, _ := strings.Cut(strings.TrimSuffix(message, ":"), " "); s.fieldLines[strings.TrimSuffix(key, ":")] > 0 {
		line = s.fieldLines[strings.TrimSuffix(key, ":")]
	}
	return fmt.Sprintf("--config %s:%d: target %d: ", s.file, line, s.index)
}

// readConfig reads the targets of a --config file. The fields that a target does not set have the
// values of the parameter flags. Errors are usage errors that name the file and, if it is known,
// the line.
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
	for i, item := range items {
		t := flags
		t.source = configSource{file: file, index: i + 1, line: item.line, fieldLines: item.fieldLines}
		if err := t.setFields(item.fields, flags); err != nil {
			return nil, t.source.locate(err)
		}
		if t.URL == "" {
			return nil, t.source.locate(usageError("url is missing"))
		}
		list = append(list, t)
	}
	return list, nil
}

// readConfigFile returns the content of a --config file. An error means that the file cannot be
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

// A configItem is one target of a --config file before its fields are decoded.
type configItem struct {
	fields     yaml.MapSlice
	line       int
	fieldLines map[string]int
}

// configItems splits data, the text of a --config file, into its targets. Errors begin with ":" or
// ":LINE:", so that the caller can put the file name before them.
func configItems(data []byte) ([]configItem, error) {
	file, err := parser.ParseBytes(data, 0)
	if err != nil {
		return nil, yamlError(err)
	}
	if len(file.Docs) > 1 && file.Docs[1].Body != nil {
		return nil, fmt.Errorf(":%d: second YAML document, want only one", file.Docs[1].Body.GetToken().Position.Line)
	}
	var raw yaml.MapSlice
	if err := yaml.UnmarshalWithOptions(data, &raw, yaml.UseOrderedMap()); err != nil {
		return nil, yamlError(err)
	}
	var list []any
	for _, field := range raw {
		if field.Key != "targets" {
			key := fmt.Sprint(field.Key)
			return nil, fmt.Errorf(":%d: unknown field %q%s",
				fieldLineNumbers(file, "$")[key], key, near.Suggest(key, []string{"targets"}))
		}
		var ok bool
		if list, ok = field.Value.([]any); !ok && field.Value != nil {
			return nil, fmt.Errorf(":%d: targets: must be a list of items with `url:` and `dialects:`",
				fieldLineNumbers(file, "$")["targets"])
		}
	}
	if len(list) == 0 {
		return nil, errors.New(": no targets: want a list `targets:` of items with `url:` and `dialects:`")
	}
	var items []configItem
	for i, one := range list {
		at := fmt.Sprintf("$.targets[%d]", i)
		item := configItem{fieldLines: fieldLineNumbers(file, at), line: lineOfNode(file, at)}
		var ok bool
		if item.fields, ok = one.(yaml.MapSlice); !ok {
			return nil, fmt.Errorf(":%d: target %d: must be a mapping with `url:` and `dialects:`", item.line, i+1)
		}
		items = append(items, item)
	}
	return items, nil
}

// yamlError returns an error of one line for err, a syntax error of the YAML parser. The text of
// the result begins with ":LINE:", the position of the syntax error, or with ":" if the position is
// unknown.
func yamlError(err error) error {
	var at yaml.Error
	if errors.As(err, &at) && at.GetToken() != nil {
		return fmt.Errorf(":%d: %s", at.GetToken().Position.Line, at.GetMessage())
	}
	return fmt.Errorf(": %s", oneLine(err.Error()))
}

// nodeAt returns the node at a YAML path such as "$.targets[0]", or nil if the path is invalid or
// the file has no such node.
func nodeAt(file *ast.File, path string) ast.Node {
	at, err := yaml.PathString(path)
	if err != nil {
		return nil
	}
	node, err := at.FilterFile(file)
	if err != nil {
		return nil
	}
	return node
}

// lineOfNode returns the number of the line on which the node at a YAML path begins, or 1 if the
// file has no such node.
func lineOfNode(file *ast.File, path string) int {
	node := nodeAt(file, path)
	if fields := mappingFields(node); len(fields) > 0 {
		node = fields[0].Key
	}
	if node == nil || node.GetToken() == nil {
		return 1
	}
	return node.GetToken().Position.Line
}

// fieldLineNumbers returns the line number of each field of the mapping at a YAML path, by key. The
// result is empty if there is no mapping at that path.
func fieldLineNumbers(file *ast.File, path string) map[string]int {
	lines := map[string]int{}
	for _, field := range mappingFields(nodeAt(file, path)) {
		if t := field.Key.GetToken(); t != nil {
			lines[t.Value] = t.Position.Line
		}
	}
	return lines
}

// mappingFields returns the fields of node if it is a mapping, with or without an anchor, and nil
// otherwise.
func mappingFields(node ast.Node) []*ast.MappingValueNode {
	switch node := node.(type) {
	case *ast.MappingNode:
		return node.Values
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{node}
	case *ast.AnchorNode:
		return mappingFields(node.Value)
	}
	return nil
}

// setFields sets the fields of the target from fields, its mapping in a --config file. The prompts
// of the parameter flags are added for those scenarios for which the file has no prompt. An error
// names the invalid field.
func (t *targetOptions) setFields(fields yaml.MapSlice, flags targetOptions) error {
	kinds := fieldDescriptions()
	t.Prompt = nil
	for _, field := range fields {
		key := fmt.Sprint(field.Key)
		kind, known := kinds[key]
		if !known {
			names := make([]string, 0, len(kinds))
			for name := range kinds {
				names = append(names, name)
			}
			return usageError("%s: unknown field%s (see docs/targets.yaml)", key, near.Suggest(key, names))
		}
		text, err := yaml.Marshal(yaml.MapSlice{field})
		if err == nil {
			err = yaml.Unmarshal(text, t)
		}
		if err != nil || field.Value == nil {
			return usageError("%s: must be %s", key, kind)
		}
		if t.source.fieldLines[key] == 0 { // from a YAML merge key
			t.source.fieldLines[key] = t.source.line
		}
	}
	for scenario, text := range flags.Prompt {
		if _, ok := t.Prompt[scenario]; !ok {
			if t.Prompt == nil {
				t.Prompt = map[string]string{}
			}
			t.Prompt[scenario] = text
		}
	}
	return nil
}

// fieldDescriptions returns a description of the valid values of each field of a target, by key,
// for error messages.
func fieldDescriptions() map[string]string {
	kinds := map[string]string{}
	for f := range reflect.TypeFor[targetOptions]().Fields() {
		key := f.Tag.Get("yaml")
		switch {
		case key == "":
		case f.Type == reflect.TypeFor[byteSize]():
			kinds[key] = byteSizeSyntax
		case f.Type.Kind() == reflect.String:
			kinds[key] = "a string"
		case f.Type.Kind() == reflect.Bool:
			kinds[key] = "true or false"
		case f.Type.Kind() == reflect.Slice:
			kinds[key] = "a list of strings"
		case f.Type.Kind() == reflect.Map:
			kinds[key] = "a mapping from scenarios to strings"
		case f.Type.Kind() == reflect.Uint64:
			kinds[key] = "a whole number, 0 or more"
		default:
			kinds[key] = "a whole number"
		}
	}
	return kinds
}
