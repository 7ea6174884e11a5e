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

// maxConfig bounds a file of targets, in bytes.
const maxConfig = 1 << 20

// A configSource is where the configuration of a target stands. The zero source is the command line.
type configSource struct {
	file       string
	index      int            // the number of the target in the file, from 1
	line       int            // where it begins
	fieldLines map[string]int // the lines of the fields that it has
}

// settingName returns how a message calls a setting that is named by its key in a file: the key, if
// the file has it, else the flag.
func (s configSource) settingName(key string) string {
	if s.fieldLines[key] > 0 {
		return key
	}
	if flag, ok := flagNames[key]; ok {
		key = flag
	}
	return "--" + key
}

// flagNames are the flags that have other names than the fields in a file.
var flagNames = map[string]string{"dialects": "dialect", "headers": "header", "other-headers": "other-header", "reports": "report"}

// locate adds to a usage error where in the file the target stands. The message may begin with
// the name of a field: then it is the line of the field.
func (s configSource) locate(err error) error {
	var exit exitError
	if s.file == "" || !errors.As(err, &exit) || exit.code != exitUsage {
		return err
	}
	return usageError("%s%s", s.locationPrefix(exit.message), exit.message)
}

// locationPrefix returns what comes before a message about the target.
func (s configSource) locationPrefix(message string) string {
	line := s.line
	if key, _, _ := strings.Cut(strings.TrimSuffix(message, ":"), " "); s.fieldLines[strings.TrimSuffix(key, ":")] > 0 {
		line = s.fieldLines[strings.TrimSuffix(key, ":")]
	}
	return fmt.Sprintf("--config %s:%d: target %d: ", s.file, line, s.index)
}

// readConfig reads a file of targets. What a target does not say is taken from the command
// line.
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
			return nil, t.source.locate(usageError("it has no url"))
		}
		list = append(list, t)
	}
	return list, nil
}

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
		return nil, fmt.Errorf("it has more than %d bytes", maxConfig)
	case len(bytes.TrimSpace(data)) == 0:
		return nil, errors.New("it is empty: it needs a list `targets:` of items with `url:` and `dialects:`")
	}
	return data, nil
}

// A configItem is one target of a file.
type configItem struct {
	fields     yaml.MapSlice
	line       int
	fieldLines map[string]int
}

// configItems takes a file apart. The errors begin with a colon, or with a line.
func configItems(data []byte) ([]configItem, error) {
	file, err := parser.ParseBytes(data, 0)
	if err != nil {
		return nil, yamlError(err)
	}
	if len(file.Docs) > 1 && file.Docs[1].Body != nil {
		return nil, fmt.Errorf(":%d: it has a second document: one is enough", file.Docs[1].Body.GetToken().Position.Line)
	}
	var raw yaml.MapSlice
	if err := yaml.UnmarshalWithOptions(data, &raw, yaml.UseOrderedMap()); err != nil {
		return nil, yamlError(err)
	}
	var list []any
	for _, field := range raw {
		if field.Key != "targets" {
			return nil, fmt.Errorf(":%d: no field %q%s", fieldLineNumbers(file, "$")[fmt.Sprint(field.Key)], fmt.Sprint(field.Key), near.Suggest(fmt.Sprint(field.Key), []string{"targets"}))
		}
		var ok bool
		if list, ok = field.Value.([]any); !ok && field.Value != nil {
			return nil, fmt.Errorf(":%d: targets: it is a list of items with `url:` and `dialects:`", fieldLineNumbers(file, "$")["targets"])
		}
	}
	if len(list) == 0 {
		return nil, errors.New(": no targets: it needs a list `targets:` of items with `url:` and `dialects:`")
	}
	var items []configItem
	for i, one := range list {
		item := configItem{fieldLines: fieldLineNumbers(file, fmt.Sprintf("$.targets[%d]", i)), line: lineOfNode(file, fmt.Sprintf("$.targets[%d]", i))}
		var ok bool
		if item.fields, ok = one.(yaml.MapSlice); !ok {
			return nil, fmt.Errorf(":%d: target %d: it is a mapping with `url:` and `dialects:`", item.line, i+1)
		}
		items = append(items, item)
	}
	return items, nil
}

// yamlError says where in a file something is not YAML.
func yamlError(err error) error {
	var at yaml.Error
	if errors.As(err, &at) && at.GetToken() != nil {
		return fmt.Errorf(":%d: %s", at.GetToken().Position.Line, at.GetMessage())
	}
	return fmt.Errorf(": %s", oneLine(err.Error()))
}

// nodeAt returns the node of a path; nil if there is none.
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

// fieldLineNumbers returns the lines of the fields of a mapping, by name.
func fieldLineNumbers(file *ast.File, path string) map[string]int {
	lines := map[string]int{}
	for _, field := range mappingFields(nodeAt(file, path)) {
		if t := field.Key.GetToken(); t != nil {
			lines[t.Value] = t.Position.Line
		}
	}
	return lines
}

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

// setFields sets the fields of a target that a file has.
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
			return usageError("%s: there is no such field%s", key, near.Suggest(key, names))
		}
		text, err := yaml.Marshal(yaml.MapSlice{field})
		if err == nil {
			err = yaml.Unmarshal(text, t)
		}
		if err != nil || field.Value == nil {
			return usageError("%s: it is %s", key, kind)
		}
		if t.source.fieldLines[key] == 0 { // it came by a merge
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

// fieldDescriptions returns what the value of each field is, in words.
func fieldDescriptions() map[string]string {
	kinds := map[string]string{}
	for f := range reflect.TypeFor[targetOptions]().Fields() {
		key := f.Tag.Get("yaml")
		switch {
		case key == "":
		case f.Type == reflect.TypeFor[byteSize]():
			kinds[key] = byteSizeSyntax
		case f.Type.Kind() == reflect.String:
			kinds[key] = "a text"
		case f.Type.Kind() == reflect.Bool:
			kinds[key] = "true or false"
		case f.Type.Kind() == reflect.Slice:
			kinds[key] = "a list of texts"
		case f.Type.Kind() == reflect.Map:
			kinds[key] = "a mapping of scenarios to texts"
		case f.Type.Kind() == reflect.Uint64:
			kinds[key] = "a whole number from 0 on"
		default:
			kinds[key] = "a whole number"
		}
	}
	return kinds
}
