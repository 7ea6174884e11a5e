package script

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/streamassay/streamassay/internal/near"
	"github.com/streamassay/streamassay/mockserver/fault"
	"github.com/streamassay/streamassay/mockserver/pace"
	"github.com/streamassay/streamassay/spec/dialect"
)

// maxRules is the maximum number of rules in one file. It is also the maximum number of rules in a
// rule set.
const maxRules = 10_000

// A ruleDefaults holds the settings of a file that apply to rules without settings of their own.
type ruleDefaults struct {
	dialects []string
	pace     pace.Pace
	faults   []fault.Spec
}

// A ruleAction holds the effect of a rule on the response: the reply or the error status, and the
// pace and faults of the response.
type ruleAction struct {
	steps        []step
	rendered     []renderedStep // the rendered steps, if they have no templates
	hasReply     bool           // the steps are the reply; otherwise the server's own agent replies
	status       *statusReply
	pace         pace.Pace
	faults       []fault.Spec
	violatesNode *yamlNode // the value of violates
}

// A statusReply is a response with an error status, which is sent instead of an event stream.
type statusReply struct {
	code          int
	text, problem textTemplate
	retryAfter    time.Duration
}

// parseRules returns the rules of a file. The parameter root is the top-level object of the file.
// Errors, such as a missing list of rules or a duplicate name, are added to the problems of the
// file.
func (r *scriptParser) parseRules(root *yamlNode) (all []*Rule) {
	var d ruleDefaults
	var list *yamlNode
	ok := r.parseObject(root, "a script", memberParsers{
		"dialects": func(n *yamlNode) { d.dialects = r.parseNames(n, "dialects"); r.checkDialectNames(n) },
		"defaults": func(n *yamlNode) {
			r.parseObject(n, "defaults", memberParsers{
				"pace":   func(n *yamlNode) { d.pace = r.parsePace(n) },
				"faults": func(n *yamlNode) { d.faults = r.parseFaults(n) },
			})
		},
		"rules": func(n *yamlNode) { list = n },
	})
	if ok && list == nil {
		r.errorf(root, "missing rules: a script needs a list of rules, each with when and reply")
	}
	if list == nil {
		return nil
	}
	if len(list.items) > maxRules {
		r.errorf(list, "too many rules: %d, at most %d are allowed", len(list.items), maxRules)
		return nil
	}
	names := map[string]int{}
	r.parseList(list, "rules", func(i int, n *yamlNode) {
		rule := r.parseRule(n, i, d)
		if first := names[rule.Name]; first > 0 {
			r.errorf(n.get("name"), "duplicate rule name %s, first used in line %d: names must be unique in a file",
				quoteTruncated(rule.Name), first)
		}
		names[rule.Name] = n.line
		all = append(all, rule)
	})
	return all
}

// checkDialectNames records an error for each unknown name in n, which is the name of a dialect or
// a family, or a list of such names. Known dialects that are not served are accepted, because
// several mocks may share a script.
func (r *scriptParser) checkDialectNames(n *yamlNode) {
	var names []string
	for _, name := range dialect.Names() {
		family, _, _ := strings.Cut(name, "@")
		names = append(names, name, family)
	}
	items := []*yamlNode{n}
	if n.kind == listNode {
		items = n.items
	}
	for _, item := range items {
		if item.kind == scalarNode && item.text != "" && !slices.Contains(names, item.text) {
			suggestion := near.Suggest(item.text, slices.Compact(slices.Sorted(slices.Values(names))))
			r.errorf(item, "unknown dialect %s%s", quoteTruncated(item.text), suggestion)
		}
	}
}

// parseRule returns the rule in n, the item with index i in the file's list of rules. d holds the
// defaults of the file. Errors are added to the problems of the file.
func (r *scriptParser) parseRule(n *yamlNode, i int, d ruleDefaults) *Rule {
	rule := &Rule{
		Name: "rule " + strconv.Itoa(i+1), File: r.file, Line: n.line, column: n.column,
		dialects:   d.dialects,
		action:     ruleAction{pace: d.pace, faults: d.faults},
		conditions: conditions{operations: []string{runOperation}},
	}
	var outcomes []string
	outcome := func(name string, read func(n *yamlNode)) func(*yamlNode) {
		return func(n *yamlNode) { outcomes = append(outcomes, name); read(n) }
	}
	r.parseObject(n, "a rule", memberParsers{
		"name":     func(n *yamlNode) { rule.Name = r.parseName(n, "name") },
		"priority": func(n *yamlNode) { rule.Priority = r.parseInt(n, "priority", -1_000_000, 1_000_000) },
		"when": func(n *yamlNode) {
			if rule.conditions = r.parseConditions(n); rule.conditions.operations == nil {
				rule.conditions.operations = []string{runOperation}
			}
		},
		"reply": outcome("reply", func(n *yamlNode) {
			rule.action.hasReply, rule.action.steps = true, r.parseSteps(n)
		}),
		"status":   outcome("status", func(n *yamlNode) { rule.action.status = r.parseStatus(n) }),
		"default":  outcome("default", func(n *yamlNode) { r.parseTrue(n, "default") }),
		"pace":     func(n *yamlNode) { rule.action.pace = d.pace.Merge(r.parsePace(n)) },
		"faults":   func(n *yamlNode) { rule.action.faults = r.parseFaults(n) },
		"set":      func(n *yamlNode) { rule.transitions = r.parseScenarioSteps(n, "set") },
		"times":    func(n *yamlNode) { rule.maxMatches = r.parseInt(n, "times", 1, 1_000_000_000) },
		"quota":    func(n *yamlNode) { rule.quota = r.parseQuota(n) },
		"violates": func(n *yamlNode) { rule.Violates, rule.action.violatesNode = r.parseTrue(n, "violates"), n },
	})
	rule.counterKey = r.file + "\x00" + rule.Name
	r.checkRule(n, rule, outcomes)
	r.lintRule(rule, n)
	if a := &rule.action; a.hasReply && !hasErrors(r.problems) {
		a.rendered, _ = a.renderStatic()
	}
	return rule
}

// checkRule records problems with missing, contradictory and useless members of a rule. n is the
// node of the rule; outcomes lists those of the keys reply, status and default that the rule has.
func (r *scriptParser) checkRule(n *yamlNode, rule *Rule, outcomes []string) {
	if n.kind != objectNode {
		return
	}
	switch {
	case len(outcomes) > 1:
		r.errorf(n.get(outcomes[1]), "a rule has at most one of reply, status and default, got %s", joinNames(outcomes))
	case len(outcomes) == 0 && n.get("faults") == nil && n.get("pace") == nil && n.get("quota") == nil &&
		n.get("set") == nil:
		r.errorf(n, "%s has no effect: add reply, status or default, or at least pace, faults, quota or set",
			rule.displayName())
	}
	if reply := n.get("reply"); reply != nil && !slices.Equal(rule.conditions.operations, []string{runOperation}) {
		r.errorf(reply, "reply is for operation run only, and this rule is for %s: use status, faults or pace",
			joinNames(rule.conditions.operations))
	}
	if rule.Violates && !rule.action.hasRawFrames() {
		r.warnf(rule.action.violatesNode, "violates has no effect in a rule without raw frames: remove it")
	}
}

// hasRawFrames reports whether the reply has raw frames, which are sent as written and may violate
// the protocol.
func (a *ruleAction) hasRawFrames() bool {
	return slices.ContainsFunc(a.steps, func(s step) bool { return s.name == "raw" })
}

// parseStatus returns the error response that n describes. n is a status code from 400 to 599, or
// an object with the code and optionally text, problem and retry-after. Errors are added to the
// problems of the file.
func (r *scriptParser) parseStatus(n *yamlNode) *statusReply {
	s := &statusReply{}
	code := func(n *yamlNode) { s.code = r.parseInt(n, "status", 400, 599) }
	if n.kind != objectNode {
		code(n)
		return s
	}
	r.parseObject(n, "status", memberParsers{
		"code":        code,
		"text":        func(n *yamlNode) { s.text = r.parseTemplate(n, "status: text") },
		"problem":     func(n *yamlNode) { s.problem = r.parseTemplate(n, "status: problem") },
		"retry-after": func(n *yamlNode) { s.retryAfter = r.parseDuration(n, "status: retry-after") },
	})
	if n.get("code") == nil {
		r.errorf(n, "status needs a code (e.g. 503)")
	}
	return s
}

// parseQuota returns the quota in n, an object with the two required members requests, which is a
// number, and per, which is the time window for that number of requests. Errors are added to the
// problems of the file.
func (r *scriptParser) parseQuota(n *yamlNode) (q requestQuota) {
	r.parseObject(n, "quota", memberParsers{
		"requests": func(n *yamlNode) { q.requests = r.parseInt(n, "quota: requests", 1, 1_000_000_000) },
		"per": func(n *yamlNode) {
			before := len(r.problems)
			if q.per = r.parseDuration(n, "quota: per"); q.per == 0 && len(r.problems) == before {
				r.errorf(n, "quota: per must be greater than 0 (e.g. 1m)")
			}
		},
	})
	if n.kind == objectNode && (n.get("requests") == nil || n.get("per") == nil) {
		r.errorf(n, "quota needs requests and per (e.g. {requests: 5, per: 1m})")
	}
	return q
}

// parsePace returns the pace in n: when the first event of a reply is sent, and how fast the others
// follow. An invalid pace is recorded as an error.
func (r *scriptParser) parsePace(n *yamlNode) pace.Pace {
	p, err := pace.Parse(n.decode())
	if err != nil {
		r.errorf(n, "pace: %v", err)
	}
	return p
}

// parseFaults returns the faults in n, a list. Each item is the name of a fault, or an object whose
// only member maps the name of a fault to its parameters. Invalid items are recorded as errors and
// left out.
func (r *scriptParser) parseFaults(n *yamlNode) (all []fault.Spec) {
	const maxFaults = 32
	r.parseList(n, "faults", func(i int, n *yamlNode) {
		name, at, settings := n.text, n, map[string]any(nil)
		if n.kind == objectNode && len(n.members) == 1 {
			m := n.members[0]
			name, at = m.key, m.keyNode
			switch v := m.value.decode().(type) {
			case map[string]any:
				settings = v
			case nil:
			default:
				r.errorf(m.value, "fault %s: parameters must be an object (e.g. {event: 3}), got %s",
					truncate(name, 40), m.value.describe())
				return
			}
		} else if text, ok := n.value.(string); !ok || text == "" {
			r.errorf(n, "a fault must be a name, or an object of a name and its parameters, got %s", n.describeMembers())
			return
		}
		use, err := fault.FromYAML(name, settings)
		switch {
		case i >= maxFaults:
			r.errorf(n, "a rule has at most %d faults", maxFaults)
		case err != nil:
			r.errorf(at, "%v", err)
		default:
			all = append(all, use)
		}
	})
	return all
}

// appliesTo reports whether the rule applies to dialect d. It does if it lists the name or the
// family of d, or if it lists no dialects.
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
