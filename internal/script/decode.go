package script

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"

	"github.com/streamassay/streamassay/spec/dialect"
)

// maxProblems is the maximum number of problems reported for one file; further ones are dropped.
const maxProblems = 100

// A decoder decodes one script file. The UnmarshalYAML methods of this package are called only for
// nodes that satisfy the schema. The methods with a context get the decoder from it, and add errors
// that the schema cannot express to the decoder's problems.
type decoder struct {
	file     string
	dialects []*dialect.Dialect // the served dialects
	problems []Problem

	// The templates of the rule that is being decoded, and the capture groups of its regular
	// expressions, by number and name.
	templates []textTemplate
	groups    map[string]bool
}

// decoderKey is the key of the decoder in a context.
type decoderKey struct{}

// decoderOf returns the decoder that passed ctx to an UnmarshalYAML method.
func decoderOf(ctx context.Context) *decoder { return ctx.Value(decoderKey{}).(*decoder) }

// decode decodes the node n into *to, where to must be a pointer. Errors, such as keys for which
// *to has no field, are added to the problems of the file.
func (d *decoder) decode(n ast.Node, to any) {
	ctx := context.WithValue(context.Background(), decoderKey{}, d)
	err := yaml.NewDecoder(strings.NewReader(""), yaml.Strict()).DecodeFromNodeContext(ctx, n, to)
	if err != nil {
		d.errorf(n, "%v", yamlError(err))
	}
}

// problem returns a problem of the given severity at the position of n, with a formatted message.
func (d *decoder) problem(n ast.Node, level Severity, format string, args ...any) Problem {
	at := positionOf(n)
	return Problem{d.file, at.line, at.column, level, fmt.Sprintf(format, args...)}
}

// errorf adds an error with a formatted message at the position of n to the problems of the file.
func (d *decoder) errorf(n ast.Node, format string, args ...any) {
	d.add(d.problem(n, Error, format, args...))
}

// warnf adds a warning with a formatted message at the position of n to the problems of the file.
func (d *decoder) warnf(n ast.Node, format string, args ...any) {
	d.add(d.problem(n, Warning, format, args...))
}

// add adds p to the problems of the file, unless there are maxProblems already.
func (d *decoder) add(p Problem) {
	if len(d.problems) < maxProblems {
		d.problems = append(d.problems, p)
	}
}

// A textValue is a text in a script. For a number or a boolean, it is the text in the file, such as
// "1.50".
type textValue string

// UnmarshalYAML implements the NodeUnmarshaler interface of goccy/go-yaml. The node is any scalar.
func (t *textValue) UnmarshalYAML(n ast.Node) error {
	*t = textValue(scalarText(n))
	return nil
}

// A textList is a name or a list of names in a script.
type textList []string

// UnmarshalYAML implements the NodeUnmarshaler interface of goccy/go-yaml. The node is a scalar or
// a list of scalars.
func (l *textList) UnmarshalYAML(n ast.Node) error {
	*l = nil
	for _, item := range itemsOf(n) {
		*l = append(*l, scalarText(item))
	}
	return nil
}

// itemsOf returns the items of n if n is a list, and n as the only item otherwise.
func itemsOf(n ast.Node) []ast.Node {
	if list, ok := n.(*ast.SequenceNode); ok {
		return list.Values
	}
	return []ast.Node{n}
}

// maxDuration is the longest duration that a script may contain.
const maxDuration = 24 * time.Hour

// A durationValue is a duration in a script: in Go's notation, such as 1.5s, or the number 0.
type durationValue time.Duration

// UnmarshalYAML implements the NodeUnmarshaler interface of goccy/go-yaml. The node is a string or
// the number 0. The error is one from time.ParseDuration.
func (v *durationValue) UnmarshalYAML(n ast.Node) error {
	if n.Type() == ast.StringType {
		d, err := time.ParseDuration(scalarText(n))
		*v = durationValue(d)
		return err
	}
	return nil
}
