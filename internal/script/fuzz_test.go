package script

import (
	"testing"
	"time"

	"github.com/streamassay/streamassay/spec"
)

// FuzzLoad checks that every file either is rejected with an error or yields rules whose replies
// can be played.
func FuzzLoad(f *testing.F) {
	for _, source := range examples(f) {
		f.Add(source.Data)
	}
	for _, tt := range invalidScripts {
		f.Add([]byte(tt.script))
	}
	dialects := testDialects(f, "agkit", "runs")
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 1<<16 {
			return
		}
		began := time.Now()
		set, problems := Load([]Source{{"s.yaml", data}}, dialects)
		if took := time.Since(began); took > 5*time.Second {
			t.Fatalf("it took %v", took)
		}
		if set == nil {
			if !hasErrors(problems) {
				t.Fatal("it is refused, and nobody says why")
			}
			return
		}
		st := NewState()
		for _, text := range []string{"", "weather in Rome", "both"} {
			d := set.Decide(userRequest(text, spec.Event{Kind: spec.InputToolResult, Call: "c", Text: "x"}), st)
			if d.Reply.Agent != nil {
				_ = describeEvents(d)
			}
			_ = set.Decide(userRequest(text), st)
		}
	})
}
