package script

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"

	"github.com/streamassay/streamassay/internal/fault"
	"github.com/streamassay/streamassay/internal/near"
	"github.com/streamassay/streamassay/internal/pace"
	"github.com/streamassay/streamassay/internal/yamltree"
	"github.com/streamassay/streamassay/spec/dialect"
)

// maxRules is the maximum number of rules in a rule set, and thus also in one file.
const maxRules = 10_000

// A ruleDefaults holds the settings that apply to all rules of a file.
type ruleDefaults struct {
	dialects textList  // dialects or families to which the rules apply; empty means all
	Pace     paceValue // timing of the responses; a rule may override some of its fields
	Faults   faultList // faults for rules that have no member "faults"
}

// A ruleDocument holds the members of a rule in a script. The response to a matching request is
// Status or, if Status is nil, a stream with the steps in Reply. If both are nil, the server's own
// agent replies.
type ruleDocument struct {
	Name     textValue
	Priority int           // rules of higher priority are tried first
	When     conditions    // what a request must meet to match the rule
	Reply    stepList      // steps of the reply; nil if there is none
	Status   *statusReply  // error response to send instead of an event stream; nil if there is none
	Default  bool          // states that the server's own agent replies; has no effect, but informs readers
	Pace     paceValue     // timing of the response
	Faults   faultList     // faults to inject into the response
	Set      scenarioSteps // scenario steps to set when the rule matches
	Times    int           // maximum number of matches; 0 means no limit
	Quota    rateLimit     // maximum number of requests in a time window
	Violates bool          // the raw frames of the reply violate the protocol on purpose
}

// A rateLimit limits the number of requests that a rule serves in a time window. A window begins
// with the first request after the end of the previous window. The rule refuses further requests
// until the window ends.
type rateLimit struct {
	Requests int           // maximum number of requests in a window; 0: no limit
	Per      durationValue // length of a window
}

// A statusReply is a response with an error status. It is sent instead of an event stream.
type statusReply struct {
	Code          int           // HTTP status code
	Text, Problem textTemplate  // message and problem code; either may be empty
	RetryAfter    durationValue `yaml:"retry-after"` // value of the Retry-After field; 0 means no field
}

// UnmarshalYAML implements the NodeUnmarshalerContext interface of goccy/go-yaml. The schema of
// scripts guarantees that n is a status code, or an object with the member code and optionally
// text, problem and retry-after. The returned error is always nil.
func (s *statusReply) UnmarshalYAML(ctx context.Context, n ast.Node) error {
	d := decoderOf(ctx)
	if n.Type() != ast.MappingType {
		d.decode(n, &s.Code)
		return nil
	}
	type statusFields statusReply // without this method
	d.decode(n, (*statusFields)(s))
	return nil
}

// A paceValue is the timing of a reply in a script (see [pace.Parse]).
type paceValue struct{ pace.Pace }

// UnmarshalYAML implements the NodeUnmarshalerContext interface of goccy/go-yaml. It decodes the
// node n with [pace.Parse]. If that fails, UnmarshalYAML adds an error to the problems of the
// decoder. The returned error is always nil.
func (p *paceValue) UnmarshalYAML(ctx context.Context, n ast.Node) (err error) {
	var v any
	if err = yaml.NodeToValue(n, &v); err == nil {
		p.Pace, err = pace.Parse(v)
	}
	if err != nil {
		decoderOf(ctx).errorf(n, "pace: %v", err)
	}
	return nil
}

// A faultList is a list of faults in a script. Each item is the name of a fault, or an object that
// maps the name of one fault to its parameters. A faultList is nil if the script has no member
// "faults", and not nil if that member is an empty list.
type faultList []fault.Spec

// UnmarshalYAML implements the NodeUnmarshalerContext interface of goccy/go-yaml. The schema of
// scripts guarantees that n is a fault or a list of faults. For each invalid fault, UnmarshalYAML
// adds an error to the problems of the decoder. The returned error is always nil.
func (l *faultList) UnmarshalYAML(ctx context.Context, n ast.Node) error {
	*l = faultList{}
	for _, item := range itemsOf(n) {
		at := item
		var params map[string]any
		if all := yamltree.Fields(item); all != nil {
			at = all[0].Key
			decoderOf(ctx).decode(all[0].Value, &params)
		}
		use, err := fault.FromYAML(scalarText(at), params)
		if err != nil {
			decoderOf(ctx).errorf(at, "%v", err)
		}
		*l = append(*l, use)
	}
	return nil
}

// decodeRules returns the rules of the file, in the order of the file, except those that violate
// the schema. The argument root is the top-level node of the file, and value is its decoded value.
// decodeRules adds the problems that it finds to d.problems.
func (d *decoder) decodeRules(root ast.Node, value any) (all []*Rule) {
	invalid := map[string]bool{}
	for _, location := range d.checkSchema(root, value) {
		if len(location) > 1 && location[0] == "rules" {
			invalid["rules/"+location[1]] = true
		} else if len(location) > 0 {
			invalid[location[0]] = true
		}
	}
	var defaults ruleDefaults
	if n := member(root, "dialects"); n != nil && !invalid["dialects"] {
		d.decode(n.Value, &defaults.dialects)
		d.checkDialectNames(n.Value)
	}
	if n := member(root, "defaults"); n != nil && !invalid["defaults"] {
		d.decode(n.Value, &defaults)
	}
	rules := member(root, "rules")
	if rules == nil || rules.Value.Type() != ast.SequenceType || invalid["rules"] {
		return nil
	}
	lines := map[string]int{} // by rule name
	for i, n := range itemsOf(rules.Value) {
		name, at := "rule "+strconv.Itoa(i+1), n
		if m := member(n, "name"); m != nil {
			name, at = scalarText(m.Value), m.Value
		}
		if first := lines[name]; first > 0 {
			d.errorf(at, "duplicate rule name %s, first used in line %d: names must be unique in a file",
				quoteTruncated(name), first)
		} else {
			lines[name] = positionOf(n).line
		}
		if !invalid["rules/"+strconv.Itoa(i)] {
			all = append(all, d.decodeRule(n, name, defaults))
		}
	}
	return all
}

// checkDialectNames adds an error to d.problems for each unknown name in n. The node n is the name
// of a dialect or family, or a list of such names. A dialect that the mock does not serve is
// accepted, because several mocks may share a script.
func (d *decoder) checkDialectNames(n ast.Node) {
	var names []string
	for _, name := range dialect.Names() {
		family, _, _ := strings.Cut(name, "@")
		names = append(names, name, family)
	}
	for _, served := range d.dialects {
		names = append(names, served.Name, served.Family)
	}
	slices.Sort(names)
	for _, item := range itemsOf(n) {
		if text := scalarText(item); !slices.Contains(names, text) {
			d.errorf(item, "unknown dialect %s%s", quoteTruncated(text), near.Suggest(text, slices.Compact(names)))
		}
	}
}

// decodeRule decodes the node n as a rule with the given name. The rule gets the dialects in
// defaults. It also gets the faults in defaults if it has no member "faults", and the timing in
// defaults where its own pace does not set it. decodeRule sets d.groups and d.templates to those of
// the rule, and adds the problems that it finds to d.problems.
func (d *decoder) decodeRule(n ast.Node, name string, defaults ruleDefaults) *Rule {
	d.templates, d.groups = nil, map[string]bool{}
	at := positionOf(n)
	rule := &Rule{
		Name: name, File: d.file, Line: at.line, column: at.column,
		dialects: defaults.dialects, groups: d.groups, ruleDocument: ruleDocument{Faults: defaults.Faults},
	}
	d.decode(n, &rule.ruleDocument)
	rule.Pace.Pace = defaults.Pace.Merge(rule.Pace.Pace)
	rule.counterKey = d.file + "\x00" + rule.Name
	if rule.When.Operations == nil {
		rule.When.Operations = textList{runOperation}
	}
	d.lintRule(rule, n)
	return rule
}

// hasRawFrames reports whether the reply has "raw" steps. Their frames are sent as written in the
// script and may violate the protocol.
func (r *Rule) hasRawFrames() bool {
	return slices.ContainsFunc(r.Reply, func(s step) bool { return s.name == "raw" })
}

// appliesTo reports whether the rule applies to dialect d. A rule applies to the dialects and
// families that it lists, or to all dialects if it lists none.
func (r *Rule) appliesTo(d *dialect.Dialect) bool {
	return len(r.dialects) == 0 || slices.Contains(r.dialects, d.Name) || slices.Contains(r.dialects, d.Family)
}

// applicableDialects returns those of the given dialects to which the rule applies, in the same
// order.
func (r *Rule) applicableDialects(dialects []*dialect.Dialect) (all []*dialect.Dialect) {
	for _, d := range dialects {
		if r.appliesTo(d) {
			all = append(all, d)
		}
	}
	return all
}
