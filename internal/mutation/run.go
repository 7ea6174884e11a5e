package mutation

import (
	"context"
	"errors"
	"fmt"
	"path"
	"runtime"
	"slices"
	"sync"

	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
	"github.com/streamassay/streamassay/suites"
)

// Canary is a mutant that is easy to find. It is run in every dialect and must be killed there.
// Otherwise, the outcomes of all other mutants prove nothing.
var Canary = &Mutant{
	Name: "canary", Doc: "every text has one word too many",
	KilledBy:  map[string]string{"script.text": "message.delta"},
	NewEffect: changeEvents(func(e *spec.Event) bool { return e.Kind == spec.MessageDelta }, func(e *spec.Event) { e.Text += " tweet" }),
}

// A RunOptions selects which mutants are run, and in which dialects.
type RunOptions struct {
	Dialects     []*dialect.Dialect // the dialects in which mutants are run, if they apply to them
	NamePatterns []string           // globs, as in [path.Match]; a mutant is run if its name matches any; empty for all
	// MaxDialects is the maximum number of dialects in which each mutant is run; 0 means no limit.
	// If a mutant applies to more dialects, the choice depends on its index in the result of [All],
	// so that different mutants are run in different dialects.
	MaxDialects int
	// SampleEvery is n if only every n-th mutant is run, counted in the result of [All] before
	// NamePatterns is applied. The values 0 and 1 select all mutants.
	SampleEvery int
	// Progress, unless nil, is called after each run of a mutant, or of the correct server, in a
	// dialect. The argument o is the outcome of the run, played is the number of runs so far, and
	// total is the number of all runs. If runs are repeated because their outcomes are not as
	// expected, total grows together with played. The calls do not overlap.
	Progress func(o Outcome, played, total int)
}

// A Report holds the outcomes of the mutants that were run. In each dialect, the suite was also run
// against the correct server and the [Canary]. If a correct server failed or a canary was not
// killed, InvalidReasons is not empty.
type Report struct {
	Dialects       []*dialect.Dialect // the field Dialects of the RunOptions
	Mutants        []*Mutant          // all mutants of the dialects, run or not, as [All] returns them
	Outcomes       []Outcome          // one for each mutant and dialect that was run, in the order of Mutants
	InvalidReasons []string           // why the outcomes prove nothing; empty if they are valid
	Retried        int                // number of repeated runs, including those of correct servers and the canary
	// IsComplete is true if the RunOptions select every mutant in every one of their dialects to
	// which it applies.
	IsComplete bool
}

// A job is one run of the suite in a dialect. The suite runs against the mutant or, if mutant is
// nil, against the correct server.
type job struct {
	dialect *dialect.Dialect
	mutant  *Mutant
}

// Run runs the suite against the mutants that plan selects and, in each dialect, also against the
// correct server and the canary. A job is one run of the suite against one server in one dialect.
// Several jobs run at the same time, so a server may respond late. Therefore, a job with an
// unexpected outcome is repeated while no other job is running, and the second outcome counts.
//
// If [RunOptions.Validate] returns an error for plan, Run returns nil and this error. If ctx is
// canceled, or if the suite does not run to its end in a job, Run returns a report of the completed
// jobs and an error.
func Run(ctx context.Context, plan RunOptions) (*Report, error) {
	jobs, err := plan.jobs()
	if err != nil {
		return nil, err
	}
	r := runner{plan: plan, jobs: jobs, outcomes: make([]Outcome, len(jobs)), judged: map[string]passingScenarios{}}
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

// A runner runs jobs and holds their outcomes. The mutex mu protects the fields after it, and must
// be held to store an outcome.
type runner struct {
	plan     RunOptions
	jobs     []job
	outcomes []Outcome // by the index of the job; zero until the job has run

	mu     sync.Mutex
	played int                         // number of completed jobs; a repeated job counts again
	judged map[string]passingScenarios // by the name of the dialect
}

// run runs the jobs with the given indexes and stores their outcomes in r. The argument limit is
// the maximum number of jobs that run at the same time. After the first error, or when ctx is
// canceled, run starts no more jobs. It returns the first error or, if ctx was canceled before, the
// cause that [context.Cause] returns for ctx.
func (r *runner) run(ctx context.Context, indexes []int, limit int) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	next := make(chan int)
	var wait sync.WaitGroup
	for range limit {
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
	for _, i := range indexes {
		next <- i
	}
	close(next)
	wait.Wait()
	return context.Cause(ctx)
}

// runJob runs the job with index i, stores the outcome in r and calls r.plan.Progress, unless that
// is nil. It returns an error if the suite could not be run to its end.
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

// A passingScenarios maps checks and requirements to the names of the scenarios in which the
// correct server met the requirement, according to the check. The key consists of the id of the
// check and the id of the requirement, in this order.
type passingScenarios map[[2]string][]string

// newJudgedScenarios returns the passingScenarios for parts, the results of the scenarios that were
// played against the correct server.
func newJudgedScenarios(parts []suites.ScenarioResult) passingScenarios {
	j := passingScenarios{}
	for _, p := range parts {
		for _, r := range p.Evaluation.Results {
			for _, requirement := range r.PlannedCheck.Requirements {
				if r.VerdictOn(requirement) == spec.Passed {
					key := [2]string{r.PlannedCheck.Check.ID, requirement.ID}
					j[key] = append(j[key], p.Scenario.Name)
				}
			}
		}
	}
	return j
}

// maxScenarios is the maximum number of scenarios that are played against a generated mutant for
// each check that must find the mutant. One should be enough, because the requests and frames that
// show the defect hardly differ between scenarios.
const maxScenarios = 2

// scenariosFor returns the names of scenarios that can kill the generated mutant m, or nil if there
// are none: at most maxScenarios for each check in m.KilledBy. The names are in no particular order
// and may occur several times.
func (j passingScenarios) scenariosFor(m *Mutant) (names []string) {
	for check := range m.KilledBy {
		all := j[[2]string{check, m.requirement}]
		if len(all) > 1 { // the scenario refusals takes the most time
			all = slices.DeleteFunc(slices.Clone(all), func(name string) bool { return name == refusals })
		}
		names = append(names, all[:min(len(all), maxScenarios)]...)
	}
	return names
}

// isZero reports whether o is the zero Outcome, which stands for a job that has not been run.
func (o Outcome) isZero() bool { return o.Dialect == "" }

// isAsExpected reports whether o is an expected outcome of the job: for the correct server, no
// failures; for the canary, that it was killed; for any other mutant, that it was killed without
// over-kills (failures that its defect does not explain).
func (j job) isAsExpected(o Outcome) bool {
	switch {
	case j.mutant == nil:
		return !o.isOverKilled()
	case j.mutant == Canary:
		return o.IsKilled()
	}
	return o.IsKilled() && !o.isOverKilled()
}

// jobsPerProcessor is the number of jobs per processor that run at the same time. It is greater
// than one because most jobs spend their time waiting for a server that was asked to be slow.
const jobsPerProcessor = 4

func (j job) name() string {
	if j.mutant == nil {
		return "the baseline"
	}
	return j.mutant.Name
}

// Validate returns an error if an element of p.NamePatterns is malformed or matches no mutant, or
// if p selects no mutant.
func (p RunOptions) Validate() error {
	_, err := p.jobs()
	return err
}

// jobs returns the jobs that p selects. The first ones, which are always included, are the correct
// server and the canary in each dialect. If an element of p.NamePatterns is malformed or matches no
// mutant, or if p selects no mutant, jobs returns an error.
func (p RunOptions) jobs() (jobs []job, err error) {
	for _, pattern := range p.NamePatterns {
		if _, err := path.Match(pattern, ""); err != nil {
			return nil, fmt.Errorf("%q is not a glob: %w", pattern, err)
		}
	}
	isUnknown := func(pattern string) bool { return !isPossibleName(pattern, p.Dialects) }
	var all []*Mutant
	unknown := slices.IndexFunc(p.NamePatterns, isUnknown)
	if unknown < 0 {
		all = All(p.Dialects)
		unknown = slices.IndexFunc(p.NamePatterns, func(pattern string) bool {
			return !slices.ContainsFunc(all, func(m *Mutant) bool { return matchesAny([]string{pattern}, m.Name) })
		})
	}
	if unknown >= 0 {
		return nil, fmt.Errorf("%q matches no mutant of the dialects tested (see streamassay list mutants)",
			p.NamePatterns[unknown])
	}
	for _, d := range p.Dialects {
		jobs = append(jobs, job{dialect: d}, job{d, Canary})
	}
	sure := len(jobs)
	for n, m := range all {
		isNamed := len(p.NamePatterns) == 0 || matchesAny(p.NamePatterns, m.Name)
		if !isNamed || p.SampleEvery > 1 && n%p.SampleEvery != 0 {
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
		return nil, errors.New("no mutant is selected")
	}
	return jobs, nil
}

// newReport returns a report of the given outcomes. Those of the correct servers and of the canary
// are left out of Report.Outcomes. If a correct server has failures, or the canary was not killed,
// newReport states that in Report.InvalidReasons.
func (p RunOptions) newReport(outcomes []Outcome) *Report {
	r := &Report{
		Dialects: p.Dialects, Mutants: All(p.Dialects),
		IsComplete: p.MaxDialects == 0 && p.SampleEvery <= 1 && len(p.NamePatterns) == 0,
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
