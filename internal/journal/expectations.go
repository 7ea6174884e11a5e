package journal

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"github.com/streamassay/streamassay/internal/near"
	"github.com/streamassay/streamassay/internal/printable"
	"github.com/streamassay/streamassay/internal/textfile"
	"github.com/streamassay/streamassay/internal/yamltree"
	"github.com/streamassay/streamassay/spec/dialect"
)

// Expectations holds what is expected of clients, as read from a file (`mock --expect FILE`). The
// zero value expects no particular calls. It only expects that clients violate no MUST of the
// protocol, and that each request matches an operation and, if the mock has rules, a rule.
type Expectations struct {
	AllowUnmatched bool          `yaml:"allow-unmatched"` // do not report requests that match no operation or no rule
	Strict         bool          `yaml:"strict"`          // the report fails even if only a SHOULD is violated
	InOrder        bool          `yaml:"in-order"`        // the first requests for each of the Calls must arrive in the order of Calls
	Calls          []Expectation `yaml:"calls"`           // the expected calls
}

// An Expectation states how many exchanges that match its filter are expected. If none of Exactly,
// AtLeast and AtMost is set, at least one exchange is expected. If Ended in the filter is "whole"
// and Status is empty, only responses with a 2XX status are counted.
type Expectation struct {
	Name    string `yaml:"name"` // name in failures; optional
	Filter  `yaml:",inline"`
	Exactly *int `yaml:"exactly"`  // nil: not set
	AtLeast *int `yaml:"at-least"` // nil: not set
	AtMost  *int `yaml:"at-most"`  // nil: not set
}

// maxExpectationBytes is the maximum size of an expectation file in bytes.
const maxExpectationBytes = 1 << 20

// LoadExpectations reads expectations in YAML or JSON from r. An empty text yields the zero value.
// It returns an error if r fails, if the text is larger than 1 MiB or malformed, if the text is not
// empty but has no field with a value, if a field is unknown or has an invalid value, or if a
// server of the given dialects can never receive one of the expected calls. It also returns an
// error if a call has neither a name nor a field that selects requests, unless it is the only one
// and states a number. The error begins with name, the name of the file, and the line, such as
// "expect.yaml:3: ", or with name alone if the line is unknown.
func LoadExpectations(name string, r io.Reader, dialects []*dialect.Dialect) (x Expectations, err error) {
	data, err := io.ReadAll(io.LimitReader(r, maxExpectationBytes+1))
	if err != nil {
		return x, fmt.Errorf("%s: %w", name, err)
	}
	if len(data) > maxExpectationBytes {
		return x, fmt.Errorf("%s: file is larger than %d bytes", name, maxExpectationBytes)
	}
	data, problem := textfile.Decode(data)
	if problem != nil {
		return x, fmt.Errorf("%s:%d: %s", name, problem.Line, problem.Message)
	}
	if err := yaml.UnmarshalWithOptions(data, &x, yaml.Strict()); err != nil && !errors.Is(err, io.EOF) {
		var at yaml.Error
		if errors.As(err, &at) && at.GetToken() != nil {
			return x, fmt.Errorf("%s:%d: %s", name, at.GetToken().Position.Line, yamlErrorText(data, at))
		}
		return x, fmt.Errorf("%s: %w", name, err)
	}
	if len(data) > 0 && !hasValue(data) {
		return x, fmt.Errorf("%s:1: expects nothing: "+
			"want calls (e.g. calls: [{op: run, exactly: 1}]), strict or allow-unmatched", name)
	}
	nodes := callNodes(data)
	for i, c := range x.Calls {
		line, err := 1, error(nil)
		if i < len(nodes) {
			line, err = nodes[i].GetToken().Position.Line, checkCounts(nodes[i])
		}
		if err == nil {
			err = c.check(dialects)
		}
		if err == nil && c.Filter == (Filter{}) && c.Name == "" && (len(x.Calls) > 1 || !c.hasCounts()) {
			err = errors.New("does not say which requests: want op, method, path, status, dialect, thread, run, rule, " +
				"ended or contains (e.g. {op: run, exactly: 1}), or a name if it is about all requests")
		}
		if err != nil {
			return x, fmt.Errorf("%s:%d: call %d: %w", name, line, i+1, err)
		}
	}
	return x, nil
}

// hasValue reports whether a field of data, the text of a file with expectations, has a value other
// than null. The text must be valid YAML.
func hasValue(data []byte) bool {
	file, err := parser.ParseBytes(data, 0)
	if err != nil || len(file.Docs) == 0 {
		return false
	}
	return slices.ContainsFunc(yamltree.Fields(file.Docs[0].Body), func(f *ast.MappingValueNode) bool {
		_, isNull := yamltree.Content(f.Value).(*ast.NullNode)
		return !isNull
	})
}

// yamlErrorText returns the message of e, an error in data, the text of a file with expectations.
// The message does not contain the position of the error. If e reports an unknown field, the
// message lists the known fields. If e reports a value of the wrong type, it says what the value
// must be.
func yamlErrorText(data []byte, e yaml.Error) string {
	switch e.(type) {
	case *yaml.UnknownFieldError:
		if similar := near.Similar(e.GetToken().Value, slices.Concat(fileFields, callFields)); similar != "" {
			return yamltree.ErrorText(e) + "; did you mean " + similar + "?"
		}
		return fmt.Sprintf("%s; want one of %s and, in a call, %s",
			yamltree.ErrorText(e), strings.Join(fileFields, ", "), strings.Join(callFields, ", "))
	case *yaml.TypeError, *yaml.OverflowError, *yaml.UnexpectedNodeTypeError:
		if file, err := parser.ParseBytes(data, 0); err == nil && len(file.Docs) > 0 {
			return cmp.Or(wrongTypeText(file.Docs[0].Body, e.GetToken().Position), "a value has the wrong type")
		}
	}
	return yamltree.ErrorText(e)
}

// The fields of a file with expectations, and those of each call in it.
var (
	fileFields = []string{"allow-unmatched", "strict", "in-order", "calls"}
	callFields = []string{
		"name", "dialect", "op", "method", "path", "status", "thread", "run", "rule", "ended", "contains", "exactly",
		"at-least", "at-most",
	}
)

// fieldTypes describes the valid values of fields in a file with expectations, for error messages,
// by the name of the field. The values of fields that it does not contain are strings.
var fieldTypes = map[string]string{
	"allow-unmatched": "true or false", "strict": "true or false", "in-order": "true or false",
	"calls":   "a list of objects (e.g. [{op: run, exactly: 1}])",
	"exactly": "a whole number", "at-least": "a whole number", "at-most": "a whole number",
}

// wrongTypeText returns an error message for the value of the wrong type that begins at the
// position at in root, the content of a file with expectations. It returns "" if that value is
// neither root itself, nor a call, nor the value of a field of root or of a call.
func wrongTypeText(root ast.Node, at *token.Position) (text string) {
	look := func(n ast.Node, name, want string) {
		if p := yamltree.Content(n).GetToken().Position; p.Line == at.Line && p.Column == at.Column {
			text = fmt.Sprintf("%s must be %s, got %s", name, want, describeNode(n))
		}
	}
	look(root, "the file", "an object with calls")
	for _, f := range yamltree.Fields(root) {
		key := yamltree.Key(f)
		look(f.Value, key, cmp.Or(fieldTypes[key], "a text"))
		calls, _ := yamltree.Content(f.Value).(*ast.SequenceNode)
		if key != "calls" || calls == nil {
			continue
		}
		for i, c := range calls.Values {
			name := fmt.Sprintf("call %d", i+1)
			look(c, name, "an object (e.g. {op: run, exactly: 1})")
			for _, f := range yamltree.Fields(c) {
				look(f.Value, name+": "+yamltree.Key(f), cmp.Or(fieldTypes[yamltree.Key(f)], "a text"))
			}
		}
	}
	return text
}

// describeNode returns a description of n for error messages, such as "a list" or, for a string,
// its beginning in quotes.
func describeNode(n ast.Node) string {
	n = yamltree.Content(n)
	value := printable.Prefix(n.GetToken().Value, 60)
	switch n.(type) {
	case *ast.SequenceNode:
		return "a list"
	case *ast.MappingNode, *ast.MappingValueNode:
		return "an object"
	case *ast.LiteralNode:
		return "a text"
	case *ast.StringNode:
		return strconv.Quote(value)
	}
	return value
}

// checkCounts returns an error if a count (exactly, at-least or at-most) in call, an element of the
// result of callNodes, is not a whole number. The YAML package does not report this: it converts
// the value.
func checkCounts(call ast.Node) error {
	for _, f := range yamltree.Fields(call) {
		whole := true
		switch n := yamltree.Content(f.Value).(type) {
		case *ast.StringNode, *ast.LiteralNode:
			whole = false
		case *ast.FloatNode:
			whole = n.Value == math.Trunc(n.Value)
		}
		if want := fieldTypes[yamltree.Key(f)]; want == "a whole number" && !whole {
			return fmt.Errorf("%s must be %s, got %s", yamltree.Key(f), want, describeNode(f.Value))
		}
	}
	return nil
}

// callNodes returns the YAML nodes of the elements of the list "calls" in data, the text of a file
// with expectations. It returns nil if data is not valid YAML or has no such list.
func callNodes(data []byte) []ast.Node {
	path, err := yaml.PathString("$.calls")
	if err != nil {
		return nil
	}
	node, err := path.ReadNode(bytes.NewReader(data))
	if err != nil {
		return nil
	}
	calls, _ := yamltree.Content(node).(*ast.SequenceNode)
	if calls == nil {
		return nil
	}
	return calls.Values
}

// httpMethods lists the values of Filter.Method that Expectation.check accepts.
var httpMethods = []string{
	http.MethodConnect, http.MethodDelete, http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodPatch,
	http.MethodPost, http.MethodPut, http.MethodTrace,
}

// check returns an error if Exactly, AtLeast or AtMost is negative, if Exactly is set together with
// one of the others, if AtLeast is greater than AtMost, if a field of the filter is invalid, or if
// x expects a call that a server of the given dialects can never receive.
func (x Expectation) check(dialects []*dialect.Dialect) error {
	for i, n := range []*int{x.Exactly, x.AtLeast, x.AtMost} {
		if n != nil && *n < 0 {
			return fmt.Errorf("invalid %s %d (want 0 or more)", []string{"exactly", "at-least", "at-most"}[i], *n)
		}
	}
	switch {
	case x.Exactly != nil && (x.AtLeast != nil || x.AtMost != nil):
		return errors.New("exactly cannot be combined with at-least or at-most")
	case x.AtLeast != nil && x.AtMost != nil && *x.AtLeast > *x.AtMost:
		return fmt.Errorf("at-least %d is greater than at-most %d", *x.AtLeast, *x.AtMost)
	}
	if err := x.Filter.Check(dialects); err != nil {
		return err
	}
	if x.Method != "" && !slices.Contains(httpMethods, strings.ToUpper(x.Method)) {
		return fmt.Errorf("invalid method %.40q (want %s)", x.Method, strings.Join(httpMethods, ", "))
	}
	if _, maximum := x.countRange(); maximum != 0 {
		return x.checkPossible(dialects)
	}
	return nil
}

// checkPossible returns an error if no request can match the expectation. This is the case if
// x.Path cannot match a path that begins with a slash, or if none of the given dialects that
// x.Dialect selects has the operation x.Op.
func (x Expectation) checkPossible(dialects []*dialect.Dialect) error {
	if x.Path != "" && !strings.ContainsRune(`/*[\`, rune(x.Path[0])) {
		return fmt.Errorf("invalid path %q (want a path that begins with a slash)", x.Path)
	}
	var without []string
	if slices.Contains([]string{"", "run", "tell"}, x.Op) { // every dialect has these
		return nil
	}
	for _, d := range dialects {
		if !x.hasDialect(d.Name) {
			continue
		}
		if _, ok := d.TemplateOperation(x.Op); ok {
			return nil
		}
		without = append(without, d.Name)
	}
	return fmt.Errorf("op %s is not part of %s", x.Op, strings.Join(without, ", "))
}

// filter returns the filter that selects the exchanges to which the expectation applies. If x.Ended
// is "whole" and x.Status is empty, the filter selects only responses with a status of 2XX.
func (x Expectation) filter() Filter {
	x.onlySuccess = EndReason(x.Ended) == Complete && x.Status == ""
	return x.Filter
}

// hasCounts reports whether x states how many exchanges it expects.
func (x Expectation) hasCounts() bool { return x.Exactly != nil || x.AtLeast != nil || x.AtMost != nil }

// countRange returns the minimum and the maximum number of exchanges that x expects. A maximum of
// -1 means that there is no maximum.
func (x Expectation) countRange() (minimum, maximum int) {
	if x.Exactly != nil {
		return *x.Exactly, *x.Exactly
	}
	minimum, maximum = 1, -1
	if x.AtMost != nil {
		minimum, maximum = 0, *x.AtMost
	}
	if x.AtLeast != nil {
		minimum = *x.AtLeast
	}
	return minimum, maximum
}

// countText returns the expected number of exchanges as text, such as "at least 1".
func (x Expectation) countText() string {
	minimum, maximum := x.countRange()
	switch {
	case minimum == maximum:
		return fmt.Sprintf("exactly %d", maximum)
	case maximum < 0:
		return fmt.Sprintf("at least %d", minimum)
	case minimum == 0:
		return fmt.Sprintf("at most %d", maximum)
	}
	return fmt.Sprintf("%d to %d", minimum, maximum)
}

// String returns the name and the filter values of the expectation as text, or "any request" if it
// has neither.
func (x Expectation) String() string {
	var parts []string
	for _, p := range [][2]string{
		{"dialect", x.Dialect}, {"op", x.Op}, {"method", x.Method}, {"path", x.Path}, {"status", string(x.Status)},
		{"thread", x.Thread}, {"run", x.Run}, {"rule", x.Rule}, {"ended", x.Ended}, {"contains", x.Contains},
	} {
		if p[1] != "" {
			parts = append(parts, p[0]+" "+p[1])
		}
	}
	parts = slices.Compact(parts)
	switch {
	case x.Name != "" && len(parts) > 0:
		return x.Name + " (" + strings.Join(parts, ", ") + ")"
	case x.Name != "":
		return x.Name
	case len(parts) == 0:
		return "any request"
	}
	return strings.Join(parts, ", ")
}
