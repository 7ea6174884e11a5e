package suites_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
	"github.com/streamassay/streamassay/suites"
)

// TestDetectsScriptedAgents checks that a server whose agent follows the test prompts, but which
// repeats the last part of each text, fails the check of texts, and that an agent that talks about
// the prompt is not taken for one that follows it.
func TestDetectsScriptedAgents(t *testing.T) {
	d, err := dialect.Open("agkit")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		reply func(words string) string
		want  spec.Verdict // of the check of texts
	}{
		"exact":    {func(words string) string { return words }, spec.Passed},
		"repeated": {func(words string) string { return words + words[len(words)-3:] }, spec.Failed},
		"about":    {func(words string) string { return words + " is what you want me to say." }, spec.Silent},
		"other":    {func(string) string { return "Hello." }, spec.Silent},
	} {
		t.Run(name, func(t *testing.T) {
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				var request struct {
					Messages []struct{ Content string }
				}
				json.NewDecoder(r.Body).Decode(&request)
				if len(request.Messages) == 0 {
					http.Error(w, "{}", http.StatusUnprocessableEntity)
					return
				}
				words := strings.TrimPrefix(request.Messages[len(request.Messages)-1].Content, "conformance:text ")
				text, _ := json.Marshal(c.reply(words))
				w.Header().Set("Content-Type", spec.EventStream)
				fmt.Fprintf(w, "data: {\"type\":\"text\",\"content\":%s}\n\ndata: [DONE]\n\n", text)
			}))
			defer srv.Close()
			_, verdicts := played(t, suites.Target{Dialect: d, Seed: 1, Only: []string{"text"}}, srv.URL)
			if got := verdicts["agkit.scripted.text"]; got != c.want {
				t.Errorf("agkit.scripted.text is %v, want %v", got, c.want)
			}
		})
	}
}
