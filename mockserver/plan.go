package mockserver

import (
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/streamassay/streamassay/mockserver/fault"
)

// A plan is what a run, and the streams that tell of it, have to suffer.
type plan struct {
	test        string
	thread, run string
	rule        string
	uses        []fault.Spec
	hold        int // the first frame that waits; never: none
	streams     atomic.Int32
	resumed     atomic.Int32 // how many of them were taken up again

	mu     sync.Mutex
	struck []string // faults that did harm to the run, whoever listens
}

func (p *plan) note(fault string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.struck = append(p.struck, fault)
}

func (p *plan) noted() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.struck)
}

// never is the number of a frame that does not come.
const never = int(^uint(0) >> 1)

// strikes begins the faults that strike the n-th stream, from 1.
func (p *plan) strikes(n int, r *rand.Rand, tell func(fault string)) (all []fault.Effect) {
	for _, use := range p.uses {
		if most := use.MaxStreams(); most == 0 || n <= most {
			all = append(all, watched(use, r, p, tell))
		}
	}
	return all
}

// A runKey names a run.
type runKey struct{ dialect, thread, run string }

// plans remembers what is planned for runs whose streams are asked for by themselves. The
// oldest are forgotten first.
type plans struct {
	mu    sync.Mutex
	all   map[runKey]*plan
	order []runKey
}

const mostPlans = 10_000

func (p *plans) put(key runKey, one *plan) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.all == nil {
		p.all = map[runKey]*plan{}
	}
	if _, again := p.all[key]; again { // the same run, asked for again, is the same run
		return
	}
	if len(p.order) >= mostPlans {
		delete(p.all, p.order[0])
		p.order = p.order[1:]
	}
	p.all[key] = one
	p.order = append(p.order, key)
}

func (p *plans) find(key runKey) *plan {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.all[key]
}
