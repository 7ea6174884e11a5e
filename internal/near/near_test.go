package near

import "testing"

func TestMiss(t *testing.T) {
	if got := Suggest("fault", []string{"default", "faults"}); got != "; did you mean faults?" {
		t.Errorf("a word that contains the unknown one is preferred to one that begins with it: %q", got)
	}
	if got := Suggest("openapi", []string{"targets"}); got != " (want targets)" {
		t.Errorf("one known word: %q", got)
	}
	known := []string{"reset", "abort", "text", "contains"}
	for word, want := range map[string]string{
		"abrot": "; did you mean abort?", "containz": "; did you mean contains?", "txt": "; did you mean text?",
		"tixt": "; did you mean text?", "best": " (want one of abort, contains, reset, text)", "res": "; did you mean reset?", "elephant": " (want one of abort, contains, reset, text)", "": " (want one of abort, contains, reset, text)",
	} {
		if got := Suggest(word, known); got != want {
			t.Errorf("%q: %q, want %q", word, got, want)
		}
	}
}
