package fault_test

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/streamassay/streamassay/internal/fault"
)

// TestParse checks that String returns a form that parses to the same fault.
func TestParse(t *testing.T) {
	for in, want := range map[string]string{
		"":                                  "",
		"abort":                             "abort",
		" abort ; event=3 ,stall;time=2s":   "abort; event=3|stall; time=2s",
		"torn; byte=100; streams=0":         "torn; byte=100; streams=0",
		`http-error; text="a, b; \"c\" \\"`: `http-error; text="a, b; \"c\" \\"`,
		"http-error; status=503; text=":     `http-error; status=503; text=""`,
		"split; at=1 5 -2; chance=30":       "split; at=1 5 -2; chance=30",
	} {
		uses, err := fault.Parse(in)
		if err != nil {
			t.Errorf("%q: %v", in, err)
			continue
		}
		var said []string
		for _, u := range uses {
			said = append(said, u.String())
		}
		if got := strings.Join(said, "|"); got != want {
			t.Errorf("%q is %q, want %q", in, got, want)
		}
		again, err := fault.Parse(strings.Join(said, ", "))
		if err != nil || len(again) != len(uses) {
			t.Errorf("%q, said back: %v", in, err)
			continue
		}
		for i := range again {
			if again[i].String() != uses[i].String() || again[i].Trigger != uses[i].Trigger {
				t.Errorf("%q comes back as %q", uses[i], again[i])
			}
		}
	}
}

// TestRefused checks that each error of Parse describes what is wrong or what would be valid.
func TestRefused(t *testing.T) {
	for in, want := range map[string]string{
		"abrot":                            `did you mean abort?`,
		"nonsense":                         "want one of abort, abort-late",
		"abort  event=3":                   `fault abort: want a semicolon before "event=3"`,
		"abort; evnt=3":                    `did you mean event?`,
		"abort; event=-1":                  "event: must be an integer from 0 to 1000000, not -1",
		"abort; event=1.5":                 "must be an integer",
		"abort; time=3":                    "e.g. 250ms, 2s",
		"abort; time=3h":                   "from 0s to 1h",
		"abort; event=1; byte=2":           "two triggers",
		"abort; event=1; event=2":          "set twice",
		"http-error; event=1":              "this fault has no trigger",
		"http-error; status=200":           "from 400 to 599",
		"redirect; status=200":             "want one of 301, 302",
		"split; at=1 x":                    "integers other than 0",
		"unknown-event; data=[]":           "not a JSON object",
		"abort; chance=0":                  "from 1 to 100",
		"abort,":                           "after the last comma",
		", abort":                          "missing fault name",
		"abort; event":                     "want name=value",
		`http-error; text="x`:              "closing quote",
		`http-error; text="x"y`:            "after the closing quote",
		"http-error; text=\x00":            "control characters",
		strings.Repeat("abort,", 40) + "x": "more than 32",
		"http-error; text=" + strings.Repeat("x", 5000): "at most 4096",
	} {
		_, err := fault.Parse(in)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: the error is %v, want one with %q", in, err, want)
		}
	}
}

// TestFromYAML checks that FromYAML accepts arguments of the types that decoders return, and
// refuses others.
func TestFromYAML(t *testing.T) {
	for _, c := range []struct {
		name string
		args map[string]any
		want string // the use, or a part of the error
	}{
		{"abort", nil, "abort"},
		{"abort", map[string]any{"event": uint64(7)}, "abort; event=7"},
		{"abort", map[string]any{"event": 7.0}, "abort; event=7"},
		{"stall", map[string]any{"for": 2 * time.Second}, "stall; for=2s"},
		{"stall", map[string]any{"for": "250ms"}, "stall; for=250ms"},
		{"split", map[string]any{"at": []any{uint64(1), int64(-2)}}, "split; at=1 -2"},
		{"abort", map[string]any{"event": 7.5}, "must be an integer"},
		{"abort", map[string]any{"event": true}, "must be an integer"},
		{"abort", map[string]any{"event": nil}, "want a number, a text or a list"},
		{"abort", map[string]any{"event": map[string]any{}}, "want a number, a text or a list"},
		{"stal", nil, `did you mean stall?`},
	} {
		u, err := fault.FromYAML(c.name, c.args)
		if got := u.String(); err == nil && got != c.want || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %v is %q, %v; want %s", c.name, c.args, got, err, c.want)
		}
	}
}

// TestChance checks that the parameter chance is the approximate percentage of affected requests,
// and that the seed determines which requests these are.
func TestChance(t *testing.T) {
	uses, err := fault.Parse("end-missing; chance=30")
	if err != nil {
		t.Fatal(err)
	}
	strikes := func(seed uint64) (n int) {
		r := rand.New(rand.NewPCG(seed, 0))
		for range 1000 {
			if uses[0].NewEffect(fault.ResponseContext{Rand: r, Applied: func() {}}).OnEvent != nil {
				n++
			}
		}
		return n
	}
	if n := strikes(1); n < 200 || n > 400 || n != strikes(1) {
		t.Errorf("%d and %d of 1000 are affected", n, strikes(1))
	}
}

// TestStreams checks the result of MaxStreams. If the parameter streams is not set, it depends on
// the category of the fault.
func TestStreams(t *testing.T) {
	for in, want := range map[string]int{"abort": 1, "abort; streams=0": 0, "abort; streams=3": 3, "end-missing": 0, "resume-lost": 0} {
		uses, err := fault.Parse(in)
		if err != nil || uses[0].MaxStreams() != want {
			t.Errorf("%s affects %d streams (%v), want %d", in, uses[0].MaxStreams(), err, want)
		}
	}
}

// TestCatalogue checks that the entries of All are complete and valid and have unique names.
func TestCatalogue(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range fault.All {
		if seen[f.Name] || f.Doc == "" || f.Category == "" || f.NewEffect == nil || strings.ToLower(f.Name) != f.Name {
			t.Errorf("%q is there twice, or lacks something", f.Name)
		}
		seen[f.Name] = true
		for _, p := range f.AllParams() {
			if p.Name == "" || p.Doc == "" {
				t.Errorf("%s: a parameter lacks its name or what it is", f.Name)
			}
			for _, value := range []string{p.Default, p.Min, p.Max} {
				if value == "" {
					continue
				}
				if _, err := fault.FromYAML(f.Name, map[string]any{p.Name: value}); err != nil {
					t.Errorf("%s: invalid default or bound: %v", f.Name, err)
				}
			}
		}
		for _, place := range f.Triggers {
			if place != "event" && place != "byte" && place != "time" {
				t.Errorf("%s: no place %q", f.Name, place)
			}
		}
		found, err := fault.ByName(f.Name)
		if err != nil || found != f {
			t.Errorf("%s is not found: %v", f.Name, err)
		}
	}
}
