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

// maxRules is how many rules a set has at most.
const maxRules = 10_000

// ruleDefaults are what rules of a file have that say nothing else.
type ruleDefaults struct {
	dialects []string
	pace     pace.Pace
	faults   []fault.Spec
}

// An action is what a rule does.
type action struct {
	steps        []step
	rendered     []renderedStep // the steps as they are played, where they say the same to everybody
	hasReply     bool           // the steps are the reply; without, the server's own agent answers
	status       *statusReply
	pace         pace.Pace
	faults       []fault.Spec
	violatesNode *yamlNode // where it says that it violates
}

// A statusReply is a reply that is no stream.
type statusReply struct {
	code          int
	text, problem textTemplate
	retryAfter    time.Duration
}

// parseRules read a whole file.
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
		r.errorf(root, "a script has rules: a list, each with when and reply")
	}
	if list == nil {
		return nil
	}
	if len(list.items) > maxRules {
		r.errorf(list, "there are %d rules: a script has %d at most", len(list.items), maxRules)
		return nil
	}
	names := map[string]int{}
	r.parseList(list, "rules", func(i int, n *yamlNode) {
		rule := r.parseRule(n, i, d)
		if first := names[rule.Name]; first > 0 {
			r.errorf(n.get("name"), "there is a rule %s already, in line %d: journals and counters know rules by their names", quoteTruncated(rule.Name), first)
		}
		names[rule.Name] = n.line
		all = append(all, rule)
	})
	return all
}

// checkDialectNames checks the names of dialects. Those that are not served are no problem: a script
// can be for more than one mock.
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
			r.errorf(item, "there is no dialect %s%s", quoteTruncated(item.text), near.Suggest(item.text, slices.Compact(slices.Sorted(slices.Values(names)))))
		}
	}
}

// parseRule reads one rule.
func (r *scriptParser) parseRule(n *yamlNode, i int, d ruleDefaults) *Rule {
	rule := &Rule{
		Name: "rule " + strconv.Itoa(i+1), File: r.file, Line: n.line, column: n.column, dialects: d.dialects,
		action: action{pace: d.pace, faults: d.faults}, conditions: conditions{operations: []string{runOperation}},
	}
	var outcomes []string
	doing := func(name string, read func(n *yamlNode)) func(*yamlNode) {
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
		"reply":    doing("reply", func(n *yamlNode) { rule.action.hasReply, rule.action.steps = true, r.parseSteps(n) }),
		"status":   doing("status", func(n *yamlNode) { rule.action.status = r.parseStatus(n) }),
		"default":  doing("default", func(n *yamlNode) { r.parseTrue(n, "default") }),
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

// checkRule says what is missing in a rule, or too much.
func (r *scriptParser) checkRule(n *yamlNode, rule *Rule, outcomes []string) {
	if n.kind != objectNode {
		return
	}
	switch {
	case len(outcomes) > 1:
		r.errorf(n.get(outcomes[1]), "a rule has one of reply, status and default; this has %s", joinNames(outcomes))
	case len(outcomes) == 0 && n.get("faults") == nil && n.get("pace") == nil && n.get("quota") == nil && n.get("set") == nil:
		r.errorf(n, "%s says nothing: a rule has reply, status or default, or at least pace, faults, quota or set", rule.Name)
	}
	if reply := n.get("reply"); reply != nil && !slices.Equal(rule.conditions.operations, []string{runOperation}) {
		r.errorf(reply, "only runs are replied to; this rule is for %s: give it a status, faults or a pace", joinNames(rule.conditions.operations))
	}
	if rule.Violates && !rule.action.hasRawFrames() {
		r.warnf(rule.action.violatesNode, "violates is for raw frames, and this rule has none: leave it out")
	}
}

// hasRawFrames says whether a reply has frames that are spelled already.
func (a *action) hasRawFrames() bool {
	return slices.ContainsFunc(a.steps, func(s step) bool { return s.name == "raw" })
}

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
		r.errorf(n, "status has no code, such as 503")
	}
	return s
}

func (r *scriptParser) parseQuota(n *yamlNode) (q quota) {
	r.parseObject(n, "quota", memberParsers{
		"requests": func(n *yamlNode) { q.requests = r.parseInt(n, "quota: requests", 1, 1_000_000_000) },
		"per": func(n *yamlNode) {
			before := len(r.problems)
			if q.per = r.parseDuration(n, "quota: per"); q.per == 0 && len(r.problems) == before {
				r.errorf(n, "quota: per is longer than nothing, such as 1m")
			}
		},
	})
	if n.kind == objectNode && (n.get("requests") == nil || n.get("per") == nil) {
		r.errorf(n, "quota has requests and per, such as {requests: 5, per: 1m}")
	}
	return q
}

func (r *scriptParser) parsePace(n *yamlNode) pace.Pace {
	p, err := pace.Parse(n.decode())
	if err != nil {
		r.errorf(n, "pace: %v", err)
	}
	return p
}

// parseFaults reads a list of faults: a name, or a name with what is set.
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
				r.errorf(m.value, "fault %s: what is set is an object, such as {event: 3}; this is %s", truncate(name, 40), m.value.describe())
				return
			}
		} else if text, ok := n.value.(string); !ok || text == "" {
			r.errorf(n, "a fault is a name, or an object of a name and what is set; this is %s", n.describeMembers())
			return
		}
		use, err := fault.FromYAML(name, settings)
		switch {
		case i >= maxFaults:
			r.errorf(n, "a rule has %d faults at most", maxFaults)
		case err != nil:
			r.errorf(at, "%v", err)
		default:
			all = append(all, use)
		}
	})
	return all
}

// appliesTo says whether a rule is for a dialect: by its name, or by that of its family.
func (r *Rule) appliesTo(d *dialect.Dialect) bool {
	return len(r.dialects) == 0 || slices.Contains(r.dialects, d.Name) || slices.Contains(r.dialects, d.Family)
}

// applicableDialects are those of the dialects that a rule is for.
func (r *Rule) applicableDialects(dialects []*dialect.Dialect) (all []*dialect.Dialect) {
	for _, d := range dialects {
		if r.appliesTo(d) {
			all = append(all, d)
		}
	}
	return all
}
