package script

import (
	"errors"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/streamassay/streamassay/spec"
)

func fullView() *templateData {
	f := &RequestContext{
		Parsed:  &spec.Event{Thread: "t", Run: "r", Parts: []spec.Event{{Kind: spec.InputUser, Text: "hi"}, {Kind: spec.InputToolResult, Call: "c1", Name: "lookup", Text: "21"}}},
		Request: spec.Request{Header: spec.Header{{Name: "X-A", Value: "b"}}, Body: []byte(`{"a": {"b": [1, 12345678901234567890]}, "n": null}`)},
		Rand:    rand.New(rand.NewPCG(1, 2)), Now: time.Unix(1_700_000_000, 0), userText: "hi", turn: 2,
	}
	p := &matchContext{request: f, state: NewState(), groups: map[string]string{"0": "all", "city": "Rome"}}
	p.toolResult = &f.toolResults()[0]
	return newTemplateData(p)
}

func TestTemplates(t *testing.T) {
	v := fullView()
	for _, tt := range []struct{ text, want string }{
		{"plain", "plain"},
		{"{{.Text}} {{.Turn}} {{.Thread}} {{.Run}}", "hi 2 t r"},
		{"{{.Tool}} {{.Call}} {{.Result}}{{.Resume}}", "lookup c1 21"},
		{`{{.Match.city}} {{index .Match "0"}}`, "Rome all"},
		{`{{header "x-a"}} {{header "x-b" | default "none"}}`, "b none"},
		{`{{body "/a/b/1"}} {{body "/a"}} [{{body "/n"}}] [{{body "/b"}}]`, `12345678901234567890 {"b":[1,12345678901234567890]} [] []`},
		{`{{json "a \"b\""}} {{json .Turn}}`, `"a \"b\"" 2`},
		{`{{seq}} {{seq}} {{seq "x"}}`, "1 2 1"},
		{`{{now}} {{now "15:04"}}`, "2023-11-14T22:13:20Z 22:13"},
		{`{{upper "a"}}{{lower "B"}}{{trim " c "}}{{repeat 3 "d"}}{{add 1 2}}`, "Abcddd3"},
		{`{{if eq .Turn 2}}second{{else}}other{{end}}`, "second"},
		{`{{with .Match}}{{.city}}{{end}}`, "Rome"},
		{`{{random 5 5}} {{pick "a"}}`, "5 a"},
	} {
		w, err := compileTemplate(tt.text)
		if err != nil {
			t.Errorf("%s: %v", tt.text, err)
			continue
		}
		if got, err := w.render(v); err != nil || got != tt.want {
			t.Errorf("%s: %q, not %q (%v)", tt.text, got, tt.want, err)
		}
	}
}

func TestChanceComesFromTheSeed(t *testing.T) {
	w, err := compileTemplate(`{{uuid}} {{random 1 1000000}} {{pick "a" "b" "c"}} {{words 12}}`)
	if err != nil {
		t.Fatal(err)
	}
	one, _ := w.render(fullView())
	two, _ := w.render(fullView())
	if one != two {
		t.Errorf("%q and %q", one, two)
	}
	id := regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12} `)
	if !id.MatchString(one) || len(strings.Fields(one)) != 15 {
		t.Error(one)
	}
}

func TestTemplatesAreBounded(t *testing.T) {
	for _, text := range []string{
		`{{repeat 2000000 "a"}}`, `{{words 1000000000}}`, `{{random 1 0}}`, `{{random -9223372036854775808 9223372036854775807}}`, `{{body "a"}}`, `{{.Match.town}}`, `{{index .Match "town" 3}}`,
		strings.Repeat(`{{repeat 1000000 "a"}}`, 2), strings.Repeat(`{{$x := repeat 1000000 "a"}}`, 9), strings.Repeat(`{{$x := words 100000}}`, 20),
	} {
		w, err := compileTemplate(text)
		if err != nil {
			t.Errorf("%.40s: %v", text, err)
			continue
		}
		if got, err := w.render(fullView()); err == nil || strings.Contains(err.Error(), "template:") {
			t.Errorf("%.40s makes %d bytes: %v", text, len(got), err)
		}
	}
}

// TestReplySize checks that the results of repeat and words count once toward the size of a reply,
// and that a reply cannot exceed this size.
func TestReplySize(t *testing.T) {
	for text, most := range map[string]int{
		`{{repeat 1000000 "a"}}`: maxReplySize / 1_000_000, `{{words 100000}}`: maxReplySize / 600_000,
	} {
		w, err := compileTemplate(text)
		if err != nil {
			t.Fatal(err)
		}
		v, n := fullView(), 0
		for err == nil && n < 100 {
			if _, err = w.render(v); err == nil {
				n++
			}
		}
		if n != most || !errors.Is(err, errTooLong) {
			t.Errorf("%s: %d texts fit in a reply, then %v; want %d", text, n, err, most)
		}
	}
}

// TestAReplyThatCannotBeMade checks that the error for a reply that cannot be rendered names the
// position in the script.
func TestAReplyThatCannotBeMade(t *testing.T) {
	set := loaded(t, "rules:\n- name: a\n  reply:\n  - text: hi\n  - text: '{{slice .Text 5}}'\n")
	d := set.Decide(userRequest("abc"), NewState())
	want := `500  "s.yaml:5: rule a: text: <slice .Text 5>: error calling slice: index out of range: 5" 0s`
	if got := describeEvents(d); got != want {
		t.Error(got)
	}
}

// TestTemplateDataIsNotText checks that a script is refused if a template would print the template
// data or all groups, and that the dot of a with action and variables can be printed.
func TestTemplateDataIsNotText(t *testing.T) {
	whole := "s.yaml:4:11: reply.text: invalid template: {{.}} and {{$}} are not a text: name a field, such as {{.Text}} (want .Text, "
	groups := "is not a text: name a group, such as {{.Match.city}}"
	for text, want := range map[string]string{
		"{{.}}": whole, "{{$}}": whole, "{{ . | json }}": whole, "{{if .Text}}{{.}}{{end}}": whole, "{{with .}}{{end}}": whole,
		"{{with .Text}}{{$}}{{end}}": whole, "{{with .Text}}{{else}}{{.}}{{end}}": whole, "{{$x := .}}{{$x}}": whole,
		"{{.Match}}": groups, "{{$.Match}}": groups, "{{with .Text}}{{$.Txt}}{{end}}": "unknown field .Txt",
		"with {{.Txt}}": "unknown field .Txt", "{{with .Match}}{{range .}}{{end}}{{end}}": "range is not allowed",
		"{{with .Text}}{{.}}{{end}}": "", "{{$x := .Text}}{{$x}}": "", "{{with .Text}}{{$.Turn}}{{end}}": "",
		"{{with $x := .Match}}{{.a}}{{$x.b}}{{else with .Text}}{{.}}{{end}}": "", "{{json .Match}}": "",
	} {
		set, problems := Load([]Source{{"s.yaml", []byte("rules:\n- reply:\n  - text: hi\n  - text: '" + text + "'\n")}}, nil)
		all := strings.Join(problemTexts(problems), "\n")
		if (set == nil) != (want != "") || !strings.Contains(all, want) {
			t.Errorf("%s: problems are %q, want %q", text, all, want)
		}
	}
}
