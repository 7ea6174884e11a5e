package mutation

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/streamassay/streamassay/internal/sse"
	"github.com/streamassay/streamassay/spec"
)

// A conditionFacts holds the facts about a run, its thread and its requests that decide whether a
// [defectCondition] is met.
type conditionFacts struct {
	prompt   string        // text of the last user message of the request that started the run
	earlier  []string      // prompts of the earlier runs of the thread, oldest first
	refused  bool          // a request about the thread was refused before, with a status other than 401 or 403
	left     bool          // a client closed a stream of the thread before its end
	canceled bool          // a client asked to cancel an earlier run of the thread
	reused   bool          // the request that started the run used the connection of an earlier request
	denied   bool          // a request about the thread was denied with status 401 or 403 before
	number   int           // number of the run among all runs of the server, from 1
	readers  int           // number of earlier requests for the stream of the run
	pause    time.Duration // time since the previous request about the thread; the maximum Duration if there was none
	header   http.Header   // of the request that started the run
	body     []byte        // of the request that started the run
}

// follows reports whether an earlier run of the thread had the test prompt with the given name. The
// name does not include "conformance:".
func (c conditionFacts) follows(name string) bool {
	return slices.ContainsFunc(c.earlier, func(p string) bool { return isPrompt(p, name) })
}

func isPrompt(text, name string) bool {
	first, _, _ := strings.Cut(text, " ")
	return first == "conformance:"+name
}

// A defectCondition is a condition under which a hidden mutant has its defect. In all other
// circumstances, the mutant behaves like the correct server.
type defectCondition struct {
	name, doc string                      // name: part of mutant names; doc follows "but only", as in "after a failed run"
	holds     func(c conditionFacts) bool // reports whether the condition is met
}

// hidingConditions lists the conditions under which hidden mutants have their defects.
var hidingConditions = []defectCondition{
	{"after-failed", "after a failed run", func(c conditionFacts) bool { return c.follows("error") || c.follows("error-mid") }},
	{"after-empty", "after an empty reply", func(c conditionFacts) bool { return c.follows("empty") }},
	{"after-tool", "after a tool call", func(c conditionFacts) bool { return c.follows("tool") || c.follows("tools") }},
	{"after-resumed", "after an interrupt", func(c conditionFacts) bool { return c.follows("interrupt") }},
	{"after-abandoned", "after an abandoned stream", func(c conditionFacts) bool { return c.left }},
	{"after-canceled", "after a cancel request", func(c conditionFacts) bool { return c.canceled }},
	{"after-refused", "after a refused request", func(c conditionFacts) bool { return c.refused }},
	{"after-denied", "after a denied request of another user", func(c conditionFacts) bool { return c.denied }},
	{"sixth", "from the sixth run of a thread on", func(c conditionFacts) bool { return len(c.earlier) >= 5 }},
	{"hundredth", "from the hundredth run of the process on", func(c conditionFacts) bool { return c.number >= 100 }},
	{"reused", "on a reused connection", func(c conditionFacts) bool { return c.reused && len(c.earlier) > 0 }},
	{"over-100", "for a prompt of more than 100 bytes", longerThan(100)},
	{"over-256", "for a prompt of more than 256 bytes", longerThan(256)},
	{"over-4096", "for a prompt of more than 4,096 bytes", longerThan(4096)},
	{"over-65536", "for a prompt of more than 65,536 bytes", longerThan(65536)},
	{"leading-space", "for a text that begins with a space", func(c conditionFacts) bool { return strings.Contains(c.prompt, "text  ") }},
	{"separators", "for a text with a line separator", func(c conditionFacts) bool { return strings.ContainsRune(c.prompt, '\u2028') }},
	{"other-planes", "for a text with characters of other planes", func(c conditionFacts) bool {
		return strings.ContainsFunc(c.prompt, func(r rune) bool { return r > 0xffff })
	}},
	{"json-like", "for a text that looks like JSON", func(c conditionFacts) bool { return strings.Contains(c.prompt, `text {"`) }},
	{"second-reader", "for the second and later readers", func(c conditionFacts) bool { return c.readers > 0 }},
	{"after-pause", "after a pause of 200 ms", func(c conditionFacts) bool { return len(c.earlier) > 0 && c.pause > 200*time.Millisecond }},
	{"charset", "for requests with a charset parameter", func(c conditionFacts) bool {
		return strings.Contains(c.header.Get("Content-Type"), "charset")
	}},
	{"accept-list", "for requests with several media types in Accept", func(c conditionFacts) bool {
		return strings.Contains(c.header.Get("Accept"), ",")
	}},
	{"indented", "for requests with indented JSON", func(c conditionFacts) bool { return bytes.Contains(c.body, []byte("\n")) }},
}

func longerThan(n int) func(conditionFacts) bool {
	return func(c conditionFacts) bool { return len(c.prompt) > n }
}

// A conditionalDefect is a defect that a hidden mutant has under a condition. It affects either the
// stream of a run (edit is set) or the response to the request that starts the run (status is set).
type conditionalDefect struct {
	name, doc string   // name is a part of the names of mutants; doc says what is wrong
	checks    []string // globs that match the ids of checks; at least one of the checks must find the defect
	// edit returns the edit of the stream that is the response to the request v. The edit calls
	// occurred when it changes the stream. The argument earlier is the text of the first text delta
	// in the latest stream of the thread, or "" if there is none. The field is nil if status is
	// set.
	edit func(v parsedRequest, earlier string, occurred func()) streamEdit
	// status, unless it is 0, is the status with which the mutant refuses a request to start a run.
	// The body of the refusal is empty. The field is 0 if edit is set.
	status int
}

var (
	textChecks = []string{
		"script.*", "content.*", "delta.*", "message.*", "run.output-*", "resume.*", "history.*", "done.*", "sequence.*", "reasoning.*",
	}
	hiddenDefects = []conditionalDefect{
		{name: "drops-last-delta", doc: "omits the last text delta", checks: textChecks, edit: dropLastDelta},
		{name: "loses-character", doc: "omits the last character of a text delta", checks: textChecks, edit: editDelta(func(s, _ string) string {
			runes := []rune(s)
			return string(runes[:max(0, len(runes)-1)])
		})},
		{name: "repeats-delta", doc: "sends a text delta twice", checks: append(textChecks, "cursor.*"), edit: repeatDelta},
		{name: "swaps-deltas", doc: "sends two text deltas in the wrong order", checks: textChecks, edit: swapDeltas},
		{name: "repeats-previous", doc: "sends the first text delta of the previous run in place of its own", checks: textChecks, edit: editDelta(func(_, before string) string {
			return before
		})},
		{name: "misaddresses", doc: "sends a text delta that names another message", checks: append(textChecks, "wire.*"), edit: misaddressDelta},
		{name: "never-ends", doc: "omits the terminal event", checks: []string{"run.*", "done.*", "script.*", "cancel.*", "error.*"}, edit: dropEnd},
		{
			name: "status-500", doc: "refuses the run with status 500", status: http.StatusInternalServerError,
			checks: []string{"accept.*", "wire.opens-stream", "reply.*", "script.*"},
		},
	}
)

// editDelta returns a function for the field conditionalDefect.edit. The edit of a stream replaces
// text, the text of the first text delta that is not empty, with change(text, earlier).
//
// The argument earlier of change is the text of the first text delta in the latest stream of the
// thread, or "" if there is none. If change returns "" and earlier is "", the delta is not changed.
func editDelta(change func(text, earlier string) string) func(parsedRequest, string, func()) streamEdit {
	return func(v parsedRequest, earlier string, occurred func()) streamEdit {
		return editFirstDelta(v, func(e spec.Event, frame []byte) []byte {
			if e.Text == "" {
				return nil
			}
			if other := change(e.Text, earlier); other != e.Text && (other != "" || earlier != "") {
				occurred()
				return replaceInFrame(frame, e.Text, other)
			}
			return frame
		})
	}
}

// editFirstDelta returns an edit of the stream that is the response to the request v. It calls
// replace with each text delta and its frame until the result is not nil. The result is then sent
// in place of that frame; all other frames are not changed.
func editFirstDelta(v parsedRequest, replace func(e spec.Event, frame []byte) []byte) streamEdit {
	done := false
	return streamEdit{frame: func(frame []byte) []byte {
		if e := v.decodeFrame(frame); !done && e.Kind == spec.MessageDelta {
			if out := replace(e, frame); out != nil {
				done = true
				return out
			}
		}
		return frame
	}}
}

func dropLastDelta(v parsedRequest, _ string, occurred func()) streamEdit {
	var held []byte
	return streamEdit{frame: func(frame []byte) []byte {
		if v.decodeFrame(frame).Kind == spec.MessageDelta {
			frame, held = held, frame
			return frame
		}
		if held != nil {
			occurred()
		}
		held = nil
		return frame
	}}
}

func repeatDelta(v parsedRequest, _ string, occurred func()) streamEdit {
	return editFirstDelta(v, func(_ spec.Event, frame []byte) []byte {
		occurred()
		return slices.Concat(frame, frame)
	})
}

func swapDeltas(v parsedRequest, _ string, occurred func()) streamEdit {
	var held []byte
	done := false
	return streamEdit{frame: func(frame []byte) []byte {
		isDelta := v.decodeFrame(frame).Kind == spec.MessageDelta
		switch {
		case done || held == nil && !isDelta:
			return frame
		case held == nil:
			held = frame
			return nil
		}
		if done = true; !isDelta {
			return slices.Concat(held, frame)
		}
		occurred()
		return slices.Concat(frame, held)
	}}
}

func misaddressDelta(v parsedRequest, _ string, occurred func()) streamEdit {
	return editFirstDelta(v, func(e spec.Event, frame []byte) []byte {
		if e.Message == "" {
			return nil
		}
		occurred()
		return replaceInFrame(frame, e.Message, e.Message+"x")
	})
}

func dropEnd(v parsedRequest, _ string, occurred func()) streamEdit {
	return streamEdit{frame: func(frame []byte) []byte {
		if e := v.decodeFrame(frame); e.Kind == spec.RunEnd || e.Kind == spec.RunError {
			occurred()
			return nil
		}
		return frame
	}}
}

// replaceInFrame returns a copy of frame in which text replaces each string in the JSON data that
// is equal to old. Names of members are not replaced, but the members may be in a different order.
// If the data is missing or is not JSON, replaceInFrame returns frame itself.
func replaceInFrame(frame []byte, old, text string) []byte {
	line, ok := sse.FindField(frame, "data")
	if !ok {
		return frame
	}
	d := json.NewDecoder(bytes.NewReader(frame[line.ValueStart:line.ValueEnd()]))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return frame
	}
	data, _ := json.Marshal(replaceString(v, old, text))
	return slices.Concat(frame[:line.ValueStart], data, frame[line.ValueEnd():])
}

// A serverHistory records the threads and runs of a server for the conditions of hidden mutants.
// The caller must hold mu to use the other fields, except deltas.
type serverHistory struct {
	mu          sync.Mutex
	threads     map[string]*conditionFacts // thread id → what is known about the thread for its next run
	runs        map[string]conditionFacts  // run id → what the server knows about the run
	seen        map[string]time.Time       // thread id → time of the last request about the thread
	connections map[string]bool            // set of the remote addresses of earlier requests
	count       int                        // number of runs that were started

	deltas sync.Map // thread id → text of the first text delta in its latest stream; needs no mu
}

// hidden returns a value for Mutant.defect that gives a server the defect d under the given
// condition: a response has the defect if condition.holds returns true for the conditionFacts of
// its run. The middleware calls occurred when a response has the defect.
func hidden(condition defectCondition, d conditionalDefect) func(occurred func()) middleware {
	return func(occurred func()) middleware {
		return func(next dialectHandler) dialectHandler {
			h := &serverHistory{
				threads: map[string]*conditionFacts{}, runs: map[string]conditionFacts{}, seen: map[string]time.Time{},
				connections: map[string]bool{},
			}
			return interceptRequests(func(w http.ResponseWriter, v parsedRequest, inner http.Handler) {
				c := h.note(v)
				isFaulty := condition.holds(c)
				if v.startsRun() && v.parsed().Valid() && isFaulty && d.status != 0 {
					occurred()
					w.WriteHeader(d.status)
					return
				}
				var edit streamEdit
				if isFaulty && d.edit != nil {
					earlier, _ := h.deltas.Load(v.parsed().Thread)
					text, _ := earlier.(string)
					edit = d.edit(v, text, occurred)
				}
				if a := serveEdited(w, v.httpRequest, inner, h.listening(v, edit)); a != nil {
					h.noteStatus(v, a.status)
					a.send(w)
				}
				if v.httpRequest.Context().Err() != nil {
					h.change(v, func(c *conditionFacts) { c.left = true })
				}
			})(next)
		}
	}
}

// listening returns a copy of edit for the stream that is the response to the request v. The copy
// also records the text of the first text delta of the stream in h.deltas, by means of its field
// sent. The field sent of edit must be nil.
func (h *serverHistory) listening(v parsedRequest, edit streamEdit) streamEdit {
	done := false
	edit.sent = func(frame []byte) {
		if e := v.decodeFrame(frame); !done && e.Kind == spec.MessageDelta {
			done = true
			h.deltas.Store(v.parsed().Thread, e.Text)
		}
	}
	return edit
}

// note records the request v. If v is a valid request to start a run, or requests the stream of a
// run, note returns the conditionFacts of that run; if the run is unknown, only the field readers
// is set. For any other request, note returns the zero conditionFacts.
func (h *serverHistory) note(v parsedRequest) conditionFacts {
	h.mu.Lock()
	defer h.mu.Unlock()
	e, now := v.parsed(), time.Now()
	isReused := h.connections[v.httpRequest.RemoteAddr]
	h.connections[v.httpRequest.RemoteAddr] = true
	pause := now.Sub(h.seen[e.Thread])
	h.seen[e.Thread] = now
	switch {
	case v.startsRun() && e.Valid():
		t := h.threads[e.Thread]
		if t == nil {
			t = &conditionFacts{}
			h.threads[e.Thread] = t
		}
		h.count++
		c := *t
		c.prompt, c.earlier, c.reused, c.number, c.pause = e.Text, slices.Clone(t.earlier), isReused, h.count, pause
		c.header, c.body = v.httpRequest.Header, v.raw.Body
		t.earlier = append(t.earlier, e.Text)
		h.runs[e.Run] = c
		return c
	case v.isOperation("listen"):
		c := h.runs[e.Run]
		again := c
		again.readers++
		h.runs[e.Run] = again
		return c
	case v.isOperation("cancel"):
		if t := h.threads[e.Thread]; t != nil {
			t.canceled = true
		}
	}
	return conditionFacts{}
}

// noteStatus records a response to the request v that has a status of 400 or more. The statuses 401
// and 403 count as a denial, and the others as a refusal.
func (h *serverHistory) noteStatus(v parsedRequest, status int) {
	switch {
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		h.change(v, func(c *conditionFacts) { c.denied = true })
	case status >= 400:
		h.change(v, func(c *conditionFacts) { c.refused = true })
	}
}

// change calls edit for each known thread whose id occurs in the target or the body of the request
// v, even if v is invalid. The argument c of edit points to the facts for the next run of that
// thread; edit changes these facts in place. It must not lock h.mu, which change holds.
func (h *serverHistory) change(v parsedRequest, edit func(c *conditionFacts)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for thread, c := range h.threads {
		if thread != "" && (bytes.Contains(v.raw.Body, []byte(thread)) || strings.Contains(v.raw.Target, thread)) {
			edit(c)
		}
	}
}
