package suites_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
)

// A historyServer is a small server of the runs protocol that keeps histories. It shares no code
// with the reference, except that the dialect says which requests it refuses. The field how names the one way in which it is unusual or faulty; "" means
// that it is an ordinary correct server.
type historyServer struct {
	how     string
	old     bool             // of the answers: those of 2026-03
	dialect *dialect.Dialect // says which requests are invalid

	mu      sync.Mutex
	threads []*thread // the latest last
}

type thread struct {
	id   string
	runs []*historyServerRun
}

type historyServerRun struct {
	id, prompt string
	began      time.Time
	events     []string
	apart      time.Duration
	tools      []string // the result of each tool call
	answers    []string
}

func (r *historyServerRun) over() time.Time {
	return r.began.Add(time.Duration(len(r.events)-1) * r.apart)
}

func (a *historyServer) is(how ...string) bool { return slices.Contains(how, a.how) }

func (a *historyServer) thread(id string) *thread {
	for _, t := range a.threads {
		if t.id == id {
			return t
		}
	}
	return nil
}

func (a *historyServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	parts := strings.Split(strings.TrimPrefix(r.URL.Path, "/api/v1/agent/"), "/")
	switch {
	case r.Method == "POST" && parts[0] == "runs" && len(parts) == 1:
		a.post(w, r)
	case r.Method == "GET" && parts[0] == "history":
		a.history(w, r)
	case r.Method == "GET" && len(parts) == 3 && parts[2] == "events":
		a.tell(w, r, parts[1])
	default:
		refused(w, 404)
	}
}

func refused(w http.ResponseWriter, status int) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"status":%d,"detail":"refused","code":"REFUSED"}`, status)
}

func say(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

// promptText is the content of a user message, a string or a list of blocks. Of a list it holds the
// text of the first block.
type promptText string

func (p *promptText) UnmarshalJSON(data []byte) error {
	var blocks []struct{ Text string }
	if json.Unmarshal(data, &blocks) == nil && len(blocks) > 0 {
		*p = promptText(blocks[0].Text)
		return nil
	}
	return json.Unmarshal(data, (*string)(p))
}

func (a *historyServer) post(w http.ResponseWriter, r *http.Request) {
	var in struct {
		ThreadID, RunID string
		Messages        []struct{ Content promptText }
	}
	body, _ := io.ReadAll(r.Body)
	header := spec.Header{{Name: "Content-Type", Value: r.Header.Get("Content-Type")}}
	if bad := a.dialect.ValidateRequest(spec.Request{Method: "POST", Target: "/runs", Header: header, Body: body}); len(bad) > 0 {
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(422)
		code, text := "", "refused"
		for _, demand := range bad[0].Refusals {
			code = cmp.Or(code, strings.Join(demand.Code[:min(1, len(demand.Code))], ""))
			if demand.Text != "" {
				text = demand.Text
			}
		}
		fmt.Fprintf(w, `{"status":422,"detail":%q,"code":%q}`, text, cmp.Or(code, "REFUSED"))
		return
	}
	if json.Unmarshal(body, &in) != nil || len(in.Messages) == 0 {
		refused(w, 422)
		return
	}
	run := &historyServerRun{id: in.RunID, prompt: string(in.Messages[0].Content), began: time.Now()}
	a.script(run)
	a.mu.Lock()
	t := a.thread(in.ThreadID)
	fresh := t == nil
	if fresh {
		t = &thread{id: in.ThreadID}
	}
	t.runs = append(t.runs, run)
	a.threads = append(slices.DeleteFunc(a.threads, func(o *thread) bool { return o == t }), t)
	a.mu.Unlock()
	created := any(fresh && !a.is("makes no threads") || a.is("makes a thread for each run"))
	if a.old {
		created = time.Now().Format(time.RFC3339)
	}
	say(w, 202, map[string]any{"taskId": "t", "threadId": in.ThreadID, "runId": in.RunID, "created": created})
}

// script sets the events of run r according to its prompt, and the messages that the history will
// contain.
func (a *historyServer) script(r *historyServerRun) {
	name, words, _ := strings.Cut(r.prompt, " ")
	r.answers = []string{"no idea"}
	var n, ms int
	say := func(event string, args ...any) { r.events = append(r.events, fmt.Sprintf(event, args...)) }
	say(`"type":"RUN_STARTED"`)
	switch name {
	case "conformance:text":
		r.answers = []string{words}
	case "conformance:tool", "conformance:tools":
		r.tools = []string{`{"found":true}`, `{"found":false}`}[:len(name)-len("conformance:tool")+1]
		for i, result := range r.tools {
			say(`"type":"TOOL_CALL_START","toolCallId":"c%d","toolCallName":"lookup"`, i)
			say(`"type":"TOOL_CALL_ARGS","toolCallId":"c%d","delta":%q`, i, cmp.Or(words, "{}"))
			say(`"type":"TOOL_CALL_END","toolCallId":"c%d"`, i)
			say(`"type":"TOOL_CALL_RESULT","messageId":"t%d","toolCallId":"c%d","content":%q`, i, i, result)
		}
	case "conformance:error":
		r.answers = nil
		say(`"type":"RUN_ERROR","message":%q`, words)
		return
	case "conformance:slow":
		if _, err := fmt.Sscanf(words, "%d %d", &n, &ms); err == nil {
			r.answers, r.apart = []string{strings.Repeat("on ", n)}, time.Duration(ms)*time.Millisecond
		}
	}
	if a.is("thinks aloud, for nobody") {
		r.answers = append([]string{"Let me see."}, r.answers...)
	}
	for i, text := range r.answers {
		say(`"type":"TEXT_MESSAGE_START","messageId":"m%d"`, i)
		for piece := range strings.SplitAfterSeq(text, " ") {
			say(`"type":"TEXT_MESSAGE_CONTENT","messageId":"m%d","delta":%q`, i, piece)
		}
		say(`"type":"TEXT_MESSAGE_END","messageId":"m%d"`, i)
	}
	say(`"type":"RUN_FINISHED"`)
}

func (a *historyServer) tell(w http.ResponseWriter, r *http.Request, id string) {
	a.mu.Lock()
	var run *historyServerRun
	if t := a.thread(id); t != nil {
		if i := slices.IndexFunc(t.runs, func(o *historyServerRun) bool { return o.id == r.FormValue("runId") }); i >= 0 {
			run = t.runs[i]
		}
	}
	a.mu.Unlock()
	if run == nil {
		refused(w, 404)
		return
	}
	w.Header().Set("Content-Type", stream)
	for i, e := range run.events {
		select {
		case <-r.Context().Done():
			return
		case <-time.After(time.Until(run.began.Add(time.Duration(i) * run.apart))):
		}
		fmt.Fprintf(w, "id: %d\ndata: {%s,\"threadId\":%q,\"runId\":%q}\n\n", i+1, e, id, run.id)
		http.NewResponseController(w).Flush()
	}
}

// A scrap is one message in a history.
type scrap struct {
	role, text string
	at         time.Time
}

// scraps returns the messages that the history of thread t contains at this moment.
func (a *historyServer) scraps(t *thread) (all []scrap) {
	now := time.Now()
	if a.is("has an older day", "denies the older day") {
		all = append(all, scrap{"user", "Long ago.", now.AddDate(0, 0, -10)}, scrap{"assistant", "So it was.", now.AddDate(0, 0, -10)})
	}
	if a.is("greets") {
		all = append(all, scrap{"assistant", "Welcome!", t.runs[0].began})
	}
	for _, r := range t.runs {
		user, rest := r.began, r.over()
		if a.is("is late") {
			rest = rest.Add(700 * time.Millisecond)
		}
		if a.is("keeps all at the end") {
			user = rest
		}
		if !a.is("forgets the user") && !now.Before(user) {
			all = append(all, scrap{"user", a.kept(r.prompt), user})
		}
		if now.Before(rest) {
			continue
		}
		for i, result := range r.tools {
			if !a.is("forgets its tools") && (i == 0 || !a.is("keeps one tool")) {
				all = append(all, scrap{"tool", a.result(result), rest})
			}
		}
		answers := r.answers
		switch {
		case len(answers) == 0: // the run failed
		case a.is("thinks aloud, for nobody"):
			answers = answers[1:]
		case a.is("tells words"):
			answers = strings.SplitAfter(answers[0], " ")
		case a.is("wraps the answer"):
			answers = []string{`{"answer":"` + answers[0] + `"}`}
		case a.is("forgets the answer"):
			answers = nil
		}
		for _, text := range answers {
			all = append(all, scrap{"assistant", text, rest})
		}
	}
	return all
}

func (a *historyServer) kept(prompt string) string {
	switch {
	case a.is("keeps JSON"):
		quoted, _ := json.Marshal([]map[string]string{{"type": "text", "text": prompt}})
		return string(quoted)
	case a.is("keeps the beginning"):
		return prompt[:10]
	}
	return prompt
}

func (a *historyServer) result(tool string) string {
	if a.is("tells results in words") {
		return "I found it."
	}
	return tool
}
