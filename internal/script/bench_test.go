package script

import (
	"fmt"
	"strings"
	"testing"
)

func BenchmarkDecide(b *testing.B) {
	var hundred strings.Builder
	hundred.WriteString("rules:\n")
	for i := range 100 {
		fmt.Fprintf(&hundred, "- {when: {text: {contains: 'word %d'}}, reply: hi}\n", i)
	}
	for _, bb := range []struct{ name, script string }{
		{"one rule", "rules:\n- reply: hi\n"},
		{"a template", "rules:\n- {when: {text: {matches: 'in (?<city>\\w+)'}}, reply: 'It is {{.Match.city}}.'}\n"},
		{"the last of 100", hundred.String() + "- reply: hi\n"},
		{"none of 100", hundred.String()},
	} {
		set, st := loaded(b, bb.script), NewState()
		b.Run(bb.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				f := userRequest("weather in Rome")
				_ = set.Decide(f, st)
			}
		})
	}
}
