package suites_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
	"github.com/streamassay/streamassay/suites"
)

// TestConfirm checks that a finding which does not occur in every replay is marked as intermittent,
// and that the verdict does not change.
func TestConfirm(t *testing.T) {
	d, err := dialect.Open("agkit")
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name        string
		bad         int64 // how many answers are
		confirm     bool
		seen, plays int
		asked       int64
	}{
		{"once", 1, true, 1, 3, 3}, {"twice", 2, true, 2, 3, 3}, {"always", 9, true, 0, 0, 3}, {"not asked for", 1, false, 0, 0, 1}, {"never", 0, true, 0, 0, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			var asked atomic.Int64
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				w.Header().Set("Content-Type", stream)
				_, _ = io.WriteString(w, "data: {\"type\":\"text\",\"content\":\"Hello\"}\n\ndata: [DONE]\n\n")
				if !strings.Contains(string(body), "probe") && asked.Add(1) <= test.bad {
					_, _ = io.WriteString(w, "data: {\"type\":\"text\",\"content\":\"!\"}\n\n")
				}
			}))
			defer srv.Close()
			parts, verdicts := played(t, suites.Target{Dialect: d, Seed: 1, Only: []string{"text"}, Confirm: test.confirm}, srv.URL)
			if failed := verdicts["agkit.done.last"] == spec.Failed; failed != (test.bad > 0) {
				t.Errorf("agkit.done.last is %v", verdicts["agkit.done.last"])
			}
			for _, r := range parts[0].Evaluation.Results {
				for _, f := range r.Findings {
					if f.Seen != test.seen || f.Plays != test.plays {
						t.Errorf("%s: seen in %d of %d, want %d of %d", f.Message, f.Seen, f.Plays, test.seen, test.plays)
					}
				}
			}
			if asked.Load() != test.asked {
				t.Errorf("it was asked %d times, want %d", asked.Load(), test.asked)
			}
		})
	}
}
