package mutant

import (
	"bytes"
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
)

// What one run does to the others of its conversation.
var neighbourMutants = []*Mutant{
	{
		Name: "ends-with-another", Doc: "the end of a run ends the streams of all runs of its conversation",
		Breaks: []string{"runs.stream.other-terminal"},
		Kills:  map[string]string{"run.outlives-others": "http.close"},
		// So the stream has no end, and what was told of its run is not all of it.
		Also:  []string{"run.ends", "script.idle", "cancel.spares-others"},
		Twist: entangled(func(n *neighbourhood, thread, run string, canceled bool) { n.hangUp(thread, run) }),
	}, {
		Name: "ends-with-a-canceled-one", Doc: "the end of a run that was canceled ends the streams of all runs of its conversation",
		Breaks: []string{"runs.stream.other-terminal", "runs.cancel.only-named"},
		Kills: map[string]string{
			"run.outlives-others":  `^the stream ended without the end of its run ".+", after run ".+" of its conversation had ended$`,
			"cancel.spares-others": "http.close",
		},
		Also: []string{"run.ends", "script.idle"}, // as above
		Twist: entangled(func(n *neighbourhood, thread, run string, canceled bool) {
			if canceled {
				n.hangUp(thread, run)
			}
		}),
	}, {
		Name: "cancels-them-all", Doc: "a cancel ends all runs of the conversation",
		Breaks: []string{"runs.cancel.only-named"},
		Kills:  map[string]string{"cancel.spares-others": "http.close"},
		Also:   []string{"script.idle"}, // it was not told to its end
		Twist:  canceling(func(runs []string, named string) []string { return runs }),
	}, {
		Name: "cancels-the-first", Doc: "a cancel ends the first run of the conversation, whichever it names",
		Breaks: []string{"runs.cancel.only-named"},
		Kills:  map[string]string{"cancel.spares-others": "http.close"},
		Also:   []string{"script.idle"}, // as above
		Twist:  canceling(func(runs []string, named string) []string { return runs[:1] }),
	}, {
		Name: "wants-accept", Doc: "who asks for a stream has to say that it accepts one",
		Breaks: []string{"runs.stream.accept-optional"},
		Kills:  map[string]string{"accept.as-documented": "http.request"},
		Twist: seeing(func(w http.ResponseWriter, v view, next http.Handler) {
			if v.says("listen") && v.http.Header.Get("Accept") == "" {
				a := reply{header: http.Header{}}
				a.deny()
				a.status = http.StatusNotAcceptable
				a.body = bytes.Replace(a.body, []byte("404"), []byte("406"), 1)
				a.send(w)
				return
			}
			next.ServeHTTP(w, v.http)
		}),
	},
}

// A neighbourhood is the streams that are open, and the runs that were canceled.
type neighbourhood struct {
	mu       sync.Mutex
	open     map[string]map[string]context.CancelFunc // thread → run → what ends its stream
	canceled map[string]bool                          // runs
}

// hangUp ends the streams of the other runs of a conversation.
func (n *neighbourhood) hangUp(thread, run string) {
	for other, end := range n.open[thread] {
		if other != run {
			end()
		}
	}
}

// entangled makes a server in which the end of a run does something to its neighbours.
func entangled(ended func(n *neighbourhood, thread, run string, canceled bool)) twist {
	return func(next http.Handler) http.Handler {
		n := &neighbourhood{open: map[string]map[string]context.CancelFunc{}, canceled: map[string]bool{}}
		return seeing(func(w http.ResponseWriter, v view, next http.Handler) {
			thread, run := v.heard().Thread, v.heard().Run
			n.mu.Lock()
			if v.says("cancel") {
				n.canceled[run] = true
			}
			n.mu.Unlock()
			if !v.says("listen") || !v.heard().Valid() || v.heard().Cursor != "" {
				next.ServeHTTP(w, v.http)
				return
			}
			ctx, end := context.WithCancel(v.http.Context())
			defer end()
			n.mu.Lock()
			if n.open[thread] == nil {
				n.open[thread] = map[string]context.CancelFunc{}
			}
			n.open[thread][run] = end
			n.mu.Unlock()
			defer func() {
				n.mu.Lock()
				delete(n.open[thread], run)
				n.mu.Unlock()
			}()
			next.ServeHTTP(&overhearing{ResponseWriter: w, over: func() {
				n.mu.Lock()
				defer n.mu.Unlock()
				ended(n, thread, run, n.canceled[run])
			}}, v.http.WithContext(ctx))
		})(next)
	}
}

// An overhearing is a writer that notices when the end of a run was told.
type overhearing struct {
	http.ResponseWriter
	over func()
}

func (o *overhearing) Write(data []byte) (int, error) {
	n, err := o.ResponseWriter.Write(data)
	if bytes.Contains(data, []byte("RUN_FINISHED")) || bytes.Contains(data, []byte("RUN_ERROR")) {
		_ = http.NewResponseController(o.ResponseWriter).Flush() // so that it is heard before what comes of it
		o.over()
	}
	return n, err
}

// Unwrap lets streams be flushed.
func (o *overhearing) Unwrap() http.ResponseWriter { return o.ResponseWriter }

// canceling makes a server that cancels other runs of a conversation than the one that is
// named: which says those, of all that were opened in it.
func canceling(which func(runs []string, named string) []string) twist {
	return func(next http.Handler) http.Handler {
		var mu sync.Mutex
		opened := map[string][]string{} // thread → runs
		return seeing(func(w http.ResponseWriter, v view, next http.Handler) {
			thread, run := v.heard().Thread, v.heard().Run
			mu.Lock()
			if v.opens() && v.heard().Valid() {
				opened[thread] = append(opened[thread], run)
			}
			runs := slices.Clone(opened[thread])
			mu.Unlock()
			if !v.says("cancel") || !v.heard().Valid() || !slices.Contains(runs, run) {
				next.ServeHTTP(w, v.http)
				return
			}
			var last reply
			for _, victim := range which(runs, run) {
				other := v.request
				other.Target = strings.ReplaceAll(other.Target, url.QueryEscape(run), url.QueryEscape(victim))
				h := &holding{w: w, header: http.Header{}}
				next.ServeHTTP(h, v.as(other))
				last = reply{status: h.status, header: h.header, body: bytes.ReplaceAll(h.body.Bytes(), []byte(victim), []byte(run))}
			}
			last.send(w)
		})(next)
	}
}
