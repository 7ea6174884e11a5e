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

// mostRules is how many rules a set has at most.
const mostRules = 10_000

// defaults are what rules of a file have that say nothing else.
type defaults struct {
	dialects []string
	pace     pace.Pace
	faults   []fault.Use
}

// An action is what a rule does.
type action struct {
	steps   []step
	said    []bar // the steps as they are played, where they say the same to everybody
	plays   bool  // the steps are the reply; without, the server's own agent answers
	status  *status
	pace    pace.Pace
	faults  []fault.Use
	violate *node // where it says that it violates
}

// A status is a reply that is no stream.
type status struct {
	code          int
	text, problem words
	after         time.Duration
}

// rules read a whole file.
func (r *reader) rules(root *node) (all []*Rule) {
	var d defaults
	var list *node
	ok := r.object(root, "a script", members{
		"dialects": func(n *node) { d.dialects = r.names(n, "dialects"); r.known(n) },
		"defaults": func(n *node) {
			r.object(n, "defaults", members{
				"pace":   func(n *node) { d.pace = r.pace(n) },
				"faults": func(n *node) { d.faults = r.faults(n) },
			})
		},
		"rules": func(n *node) { list = n },
	})
	if ok && list == nil {
		r.wrong(root, "a script has rules: a list, each with when and reply")
	}
	if list == nil {
		return nil
	}
	if len(list.items) > mostRules {
		r.wrong(list, "there are %d rules: a script has %d at most", len(list.items), mostRules)
		return nil
	}
	names := map[string]int{}
	r.each(list, "rules", func(i int, n *node) {
		rule := r.rule(n, i, d)
		if first := names[rule.Name]; first > 0 {
			r.wrong(n.get("name"), "there is a rule %s already, in line %d: journals and counters know rules by their names", quoted(rule.Name), first)
		}
		names[rule.Name] = n.line
		all = append(all, rule)
	})
	return all
}

// known checks the names of dialects. Those that are not served are no problem: a script
// can be for more than one mock.
func (r *reader) known(n *node) {
	var names []string
	for _, name := range dialect.Names() {
		family, _, _ := strings.Cut(name, "@")
		names = append(names, name, family)
	}
	items := []*node{n}
	if n.form == list {
		items = n.items
	}
	for _, item := range items {
		if item.form == scalar && item.text != "" && !slices.Contains(names, item.text) {
			r.wrong(item, "there is no dialect %s%s", quoted(item.text), near.Suggest(item.text, slices.Compact(slices.Sorted(slices.Values(names)))))
		}
	}
}

// rule reads one rule.
func (r *reader) rule(n *node, i int, d defaults) *Rule {
	rule := &Rule{
		Name: "rule " + strconv.Itoa(i+1), File: r.file, Line: n.line, column: n.column, dialects: d.dialects,
		does: action{pace: d.pace, faults: d.faults}, when: conditions{ops: []string{run}},
	}
	var did []string
	doing := func(name string, read func(n *node)) func(*node) {
		return func(n *node) { did = append(did, name); read(n) }
	}
	r.object(n, "a rule", members{
		"name":     func(n *node) { rule.Name = r.name(n, "name") },
		"priority": func(n *node) { rule.Priority = r.whole(n, "priority", -1_000_000, 1_000_000) },
		"when": func(n *node) {
			if rule.when = r.conditions(n); rule.when.ops == nil {
				rule.when.ops = []string{run}
			}
		},
		"reply":    doing("reply", func(n *node) { rule.does.plays, rule.does.steps = true, r.steps(n) }),
		"status":   doing("status", func(n *node) { rule.does.status = r.status(n) }),
		"default":  doing("default", func(n *node) { r.yes(n, "default") }),
		"pace":     func(n *node) { rule.does.pace = d.pace.Merge(r.pace(n)) },
		"faults":   func(n *node) { rule.does.faults = r.faults(n) },
		"set":      func(n *node) { rule.set = r.settings(n, "set") },
		"times":    func(n *node) { rule.times = r.whole(n, "times", 1, 1_000_000_000) },
		"quota":    func(n *node) { rule.quota = r.quota(n) },
		"violates": func(n *node) { rule.Violates, rule.does.violate = r.yes(n, "violates"), n },
	})
	rule.key = r.file + "\x00" + rule.Name
	r.complete(n, rule, did)
	r.lint(rule, n)
	if a := &rule.does; a.plays && !failed(r.problems) {
		a.said, _ = a.score()
	}
	return rule
}

// complete says what is missing in a rule, or too much.
func (r *reader) complete(n *node, rule *Rule, did []string) {
	if n.form != object {
		return
	}
	switch {
	case len(did) > 1:
		r.wrong(n.get(did[1]), "a rule has one of reply, status and default; this has %s", join(did))
	case len(did) == 0 && n.get("faults") == nil && n.get("pace") == nil && n.get("quota") == nil && n.get("set") == nil:
		r.wrong(n, "%s says nothing: a rule has reply, status or default, or at least pace, faults, quota or set", rule.Name)
	}
	if reply := n.get("reply"); reply != nil && !slices.Equal(rule.when.ops, []string{run}) {
		r.wrong(reply, "only runs are replied to; this rule is for %s: give it a status, faults or a pace", join(rule.when.ops))
	}
	if rule.Violates && !rule.does.raws() {
		r.warn(rule.does.violate, "violates is for raw frames, and this rule has none: leave it out")
	}
}

// raws says whether a reply has frames that are spelled already.
func (a *action) raws() bool {
	return slices.ContainsFunc(a.steps, func(s step) bool { return s.word == "raw" })
}

func (r *reader) status(n *node) *status {
	s := &status{}
	code := func(n *node) { s.code = r.whole(n, "status", 400, 599) }
	if n.form != object {
		code(n)
		return s
	}
	r.object(n, "status", members{
		"code":        code,
		"text":        func(n *node) { s.text = r.words(n, "status: text") },
		"problem":     func(n *node) { s.problem = r.words(n, "status: problem") },
		"retry-after": func(n *node) { s.after = r.duration(n, "status: retry-after") },
	})
	if n.get("code") == nil {
		r.wrong(n, "status has no code, such as 503")
	}
	return s
}

func (r *reader) quota(n *node) (q quota) {
	r.object(n, "quota", members{
		"requests": func(n *node) { q.requests = r.whole(n, "quota: requests", 1, 1_000_000_000) },
		"per": func(n *node) {
			before := len(r.problems)
			if q.per = r.duration(n, "quota: per"); q.per == 0 && len(r.problems) == before {
				r.wrong(n, "quota: per is longer than nothing, such as 1m")
			}
		},
	})
	if n.form == object && (n.get("requests") == nil || n.get("per") == nil) {
		r.wrong(n, "quota has requests and per, such as {requests: 5, per: 1m}")
	}
	return q
}

func (r *reader) pace(n *node) pace.Pace {
	p, err := pace.Read(n.plain())
	if err != nil {
		r.wrong(n, "pace: %v", err)
	}
	return p
}

// faults reads a list of faults: a name, or a name with what is set.
func (r *reader) faults(n *node) (all []fault.Use) {
	const most = 32
	r.each(n, "faults", func(i int, n *node) {
		name, at, said := n.text, n, map[string]any(nil)
		if n.form == object && len(n.members) == 1 {
			m := n.members[0]
			name, at = m.key, m.at
			switch v := m.value.plain().(type) {
			case map[string]any:
				said = v
			case nil:
			default:
				r.wrong(m.value, "fault %s: what is set is an object, such as {event: 3}; this is %s", cut(name, 40), m.value.is())
				return
			}
		} else if text, ok := n.value.(string); !ok || text == "" {
			r.wrong(n, "a fault is a name, or an object of a name and what is set; this is %s", n.count())
			return
		}
		use, err := fault.FromYAML(name, said)
		switch {
		case i >= most:
			r.wrong(n, "a rule has %d faults at most", most)
		case err != nil:
			r.wrong(at, "%v", err)
		default:
			all = append(all, use)
		}
	})
	return all
}

// serves says whether a rule is for a dialect: by its name, or by that of its family.
func (r *Rule) serves(d *dialect.Dialect) bool {
	return len(r.dialects) == 0 || slices.Contains(r.dialects, d.Name) || slices.Contains(r.dialects, d.Family)
}

// served are those of the dialects that a rule is for.
func (r *Rule) served(dialects []*dialect.Dialect) (all []*dialect.Dialect) {
	for _, d := range dialects {
		if r.serves(d) {
			all = append(all, d)
		}
	}
	return all
}
