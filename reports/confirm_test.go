package reports

import (
	"strings"
	"testing"

	"github.com/streamassay/streamassay/spec"
)

// How often a finding was made is told, in words and numbers, where it was not every time.
func TestSeen(t *testing.T) {
	r := hear(spec.Event{Requirement: "t.json", Text: "bad"})[0]
	if len(r.Findings) == 0 {
		t.Fatal("nothing was found")
	}
	if always := NewCheckResult("agkit", "s", spec.Trace{}, r).Findings[0]; always.Seen != 0 || strings.Contains(always.Message, "seen in") {
		t.Errorf("one play: %+v", always)
	}
	r.Findings[0].Seen, r.Findings[0].Plays = 1, 3
	if once := NewCheckResult("agkit", "s", spec.Trace{}, r).Findings[0]; once.Seen != 1 || once.Plays != 3 || !strings.HasSuffix(once.Message, " (seen in 1 of 3)") {
		t.Errorf("one of three plays: %+v", once)
	}
}
