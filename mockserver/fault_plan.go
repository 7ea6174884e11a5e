package mockserver

import (
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/streamassay/streamassay/internal/fault"
)

// A faultPlan holds the faults for one run, or for one response that belongs to no run. It also
// counts the streams of the run.
type faultPlan struct {
	test        string // id of the test of the request for which the plan was made; "" if the request named none
	rule        string // name of the script rule that matched the request; "" if none did
	faults      []fault.Spec
	firstHeld   int          // index of the first frame to hold in the first stream, counted from 0, or noFrame
	streamCount atomic.Int32 // streams of the run so far
	resumeCount atomic.Int32 // streams of the run so far that were resumed from a cursor

	mu      sync.Mutex
	applied []string // arguments of addApplied
}

// addApplied records that a fault has changed events of the run. The parameter fault is the fault
// as text, a result of fault.Spec.String.
func (p *faultPlan) addApplied(fault string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.applied = append(p.applied, fault)
}

// appliedFaults returns the faults that were passed to addApplied, in the order of the calls.
func (p *faultPlan) appliedFaults() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.applied)
}

// noFrame, as the index of the first frame to hold, means that no frame is held. No stream has so
// many frames.
const noFrame = int(^uint(0) >> 1)

// streamEffects returns the effects of the faults of p on the stream with number n, counted from 1.
// It omits the faults that affect only streams with smaller numbers; see fault.Spec.MaxStreams.
// When an effect changes something for the first time, its fault is recorded in the journal.
func (x *requestState) streamEffects(p *faultPlan, n int) (all []fault.Effect) {
	r := x.newRand(randStream)
	for _, use := range p.faults {
		if limit := use.MaxStreams(); limit == 0 || n <= limit {
			all = append(all, x.newEffect(use, r, x.entry.FaultApplied))
		}
	}
	return all
}

// newEffect returns the effect of the fault f on the response. The first time that the effect
// changes something, it calls applied with the result of f.String. Random choices are drawn from r.
func (x *requestState) newEffect(f fault.Spec, r *rand.Rand, applied func(text string)) fault.Effect {
	var once sync.Once
	return f.NewEffect(fault.ResponseContext{
		Rand: r, TypeMembers: x.dialect.TypeMembers(),
		Applied: func() { once.Do(func() { applied(f.String()) }) },
	})
}

// A runKey identifies a run by the name of its dialect, the id of its thread and its own id.
type runKey struct{ dialect, thread, run string }

// maxPlans is the maximum number of fault plans that a mock keeps for runs that one request starts
// and others stream. When a mock has so many, a new plan replaces the oldest one.
const maxPlans = 10_000
