package reference

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/streamassay/streamassay/reference/state"
)

// A hub is what servers that keep their state in one place share: the runs that are
// played here, and the streams that are open.
type hub struct {
	store   state.Store
	own     bool // the store was made here, and ends here
	limit   int  // streams of one user
	servers map[string]*Server

	ctx  context.Context
	stop context.CancelCauseFunc
	done chan struct{} // closed when nothing of the hub runs any more
	lost []state.Ref   // runs that have to be ended here, of nobody; watch has them

	readings readings
	waiting  waitingLog

	once    sync.Once
	mu      sync.Mutex
	live    map[string][]*run // by thread
	streams map[string]int    // by user
}

const (
	reaping  = time.Second // how often runs that nobody plays any more are looked for
	storing  = 5 * time.Second
	mostSaid = 400 // messages of a conversation that agents are told
)

func newHub(cfg Config) *hub {
	h := &hub{
		store: cfg.State, limit: cfg.Limits.Streams, servers: map[string]*Server{},
		done: make(chan struct{}), live: map[string][]*run{}, streams: map[string]int{},
	}
	if h.store == nil {
		h.store, h.own = state.Memory(state.Config{Runs: cfg.Limits.Runs, Now: cfg.Now}), true
	}
	h.ctx, h.stop = context.WithCancelCause(context.Background())
	go h.watch()
	return h
}

// watch stops runs that somebody else was asked to stop, and ends those that nobody
// plays any more.
func (h *hub) watch() {
	defer close(h.done)
	var tick <-chan time.Time
	if !h.own { // what is kept in this process alone has no orphans
		h.reap()
		ticker := time.NewTicker(reaping)
		defer ticker.Stop()
		tick = ticker.C
	}
	for {
		select {
		case ref, ok := <-h.store.Canceled():
			if !ok {
				return
			}
			for _, r := range h.playing(ref.Thread) {
				if ref.Run == "" || r.ref.Run == ref.Run {
					r.cancel(errCanceled)
				}
			}
		case <-tick:
			h.reap()
		case <-h.ctx.Done():
			return
		}
	}
}

// reap ends the runs whose server is gone: those who listen are told. What cannot be
// ended now is tried again.
func (h *hub) reap() {
	ctx, cancel := context.WithTimeout(h.ctx, storing)
	defer cancel()
	lost, err := h.store.Orphans(ctx)
	if err == nil { // else the store says so itself where it is asked whether it is ready
		h.lost = append(h.lost, lost...)
	}
	left := make([]bool, len(h.lost))
	var wait sync.WaitGroup
	turn := make(chan struct{}, 16)
	for i, ref := range h.lost {
		s := h.server(ref.Thread)
		if left[i] = s == nil; s == nil { // it is not there yet, or of a dialect that is not served
			continue
		}
		turn <- struct{}{}
		wait.Go(func() {
			left[i] = !s.bury(ctx, ref)
			<-turn
		})
	}
	wait.Wait()
	var rest []state.Ref
	for i, ref := range h.lost {
		if left[i] {
			rest = append(rest, ref)
		}
	}
	h.lost = rest
}

func (h *hub) add(s *Server) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.servers[s.dialect.Name] = s
}

// server is the one whose threads have names like this one.
func (h *hub) server(thread string) *Server {
	name, _, _ := strings.Cut(thread, "/")
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.servers[name]
}

// join adds a run to those that are played.
func (h *hub) join(r *run) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.live[r.ref.Thread] = append(h.live[r.ref.Thread], r)
}

func (h *hub) leave(r *run) {
	h.mu.Lock()
	defer h.mu.Unlock()
	rest := slices.DeleteFunc(h.live[r.ref.Thread], func(other *run) bool { return other == r })
	if h.live[r.ref.Thread] = rest; len(rest) == 0 {
		delete(h.live, r.ref.Thread)
	}
}

// cancel ends the runs of a server that is shut.
func (h *hub) cancel(dialect string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for thread, all := range h.live {
		if !strings.HasPrefix(thread, dialect+"/") {
			continue
		}
		for _, r := range all {
			r.cancel(errShutdown)
		}
	}
}

// playing lists the runs of a thread that are played here.
func (h *hub) playing(thread string) []*run {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.live[thread])
}

// find is a run that is played here, or nil.
func (h *hub) find(ref state.Ref) *run {
	h.mu.Lock()
	defer h.mu.Unlock()
	if i := slices.IndexFunc(h.live[ref.Thread], func(r *run) bool { return r.ref == ref }); i >= 0 {
		return h.live[ref.Thread][i]
	}
	return nil
}

// admit counts a stream of a user; ok is false where there are too many already.
func (h *hub) admit(user string) (out func(), ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.streams[user] >= h.limit {
		return nil, false
	}
	h.streams[user]++
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.streams[user]--; h.streams[user] == 0 {
			delete(h.streams, user)
		}
	}, true
}

// close ends the hub, when nothing is played any more.
func (h *hub) close() {
	h.once.Do(func() {
		h.stop(errShutdown)
		<-h.done
		if h.own {
			_ = h.store.Close()
		}
	})
}
