package mutation_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/streamassay/streamassay/internal/mutation"
	"github.com/streamassay/streamassay/internal/rules"
	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
)

// allDialects returns all dialects.
func allDialects(t *testing.T) []*dialect.Dialect {
	t.Helper()
	dialects, err := dialect.All()
	if err != nil {
		t.Fatal(err)
	}
	return dialects
}

// name matches the name of a mutant: in kebab case or, of a generated one, REQUIREMENT.DEFECT.
var name = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*((\.[a-z0-9-]+)+\.[a-z-]+)?$`)

// TestAll checks that each mutant has a valid definition, and that no two have the same name.
func TestAll(t *testing.T) {
	names := map[string]bool{mutation.Canary.Name: true}
	for _, m := range mutation.All(allDialects(t)) {
		if !name.MatchString(m.Name) {
			t.Errorf("mutant name %q does not match %v", m.Name, name)
		}
		if names[m.Name] {
			t.Errorf("two mutants have the name %q", m.Name)
		}
		names[m.Name] = true
		for _, err := range m.Validate() {
			t.Errorf("%s: %v", m.Name, err)
		}
	}
}

// TestGenerated checks the mutants that are generated for some constraints, which a person has read
// in the documents: for an x-error with status, code and text, for an x-denied with status, code and
// plain, for members of requests, and for members of replies and events. A constraint without a code or text has no mutant with another one.
func TestGenerated(t *testing.T) {
	dialects := allDialects(t)
	all := mutation.All(dialects)
	for name, want := range map[string]struct{ dialects, checks string }{
		"runs.create.thread-uuid.accepted":     {"runs@2026-03 runs@2026-04", "refuse.as-documented:http.request"},
		"runs.create.thread-uuid.status":       {"runs@2026-03 runs@2026-04", "refuse.as-documented:http.request"},
		"runs.create.thread-uuid.code":         {"", ""},
		"runs.errors.code-run-input.code":      {"runs@2026-03 runs@2026-04", "refuse.as-documented:http.request"},
		"runs.errors.text-thread.text":         {"runs@2026-03 runs@2026-04", "refuse.as-documented:http.request"},
		"runs.errors.text-thread.status":       {"", ""},
		"runs.auth.cancel-403.accepted":        {"runs@2026-03 runs@2026-04", "auth.owner-only:http.request"},
		"runs.auth.bad-token.status":           {"runs@2026-03 runs@2026-04", "auth.needs-credentials:http.request"},
		"runs.auth.more-401.accepted":          {"", ""},
		"runs.stream.limit-plain.stream":       {"runs@2026-03 runs@2026-04", "limit.refuses-streams:http.request"},
		"runs.stream.limit-429.accepted":       {"", ""},
		"runs.errors.code-sse-limit.code":      {"runs@2026-03 runs@2026-04", "limit.refuses-streams:http.request"},
		"agkit.error.schema.status":            {"agkit@0.0.10", "refuse.as-documented:http.request"},
		"runs.create.system-accept.refused":    {"runs@2026-03 runs@2026-04", "accept.as-documented:http.request"},
		"runs.create.status-202.reply-status":  {"runs@2026-03 runs@2026-04", "reply.as-promised:http.response"},
		"agentscope.created-at.type":           {"agentscope@0.1 agentscope@1.1", "wire.matches-schema:/created_at"},
		"agentscope-java.msg.id.missing":       {"agentscope-java@0.1 agentscope-java@1.0", "wire.matches-schema:/id"},
		"agkit.event.tool-call-end.missing":    {"agkit@0.0.10", "wire.matches-schema:/toolCallId"},
		"runs.transcribe.transcript.type":      {"runs@2026-03 runs@2026-04", "wire.matches-schema:/transcript"},
		"agentscope.completed-not-delta.value": {"agentscope@0.1 agentscope@1.1", "wire.matches-schema:/delta"},
	} {
		var got []string
		checks := ""
		if i := slices.IndexFunc(all, func(m *mutation.Mutant) bool { return m.Name == name }); i >= 0 {
			for _, d := range dialects {
				if all[i].AppliesTo(d) {
					got = append(got, d.Name)
				}
			}
			for check, places := range all[i].KilledBy {
				checks += check + ":" + places
			}
		}
		if strings.Join(got, " ") != want.dialects || checks != want.checks {
			t.Errorf("%s applies to %v and is killed by %q, want %v", name, got, checks, want)
		}
	}
}

// TestEveryCheckHasMutants checks that each check is expected to kill at least two mutants.
func TestEveryCheckHasMutants(t *testing.T) {
	all := mutation.All(allDialects(t))
	for _, c := range rules.About(spec.Server) {
		n := 0
		for _, m := range all {
			if m.KilledBy[c.ID] != "" {
				n++
			}
		}
		if n < 2 {
			t.Errorf("%s is to kill %d mutants; two at least are wanted", c.ID, n)
		}
	}
}

// TestEnough checks that there are at least 150 mutants.
func TestEnough(t *testing.T) {
	if n := len(mutation.All(allDialects(t))); n < 150 {
		t.Errorf("there are %d mutants, and 150 are wanted", n)
	}
}
