package journal

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/parser"
)

// Expect is what is wanted of clients, as a file says it (`mock --expect FILE`). The
// zero value wants only that they do nothing wrong.
type Expect struct {
	AllowUnmatched bool          `yaml:"allow-unmatched"` // what nothing is there for, or no rule, is no finding
	Strict         bool          `yaml:"strict"`          // a broken SHOULD fails
	InOrder        bool          `yaml:"in-order"`        // the calls come first in the order in which they stand
	Calls          []Expectation `yaml:"calls"`
}

// An Expectation is a kind of exchange that is wanted, and how often. Without any count
// it is wanted at least once.
type Expectation struct {
	Name     string `yaml:"name"` // what failures call it
	Dialect  string `yaml:"dialect"`
	Op       string `yaml:"op"`
	Method   string `yaml:"method"`
	Path     string `yaml:"path"`
	Status   string `yaml:"status"`
	Thread   string `yaml:"thread"`
	Run      string `yaml:"run"`
	Rule     string `yaml:"rule"`
	Ended    string `yaml:"ended"` // "whole" without a status is of what was answered with 2xx
	Contains string `yaml:"contains"`
	Exactly  *int   `yaml:"exactly"`
	AtLeast  *int   `yaml:"at-least"`
	AtMost   *int   `yaml:"at-most"`
}

// maxExpectBytes is how large what is read may be, in bytes.
const maxExpectBytes = 1 << 20

// LoadExpect reads what is wanted, YAML or JSON, strictly; name is what errors call it.
func LoadExpect(name string, r io.Reader) (x Expect, err error) {
	data, err := io.ReadAll(io.LimitReader(r, maxExpectBytes+1))
	if err != nil {
		return x, fmt.Errorf("%s: %w", name, err)
	}
	if len(data) > maxExpectBytes {
		return x, fmt.Errorf("%s: it has more than %d bytes", name, maxExpectBytes)
	}
	if err := yaml.UnmarshalWithOptions(data, &x, yaml.Strict()); err != nil && !errors.Is(err, io.EOF) {
		var at yaml.Error
		if errors.As(err, &at) && at.GetToken() != nil {
			return x, fmt.Errorf("%s:%d: %s", name, at.GetToken().Position.Line, yamlErrorText(at))
		}
		return x, fmt.Errorf("%s: %w", name, err)
	}
	for i, c := range x.Calls {
		if err := c.check(); err != nil {
			return x, fmt.Errorf("%s:%d: call %d: %w", name, lineOf(data, i), i+1, err)
		}
	}
	return x, nil
}

// yamlErrorText is what is wrong, and what would be right.
func yamlErrorText(e yaml.Error) string {
	var unknown *yaml.UnknownFieldError
	if !errors.As(e, &unknown) {
		return e.GetMessage()
	}
	return e.GetMessage() + "; there are allow-unmatched, strict, in-order and calls, and in a call name, dialect, op, method, path, status, thread, run, rule, ended, contains, exactly, at-least and at-most"
}

// lineOf is where a call stands.
func lineOf(data []byte, call int) int {
	file, err := parser.ParseBytes(data, 0)
	if err != nil {
		return 1
	}
	at, err := yaml.PathString(fmt.Sprintf("$.calls[%d]", call))
	if err != nil {
		return 1
	}
	node, err := at.FilterFile(file)
	if err != nil {
		return 1
	}
	line := node.GetToken().Position.Line
	return line
}

func (x Expectation) check() error {
	for _, n := range []*int{x.Exactly, x.AtLeast, x.AtMost} {
		if n != nil && *n < 0 {
			return fmt.Errorf("the count %d: it is not negative", *n)
		}
	}
	switch {
	case x.Exactly != nil && (x.AtLeast != nil || x.AtMost != nil):
		return errors.New("exactly stands alone: a range is at-least and at-most")
	case x.AtLeast != nil && x.AtMost != nil && *x.AtLeast > *x.AtMost:
		return fmt.Errorf("at-least %d and at-most %d: nothing is both", *x.AtLeast, *x.AtMost)
	}
	return x.filter().Check()
}

func (x Expectation) filter() Filter {
	return Filter{
		Dialect: x.Dialect, Op: x.Op, Method: x.Method, Path: x.Path, Status: x.Status, Thread: x.Thread, Run: x.Run,
		Rule: x.Rule, Ended: x.Ended, Contains: x.Contains, onlySuccess: EndReason(x.Ended) == Complete && x.Status == "",
	}
}

// countRange are the fewest and the most that are wanted; most -1 is any number.
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

// countText says how often it is wanted.
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

// String names what is wanted.
func (x Expectation) String() string {
	var parts []string
	for _, p := range [][2]string{
		{"dialect", x.Dialect}, {"op", x.Op}, {"method", x.Method}, {"path", x.Path}, {"status", x.Status}, {"thread", x.Thread},
		{"run", x.Run}, {"rule", x.Rule}, {"ended", x.Ended}, {"contains", x.Contains},
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
