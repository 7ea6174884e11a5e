package mutation

import "testing"

// TestLongestString checks which of the strings in a JSON object longestString returns, and that it
// returns the same one in each run.
func TestLongestString(t *testing.T) {
	for object, want := range map[string]string{
		`{"a":"x","b":"yes","c":[1,2,3,4]}`:      "yes",
		`{"d":"four","b":"also","c":"x","a":""}`: "also",
		`{"a":"","b":7}`:                         `{"a":"","b":7}`,
		"approved":                               "approved",
	} {
		for range 50 { // the iteration order of a map varies
			if got := longestString(object); got != want {
				t.Errorf("longestString(%s) = %q, want %q", object, got, want)
				break
			}
		}
	}
}
