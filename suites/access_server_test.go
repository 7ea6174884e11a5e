package suites_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// An accessServer is a small server of the runs protocol that distinguishes its users. The field
// wrong names the one way in which it fails to do so; "" means that it is correct.
type accessServer struct {
	tokens     map[string]string // token → user; nil: nobody is asked
	maxStreams int               // streams of a user
	wrong      string

	mu      sync.Mutex
	owners  map[string]string // thread → user
	latest  map[string]string // user → thread
	prompts map[string]string // thread → last prompt
	runs    map[string]*accessServerRun
	streams map[string]int
}

type accessServerRun struct {
	thread, id, prompt string
	began              time.Time
	canceled           chan struct{}
	stop               sync.Once
}

func (d *accessServer) refuse(w http.ResponseWriter, status int, code string) {
	w.Header().Set("Content-Type", "application/problem+json")
	if d.wrong == "refuses with a stream" && status < 404 {
		w.Header().Set("Content-Type", stream)
	}
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"status":%d,"detail":"refused","code":%q}`, status, code)
}

// who returns the name of the user who sent the request. If the user is unknown, it refuses the
// request and returns "".
func (d *accessServer) who(w http.ResponseWriter, r *http.Request) string {
	if d.tokens == nil {
		return "everybody"
	}
	token := r.Header.Get("X-User") + strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	user := d.tokens[token]
	for known, who := range d.tokens {
		if strings.HasPrefix(token, known) && d.wrong == "compares the beginning" ||
			len(token) > 4 && strings.HasPrefix(known, token) && d.wrong == "compares what it gets" {
			user = who
		}
	}
	switch {
	case user == "" && token == "" && d.wrong == "lets nobody in", user == "" && token != "" && d.wrong == "lets strangers in":
		return "ann"
	case user == "" && d.wrong == "hides":
		d.refuse(w, 404, "NOT_FOUND")
	case user == "":
		d.refuse(w, 401, "UNAUTHENTICATED")
	}
	return user
}

func (d *accessServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	user := d.who(w, r)
	if user == "" {
		return
	}
	path, _ := strings.CutPrefix(r.URL.Path, "/api/v1/agent")
	parts := strings.Split(path, "/")
	switch {
	case r.Method == "POST" && path == "/runs":
		d.post(w, r, user)
	case path == "/history":
		d.history(w, r, user)
	case len(parts) == 4 && parts[1] == "runs":
		d.run(w, r, user, parts[2], parts[3])
	default:
		d.refuse(w, 404, "NOT_FOUND")
	}
}

func (d *accessServer) post(w http.ResponseWriter, r *http.Request, user string) {
	var in struct {
		ThreadID, RunID string
		Messages        []struct{ Content any }
	}
	body, _ := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	if json.Unmarshal(body, &in) != nil || len(in.Messages) == 0 {
		d.refuse(w, 422, "AGENT_RUN_INPUT_INVALID")
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	owner, known := d.owners[in.ThreadID]
	prompt, _ := in.Messages[0].Content.(string)
	before := d.prompts[in.ThreadID]
	if owner == user || !known || d.wrong == "remembers what it refused" {
		d.prompts[in.ThreadID] = prompt
	}
	if known && owner != user {
		d.refuse(w, 403, "FORBIDDEN")
		return
	}
	if prompt == "conformance:recall" {
		prompt = "conformance:text " + before
	}
	d.owners[in.ThreadID], d.latest[user] = user, in.ThreadID
	d.runs[in.RunID] = &accessServerRun{thread: in.ThreadID, id: in.RunID, prompt: prompt, began: time.Now(), canceled: make(chan struct{})}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(202)
	fmt.Fprintf(w, `{"taskId":"t","threadId":%q,"runId":%q,"created":%v}`, in.ThreadID, in.RunID, !known)
}

func (d *accessServer) history(w http.ResponseWriter, r *http.Request, user string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	thread := r.URL.Query().Get("threadId")
	if thread == "" {
		if thread = d.latest[user]; d.wrong == "tells anybody's history" {
			thread = d.latest["ann"]
		}
	} else if owner, known := d.owners[thread]; !known || owner != user {
		d.refuse(w, 403, "FORBIDDEN")
		return
	}
	w.Header().Set("Content-Type", "application/json")
	if thread == "" {
		io.WriteString(w, `{"scope":"history_day","threadId":null,"day":null,"hasMore":false,"messages":[]}`)
		return
	}
	fmt.Fprintf(w, `{"scope":"history_day","threadId":%q,"day":"2026-03-15","hasMore":false,"messages":[{"id":"m","seq":1,"role":"user","content":"x","timestamp":"2026-03-15T10:00:00Z"}]}`, thread)
}

func (d *accessServer) run(w http.ResponseWriter, r *http.Request, user, thread, what string) {
	d.mu.Lock()
	run, owner := d.runs[r.URL.Query().Get("runId")], d.owners[thread]
	d.mu.Unlock()
	switch {
	case owner != user && !(d.wrong == "tells anybody" && what == "events") && !(d.wrong == "cancels for anybody" && what == "cancel") && !(d.wrong == "resumes for anybody" && r.Header.Get("Last-Event-ID") != ""):
		status := 403
		if d.wrong == "hides threads" {
			status = 404
		}
		d.refuse(w, status, "FORBIDDEN")
	case run == nil:
		d.refuse(w, 404, "NOT_FOUND")
	case what == "cancel":
		run.stop.Do(func() { close(run.canceled) })
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(202)
		fmt.Fprintf(w, `{"threadId":%q,"runId":%q,"accepted":true}`, thread, run.id)
	default:
		d.tell(w, r, user, run)
	}
}

// enter counts one more open stream of the user and returns true. It returns false if the user
// already has as many streams as allowed.
func (d *accessServer) enter(user string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.maxStreams > 0 && d.streams[user] >= d.maxStreams && d.wrong != "has no limit" {
		return false
	}
	d.streams[user]++
	return true
}

func (d *accessServer) tell(w http.ResponseWriter, r *http.Request, user string, run *accessServerRun) {
	if !d.enter(user) {
		code := "AGENT_SSE_CONNECTION_LIMIT"
		if d.wrong == "says busy" {
			code = "BUSY"
		}
		d.refuse(w, 429, code)
		return
	}
	defer func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.wrong != "never frees" || d.streams[user] < d.maxStreams {
			d.streams[user]--
		}
	}()
	w.Header().Set("Content-Type", stream)
	after, _ := strconv.Atoi(strings.TrimSuffix(r.Header.Get("Last-Event-ID"), "-0"))
	events, apart := run.script()
	for i, e := range events {
		due := run.began.Add(time.Duration(i) * apart)
		select {
		case <-r.Context().Done():
			return
		case <-run.canceled:
			e = `"type":"RUN_ERROR","message":"canceled","code":"RUN_CANCELED"`
		case <-time.After(time.Until(due)):
		}
		if i+1 > after {
			fmt.Fprintf(w, "id: %d-0\ndata: {%s,\"threadId\":%q,\"runId\":%q}\n\n", i+1, e, run.thread, run.id)
			http.NewResponseController(w).Flush()
		}
		if strings.Contains(e, "RUN_ERROR") {
			return
		}
	}
}

// script returns the events of the run, and the time between two successive events.
func (r *accessServerRun) script() (events []string, apart time.Duration) {
	deltas := []string{"no", " idea"}
	if words, ok := strings.CutPrefix(r.prompt, "conformance:text "); ok {
		deltas = []string{words[:1], words[1:]}
	}
	var n, ms int
	if _, err := fmt.Sscanf(r.prompt, "conformance:slow %d %d", &n, &ms); err == nil {
		deltas, apart = nil, time.Duration(ms)*time.Millisecond
		for i := range n {
			deltas = append(deltas, fmt.Sprint("[", i, "]"))
		}
	}
	events = []string{`"type":"RUN_STARTED"`, `"type":"TEXT_MESSAGE_START","messageId":"m"`}
	for _, text := range deltas {
		quoted, _ := json.Marshal(text)
		events = append(events, fmt.Sprintf(`"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":%s`, quoted))
	}
	return append(events, `"type":"TEXT_MESSAGE_END","messageId":"m"`, `"type":"RUN_FINISHED"`), apart
}
