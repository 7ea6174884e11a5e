package script

import (
	"fmt"
	"strings"
	"testing"

	"github.com/streamassay/streamassay/reference"
	"github.com/streamassay/streamassay/spec/dialect"
)

func TestWarnings(t *testing.T) {
	for _, tt := range []struct{ name, dialects, script, want string }{
		{"the same conditions", "agkit", "rules:\n- {when: {text: hi}, reply: a}\n- {when: {text: hi, turn: 1}, reply: b}\n",
			"s.yaml:3:3: warning: rule 2 never matches: rule 1 (line 2) matches all of its requests first; narrow that rule, or give this one a higher priority"},
		{"a wider text", "agkit", "rules:\n- {name: a, when: {text: {contains: h}}, reply: a}\n- {name: b, when: {text: oh}, reply: b}\n",
			"rule b never matches: rule a (line 2)"},
		{"a priority", "agkit", "rules:\n- {name: a, when: {text: oh}, reply: b}\n- {name: b, priority: 2, reply: a}\n",
			"rule a never matches: rule b (line 3, priority 2)"},
		{"a wider range", "agkit", "rules:\n- {name: a, when: {turn: {min: 2}}, reply: b}\n- {name: b, when: {turn: 3}, reply: a}\n", "rule b never matches"},
		{"headers and bodies", "agkit", "rules:\n- {name: a, when: {header: {x-a: '1'}, body: {/a: 1}}, reply: b}\n- {name: b, when: {header: {X-A: '1'}, body: {/a: 1.0, /b: 2}, text: c}, reply: a}\n", "rule b never matches"},
		{"only so often", "agkit", "rules:\n- {times: 3, reply: a}\n- {when: {state: {s: x}}, reply: b}\n- {reply: c}\n", ""},
		{"results come later", "agkit", "rules:\n- {when: {turn: 1}, reply: a}\n- {when: {last: tool}, reply: b}\n- {when: {operation: cancel}, status: 503}\n", ""},
		{"another text", "agkit", "rules:\n- {when: {text: {matches: a+}}, reply: a}\n- {when: {text: {contains: a}}, reply: b}\n- {when: {text: {exists: true}}, reply: b}\n- reply: c\n", ""},
		{"other offers", "agkit", "rules:\n- {when: {offers: [a, b]}, reply: a}\n- {when: {offers: a}, reply: b}\n", ""},
		{"a dialect that is not served", "agkit", "dialects: [runs, agentscope@0.1]\nrules:\n- reply: [{reasoning: hm}]\n", ""},
		{"no word", "agkit", "rules:\n- reply:\n  - reasoning: hm\n  - image: https://example.com/a.png\n",
			"s.yaml:3:5: warning: reasoning is not part of agkit@0.0.10 and is sent as a message\ns.yaml:4:5: warning: image is not part of agkit@0.0.10 and its URL is sent as text"},
		{"a word in one of them", "agkit,runs,agentscope", "rules:\n- reply:\n  - interrupt: {}\n", ""},
		{"a resume of nothing", "runs", "rules:\n- {when: {resume: {exists: true}}, reply: a}\n", "warning: resume never matches: clients of runs@2026-04 send no answers to interrupts"},
		{"violates nothing", "agkit", "rules:\n- {violates: true, reply: a}\n", "s.yaml:2:14: warning: violates has no effect in a rule without raw frames: remove it"},
		{"a frame of one dialect", "agkit", "dialects: [agkit]\nrules:\n- reply:\n  - raw: {type: whatever}\n", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			set, problems := Load([]Source{{"s.yaml", []byte(tt.script)}}, testDialects(t, strings.Split(tt.dialects, ",")...))
			all := strings.Join(problemTexts(problems), "\n")
			if set == nil || !strings.Contains(all, tt.want) || tt.want == "" && all != "" {
				t.Errorf("it says\n%s\nand not\n%s", all, tt.want)
			}
		})
	}
}

func TestAFrameOfNoDialectIsRefused(t *testing.T) {
	_, problems := Load([]Source{{"s.yaml", []byte("rules:\n- reply:\n  - raw: {type: whatever}\n")}}, testDialects(t, "agkit", "agentscope"))
	want := "s.yaml:3:5: raw: the frame violates agentscope@1.1: the event has no \"object\"; list the dialects that it is for in dialects, or set violates: true if that is intended"
	if all := strings.Join(problemTexts(problems), "\n"); all != want {
		t.Error(all)
	}
}

func TestRepliesAreJudged(t *testing.T) {
	set := loaded(t, `
rules:
- {name: fine, reply: hi}
- {name: the same words, when: {text: b}, priority: 1, reply: ho}
- name: wrong
  priority: 2
  when: {text: {matches: '(?<what>b)'}}
  reply:
  - text: hi
  - raw: 'data: {"{{.Match.what}}": 1}'
- {name: meant, priority: 3, when: {text: c}, violates: true, reply: [{raw: ':'}]}
- {name: nothing, priority: 4, when: {text: d}, status: 503}
`, testDialects(t, "agkit", "runs")...)
	var asked []string
	problems := set.CheckReplies(func(d *dialect.Dialect, agent reference.Agent) (wrong []string) {
		n := 0
		for e := range agent(t.Context(), reference.Turn{}) {
			n++
			if e.Kind == "?" {
				wrong = append(wrong, "it says "+strings.TrimSpace(string(e.Raw)))
			}
		}
		asked = append(asked, fmt.Sprint(d.Family, " ", n))
		return wrong
	})
	want := `s.yaml:10:5: the reply violates agkit@0.0.10: it says data: {"1": 1}; set violates: true if that is intended`
	if all := strings.Join(problemTexts(problems), "\n"); all != want {
		t.Error(all)
	}
	if got := strings.Join(asked, ", "); got != "agkit 6, agkit 5, runs 5" {
		t.Error(got)
	}
}
