package mockserver

import (
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/streamassay/streamassay/mockserver/fault"
)

// A faultPlan is what a run, and the streams that tell of it, have to suffer.
type faultPlan struct {
	test        string
	thread, run string
	rule        string
	faults      []fault.Spec
	firstHeld   int // the first frame that waits; never: none
	streamCount atomic.Int32
	resumeCount atomic.Int32 // how many of them were taken up again

	mu      sync.Mutex
	applied []string // faults that did harm to the run, whoever listens
}

func (p *faultPlan) addApplied(fault string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.applied = append(p.applied, fault)
}

func (p *faultPlan) appliedFaults() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.applied)
}

// noFrame is the number of a frame that does not come.
const noFrame = int(^uint(0) >> 1)

// begin begins the faults that strike the n-th stream, from 1.
func (p *faultPlan) begin(n int, r *rand.Rand, tell func(fault string)) (all []fault.Effect) {
	for _, use := range p.faults {
		if most := use.MaxStreams(); most == 0 || n <= most {
			all = append(all, instrument(use, r, p, tell))
		}
	}
	return all
}

// A runKey names a run.
type runKey struct{ dialect, thread, run string }

// faultPlans remembers what is planned for runs whose streams are asked for by themselves. The
// oldest are forgotten first.
type faultPlans struct {
	mu    sync.Mutex
	all   map[runKey]*faultPlan
	order []runKey
}

const maxPlans = 10_000

func (p *faultPlans) put(key runKey, one *faultPlan) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.all == nil {
		p.all = map[runKey]*faultPlan{}
	}
	if _, again := p.all[key]; again { // the same run, asked for again, is the same run
		return
	}
	if len(p.order) >= maxPlans {
		delete(p.all, p.order[0])
		p.order = p.order[1:]
	}
	p.all[key] = one
	p.order = append(p.order, key)
}

func (p *faultPlans) find(key runKey) *faultPlan {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.all[key]
}
