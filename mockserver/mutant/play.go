package mutant

import (
	"context"
	"fmt"
	"path"
	"runtime"
	"slices"
	"sync"

	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
)

// Canary is what must die in every dialect, or nothing that was found is worth anything.
var Canary = &Mutant{
	Name: "canary", Doc: "every text that is told has a word too many",
	Breaks: []string{"*.scripted.text"},
	Kills:  map[string]string{"script.text": "http.close"},
	Play:   everyEvent(func(e *spec.Event) bool { return e.Kind == spec.MessageDelta }, func(e *spec.Event) { e.Text += " tweet" }),
}

// A Plan says which mutants are played, and where.
type Plan struct {
	Dialects []*dialect.Dialect
	Only     string // a glob of names; "" is all
	Each     int    // in how many dialects each mutant is played at most, which take turns; 0: in all
	Sample   int    // only every so manieth is played; 0 and 1: all
	Progress func(o Outcome, played, of int)
}

// A Report is what became of the mutants.
type Report struct {
	Dialects []*dialect.Dialect
	Outcomes []Outcome // in the order of All, and of the dialects
	Void     []string  // why none of it counts
	Again    int       // how many were played twice
	Whole    bool      // every mutant was played wherever it can be
}

// A job is one mutant in one dialect; no mutant is the baseline.
type job struct {
	dialect *dialect.Dialect
	mutant  *Mutant
}

// Play plays the mutants side by side, with a baseline and a canary in each dialect. What
// did not go as it should is played again, by itself, and that counts: side by side a
// server may be late that is not. With an error comes the report of those that were played
// before it, nil if none can be.
func Play(ctx context.Context, plan Plan) (*Report, error) {
	jobs, err := plan.jobs()
	if err != nil {
		return nil, err
	}
	outcomes := make([]Outcome, len(jobs))
	all := make([]int, len(jobs))
	for i := range all {
		all[i] = i
	}
	if err := plan.play(ctx, jobs, outcomes, all, abreast*runtime.GOMAXPROCS(0)); err != nil {
		return plan.report(slices.DeleteFunc(outcomes, Outcome.unplayed)), err
	}
	again := slices.DeleteFunc(all, func(i int) bool { return jobs[i].asItShould(outcomes[i]) })
	if err := plan.play(ctx, jobs, outcomes, again, 1); err != nil {
		return plan.report(outcomes), err
	}
	r := plan.report(outcomes)
	r.Again = len(again)
	return r, nil
}

// play plays some of the jobs, so many at once.
func (p Plan) play(ctx context.Context, jobs []job, outcomes []Outcome, which []int, abreast int) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	next := make(chan int)
	var wait sync.WaitGroup
	var mu sync.Mutex
	played := 0
	for range abreast {
		wait.Go(func() {
			for i := range next {
				if ctx.Err() != nil {
					continue
				}
				o, err := Try(ctx, jobs[i].dialect, jobs[i].mutant)
				if err != nil {
					if ctx.Err() == nil {
						stop(fmt.Errorf("%s in %s: %w", jobs[i].name(), jobs[i].dialect.Name, err))
					}
					continue
				}
				mu.Lock()
				outcomes[i] = o
				if played++; p.Progress != nil {
					p.Progress(o, played, len(which))
				}
				mu.Unlock()
			}
		})
	}
	for _, i := range which {
		next <- i
	}
	close(next)
	wait.Wait()
	return context.Cause(ctx)
}

// unplayed reports whether nothing is known: no mutant, and no dialect.
func (o Outcome) unplayed() bool { return o.Dialect == "" }

// asItShould says that nothing is wrong with an outcome.
func (j job) asItShould(o Outcome) bool {
	switch {
	case j.mutant == nil:
		return len(o.Over) == 0
	case j.mutant == Canary:
		return o.Killed()
	}
	return o.Killed() && len(o.Over) == 0
}

// abreast is how many mutants a processor plays at once: most of the time a server that is
// asked to be slow is waited for.
const abreast = 4

func (j job) name() string {
	if j.mutant == nil {
		return "the baseline"
	}
	return j.mutant.Name
}

// Check says what is wrong with a plan: that there is nothing to play.
func (p Plan) Check() error {
	_, err := p.jobs()
	return err
}

// jobs are what is to be played: the baseline and the canaries first.
func (p Plan) jobs() (jobs []job, err error) {
	if _, err := path.Match(p.Only, ""); err != nil {
		return nil, fmt.Errorf("%q is not a glob: %w", p.Only, err)
	}
	for _, d := range p.Dialects {
		jobs = append(jobs, job{dialect: d}, job{d, Canary})
	}
	sure := len(jobs)
	for n, m := range All {
		if ok, _ := path.Match(p.Only, m.Name); !ok && p.Only != "" || p.Sample > 1 && n%p.Sample != 0 {
			continue
		}
		fit := slices.DeleteFunc(slices.Clone(p.Dialects), func(d *dialect.Dialect) bool { return !m.Applies(d) })
		if p.Each > 0 && p.Each < len(fit) {
			turn := n % len(fit)
			fit = slices.Concat(fit[turn:], fit[:turn])[:p.Each]
		}
		for _, d := range fit {
			jobs = append(jobs, job{d, m})
		}
	}
	if len(jobs) == sure {
		return nil, fmt.Errorf("no mutant is called %q in these dialects: streamassay list mutants names them", p.Only)
	}
	return jobs, nil
}

// report sorts baseline and canaries out.
func (p Plan) report(outcomes []Outcome) *Report {
	r := &Report{Dialects: p.Dialects, Whole: p.Each == 0 && p.Sample <= 1 && p.Only == ""}
	for _, o := range outcomes {
		switch {
		case o.Mutant == "":
			for _, check := range o.Over {
				r.Void = append(r.Void, fmt.Sprintf("%s: the right server is red: %s: %s", o.Dialect, check, o.Red[check]))
			}
		case o.Mutant == Canary.Name:
			if !o.Killed() {
				r.Void = append(r.Void, fmt.Sprintf("%s: the canary %s", o.Dialect, o.Fate()))
			}
		default:
			r.Outcomes = append(r.Outcomes, o)
		}
	}
	return r
}

// Survivors are the mutants that were not seen for what they are.
func (r *Report) Survivors() []Outcome {
	return slices.DeleteFunc(slices.Clone(r.Outcomes), Outcome.Killed)
}

// OverKills are those that turned something red that they do not break.
func (r *Report) OverKills() []Outcome {
	return slices.DeleteFunc(slices.Clone(r.Outcomes), func(o Outcome) bool { return len(o.Over) == 0 })
}

// byName is the mutant of a name that stands in an outcome.
func byName(name string) *Mutant {
	return All[slices.IndexFunc(All, func(m *Mutant) bool { return m.Name == name })]
}
