package reference

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/streamassay/streamassay/internal/state"
)

// A runRegistry holds the runs that a [Server] or the servers of a [DialectMux] execute, and counts
// their open streams.
type runRegistry struct {
	store      state.Store
	ownsStore  bool               // newRunRegistry created the store, and close closes it
	maxStreams int                // maximum number of open streams per user
	servers    map[string]*Server // by name of their dialect

	ctx     context.Context
	stop    context.CancelCauseFunc
	done    chan struct{}  // closed when supervise returns
	orphans []state.RunRef // orphans that endOrphans could not end yet; used by supervise only

	reads      sharedReads
	storeWaits storeWaitLog

	closeOnce    sync.Once
	mu           sync.Mutex
	running      map[string][]*run // runs that this process executes, by the keys of their threads in the store
	streamCounts map[string]int    // numbers of open streams, by user
}

// Times and limits for access to a store. An orphan is a run whose server process is gone.
const (
	orphanInterval     = time.Second     // time between two searches of the store for orphans
	storeTimeout       = 5 * time.Second // maximum time for one request to the store
	maxEarlierMessages = 400             // maximum number of earlier messages that an agent receives
)

// newRunRegistry returns a new registry and starts the goroutine of supervise. The caller must call
// close to stop it.
func newRunRegistry(cfg Config) *runRegistry {
	h := &runRegistry{
		store: cfg.Store, maxStreams: cfg.Limits.StreamsPerUser, servers: map[string]*Server{},
		done: make(chan struct{}), running: map[string][]*run{}, streamCounts: map[string]int{},
		reads:      sharedReads{active: map[sharedReadKey]*sharedRead{}},
		storeWaits: storeWaitLog{waiting: map[*run]time.Time{}},
	}
	if h.store == nil {
		h.store, h.ownsStore = state.NewMemory(state.Config{MaxRuns: cfg.Limits.FinishedRuns}), true
	}
	h.ctx, h.stop = context.WithCancelCause(context.Background())
	go h.supervise()
	return h
}

// supervise cancels runs of this process if another process received the request to cancel them. At
// regular intervals, it also ends orphans, which are runs whose server process no longer exists. It
// returns when the registry is closed.
func (h *runRegistry) supervise() {
	defer close(h.done)
	var tick <-chan time.Time
	if !h.ownsStore { // a store of this process alone has no orphans
		h.endOrphans()
		ticker := time.NewTicker(orphanInterval)
		defer ticker.Stop()
		tick = ticker.C
	}
	for {
		select {
		case ref := <-h.store.Canceled():
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

// endOrphans ends the orphans that the store assigns to this process, and those that remained in
// h.orphans after earlier calls. It keeps in h.orphans those that it cannot end, because the store
// fails or because this process does not serve their dialect.
func (h *runRegistry) endOrphans() {
	ctx, cancel := context.WithTimeout(h.ctx, storeTimeout)
	defer cancel()
	found, err := h.store.ClaimOrphans(ctx)
	if err == nil { // an error shows in the store's readiness
		h.orphans = append(h.orphans, found...)
	}
	all := h.orphans
	h.orphans = nil
	for group := range slices.Chunk(all, 16) { // which are ended at the same time
		ended := make([]bool, len(group))
		var wait sync.WaitGroup
		for i, ref := range group {
			if s := h.serverOf(ref.Thread); s != nil { // else not added yet, or its dialect is not served here
				wait.Go(func() { ended[i] = s.endOrphan(ctx, ref) })
			}
		}
		wait.Wait()
		for i, ref := range group {
			if !ended[i] {
				h.orphans = append(h.orphans, ref)
			}
		}
	}
}

func (h *runRegistry) addServer(s *Server) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.servers[s.dialect.Name] = s
}

// serverOf returns the server for the dialect of a thread, or nil if this process does not serve
// that dialect. The argument thread is the key of the thread in the store; see runRef.
func (h *runRegistry) serverOf(thread string) *Server {
	name, _, _ := strings.Cut(thread, "/")
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.servers[name]
}

// addRun registers a run that this process executes. The caller must call removeRun when the run
// has ended.
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

// cancelAll cancels the runs that this process executes in the dialect with the given name. It is
// called when the server of the dialect shuts down.
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

// runsOf returns the runs of a thread that this process executes. The argument thread is the key of
// the thread in the store; see runRef.
func (h *runRegistry) runsOf(thread string) []*run {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.running[thread])
}

// findRun returns the run with the key ref, or nil if this process is not executing that run.
func (h *runRegistry) findRun(ref state.RunRef) *run {
	for _, r := range h.runsOf(ref.Thread) {
		if r.ref == ref {
			return r
		}
	}
	return nil
}

// acquireStream registers an open stream of a user. The caller must call release once, when the
// stream ends. If the user already has maxStreams open streams, ok is false and release is nil.
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

// close stops supervise and closes the store if the registry created it. All runs must have ended.
// Only the first call has an effect.
func (h *runRegistry) close() {
	h.closeOnce.Do(func() {
		h.stop(errShutdown)
		<-h.done
		if h.ownsStore {
			_ = h.store.Close()
		}
	})
}
