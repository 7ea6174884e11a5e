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
	test        string // id of the test that sent the request; "" if it named none
	rule        string // name of the script's rule that matched the request; "" if none did
	faults      []fault.Spec
	firstHeld   int          // number of the first frame that is held, or noFrame
	streamCount atomic.Int32 // streams of the run so far
	resumeCount atomic.Int32 // streams of the run so far that were resumed from a cursor

	mu      sync.Mutex
	applied []string // texts of the faults that changed events of the run, and thus all of its streams
}

// addApplied records that a fault has changed events of the run. The argument fault is the text
// that fault.Spec.String returned.
func (p *faultPlan) addApplied(fault string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.applied = append(p.applied, fault)
}

// appliedFaults returns the texts of the faults that have changed events of the run, in the order
// in which addApplied was called with them.
func (p *faultPlan) appliedFaults() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.applied)
}

// noFrame is a frame number that no stream reaches. As the number of the first held frame it means
// that no frame is held.
const noFrame = int(^uint(0) >> 1)

// streamEffects returns the effects of those faults of the plan p that affect stream number n of
// the run, counted from 1. For the effects on the position from which a stream is resumed, n must
// count only the resumed streams of the run. An effect records its fault in the journal the first
// time that it changes something.
func (x *requestState) streamEffects(p *faultPlan, n int) (all []fault.Effect) {
	r := x.newRand(randStream)
	for _, use := range p.faults {
		if limit := use.MaxStreams(); limit == 0 || n <= limit {
			all = append(all, x.newEffect(use, r, x.entry.FaultApplied))
		}
	}
	return all
}

// newEffect returns the effect of the fault that use specifies. The effect calls applied with the
// text of use the first time that it changes something. Random choices are drawn from r.
func (x *requestState) newEffect(use fault.Spec, r *rand.Rand, applied func(fault string)) fault.Effect {
	var once sync.Once
	return use.NewEffect(fault.ResponseContext{
		Rand: r, TypeMembers: x.dialect.TypeMembers(),
		Applied: func() { once.Do(func() { applied(use.String()) }) },
	})
}

// A runKey identifies a run by the name of its dialect, the id of its thread and its own id.
type runKey struct{ dialect, thread, run string }

// maxPlans is the maximum number of fault plans that a mock keeps for runs that are started by one
// request and streamed by others. When the maximum is reached, a new plan replaces the oldest one.
const maxPlans = 10_000
