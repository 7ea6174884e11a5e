package mutant

import (
	"bytes"
	"net/http"
	"slices"
	"sync"
)

// A retelling is a stream that is told otherwise: of each frame, what is told in its place,
// and what comes when it is over. Nil is as it is.
type retelling struct {
	frame func(frame []byte) [][]byte
	end   func() [][]byte
}

// streaming makes a twist that tells streams otherwise.
func streaming(begin func(v view) retelling) twist {
	return seeing(func(w http.ResponseWriter, v view, next http.Handler) {
		told := begin(v)
		if told.frame == nil {
			next.ServeHTTP(w, v.http)
			return
		}
		f := &framing{ResponseWriter: w, told: told}
		next.ServeHTTP(f, v.http)
		f.over()
	})
}

// A framing is a writer that takes a stream apart.
type framing struct {
	http.ResponseWriter
	told    retelling
	rest    []byte
	refused bool
}

// WriteHeader notes whether there is a stream at all.
func (f *framing) WriteHeader(status int) {
	f.refused = status != http.StatusOK
	f.ResponseWriter.WriteHeader(status)
}

// Unwrap lets streams be flushed.
func (f *framing) Unwrap() http.ResponseWriter { return f.ResponseWriter }

var blank = []byte("\n\n")

func (f *framing) Write(data []byte) (int, error) {
	if f.refused {
		return f.ResponseWriter.Write(data)
	}
	f.rest = append(f.rest, data...)
	for {
		i := bytes.Index(f.rest, blank)
		if i < 0 {
			return len(data), nil
		}
		frame := bytes.Clone(f.rest[:i+len(blank)])
		f.rest = f.rest[i+len(blank):]
		out := [][]byte{frame}
		if frame[0] != ':' { // comments are no events
			out = f.told.frame(frame)
		}
		for _, o := range out {
			if _, err := f.ResponseWriter.Write(o); err != nil {
				return 0, err
			}
		}
	}
}

func (f *framing) over() {
	if f.refused {
		return
	}
	_, _ = f.ResponseWriter.Write(f.rest)
	if f.told.end != nil {
		for _, o := range f.told.end() {
			_, _ = f.ResponseWriter.Write(o)
		}
	}
}

// resumed makes a server that tells streams otherwise that are taken up at a cursor.
func resumed(begin func(v view, r *runs) retelling) twist {
	return func(next http.Handler) http.Handler {
		r := &runs{told: map[string][][]byte{}}
		return streaming(func(v view) retelling {
			switch {
			case !v.says("listen") || !v.heard().Valid():
				return retelling{}
			case v.heard().Cursor == "":
				return retelling{frame: func(frame []byte) [][]byte { return r.note(v, frame) }}
			}
			return begin(v, r)
		})(next)
	}
}

// runs are the frames of each run, as they were told first.
type runs struct {
	mu   sync.Mutex
	told map[string][][]byte
}

func (r *runs) note(v view, frame []byte) [][]byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	id := v.heard().Run
	if !slices.ContainsFunc(r.told[id], func(f []byte) bool { return bytes.Equal(f, frame) }) {
		r.told[id] = append(r.told[id], frame)
	}
	return [][]byte{frame}
}

// of is the frame of a run that has a cursor, and its place; nil and -1 if it was not told.
func (r *runs) of(v view) (frame []byte, at int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	line := []byte("id: " + v.heard().Cursor + "\n")
	at = slices.IndexFunc(r.told[v.heard().Run], func(f []byte) bool {
		return bytes.HasPrefix(f, line) || bytes.Contains(f, append([]byte("\n"), line...))
	})
	if at >= 0 {
		frame = r.told[v.heard().Run][at]
	}
	return frame, at
}

func (r *runs) first(v view) []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	if all := r.told[v.heard().Run]; len(all) > 0 {
		return all[0]
	}
	return nil
}

// counted is a retelling by the place of frames, from 0.
func counted(frame func(n int, frame []byte) [][]byte) retelling {
	n := -1
	return retelling{frame: func(f []byte) [][]byte { n++; return frame(n, f) }}
}

// delayed is a retelling that knows which frame is the last: it is told by last.
func delayed(last func(frame []byte) [][]byte) retelling {
	var held []byte
	return retelling{
		frame: func(f []byte) (out [][]byte) {
			if held != nil {
				out = [][]byte{held}
			}
			held = f
			return out
		},
		end: func() [][]byte {
			if held == nil {
				return nil
			}
			return last(held)
		},
	}
}

var resumeMutants = slices.Concat(resumeBegins, resumeLoses, resumeForeign, resumeTells, cancels)

// Where a stream begins that is taken up again.
var resumeBegins = []*Mutant{
	{
		Name: "resumed-anew", Doc: "a stream that is taken up again begins anew",
		Breaks: []string{"runs.resume.from-cursor", "runs.resume.exclusive"},
		Kills: map[string]string{
			"resume.starts-after-cursor": "message.delta message.end message.start run.start",
			"resume.excludes-cursor":     `taken up at .*, it tells that event again`,
		},
		Fault: "resume-from-start; streams=0",
	}, {
		Name: "resumed-with-the-first", Doc: "a stream that is taken up again tells the first event of the run before what is new",
		Breaks: []string{"runs.resume.from-cursor"},
		Kills:  map[string]string{"resume.starts-after-cursor": "run.start"},
		Twist: resumed(func(v view, r *runs) retelling {
			return counted(func(n int, frame []byte) [][]byte {
				if _, at := r.of(v); n > 0 || at < 1 { // else it is the event of the cursor
					return [][]byte{frame}
				}
				return [][]byte{r.first(v), frame}
			})
		}),
	}, {
		Name: "resumed-inclusive", Doc: "a stream that is taken up again begins with the event of the cursor",
		Breaks: []string{"runs.resume.exclusive"},
		Kills:  map[string]string{"resume.excludes-cursor": "message.delta message.end message.start run.end run.start"},
		Fault:  "resume-repeated; streams=0",
	}, {
		Name: "resumed-inclusive-late", Doc: "a stream that is taken up again tells the event of the cursor after the next",
		Breaks: []string{"runs.resume.exclusive"},
		Kills:  map[string]string{"resume.excludes-cursor": "message.delta message.end message.start run.start"},
		Twist: resumed(func(v view, r *runs) retelling {
			return counted(func(n int, frame []byte) [][]byte {
				if old, _ := r.of(v); n == 0 && old != nil {
					return [][]byte{frame, old}
				}
				return [][]byte{frame}
			})
		}),
	},
}

// Which events are lost.
var resumeLoses = []*Mutant{
	{
		Name: "resumed-too-late", Doc: "a stream that is taken up again lacks the event after the cursor",
		Breaks: []string{"runs.resume.no-loss", "runs.resume.two-drops"},
		Kills:  map[string]string{"resume.loses-nothing": "message.delta message.end run.end"},
		// Taken up before the last event, it tells nothing, nor the end.
		Also:  []string{"resume.ends", "resume.takes-thread-cursor"},
		Fault: "resume-lost; streams=0",
	}, {
		Name: "resumed-with-a-gap", Doc: "a stream that is taken up again lacks its second event",
		Breaks: []string{"runs.resume.no-loss", "runs.resume.two-drops"},
		Kills:  map[string]string{"resume.loses-nothing": "message.delta message.end run.end"},
		Also:   []string{"resume.ends", "resume.takes-thread-cursor"}, // where the second is the last
		Twist: resumed(func(view, *runs) retelling {
			return counted(func(n int, frame []byte) [][]byte {
				if n == 1 {
					return nil
				}
				return [][]byte{frame}
			})
		}),
	}, {
		Name: "resumed-now", Doc: "a stream that is taken up again tells only what happens from now on",
		Breaks: []string{"runs.resume.no-loss", "runs.resume.two-drops"},
		Kills:  map[string]string{"resume.loses-nothing": "http.close"},
		Also:   []string{"resume.ends", "resume.takes-thread-cursor"}, // the end was before
		Fault:  "resume-newer; streams=0",
	}, {
		Name: "resumed-cut", Doc: "a stream that is taken up again lacks its last event",
		Breaks: []string{"runs.resume.ends", "runs.resume.no-loss", "runs.resume.two-drops"},
		Kills: map[string]string{
			"resume.ends":          `the stream taken up at .* ended( \(.*\))? without the end of the run`,
			"resume.loses-nothing": "http.close",
		},
		Twist: resumed(func(view, *runs) retelling { return delayed(func([]byte) [][]byte { return nil }) }),
		Also:  []string{"resume.takes-thread-cursor"}, // a cursor of the run before is taken up in the same way
	}, {
		Name: "resumed-empty", Doc: "a stream that is taken up again tells nothing",
		Breaks: []string{"runs.resume.ends", "runs.resume.no-loss", "runs.resume.two-drops"},
		Kills: map[string]string{
			"resume.ends":          `the stream taken up at .* ended( \(.*\))? without the end of the run`,
			"resume.loses-nothing": "http.close",
		},
		Twist: resumed(func(view, *runs) retelling {
			return counted(func(int, []byte) [][]byte { return nil })
		}),
		Also: []string{"resume.takes-thread-cursor"}, // a cursor of the run before is taken up in the same way
	},
}

// What a cursor of an earlier run of the conversation is good for.
var resumeForeign = []*Mutant{
	{
		Name: "cursor-of-before-refused", Doc: "a cursor of an earlier run of the conversation is refused",
		Breaks: []string{"runs.resume.thread-cursor"},
		Kills:  map[string]string{"resume.takes-thread-cursor": "http.response"},
		Twist: func(next http.Handler) http.Handler {
			r := &runs{told: map[string][][]byte{}}
			noting := streaming(func(v view) retelling {
				return retelling{frame: func(frame []byte) [][]byte { return r.note(v, frame) }}
			})(next)
			return seeing(func(w http.ResponseWriter, v view, _ http.Handler) {
				if v.says("listen") && v.heard().Cursor != "" {
					if _, at := r.of(v); at < 0 {
						bad := v.request
						bad.Header = bad.Header.With("Last-Event-ID", "%%none%%")
						next.ServeHTTP(w, v.as(bad))
						return
					}
				}
				noting.ServeHTTP(w, v.http)
			})(next)
		},
	}, {
		Name: "cursor-of-before-late", Doc: "after a cursor of an earlier run the first event of a later one is not told",
		Breaks: []string{"runs.resume.thread-cursor"},
		Kills:  map[string]string{"resume.takes-thread-cursor": "http.close"},
		Twist: resumed(func(v view, r *runs) retelling {
			if _, at := r.of(v); at >= 0 {
				return retelling{}
			}
			return counted(func(n int, frame []byte) [][]byte {
				if n == 0 {
					return nil
				}
				return [][]byte{frame}
			})
		}),
		Also: []string{"resume.loses-nothing"}, // a cursor of the run before is taken up in the same way
	},
}

// Whether an event is told alike.
var resumeTells = []*Mutant{
	{
		Name: "told-otherwise-later", Doc: "an event has other data when it is told again",
		Breaks: []string{"runs.resume.ids-stable"},
		Kills:  map[string]string{"resume.tells-the-same": "message.delta message.end message.start run.end run.start"},
		Fault:  "told-differently",
	}, {
		Name: "told-with-more", Doc: "events have one member more when a stream is taken up again",
		Breaks: []string{"runs.resume.ids-stable"},
		Kills:  map[string]string{"resume.tells-the-same": "message.delta message.end message.start run.end run.start"},
		Twist: resumed(func(view, *runs) retelling {
			return counted(func(_ int, frame []byte) [][]byte {
				return [][]byte{bytes.Replace(frame, []byte("data: {"), []byte(`data: {"replayed":true,`), 1)}
			})
		}),
	},
}

// canceled makes a server that tells the last event of a run otherwise that was canceled.
func canceled(last func(frame []byte) [][]byte) twist {
	return func(next http.Handler) http.Handler {
		var mu sync.Mutex
		over := map[string]bool{}
		note := replying(func(v view, a *reply) {
			if v.says("cancel") && v.heard().Valid() && a.status/100 == 2 {
				mu.Lock()
				defer mu.Unlock()
				over[v.heard().Run] = true
			}
		})(next)
		return seeing(func(w http.ResponseWriter, v view, _ http.Handler) {
			if !v.says("listen") || !v.heard().Valid() {
				note.ServeHTTP(w, v.http)
				return
			}
			streaming(func(v view) retelling {
				return delayed(func(frame []byte) [][]byte {
					mu.Lock()
					defer mu.Unlock()
					if over[v.heard().Run] {
						return last(frame)
					}
					return [][]byte{frame}
				})
			})(next).ServeHTTP(w, v.http)
		})(next)
	}
}

// What becomes of a run that is canceled.
var cancels = []*Mutant{
	{
		Name: "canceled-without-end", Doc: "the stream of a run that is canceled ends without the end of the run",
		Breaks: []string{"runs.cancel.ends"},
		Kills:  map[string]string{"cancel.run-ends": "http.close"},
		// Every stream tells the end; and without one nobody knows that so little was to be told.
		Also:  []string{"run.ends", "wire.flushes"},
		Twist: canceled(func([]byte) [][]byte { return nil }),
	}, {
		Name: "canceled-twice", Doc: "the end of a run that is canceled is told twice",
		Breaks: []string{"runs.cancel.ends"},
		Kills:  map[string]string{"cancel.run-ends": "http.close"},
		// So it is of no other run, nor is any event.
		Also:  []string{"run.ends-once", "run.end-is-last", "cursor.unique"},
		Twist: canceled(func(frame []byte) [][]byte { return [][]byte{frame, frame} }),
	},
}
