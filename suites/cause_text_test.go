package suites

import (
	"strings"
	"testing"

	"github.com/streamassay/streamassay/spec/dialect"
)

// TestSimilarDialect checks how large the share of valid events must be for a stream to look like one
// of another dialect.
func TestSimilarDialect(t *testing.T) {
	own, err := dialect.Open("agentscope")
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		valid, frames int
		want          string
	}{
		{100, 100, "agkit@0.0.10"}, {80, 100, "agkit@0.0.10"}, {4, 5, "agkit@0.0.10"},
		{159, 200, ""}, {79, 100, ""}, {0, 100, ""}, {0, 0, ""},
	} {
		body := strings.Repeat("data: {\"type\":\"text\",\"content\":\"x\"}\n\n", test.valid) +
			strings.Repeat("data: {\"object\":\"chat.completion.chunk\"}\n\n", test.frames-test.valid)
		if got := similarDialect(own, []byte(body)); got != test.want {
			t.Errorf("%d of %d events are valid: got %q, want %q", test.valid, test.frames, got, test.want)
		}
	}
}
