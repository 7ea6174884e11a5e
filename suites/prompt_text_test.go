package suites

import "testing"

// TestPromptText checks that words are added only to the test prompts that have arguments.
func TestPromptText(t *testing.T) {
	for scenario, want := range map[string]string{
		"text": "conformance:text with words", "messages": "conformance:messages", "recall": "conformance:recall",
	} {
		if got := (&Target{}).promptText(scenario, "with words"); got != want {
			t.Errorf("%s: %q, want %q", scenario, got, want)
		}
	}
}
