package dialect

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/streamassay/streamassay/spec"
)

// historyExample is one day of a thread, as a server returns it.
var historyExample = spec.Event{
	Kind: spec.History, Thread: "t-1", Day: "2026-03-15", HasMore: "true",
	Parts: []spec.Event{
		{
			Kind: spec.HistoryUser, ID: "1", Seq: "7", Text: "What is this?", Created: "2026-03-15T10:00:00Z",
			Parts: []spec.Event{{Kind: spec.HistoryImage, Type: "image/png", Text: "https://example.com/b/p.png?s=1&t=2"}},
		},
		{Kind: spec.HistoryTool, ID: "2", Seq: "8", Text: `{"n":1}`, Created: "2026-03-15T10:00:01.5+08:00"},
		{Kind: spec.HistoryAssistant, ID: "3", Seq: "9.5", Text: "", Created: "2026-03-15T10:00:02Z"},
		{Kind: spec.HistoryUser, ID: "4", Seq: "10", Text: "7", Created: "2026-03-15T10:00:03Z"},
	},
}

// TestHistoryRoundTrip checks that a history is decoded to the messages from which it was encoded,
// and that an empty history is encoded as documented.
func TestHistoryRoundTrip(t *testing.T) {
	for _, version := range []string{"2026-03", "2026-04"} {
		d, err := Open("runs@" + version)
		if err != nil {
			t.Fatal(err)
		}
		o, ok := d.TemplateOperation("history")
		if !ok {
			t.Fatal("there is no way to ask for a history")
		}
		const empty = `{"day":null,"hasMore":false,"messages":[],"scope":"history_day","threadId":null}`
		if got := string(o.EncodeResponse(spec.Event{Kind: spec.History}).Body); got != empty {
			t.Errorf("an empty history is %s", got)
		}
		for _, said := range []spec.Event{historyExample, {Kind: spec.History, HasMore: "false", Parts: []spec.Event{}}, {Kind: spec.History, Thread: "t", HasMore: "false", Parts: []spec.Event{}}} {
			heard := decodeReply(t, d, o.EncodeResponse(said))
			roles := []string{"user", "tool", "assistant", "user"}
			for i := range heard.Parts {
				if heard.Parts[i].Role != roles[i] {
					t.Errorf("message %d is a %s's", i, heard.Parts[i].Role)
				}
			}
			loose := cmpopts.IgnoreFields(spec.Event{}, "Exchange", "Operation", "Role", "StatusCode", "MediaType", "Header", "Exercised", "Frame", "Line", "Raw")
			if version == "2026-03" { // it has no member for the type of an image
				loose = cmp.Options{loose, cmp.FilterPath(func(p cmp.Path) bool { return p.String() == "Parts.Parts.Type" }, cmp.Ignore())}
			}
			if diff := cmp.Diff(said, heard, loose); diff != "" {
				t.Errorf("%s: said and heard differ:\n%s", version, diff)
			}
		}
	}
}

func decodeReply(t *testing.T, d *Dialect, a NonStreamResponse) (heard spec.Event) {
	t.Helper()
	x := spec.Exchange{Response: spec.Response{Status: 200, Header: spec.Header{{Name: "Content-Type", Value: a.MediaType}}, Body: a.Body}}
	x.Request, _ = d.BuildRequest("history", sampleSlots)
	for e := range d.Events(spec.Trace{Exchanges: []spec.Exchange{x}}) {
		if len(e.Raw) > 0 {
			heard = e
		}
	}
	return heard
}

// TestHistoryBreaks checks that each violation of a history names the right requirement.
func TestHistoryBreaks(t *testing.T) {
	user := `"id":"1","seq":1,"role":"user","content":"Hi","url":null,"timestamp":"2026-03-15T10:00:00"`
	tool := `"id":"1","seq":1,"role":"tool","content":"{}","timestamp":"20260315T1000Z"`
	page := func(messages string) string {
		return `{"scope":"history_day","threadId":null,"day":null,"hasMore":false,"messages":[` + messages + `]}`
	}
	both, old, new := []string{"2026-03", "2026-04"}, []string{"2026-03"}, []string{"2026-04"}
	ui := func(ui string) string { return page(`{` + tool + `,"uiSchema":` + ui + `}`) }
	whole := `"version":"2.0","locale":"en","status":"info","theme":"dark"`
	for _, c := range []struct {
		versions []string
		body     string
		law      string // without "runs.history."; "" if nothing is wrong
	}{
		{both, page(""), ""}, {both, page(`{` + user + `}`), ""}, {new, page(`{` + tool + `}`), ""},
		{both, `[]`, "plain-json"}, {both, `{}`, "scope thread day has-more messages"},
		{both, strings.Replace(page(""), "history_day", "day", 1), "scope"},
		{both, strings.Replace(page(""), `"threadId":null`, `"threadId":5`, 1), "thread"},
		{both, strings.Replace(page(""), `"day":null`, `"day":"15.3.2026"`, 1), "day"},
		{both, strings.Replace(page(""), `"day":null`, `"day":"2026-02-30"`, 1), "day"},
		{both, strings.Replace(page(""), `"hasMore":false`, `"hasMore":"no"`, 1), "has-more"},
		{both, strings.Replace(page(""), `[]`, `{}`, 1), "messages"},
		{both, page(`{` + strings.Replace(user, `"1"`, `1`, 1) + `}`), "m-id"},
		{both, page(`{` + strings.Replace(user, `"seq":1,`, ``, 1) + `}`), "m-seq"},
		{both, page(`{` + strings.Replace(user, `"user"`, `"system"`, 1) + `}`), "m-role"},
		{both, page(`{` + strings.Replace(user, `"role":"user",`, ``, 1) + `}`), "m-role"},
		{both, page(`{` + strings.Replace(user, `"Hi"`, `["Hi"]`, 1) + `}`), "m-content"},
		{both, page(`{` + strings.Replace(user, `"2026-03-15T10:00:00"`, `1773568800`, 1) + `}`), "m-timestamp"},
		{both, page(`{` + strings.Replace(user, `2026-03-15T10`, `15 March, 10`, 1) + `}`), "m-timestamp"},
		{new, page(`{` + user + `,"suggestedActions":"go"}`), "suggested"},
		{new, page(`{` + user + `,"attachments":[{"mimeType":"image/png"}]}`), "attachments"},
		{new, page(`{` + tool + `,"ui_schema":"x"}`), "ui-schema"}, {new, page(`{` + tool + `,"ui_schema":null}`), ""},
		{old, page(`{` + strings.Replace(user, `"url":null,`, ``, 1) + `}`), "user-url"},
		{old, page(`{` + tool + `}`), "tool-ui"}, {old, page(`{` + strings.Replace(tool, "tool", "assistant", 1) + `}`), "assistant-ui"},
		{old, ui(`null`), ""}, {old, ui(`{` + whole + `,"root":{}}`), ""}, {old, ui(`5`), "tool-ui"},
		{old, ui(`{"meta":{"toolId":1}}`), "ui-version ui-locale ui-status ui-theme ui-root ui-meta"},
		{old, ui(`{` + strings.Replace(whole, "2.0", "1.0", 1) + `,"root":{}}`), "ui-version"},
		{old, ui(`{` + strings.Replace(whole, "dark", "red", 1) + `,"root":[]}`), "ui-theme ui-root"},
	} {
		for _, version := range c.versions {
			d, err := Open("runs@" + version)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, b := range decodeReply(t, d, NonStreamResponse{200, "application/json", []byte(c.body)}).Violations {
				got = append(got, strings.TrimPrefix(b.Requirement, "runs.history."))
			}
			want := strings.Fields(c.law)
			slices.Sort(got)
			slices.Sort(want)
			if got = slices.Compact(got); !slices.Equal(got, want) {
				t.Errorf("%s: %s breaks %v, want %v", version, c.body, got, want)
			}
		}
	}
}

// TestCreatedIsISO checks that a time stamp is valid in any form of ISO 8601, and in no other form.
func TestCreatedIsISO(t *testing.T) {
	d, err := Open("runs@2026-03")
	if err != nil {
		t.Fatal(err)
	}
	for stamp, ok := range map[string]bool{
		"2026-03-15T10:00:00Z": true, "2026-03-15T10:00:00.123456": true, "20260315T100000+0800": true, "2026-03-15T18:00+08:00": true,
		"2026-03-15": false, "2026-03-15 10:00:00": false, "2026-13-15T10:00:00Z": false, "15/03/2026": false, "1773568800": false,
	} {
		x := spec.Exchange{Response: spec.Response{Status: 202, Header: spec.Header{{Name: "Content-Type", Value: "application/json"}}}}
		x.Response.Body = []byte(`{"taskId":"t","threadId":"T","runId":"r","created":"` + stamp + `"}`)
		x.Request, _ = d.BuildRequest("prompt", sampleSlots)
		for e := range d.Events(spec.Trace{Exchanges: []spec.Exchange{x}}) {
			if e.Kind == spec.RunAccepted && (len(e.Violations) == 0) != ok {
				t.Errorf("%s: %v", stamp, e.Violations)
			}
		}
	}
}
