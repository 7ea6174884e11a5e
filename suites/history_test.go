package suites_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
	"github.com/streamassay/streamassay/suites"
)

func (a *historyServer) history(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	asked, before := r.FormValue("threadId"), r.FormValue("before")
	t := a.thread(asked)
	switch {
	case asked == "" && a.is("is used by others"):
		t = &thread{"others", []*historyServerRun{{prompt: "Hi.", began: time.Now(), events: []string{""}}}}
	case asked == "" && a.is("tells of long ago"):
		t = &thread{"others", []*historyServerRun{{prompt: "Hi.", began: time.Now().Add(-time.Hour), events: []string{""}}}}
	case asked == "" && a.is("tells of nothing"):
		t = nil
	case asked == "" && a.is("tells the first"):
		t = a.threads[0]
	case asked == "" || a.is("does not read the thread"):
		t = a.threads[len(a.threads)-1]
	case t == nil && a.is("says 403"):
		refused(w, 403)
		return
	case t == nil && !a.is("has empty threads"), t != nil && a.is("denies its threads") && (len(t.runs) > 1 || time.Since(t.runs[0].began) > 280*time.Millisecond): // later than the first look: a slow run takes longer
		refused(w, 404)
		return
	}
	if a.is("is a stream") {
		w.Header().Set("Content-Type", stream)
		io.WriteString(w, "data: {}\n\n")
		return
	}
	page := map[string]any{"scope": "history_day", "threadId": nil, "day": nil, "hasMore": false, "messages": []any{}}
	if t != nil {
		a.fill(page, t, before)
	}
	if asked != "" && t != nil && a.is("mixes threads") {
		page["threadId"] = asked
	}
	say(w, 200, page)
}

// zone returns the time zone in which the days of the server begin, and the time zone of the
// timestamps that it sends.
func (a *historyServer) zone() (day, clock *time.Location) {
	if a.is("lives far east, and has its clock far west") {
		return time.FixedZone("", 14*3600), time.FixedZone("", -12*3600)
	}
	return time.UTC, time.UTC
}

// fill stores in page the messages of the latest day of thread t that is earlier than the day given
// by before, or of the latest day of all if before is "".
func (a *historyServer) fill(page map[string]any, t *thread, before string) {
	all := a.scraps(t)
	if a.is("mixes threads") {
		all = nil
		for _, t := range a.threads {
			all = append(all, a.scraps(t)...)
		}
	}
	zone, _ := a.zone()
	earlier := func(day string) bool {
		return before == "" || day < before || a.is("tells the day itself") && day == before
	}
	days := []string{}
	for _, s := range all {
		if day := s.at.In(zone).Format(time.DateOnly); !slices.Contains(days, day) && earlier(day) {
			days = append(days, day)
		}
	}
	slices.Sort(days)
	page["threadId"] = t.id
	page["hasMore"] = len(days) > 1 && !a.is("denies the older day") || a.is("promises more")
	if len(days) == 0 || before != "" && a.is("knows one day") {
		return
	}
	day := days[len(days)-1]
	page["day"] = day
	var messages []any
	for i, s := range all {
		if s.at.In(zone).Format(time.DateOnly) == day {
			messages = append(messages, a.message(t, i, s))
		}
	}
	if a.is("tells the newest first") {
		slices.Reverse(messages)
	}
	page["messages"] = messages
	if a.is("mistakes the day") {
		page["day"] = "2020-02-02"
	}
}

func (a *historyServer) message(t *thread, i int, s scrap) map[string]any {
	_, clock := a.zone()
	m := map[string]any{"id": fmt.Sprint("m", i), "seq": i, "role": s.role, "content": s.text, "timestamp": s.at.In(clock).Format(time.RFC3339Nano)}
	switch {
	case a.is("tells whole seconds"):
		m["timestamp"] = s.at.Format(time.RFC3339)
	case a.is("does not say its time zone"):
		m["timestamp"] = s.at.Format("20060102T150405.000")
	case a.is("counts from a thousand by halves"):
		m["seq"] = 1000 + float64(i)/2
	case a.is("counts nothing"):
		m["seq"] = 0
	case a.is("says more"):
		m["metadata"], m["suggestedActions"], m["ui_schema"] = map[string]any{"a": 1}, []string{"go on"}, nil
	case a.is("tells blocks"):
		m["content"] = []string{s.text}
	}
	if a.old {
		if m["uiSchema"] = nil; s.role == "user" {
			m["url"] = nil
		}
	}
	return m
}

// recall tests the server a with the scenarios about histories. found lists the violated
// requirements, those below MUST with a question mark. silent lists the requirements on histories,
// and on how runs are accepted, that were not judged.
func recall(t *testing.T, a *historyServer) (found string, silent []string) {
	name := "runs@2026-04"
	if a.old {
		name = "runs@2026-03"
	}
	runs, err := dialect.Open(name)
	if err != nil {
		t.Error(err)
		return "", nil
	}
	a.dialect = runs
	srv := httptest.NewServer(a)
	defer srv.Close()
	defer srv.CloseClientConnections()
	base, _ := url.Parse(srv.URL + runs.Base)
	target := suites.Target{Dialect: runs, Base: base, Seed: 1, Only: []string{"history", "latest", "text"}}
	parts, err := suites.Run(t.Context(), target, nil)
	if err != nil {
		t.Error(err)
	}
	got := map[string]spec.Verdict{}
	for _, p := range parts {
		if p.Err != nil {
			t.Errorf("%s: %s: %v", a.how, p.Scenario.Name, p.Err)
		}
		for _, r := range p.Evaluation.Results {
			for _, law := range r.PlannedCheck.Requirements {
				got[law.ID] = max(got[law.ID], r.VerdictOn(law))
			}
		}
	}
	verdicts := map[spec.Verdict][]string{}
	for _, r := range runs.Requirements {
		if r.Excluded == nil && !strings.HasPrefix(r.ID, "runs.cancel.") { // the server cannot cancel runs
			verdicts[got[r.ID]] = append(verdicts[got[r.ID]], strings.TrimPrefix(r.ID, "runs."))
		}
	}
	for _, id := range verdicts[spec.Warned] {
		verdicts[spec.Failed] = append(verdicts[spec.Failed], id+"?")
	}
	ours := slices.DeleteFunc(verdicts[spec.Silent], func(id string) bool {
		return !strings.HasPrefix(id, "history.") && !slices.Contains([]string{"create.created-true", "create.created-false", "create.persist-first"}, id)
	})
	slices.Sort(verdicts[spec.Failed])
	slices.Sort(ours)
	return strings.Join(verdicts[spec.Failed], " "), ours
}

// The requirements that a correct server leaves silent, for the current and for the older version
// of the dialect. They concern, for example, images and suggestions, which the server does not
// have.
const (
	unseen    = "history.suggested history.attachments history.ui-schema history.attachments-user history.empty-user history.before-malformed history.links-open"
	unseenOld = "history.empty-user history.before-malformed history.links-open history.ui-version history.ui-locale history.ui-status history.ui-theme history.ui-meta history.ui-root history.user-image"
)

// TestHistories checks that correct servers pass, including unusual ones, and that in each faulty
// server exactly its own fault is found.
func TestHistories(t *testing.T) {
	t.Parallel()
	var wait sync.WaitGroup
	for how, c := range map[string]struct{ found, seen, silent string }{
		"": {},
		// Odd, and right.
		"is late":           {},
		"greets":            {},
		"says 403":          {},
		"has empty threads": {seen: "history.empty-user"},
		"lives far east, and has its clock far west": {},
		"does not say its time zone":                 {},
		"tells whole seconds":                        {},
		"tells the newest first":                     {},
		"counts from a thousand by halves":           {},
		"thinks aloud, for nobody":                   {silent: "history.tool-shown"}, // it does not follow the prompts
		"tells words":                                {},
		"says more":                                  {seen: "history.suggested"},
		"has an older day":                           {},
		"is used by others":                          {silent: "history.latest"},
		// Wrong.
		"forgets the user":            {found: "create.persist-first? history.user-text"},
		"keeps JSON":                  {found: "create.persist-first? history.user-text"},
		"keeps the beginning":         {found: "create.persist-first? history.user-text"},
		"keeps all at the end":        {found: "create.persist-first?"},
		"forgets the answer":          {found: "history.assistant-text"},
		"wraps the answer":            {found: "history.assistant-text"},
		"forgets its tools":           {found: "history.tool-shown"},
		"keeps one tool":              {found: "history.tool-shown"},
		"tells results in words":      {found: "history.tool-json"},
		"does not read the thread":    {found: "history.thread-param"},
		"mixes threads":               {found: "history.assistant-text history.once history.thread-param"},
		"denies its threads":          {found: "create.persist-first? history.assistant-text history.before-nearest history.before-strict history.plain-json history.thread-param history.user-text"},
		"tells the first":             {found: "history.latest"},
		"tells of long ago":           {found: "history.latest"},
		"tells of nothing":            {found: "history.latest"},
		"tells the day itself":        {found: "history.before-strict"},
		"knows one day":               {found: "history.before-nearest"},
		"promises more":               {found: "history.more-false? history.one-day?"},
		"denies the older day":        {found: "history.more-false?"},
		"mistakes the day":            {found: "history.before-nearest history.one-day?"},
		"counts nothing":              {found: "history.seq-orders?"},
		"tells blocks":                {found: "create.persist-first? history.assistant-text history.m-content history.tool-json history.user-text"},
		"is a stream":                 {found: "create.persist-first? history.assistant-text history.before-nearest history.before-strict history.plain-json history.thread-param history.user-text stream.json? stream.no-early-end"},
		"makes no threads":            {found: "create.created-true"},
		"makes a thread for each run": {found: "create.created-false"},
	} {
		for _, old := range []bool{false, true} {
			if old && how != "" && how != "greets" {
				continue // in this they are the same
			}
			wait.Go(func() {
				found, silent := recall(t, &historyServer{how: how, old: old})
				if found != c.found {
					t.Errorf("%q (old: %v): found %q, want %q", how, old, found, c.found)
				}
				want := strings.Fields(unseen + " " + c.silent)
				if old {
					want = strings.Fields(unseenOld)
				}
				want = slices.DeleteFunc(want, func(id string) bool { return id == c.seen })
				slices.Sort(want)
				if c.found == "" && !slices.Equal(silent, want) {
					t.Errorf("%q (old: %v): silent are %q, want %q", how, old, silent, want)
				}
			})
		}
	}
	wait.Wait()
}
