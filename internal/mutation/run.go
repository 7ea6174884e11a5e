package mutation

import (
	"context"
	"fmt"
	"path"
	"runtime"
	"slices"
	"sync"

	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
	"github.com/streamassay/streamassay/suites"
)

// Canary is a mutant that is easy to find. It must be killed in every dialect; otherwise the
// outcomes of all other mutants prove nothing.
var Canary = &Mutant{
	Name: "canary", Doc: "every text has one word too many",
	KilledBy:  map[string]string{"script.text": "message.delta"},
	NewEffect: changeEvents(func(e *spec.Event) bool { return e.Kind == spec.MessageDelta }, func(e *spec.Event) { e.Text += " tweet" }),
}

// A RunOptions selects which mutants are run, and in which dialects.
type RunOptions struct {
	Dialects    []*dialect.Dialect
	NamePattern string // a glob of names; "" for all
	MaxDialects int    // maximum number of dialects per mutant, in rotation; 0 for all
	SampleEvery int    // run every nth mutant; 0 and 1 for all
	Progress    func(o Outcome, played, of int)
}

// A Report holds the outcomes of all mutants that were run.
type Report struct {
	Dialects       []*dialect.Dialect
	Mutants        []*Mutant // all mutants of the dialects, as [All] returns them
	Outcomes       []Outcome // in the order of Mutants, then of the dialects
	InvalidReasons []string  // why the outcomes are invalid as a whole
	Retried        int       // the number of mutants that were run twice
	IsComplete     bool      // every mutant ran in every dialect that it applies to
}

// A job is a run of one mutant in one dialect, or of the correct server if the mutant is nil.
type job struct {
	dialect *dialect.Dialect
	mutant  *Mutant
}

// Run runs the suite against the selected mutants concurrently, and in each dialect also against a
// correct server and the canary. A server that shares the machine with others may respond late.
// Therefore, a job whose outcome is not as expected is run again alone, and the second outcome
// counts. If Run returns an error, the report covers the completed jobs, or is nil if the options
// are invalid or select no mutant.
func Run(ctx context.Context, plan RunOptions) (*Report, error) {
	jobs, err := plan.jobs()
	if err != nil {
		return nil, err
	}
	r := runner{plan: plan, jobs: jobs, outcomes: make([]Outcome, len(jobs)), judged: map[string]judgedScenarios{}}
	var correct, others []int
	for i, j := range jobs {
		if j.mutant == nil {
			correct = append(correct, i)
		} else {
			others = append(others, i)
		}
	}
	abreast := jobsPerProcessor * runtime.GOMAXPROCS(0)
	for _, which := range [][]int{correct, others} { // which scenarios are needed is known from the correct servers
		if err := r.run(ctx, which, abreast); err != nil {
			return plan.newReport(slices.DeleteFunc(r.outcomes, Outcome.isZero)), err
		}
	}
	isAsExpected := func(i int) bool { return jobs[i].isAsExpected(r.outcomes[i]) }
	again := slices.DeleteFunc(slices.Concat(correct, others), isAsExpected)
	if err := r.run(ctx, again, 1); err != nil {
		return plan.newReport(r.outcomes), err
	}
	report := plan.newReport(r.outcomes)
	report.Retried = len(again)
	return report, nil
}

// A runner runs jobs and holds their outcomes.
type runner struct {
	plan     RunOptions
	jobs     []job
	outcomes []Outcome // by index of the job

	mu     sync.Mutex
	played int
	judged map[string]judgedScenarios // by name of the dialect
}

// run runs the jobs with the given indexes and stores their outcomes. At most abreast jobs run at
// the same time. run stops at the first error and returns it.
func (r *runner) run(ctx context.Context, which []int, abreast int) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	next := make(chan int)
	var wait sync.WaitGroup
	for range abreast {
		wait.Go(func() {
			for i := range next {
				if ctx.Err() != nil {
					continue
				}
				if err := r.runJob(ctx, i); err != nil && ctx.Err() == nil {
					stop(fmt.Errorf("%s in %s: %w", r.jobs[i].name(), r.jobs[i].dialect.Name, err))
				}
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

// runJob runs the job with index i and stores its outcome. It returns an error if the suite could
// not be run to its end.
func (r *runner) runJob(ctx context.Context, i int) error {
	d, m := r.jobs[i].dialect, r.jobs[i].mutant
	var only []string
	if m != nil && m.requirement != "" && r.outcomes[i].isZero() { // a repeated job plays all scenarios
		only = r.judged[d.Name].scenariosFor(m)
	}
	o, parts, err := runSuite(ctx, d, m, only)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.outcomes[i] = o
	if m == nil {
		r.judged[d.Name] = newJudgedScenarios(parts)
	}
	if r.played++; r.plan.Progress != nil {
		r.plan.Progress(o, r.played, max(r.played, len(r.jobs)))
	}
	return nil
}

// A judgedScenarios holds the names of the scenarios in which the correct server passed a check, by
// the ids of the check and of the requirement for which it was judged.
type judgedScenarios map[[2]string][]string

// newJudgedScenarios returns the scenarios among parts, the results of the correct server.
func newJudgedScenarios(parts []suites.ScenarioResult) judgedScenarios {
	j := judgedScenarios{}
	for _, p := range parts {
		for _, r := range p.Evaluation.Results {
			for _, requirement := range r.Obligation.Requirements {
				if r.VerdictOn(requirement) == spec.Passed {
					key := [2]string{r.Obligation.Check.ID, requirement.ID}
					j[key] = append(j[key], p.Scenario.Name)
				}
			}
		}
	}
	return j
}

// maxScenarios is the maximum number of scenarios that are played against a generated mutant for
// each check that must find it. Their requests and frames are alike, so that one would be enough.
const maxScenarios = 2

// scenariosFor returns the names of scenarios in which the checks that must find the generated
// mutant m judge its requirement. The scenario that sends invalid requests, which takes the most
// time, is among them only if there is no other. scenariosFor returns nil if there is none at all.
func (j judgedScenarios) scenariosFor(m *Mutant) (names []string) {
	for check := range m.KilledBy {
		all := j[[2]string{check, m.requirement}]
		if len(all) > 1 {
			all = slices.DeleteFunc(slices.Clone(all), func(name string) bool { return name == refusals })
		}
		names = append(names, all[:min(len(all), maxScenarios)]...)
	}
	return names
}

// isZero reports whether the outcome is empty because its job was not run.
func (o Outcome) isZero() bool { return o.Dialect == "" }

// isAsExpected reports whether the outcome of the job is what it should be: the correct server
// fails no check, the canary is killed, and any other mutant is killed without over-kills.
func (j job) isAsExpected(o Outcome) bool {
	switch {
	case j.mutant == nil:
		return len(o.OverKills) == 0
	case j.mutant == Canary:
		return o.IsKilled()
	}
	return o.IsKilled() && len(o.OverKills) == 0
}

// jobsPerProcessor is how many jobs run at the same time per processor. It is more than one because
// most jobs spend their time waiting for a server that is asked to be slow.
const jobsPerProcessor = 4

func (j job) name() string {
	if j.mutant == nil {
		return "the baseline"
	}
	return j.mutant.Name
}

// Validate returns an error if the pattern of names is malformed or the options select no mutant.
func (p RunOptions) Validate() error {
	_, err := p.jobs()
	return err
}

// jobs returns the jobs that the options select, correct servers and canaries first. It returns an
// error if the pattern of names is malformed or selects no mutant.
func (p RunOptions) jobs() (jobs []job, err error) {
	if _, err := path.Match(p.NamePattern, ""); err != nil {
		return nil, fmt.Errorf("%q is not a glob: %w", p.NamePattern, err)
	}
	for _, d := range p.Dialects {
		jobs = append(jobs, job{dialect: d}, job{d, Canary})
	}
	sure := len(jobs)
	for n, m := range All(p.Dialects) {
		matched, _ := path.Match(p.NamePattern, m.Name)
		if !matched && p.NamePattern != "" || p.SampleEvery > 1 && n%p.SampleEvery != 0 {
			continue
		}
		fit := slices.DeleteFunc(slices.Clone(p.Dialects), func(d *dialect.Dialect) bool { return !m.AppliesTo(d) })
		if p.MaxDialects > 0 && p.MaxDialects < len(fit) {
			turn := n % len(fit)
			fit = slices.Concat(fit[turn:], fit[:turn])[:p.MaxDialects]
		}
		for _, d := range fit {
			jobs = append(jobs, job{d, m})
		}
	}
	if len(jobs) == sure {
		return nil, fmt.Errorf("%q matches no mutant of the %d dialects (see streamassay list mutants)",
			p.NamePattern, len(p.Dialects))
	}
	return jobs, nil
}

// newReport returns a report with the outcomes of the mutants. Outcomes of correct servers and
// canaries are not part of the report; if a correct server failed a check or a canary survived,
// InvalidReasons states that.
func (p RunOptions) newReport(outcomes []Outcome) *Report {
	r := &Report{
		Dialects: p.Dialects, Mutants: All(p.Dialects),
		IsComplete: p.MaxDialects == 0 && p.SampleEvery <= 1 && p.NamePattern == "",
	}
	for _, o := range outcomes {
		switch {
		case o.Mutant == "":
			for _, check := range o.OverKills {
				reason := fmt.Sprintf("%s: the correct server fails %s: %s", o.Dialect, check, o.FailedChecks[check])
				r.InvalidReasons = append(r.InvalidReasons, reason)
			}
		case o.Mutant == Canary.Name:
			if !o.IsKilled() {
				r.InvalidReasons = append(r.InvalidReasons, fmt.Sprintf("%s: the canary %s", o.Dialect, o.Description()))
			}
		default:
			r.Outcomes = append(r.Outcomes, o)
		}
	}
	return r
}

// Survivors returns the outcomes in which the mutant was not killed although its defect occurred.
func (r *Report) Survivors() []Outcome {
	return slices.DeleteFunc(slices.Clone(r.Outcomes), func(o Outcome) bool { return !o.IsSurvivor() })
}

// OverKills returns the outcomes with over-kills: a check failed that should not fail for the
// mutant, or a finding named a requirement that the mutant does not violate.
func (r *Report) OverKills() []Outcome {
	return slices.DeleteFunc(slices.Clone(r.Outcomes), func(o Outcome) bool { return len(o.OverKills) == 0 })
}
