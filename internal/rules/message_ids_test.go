package rules

import "testing"

// TestCompareMessageIDs checks the texts for outputs that repeat ids, and for outputs or runs
// without messages.
func TestCompareMessageIDs(t *testing.T) {
	for _, c := range []struct {
		listed, completed []string
		want              string
	}{
		{[]string{"a", "b", "a"}, []string{"a", "b"}, `lists 3 messages ("a" (2 times), "b"), but 2 messages were completed: "a", "b"`},
		{nil, []string{"a"}, `lists no messages, but 1 message was completed: "a"`},
		{[]string{"a"}, nil, `lists 1 message ("a"), but no messages were completed`},
	} {
		if got := compareMessageIDs(c.listed, c.completed); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
}

// TestDescribeSequence checks the text for an event without a sequence number.
func TestDescribeSequence(t *testing.T) {
	if got, want := describeSequence("", "4"), "got no sequence number after 4"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
