package reference

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/streamassay/streamassay/reference/state"
)

// A runRegistry is what servers that keep their state in one place share: the runs that are
// played here, and the streams that are open.
type runRegistry struct {
	store      state.Store
	ownsStore  bool // the store was made here, and ends here
	maxStreams int  // streams of one user
	servers    map[string]*Server

	ctx     context.Context
	stop    context.CancelCauseFunc
	done    chan struct{}  // closed when nothing of the hub runs any more
	orphans []state.RunRef // runs that have to be ended here, of nobody; watch has them

	reads      sharedReads
	storeWaits storeWaitLog

	closeOnce    sync.Once
	mu           sync.Mutex
	running      map[string][]*run // by thread
	streamCounts map[string]int    // by user
}

const (
	orphanInterval     = time.Second // how often runs that nobody plays any more are looked for
	storeTimeout       = 5 * time.Second
	maxEarlierMessages = 400 // messages of a conversation that agents are told
)

func newRunRegistry(cfg Config) *runRegistry {
	h := &runRegistry{
		store: cfg.Store, maxStreams: cfg.Limits.StreamsPerUser, servers: map[string]*Server{},
		done: make(chan struct{}), running: map[string][]*run{}, streamCounts: map[string]int{},
	}
	if h.store == nil {
		h.store, h.ownsStore = state.NewMemory(state.Config{MaxRuns: cfg.Limits.FinishedRuns, Now: cfg.Now}), true
	}
	h.ctx, h.stop = context.WithCancelCause(context.Background())
	go h.supervise()
	return h
}

// supervise stops runs that somebody else was asked to stop, and ends those that nobody
// plays any more.
func (h *runRegistry) supervise() {
	defer close(h.done)
	var tick <-chan time.Time
	if !h.ownsStore { // what is kept in this process alone has no orphans
		h.endOrphans()
		ticker := time.NewTicker(orphanInterval)
		defer ticker.Stop()
		tick = ticker.C
	}
	for {
		select {
		case ref, ok := <-h.store.Canceled():
			if !ok {
				return
			}
			for _, r := range h.runsOf(ref.Thread) {
				if ref.Run == "" || r.ref.Run == ref.Run {
					r.cancel(errCanceled)
				}
			}
		case <-tick:
			h.endOrphans()
		case <-h.ctx.Done():
			return
		}
	}
}

// endOrphans ends the runs whose server is gone: those who listen are told. What cannot be
// ended now is tried again.
func (h *runRegistry) endOrphans() {
	ctx, cancel := context.WithTimeout(h.ctx, storeTimeout)
	defer cancel()
	found, err := h.store.ClaimOrphans(ctx)
	if err == nil { // else the store says so itself where it is asked whether it is ready
		h.orphans = append(h.orphans, found...)
	}
	remaining := make([]bool, len(h.orphans))
	var wait sync.WaitGroup
	slots := make(chan struct{}, 16)
	for i, ref := range h.orphans {
		s := h.serverOf(ref.Thread)
		if remaining[i] = s == nil; s == nil { // it is not there yet, or of a dialect that is not served
			continue
		}
		slots <- struct{}{}
		wait.Go(func() {
			remaining[i] = !s.endOrphan(ctx, ref)
			<-slots
		})
	}
	wait.Wait()
	var rest []state.RunRef
	for i, ref := range h.orphans {
		if remaining[i] {
			rest = append(rest, ref)
		}
	}
	h.orphans = rest
}

func (h *runRegistry) addServer(s *Server) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.servers[s.dialect.Name] = s
}

// serverOf is the one whose threads have names like this one.
func (h *runRegistry) serverOf(thread string) *Server {
	name, _, _ := strings.Cut(thread, "/")
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.servers[name]
}

// addRun adds a run to those that are played.
func (h *runRegistry) addRun(r *run) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.running[r.ref.Thread] = append(h.running[r.ref.Thread], r)
}

func (h *runRegistry) removeRun(r *run) {
	h.mu.Lock()
	defer h.mu.Unlock()
	rest := slices.DeleteFunc(h.running[r.ref.Thread], func(other *run) bool { return other == r })
	if h.running[r.ref.Thread] = rest; len(rest) == 0 {
		delete(h.running, r.ref.Thread)
	}
}

// cancelAll ends the runs of a server that is shut.
func (h *runRegistry) cancelAll(dialect string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for thread, all := range h.running {
		if !strings.HasPrefix(thread, dialect+"/") {
			continue
		}
		for _, r := range all {
			r.cancel(errShutdown)
		}
	}
}

// runsOf lists the runs of a thread that are played here.
func (h *runRegistry) runsOf(thread string) []*run {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.running[thread])
}

// findRun is a run that is played here, or nil.
func (h *runRegistry) findRun(ref state.RunRef) *run {
	h.mu.Lock()
	defer h.mu.Unlock()
	if i := slices.IndexFunc(h.running[ref.Thread], func(r *run) bool { return r.ref == ref }); i >= 0 {
		return h.running[ref.Thread][i]
	}
	return nil
}

// acquireStream counts a stream of a user; ok is false where there are too many already.
func (h *runRegistry) acquireStream(user string) (release func(), ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.streamCounts[user] >= h.maxStreams {
		return nil, false
	}
	h.streamCounts[user]++
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.streamCounts[user]--; h.streamCounts[user] == 0 {
			delete(h.streamCounts, user)
		}
	}, true
}

// close ends the hub, when nothing is played any more.
func (h *runRegistry) close() {
	h.closeOnce.Do(func() {
		h.stop(errShutdown)
		<-h.done
		if h.ownsStore {
			_ = h.store.Close()
		}
	})
}
