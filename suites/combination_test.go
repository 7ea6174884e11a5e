package suites_test

import (
	"context"
	"iter"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/streamassay/streamassay/reference"
	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
	"github.com/streamassay/streamassay/suites"
)

// cutsAfterFailure is an agent with a bug that hides in a combination: after a run that failed, it
// loses the last character of long plain texts.
func cutsAfterFailure(ctx context.Context, t reference.Turn) iter.Seq[spec.Event] {
	earlier, _ := t.EarlierMessages(ctx)
	failed := slices.ContainsFunc(earlier, func(m reference.Message) bool { return strings.HasPrefix(m.Text, "conformance:error ") })
	if last := len(t.Parts) - 1; failed && last >= 0 && len(t.Parts[last].Text) > 4096 && strings.HasPrefix(t.Parts[last].Text, "conformance:text ") {
		t.Parts = slices.Clone(t.Parts)
		t.Parts[last].Text = t.Parts[last].Text[:len(t.Parts[last].Text)-1]
	}
	return reference.Scripted(ctx, t)
}

// TestCombinationIsSimplified checks that a bug which needs two deviations from the plain
// conversation is found, and that the result names these two and no other. The bug shows only if the
// prompt asks for a text, too, which the seed decides.
func TestCombinationIsSimplified(t *testing.T) {
	t.Parallel()
	d, err := dialect.Open("agkit")
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(reference.New(d, cutsAfterFailure, reference.Config{}))
	defer srv.Close()
	base, err := url.Parse(srv.URL)
	if err != nil {
		t.Fatal(err)
	}
	parts, err := suites.Run(t.Context(), suites.Target{
		Dialect: d, Base: base, ClaimedCapabilities: []string{"all"}, Seed: 5, Deep: true, Only: []string{"combination-*"},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, p := range parts {
		for _, r := range p.Evaluation.Results {
			if len(r.Findings) > 0 {
				found = append(found, p.Scenario.Name+": "+r.PlannedCheck.Check.ID+" "+p.Scenario.Doc)
			}
		}
	}
	if len(found) == 0 {
		t.Fatal("the bug was not found")
	}
	want := regexp.MustCompile(`: script\.\S+ after a failed run, the prompt (.* )?(a text|an object) of [0-9,]+ bytes[^,]*$`)
	if !want.MatchString(found[0]) {
		t.Errorf("the first finding is %q, want one after a failed run with a long text and nothing else", found[0])
	}
}
