package script

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"text/template/parse"

	"github.com/streamassay/streamassay/internal/near"
)

// An arity is the least and the greatest number of arguments of a function. A negative
// greatest number stands for no limit.
type arity struct{ least, most int }

// String returns the range as text, such as "1 argument", "1 to 4 arguments" or "at least 1
// argument".
func (r arity) String() string {
	text, last := strconv.Itoa(r.least), r.most
	switch {
	case r.most < 0:
		text, last = "at least "+text, r.least
	case r.least < r.most:
		text += fmt.Sprintf(" to %d", r.most)
	}
	if last != 1 {
		return text + " arguments"
	}
	return text + " argument"
}

// argumentRanges holds the numbers of arguments of the functions that templates in scripts may
// call, by name: those of templateData.funcs, and the predefined functions of text/template for
// logic, comparison and indexing. Other predefined functions are excluded, because they could, for
// example, produce a large text (printf).
var argumentRanges = func() map[string]arity {
	all := map[string]arity{
		"and": {1, -1}, "or": {1, -1}, "not": {1, 1}, "eq": {2, -1}, "ne": {2, 2}, "lt": {2, 2}, "le": {2, 2}, "gt": {2, 2},
		"ge": {2, 2}, "len": {1, 1}, "index": {1, -1}, "slice": {1, 4},
	}
	for name, f := range (&templateData{}).funcs() {
		t := reflect.TypeOf(f)
		all[name] = arity{t.NumIn(), t.NumIn()}
		if t.IsVariadic() {
			all[name] = arity{t.NumIn() - 1, -1}
		}
	}
	all["pick"] = arity{1, -1}
	return all
}()

// allowedFuncs lists the names of the functions that templates in scripts may call.
var allowedFuncs = slices.Collect(maps.Keys(argumentRanges))

// allowedFields lists the exported fields of templateData, each with a leading dot, such as
// ".Text".
var allowedFields = func() (all []string) {
	for field := range reflect.TypeFor[templateData]().Fields() {
		if field.IsExported() {
			all = append(all, "."+field.Name)
		}
	}
	return all
}()

// A templateChecker checks the templates of one rule.
type templateChecker struct {
	groups map[string]bool // capture groups of the rule's regular expressions, by number and name
}

// check returns an error if n contains something that is not allowed in the templates of scripts:
// an unknown function, field or capture group, a call with too few or too many arguments, an
// invalid JSON pointer, the template data as a whole (the dot), the map .Match as a whole, or a
// control structure other than "if" and "with". The argument inWith is true if n is in the body of
// a "with" action. There, the dot can have any value, so check accepts the dot and all fields.
func (c templateChecker) check(n parse.Node, inWith bool) error {
	switch n := n.(type) {
	case *parse.ListNode:
		return checkEach(c, n.Nodes, inWith)
	case *parse.ActionNode:
		if value := n.Pipe.String(); strings.TrimPrefix(value, "$") == ".Match" {
			return fmt.Errorf("{{%s}} is not a text: name a group, such as {{.Match.city}}", value)
		}
		return c.check(n.Pipe, inWith)
	case *parse.IfNode:
		return c.checkBranch(n.BranchNode, inWith, inWith)
	case *parse.WithNode:
		return c.checkBranch(n.BranchNode, inWith, true)
	case *parse.PipeNode:
		for i, command := range n.Cmds {
			if err := checkArguments(command, i > 0); err != nil {
				return err
			}
		}
		return checkEach(c, n.Cmds, inWith)
	case *parse.CommandNode:
		if err := checkPointer(n); err != nil {
			return err
		}
		return checkEach(c, n.Args, inWith)
	case *parse.ChainNode:
		return c.check(n.Node, inWith)
	case *parse.IdentifierNode:
		if !slices.Contains(allowedFuncs, n.Ident) {
			return fmt.Errorf("function %s is not allowed in scripts%s", n.Ident, near.Suggest(n.Ident, allowedFuncs))
		}
	case *parse.DotNode:
		if !inWith {
			return c.checkField(nil)
		}
	case *parse.FieldNode:
		if !inWith {
			return c.checkField(n.Ident)
		}
	case *parse.VariableNode:
		if n.Ident[0] == "$" {
			return c.checkField(n.Ident[1:])
		}
	case *parse.TextNode, *parse.CommentNode, *parse.StringNode, *parse.NumberNode, *parse.BoolNode, *parse.NilNode:
	case *parse.RangeNode: // might run for an unbounded time
		return errors.New("range is not allowed in scripts: write the text out")
	default:
		return fmt.Errorf("%s is not allowed in scripts", n)
	}
	return nil
}

// checkEach calls c.check for each of the nodes, and returns the first error.
func checkEach[N parse.Node](c templateChecker, nodes []N, inWith bool) error {
	for _, n := range nodes {
		if err := c.check(n, inWith); err != nil {
			return err
		}
	}
	return nil
}

// checkBranch checks b, an "if" or "with" action, in the same way as check. The argument inWith
// applies to the condition and the else branch of b, and bodyInWith applies to its body.
func (c templateChecker) checkBranch(b parse.BranchNode, inWith, bodyInWith bool) error {
	if err := c.check(b.Pipe, inWith); err != nil {
		return err
	}
	if err := c.check(b.List, bodyInWith); err != nil || b.ElseList == nil {
		return err
	}
	return c.check(b.ElseList, inWith)
}

// checkField returns an error unless the template data has a field with the given path. The
// elements of path are the names in a template, such as Match and city for .Match.city. An empty
// path stands for the template data as a whole; checkField then returns an error, too, because the
// data cannot be inserted as text.
func (c templateChecker) checkField(path []string) error {
	switch {
	case len(path) == 0:
		return fmt.Errorf("{{.}} and {{$}} are not a text: name a field, such as {{.Text}} (want %s)",
			strings.Join(allowedFields, ", "))
	case !slices.Contains(allowedFields, "."+path[0]):
		return fmt.Errorf("unknown field .%s%s", path[0], near.Suggest("."+path[0], allowedFields))
	case len(path) == 1:
		return nil
	case path[0] != "Match":
		return fmt.Errorf(".%s has no field %s", path[0], path[1])
	case len(c.groups) == 0:
		return fmt.Errorf("unknown group .Match.%s: no condition of the rule uses matches", path[1])
	case !c.groups[path[1]]:
		return fmt.Errorf("unknown group .Match.%s: no regular expression of the rule has a group of that name", path[1])
	}
	return nil
}

// checkArguments returns an error if command calls a function with a number of arguments that the
// function does not take. If isPiped is true, the result of the preceding command is one more
// argument. A function that is itself an argument is called without arguments. checkArguments
// ignores functions that templates may not call.
func checkArguments(command *parse.CommandNode, isPiped bool) error {
	for i, arg := range command.Args {
		f, isCall := arg.(*parse.IdentifierNode)
		if !isCall {
			continue
		}
		given := 0
		if i == 0 {
			if given = len(command.Args) - 1; isPiped {
				given++
			}
		}
		want, known := argumentRanges[f.Ident]
		if known && (given < want.least || want.most >= 0 && given > want.most) {
			return fmt.Errorf("function %s needs %v, got %d", f.Ident, want, given)
		}
	}
	return nil
}

// checkPointer returns an error if command calls the template function "body" with a literal
// argument that is not a JSON pointer. For any other command, it returns nil.
func checkPointer(command *parse.CommandNode) error {
	if len(command.Args) != 2 {
		return nil
	}
	name, isCall := command.Args[0].(*parse.IdentifierNode)
	text, isLiteral := command.Args[1].(*parse.StringNode)
	if isCall && isLiteral && name.Ident == "body" && !isJSONPointer(text.Text) {
		return errors.New(quoteTruncated(text.Text) + " is not a JSON pointer (e.g. /messages/0/role)")
	}
	return nil
}
