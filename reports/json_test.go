package reports

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// promised is the shape of the JSON report on which users rely. Every report contains all its
// members. Members may be added, but these never change.
const promised = `{"tool":"streamassay","version":"…","started":"2026-01-31T12:00:00Z","duration_ms":412,
 "target":"http://127.0.0.1:4010/api/v1/agent","verdict":"failed","exit":1,
 "counts":{"passed":0,"failed":0,"warned":0,"silent":0,"skipped":0,"error":0},
 "dialects":[{"dialect":"runs@2026-04",
   "causes":[{"kind":"…","message":"…","advice":"…","scenario":"…","exchange":0,"operation":"…","request":"…","consequences":1}],
   "requirements":[{"id":"…","level":"MUST","verdict":"failed","quote":"…","source":"…:12-14","checks":["…"]}],
   "checks":[{"id":"…","title":"…","level":"MUST","scenario":"…","verdict":"failed","judged":7,
      "findings":[{"message":"…","exchange":0,"event":3,"line":9,"offset":211,"raw":"…","pointer":"/delta"}],
      "requirements":["…"],"curl":"curl -sN …","transcript":"…"}]}]}`

// The exceptions from the promised shape: members that a report may contain in addition, and
// members that it may lack.
var (
	besides = []string{"seed", "salt", "note", "dropped", "requirement", "excluded", "kind", "reason", "english", "convention",
		"cause", "advice", "rerun", "requests", "operation", "request", "response", "fatal"}
	absent = []string{"event"} // where a finding is not about a frame
)

func TestJSONHasThePromisedShape(t *testing.T) {
	var want any
	if err := json.Unmarshal([]byte(promised), &want); err != nil {
		t.Fatal(err)
	}
	for name, r := range map[string]*Report{"sample": sample(), "empty": {}, "bare": {Dialects: []DialectResults{{
		Requirements: []RequirementResult{{}}, Checks: []Check{{Findings: []Finding{{}}}, {}},
	}}}} {
		var b bytes.Buffer
		if err := WriteJSON(&b, r); err != nil {
			t.Fatal(err)
		}
		if !utf8.Valid(b.Bytes()) {
			t.Errorf("%s: not UTF-8", name)
		}
		var got any
		if err := json.Unmarshal(b.Bytes(), &got); err != nil {
			t.Fatal(err)
		}
		sameShape(t, name, got, want)
	}
}

// sameShape checks that two JSON values have the same types and the same names of members, except
// those in besides and absent. The position at is part of the error messages.
func sameShape(t *testing.T, at string, got, want any) {
	t.Helper()
	if fmt.Sprintf("%T", got) != fmt.Sprintf("%T", want) {
		t.Errorf("%s is a %T, want a %T", at, got, want)
		return
	}
	switch want := want.(type) {
	case []any:
		for i, g := range got.([]any) {
			sameShape(t, fmt.Sprintf("%s/%d", at, i), g, want[0])
		}
	case map[string]any:
		got := got.(map[string]any)
		for key, w := range want {
			g, ok := got[key]
			if ok {
				sameShape(t, at+"/"+key, g, w)
			} else if !slices.Contains(absent, key) {
				t.Errorf("%s has no %s", at, key)
			}
		}
		for key := range got {
			if _, ok := want[key]; !ok && !slices.Contains(besides, key) {
				t.Errorf("%s has a %s", at, key)
			}
		}
	}
}

func TestJSONValues(t *testing.T) {
	var b bytes.Buffer
	if err := WriteJSON(&b, sample()); err != nil {
		t.Fatal(err)
	}
	var got struct {
		Tool, Started, Verdict string
		Exit                   int
		Duration               int `json:"duration_ms"`
		Counts                 map[string]int
		Dialects               []struct {
			Dialect      string
			Requirements []struct {
				ID, Verdict string
				Excluded    map[string]string
			}
			Checks []struct {
				ID, Verdict, Note string
				Judged            int
				Findings          []struct {
					Event *int
					Raw   string
				}
			}
		}
	}
	if err := json.Unmarshal(b.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if got.Tool != "streamassay" || got.Started != "2026-01-31T12:00:00Z" || got.Verdict != "error" || got.Exit != 1 || got.Duration != 3140 {
		t.Errorf("%+v", got)
	}
	if fmt.Sprint(got.Counts) != "map[error:1 failed:5 passed:2 silent:1 skipped:1 warned:2]" {
		t.Errorf("counts %v", got.Counts)
	}
	d := got.Dialects[0]
	if d.Requirements[0].Excluded != nil || d.Requirements[7].Excluded["kind"] != "client" || d.Requirements[7].Verdict != "silent" {
		t.Errorf("requirements %+v", d.Requirements)
	}
	first := d.Checks[0].Findings[0]
	if want := strings.ReplaceAll(hostile, "\xff\xfe", "\ufffd\ufffd"); first.Raw != want || first.Event == nil || *first.Event != 3 {
		t.Errorf("raw %q, want %q", first.Raw, want)
	}
	if d.Checks[1].Findings[0].Event != nil || d.Checks[4].Note == "" || d.Checks[0].Judged != 7 {
		t.Errorf("checks %+v", d.Checks)
	}
}

// TestJSONLeavesTheReportAlone checks that WriteJSON does not modify the report.
func TestJSONLeavesTheReportAlone(t *testing.T) {
	r := &Report{Dialects: []DialectResults{{Checks: []Check{{}}}}}
	if err := WriteJSON(&bytes.Buffer{}, r); err != nil {
		t.Fatal(err)
	}
	if r.Dialects[0].Requirements != nil || r.Dialects[0].Checks[0].Findings != nil {
		t.Errorf("%+v", r)
	}
}
