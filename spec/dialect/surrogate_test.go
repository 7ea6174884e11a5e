package dialect

import (
	"slices"
	"strings"
	"testing"

	"github.com/streamassay/streamassay/spec"
)

// TestSplitSurrogates checks the texts of deltas that are cut after any UTF-16 code unit.
func TestSplitSurrogates(t *testing.T) {
	d, err := Open("agkit@0.0.10")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		deltas []string // JSON strings
		want   []string
	}{
		{"whole", []string{`"a\ud83d\ude42b"`, `"🙂\u0041\\ud83d"`}, []string{"a🙂b", `🙂A\ud83d`}},
		{"between two deltas", []string{`"a\ud83d"`, `"\uDE42b"`}, []string{"a", "🙂b"}},
		{"one code unit each", []string{`"\ud83d"`, `"\ude42"`, `"\ud83d"`, `"\ude43"`}, []string{"", "🙂", "", "🙃"}},
		{"without the second half", []string{`"a\ud83d"`, `"b"`}, []string{"a", "\ufffdb"}},
		{"two first halves", []string{`"a\ud83d"`, `"\ud83db"`}, []string{"a", "\ufffd\ufffdb"}},
		{"without the first half", []string{`"a"`, `"\ude42b"`}, []string{"a", "\ufffdb"}},
		{"inside a delta", []string{`"a\ud83db"`, `"c"`}, []string{"a\ufffdb", "c"}},
		{"beside a character for private use", []string{`"\udbff\udfff\udbff"`, `"\udfff"`}, []string{"\U0010ffff", "\U0010ffff"}},
		{"characters for private use", []string{`"\udbfe\udc3d"`, "\"\U0010ffff\""}, []string{"\U0010f83d", "\U0010ffff"}},
	} {
		var body strings.Builder
		for _, delta := range c.deltas {
			body.WriteString(`data: {"type":"text","content":` + delta + "}\n\n")
		}
		trace := spec.Trace{Exchanges: []spec.Exchange{{
			Request: spec.Request{Method: "POST", Target: "/send-message"},
			Response: spec.Response{
				Status: 200, Header: spec.Header{{Name: "Content-Type", Value: "text/event-stream"}}, Body: []byte(body.String()),
			},
		}}}
		var got []string
		for e := range d.Events(trace) {
			if e.Kind == spec.MessageDelta {
				got = append(got, e.Text)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
