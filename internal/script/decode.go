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

// maxProblems is the maximum number of problems reported for one file. Further problems are
// dropped.
const maxProblems = 100

// A decoder decodes one script file. It calls the UnmarshalYAML methods of this package, but only
// for nodes that satisfy the schema. The methods get the decoder from their context (see decoderOf)
// and add errors to its problems.
type decoder struct {
	file     string             // name of the file, for problems
	dialects []*dialect.Dialect // the served dialects
	problems []Problem          // the problems found so far, at most maxProblems

	templates []textTemplate  // the templates of the rule that is being decoded
	groups    map[string]bool // the capture groups of that rule's regular expressions, by number and name
}

// decoderContextKey is the key under which a context holds the decoder.
type decoderContextKey struct{}

// decoderOf returns the decoder in ctx, which must be the context that an UnmarshalYAML method got.
func decoderOf(ctx context.Context) *decoder { return ctx.Value(decoderContextKey{}).(*decoder) }

// decode decodes the node n into the value to which dst points. If that fails, for example because
// of an unknown key, it adds an error to d.problems.
func (d *decoder) decode(n ast.Node, dst any) {
	ctx := context.WithValue(context.Background(), decoderContextKey{}, d)
	err := yaml.NewDecoder(strings.NewReader(""), yaml.Strict()).DecodeFromNodeContext(ctx, n, dst)
	if err != nil {
		d.errorf(n, "%v", yamlError(err))
	}
}

// problem returns a problem of the given severity at the position of n. The message is formatted as
// by [fmt.Sprintf]. The problem is not added to d.problems.
func (d *decoder) problem(n ast.Node, level Severity, format string, args ...any) Problem {
	at := positionOf(n)
	return Problem{d.file, at.line, at.column, level, fmt.Sprintf(format, args...)}
}

// errorf adds an error at the position of n to d.problems. The message is formatted as by
// [fmt.Sprintf].
func (d *decoder) errorf(n ast.Node, format string, args ...any) {
	d.add(d.problem(n, Error, format, args...))
}

// warnf adds a warning at the position of n to d.problems. The message is formatted as by
// [fmt.Sprintf].
func (d *decoder) warnf(n ast.Node, format string, args ...any) {
	d.add(d.problem(n, Warning, format, args...))
}

// add adds p to d.problems, unless there are already maxProblems problems.
func (d *decoder) add(p Problem) {
	if len(d.problems) < maxProblems {
		d.problems = append(d.problems, p)
	}
}

// A textValue is a text in a script. A number or a boolean is also accepted; its text is exactly as
// written in the file, such as "1.50".
type textValue string

// UnmarshalYAML implements the NodeUnmarshaler interface of goccy/go-yaml. The schema of scripts
// guarantees that n is a scalar. The returned error is always nil.
func (t *textValue) UnmarshalYAML(n ast.Node) error {
	*t = textValue(scalarText(n))
	return nil
}

// A textList is a list of names in a script. A list of one name may be written as the name alone.
type textList []string

// UnmarshalYAML implements the NodeUnmarshaler interface of goccy/go-yaml. The schema of scripts
// guarantees that n is a scalar or a list of scalars. The returned error is always nil.
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

// A durationValue is a duration in a script. It is written in the notation of [time.ParseDuration],
// such as 1.5s, or as the number 0.
type durationValue time.Duration

// UnmarshalYAML implements the NodeUnmarshaler interface of goccy/go-yaml. The schema of scripts
// guarantees that n is a string or the number 0. If the string is not a duration, UnmarshalYAML
// returns the error from [time.ParseDuration].
func (v *durationValue) UnmarshalYAML(n ast.Node) error {
	if n.Type() == ast.StringType {
		d, err := time.ParseDuration(scalarText(n))
		*v = durationValue(d)
		return err
	}
	return nil // the number 0; *v is 0 before the call
}
