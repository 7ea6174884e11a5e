package mutation

import (
	"bytes"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/streamassay/streamassay/spec"
)

// An idGetter returns an id of a certain kind, such as the thread id, from the decoded request e.
// It returns "" if e does not have such an id.
type idGetter func(e *spec.Event) string

func threadID(e *spec.Event) string { return e.Thread }
func runID(e *spec.Event) string    { return e.Run }

// mergeIDs returns a middleware that makes the server confuse ids. It affects valid requests in
// which slot finds an id. Two ids are confused if known returns the same value for both, and scope
// returns the same value for the requests that contain them. In place of both, the server receives
// the id that was sent first. Clients receive the ids that they sent.
//
// The function known returns the part of an id that the server distinguishes, such as its first
// characters. It is not called with "".
func mergeIDs(slot idGetter, scope func(e *spec.Event) string, known func(id string) string) middleware {
	return func(next dialectHandler) dialectHandler {
		var first sync.Map // scope and known(id) → id
		return interceptRequests(func(w http.ResponseWriter, v parsedRequest, next http.Handler) {
			own := slot(v.parsed())
			if own == "" || !v.parsed().Valid() {
				next.ServeHTTP(w, v.httpRequest)
				return
			}
			other, _ := first.LoadOrStore(scope(v.parsed())+"\x00"+known(own), own)
			serveAs(w, v, next, own, other.(string))
		})(next)
	}
}

// serveAs sends the request v to next with the id serverID in place of the id clientID, and writes
// the response to w with clientID in place of serverID.
func serveAs(w http.ResponseWriter, v parsedRequest, next http.Handler, clientID, serverID string) {
	if clientID == serverID {
		next.ServeHTTP(w, v.httpRequest)
		return
	}
	r := v.raw
	r.Body = bytes.ReplaceAll(r.Body, []byte(clientID), []byte(serverID))
	r.Target = replaceInTarget(r.Target, clientID, serverID)
	restore := func(b []byte) []byte { return bytes.ReplaceAll(b, []byte(serverID), []byte(clientID)) }
	if a := serveEdited(w, v.withRequest(r), next, streamEdit{frame: restore}); a != nil {
		a.body = restore(a.body)
		a.send(w)
	}
}

// replaceInTarget returns target, the path and query of a request, with every occurrence of id
// replaced by replacement. Both ids are unescaped; in the target, they are escaped as the path or
// the query requires.
func replaceInTarget(target, id, replacement string) string {
	path, query, hasQuery := strings.Cut(target, "?")
	path = strings.ReplaceAll(path, url.PathEscape(id), url.PathEscape(replacement))
	if !hasQuery {
		return path
	}
	return path + "?" + strings.ReplaceAll(query, url.QueryEscape(id), url.QueryEscape(replacement))
}

// beforeMark returns the part of id before the first "/", "%" or "&". These characters are escaped
// in URLs. If id contains none of them, beforeMark returns id.
func beforeMark(id string) string {
	if i := strings.IndexAny(id, "/%&"); i >= 0 {
		return id[:i]
	}
	return id
}

// threadMutant returns a mutant that confuses threads: those for whose ids known returns the same
// value are one thread for the server. The arguments name, doc and without are the fields Name, Doc
// and Without of the mutant.
func threadMutant(name, doc string, known func(id string) string, without ...spec.Kind) *Mutant {
	unscoped := func(*spec.Event) string { return "" }
	return &Mutant{
		Name: name, Doc: doc, Without: without,
		KilledBy: map[string]string{"script.isolated": "message.delta"}, // which repeats a message of the other thread
		// Both threads have the messages of the other.
		AlsoFails:  []string{"script.recall", "history.*", "accepted.*", "message.ids-unique", "reply.as-promised"},
		Middleware: mergeIDs(threadID, unscoped, known),
	}
}

// similarThreadMutants are servers that treat threads with similar ids as one thread. Some do not
// apply to dialects with cursors, in which the ids are UUIDs.
var similarThreadMutants = []*Mutant{
	threadMutant("thread-id-last-character-ignored", "treats threads whose ids differ only in the last character as one thread",
		func(id string) string { return id[:len(id)-1] }),
	threadMutant("thread-id-first-character-ignored", "treats threads whose ids differ only in the first character as one thread",
		func(id string) string { return id[1:] }),
	threadMutant("thread-id-case-ignored", "treats threads whose ids differ only in letter case as one thread",
		strings.ToLower, spec.SlotCursor),
	threadMutant("thread-id-cut-at-slash", "treats threads whose ids are the same up to a slash as one thread",
		beforeMark, spec.SlotCursor),
	threadMutant("thread-id-43-characters", "treats threads whose ids have the same first 43 characters as one thread",
		func(id string) string { return id[:min(43, len(id))] }, spec.SlotCursor),
}

// similarRunKills is the [Mutant.KilledBy] of servers that treat two runs as one. The check
// script.text finds such a server by a delta that belongs to the text of the other run.
var similarRunKills = map[string]string{"script.text": "message.delta"}

// similarRunEffects lists globs, for [Mutant.AlsoFails], that match the ids of the checks that may
// fail if a server treats two runs as one.
var similarRunEffects = []string{
	"script.idle", "cancel.*", "history.*", "accepted.*", "resume.*", "run.ends", "run.outlives-others",
	"wire.flushes", "wire.opens-stream", "wire.frames-are-json",
}

// similarRunMutants are servers that mistake one run for another. The other run has a similar id,
// has the same id in another thread, or is the last run of the same thread.
var similarRunMutants = []*Mutant{
	{
		Name: "run-id-case-ignored", Doc: "treats runs whose ids differ only in letter case as one run", Needs: []spec.Kind{spec.SlotCursor},
		KilledBy: similarRunKills, AlsoFails: similarRunEffects,
		Middleware: mergeIDs(runID, threadID, strings.ToLower),
	}, {
		Name: "run-id-40-characters", Doc: "treats runs whose ids have the same first 40 characters as one run", Needs: []spec.Kind{spec.SlotCursor},
		KilledBy: similarRunKills, AlsoFails: similarRunEffects,
		Middleware: mergeIDs(runID, threadID, func(id string) string { return id[:min(40, len(id))] }),
	}, {
		Name: "run-of-other-thread", Doc: "sends the events of the run with the same id in another thread",
		Needs: []spec.Kind{spec.SlotCursor}, KilledBy: similarRunKills, AlsoFails: similarRunEffects,
		Middleware: mergeIDs(threadID, runID, func(string) string { return "" }),
	}, {
		Name: "cancels-last-run", Doc: "cancels the last run of the thread, whichever run the cancel request names",
		KilledBy: map[string]string{"cancel.spares-others": "http.close"}, AlsoFails: []string{"script.idle"}, // it is not streamed to its end
		Middleware: redirectCancel(threadID, runID, func(runs []string, _ string) []string { return runs[len(runs)-1:] }),
	}, {
		Name: "cancels-run-id-prefix", Doc: "cancels all runs of the thread whose ids begin with the id in the cancel request",
		KilledBy: map[string]string{"cancel.spares-others": "http.close"}, AlsoFails: []string{"script.idle"}, // it is not streamed to its end
		Middleware: redirectCancel(threadID, runID, func(runs []string, named string) []string {
			return slices.DeleteFunc(runs, func(run string) bool { return !strings.HasPrefix(run, named) })
		}),
	}, {
		Name: "cancels-run-id-ignoring-case", Doc: "cancels all runs of the thread whose ids differ from the id in the cancel request only in letter case",
		KilledBy: map[string]string{"cancel.spares-others": "http.close"}, AlsoFails: []string{"script.idle"}, // it is not streamed to its end
		Middleware: redirectCancel(threadID, runID, func(runs []string, named string) []string {
			return slices.DeleteFunc(runs, func(run string) bool { return !strings.EqualFold(run, named) })
		}),
	},
}

// simultaneousMutants are servers in which threads that are active at the same time affect each
// other, or in which a thread that waits for input loses late input or starts a run twice.
var simultaneousMutants = []*Mutant{
	{
		Name: "client-tool-result-one-pending", Doc: "ignores the result of a client tool if another thread has called a client tool in the meantime",
		KilledBy: map[string]string{"script.client-tool-result": "message.delta http.close"},
		// The thread has another message in place of the input, and later requests may repeat the
		// result.
		AlsoFails:  []string{"script.recall", "script.resume", "script.text", "script.client-tool-results"},
		Middleware: loseInput(spec.InputToolResult, pendsOnlyOnce),
	}, {
		Name: "resume-answer-one-pending", Doc: "ignores the answer to an interrupt if another thread was interrupted in the meantime",
		KilledBy:   map[string]string{"script.resume": "message.delta http.close"},
		AlsoFails:  []string{"script.recall", "script.text"}, // the thread has another message in place of the input
		Middleware: loseInput(spec.InputResume, pendsOnlyOnce),
	}, {
		Name: "concurrent-texts-swapped", Doc: "swaps the texts of two streams while it serves twelve concurrent streams",
		KilledBy: map[string]string{"script.text": "message.delta"},
		AlsoFails: []string{ // the completed text is that of the deltas that were not sent
			"delta.joins-to-whole", "content.is-whole", "script.recall", "message.content-equals", "run.output-matches",
			"history.tells-the-answer",
		},
		Middleware: crossWhenCrowded,
	}, {
		Name: "client-tool-result-timeout", Doc: "drops the result of a client tool if it arrives more than one second after the tool call",
		KilledBy:   map[string]string{"script.client-tool-result": "message.delta http.close run.end"},
		AlsoFails:  []string{"script.*"},
		Middleware: loseInput(spec.InputToolResult, waitsOneSecond),
	}, {
		Name: "resume-answer-timeout", Doc: "drops the answer to an interrupt if it arrives more than one second after the interrupt",
		KilledBy:   map[string]string{"script.resume": "message.delta http.close run.end"},
		AlsoFails:  []string{"script.*", "resume.continues"},
		Middleware: loseInput(spec.InputResume, waitsOneSecond),
	}, {
		Name: "run-start-twice-after-interrupt", Doc: "sends the start event twice for a run that follows an interrupt without an answer to it",
		KilledBy:   map[string]string{"run.starts-in-turn": "run.start"},
		Needs:      []spec.Kind{spec.RunStart, spec.Interrupt},
		Middleware: startTwiceWhileWaiting,
	},
}

// pendsOnlyOnce is a value for the argument isLost of loseInput. It reports that input is lost
// unless its thread was the last one that began to wait.
func pendsOnlyOnce(isLast bool, _ time.Duration) bool { return !isLast }

// waitsOneSecond is a value for the argument isLost of loseInput. It reports that input is lost if
// its thread has waited for more than a second.
func waitsOneSecond(_ bool, waited time.Duration) bool { return waited > time.Second }

// loseInput returns a middleware that makes the server lose input for which a thread waits. In
// place of input that is lost, the server receives the prompt "go on". The argument input is the
// kind of the input: a tool result ([spec.InputToolResult]) or the answer to an interrupt
// ([spec.InputResume]).
//
// A thread begins to wait with each valid prompt that offers a client tool and, if input is
// InputResume, also with the prompt conformance:interrupt. The function isLost is called for each
// valid request with input, and reports whether the input is lost. Its argument isLast is true if
// the thread was the last one to begin to wait. The argument waited is the time for which the
// thread has waited, or the maximum Duration if it never began to wait.
func loseInput(input spec.Kind, isLost func(isLast bool, waited time.Duration) bool) middleware {
	return func(next dialectHandler) dialectHandler {
		var mu sync.Mutex
		last, since := "", map[string]time.Time{} // the thread that was the last to begin to wait, and by thread
		return editRequests(func(v parsedRequest) *http.Request {
			thread := v.parsed().Thread
			_, replies := v.parsed().Last(input)
			_, prompts := v.parsed().Prompt() // then the reply is part of the history
			_, offers := v.parsed().Last(spec.InputTool)
			asks := strings.HasPrefix(v.parsed().Text, "conformance:interrupt") && input == spec.InputResume || offers && prompts
			mu.Lock()
			if asks && v.parsed().Valid() {
				last, since[thread] = thread, time.Now()
			}
			lost := replies && !prompts && v.parsed().Valid() && isLost(last == thread, time.Since(since[thread]))
			mu.Unlock()
			if lost {
				e := spec.Event{Thread: thread, Run: v.parsed().Run, Text: "go on"}
				if other, err := v.dialect.BuildRequest("prompt", e); err == nil {
					return v.withRequest(other)
				}
			}
			return v.httpRequest
		})(next)
	}
}

// startTwiceWhileWaiting is a middleware that sends the start of a run twice if the thread was
// waiting for the answer to an interrupt, but the request that started the run contained no answer.
var startTwiceWhileWaiting middleware = func(next dialectHandler) dialectHandler {
	var waiting sync.Map // by thread id
	return editFrames(func(v parsedRequest) func([]byte) []byte {
		thread := v.event.Thread
		_, answers := v.event.Last(spec.InputResume)
		_, waits := waiting.Load(thread)
		if !v.startsRun() || !v.event.Valid() {
			return nil
		}
		if waiting.Delete(thread); strings.HasPrefix(v.event.Text, "conformance:interrupt") {
			waiting.Store(thread, true)
		}
		return func(frame []byte) []byte {
			if waits && !answers && v.decodeFrame(frame).Kind == spec.RunStart {
				return slices.Concat(frame, frame)
			}
			return frame
		}
	})(next)
}

// crossWhenCrowded is a middleware that mixes up the texts of concurrent streams while the server
// handles at least twelve requests. It affects text deltas that have 100 to 1,000 bytes and need no
// escapes in a quoted string. It delays each of them by 20 milliseconds. If other such deltas
// arrive meanwhile, in any stream, the delayed delta is sent with the text of the latest of them.
var crossWhenCrowded middleware = func(next dialectHandler) dialectHandler {
	var open atomic.Int64
	var latest atomic.Value
	return interceptRequests(func(w http.ResponseWriter, v parsedRequest, next http.Handler) {
		open.Add(1)
		defer open.Add(-1)
		edit := streamEdit{frame: func(frame []byte) []byte {
			e := v.decodeFrame(frame)
			isPlain := strconv.Quote(e.Text) == `"`+e.Text+`"`
			if e.Kind != spec.MessageDelta || len(e.Text) < 100 || len(e.Text) > 1000 || !isPlain {
				return frame
			}
			latest.Store(e.Text)
			time.Sleep(20 * time.Millisecond)
			if open.Load() >= 12 {
				frame = bytes.Replace(frame, []byte(e.Text), []byte(latest.Load().(string)), 1)
			}
			return frame
		}}
		serveStream(w, v.httpRequest, next, edit)
	})(next)
}
