package reports

import (
	"strings"
	"testing"

	"github.com/streamassay/streamassay/spec"
)

// TestSeen checks that a finding which did not occur in every play of its scenario states how often
// it occurred, in its fields and in its message.
func TestSeen(t *testing.T) {
	r := hear(spec.Event{Requirement: "t.json", Text: "bad"})[0]
	if len(r.Findings) == 0 {
		t.Fatal("nothing was found")
	}
	if always := NewCheckResult("agkit", "s", spec.Trace{}, r).Findings[0]; always.Seen != 0 || strings.Contains(always.Message, "seen in") {
		t.Errorf("one play: %+v", always)
	}
	r.Findings[0].Seen, r.Findings[0].Plays = 1, 3
	if once := NewCheckResult("agkit", "s", spec.Trace{}, r).Findings[0]; once.Seen != 1 || once.Plays != 3 || !strings.HasSuffix(once.Message, " (this was found in 1 of 3 repetitions of the scenario)") {
		t.Errorf("one of three plays: %+v", once)
	}
}
