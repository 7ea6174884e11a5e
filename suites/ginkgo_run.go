package suites

import (
	"io"
	"os"
	"os/signal"
	"syscall"

	. "github.com/onsi/ginkgo/v2"
	"github.com/onsi/ginkgo/v2/formatter"

	"github.com/streamassay/streamassay/spec"
)

// silentTestingT implements GinkgoTestingT of package ginkgo. It takes the place of a *testing.T,
// so that Ginkgo can run outside a Go test.
type silentTestingT struct{}

// Fail does nothing, because RunSpecs also returns whether the suite passed.
func (silentTestingT) Fail() {}

// RunGinkgo runs a Ginkgo suite that reports the check results in parts, with one It for each
// scenario and check that was exercised. The output of the suite is discarded. agrees states whether
// the outcome of the suite agrees with the verdicts, which means that the suite fails if and only
// if a check failed or could not be judged because of an error. RunGinkgo can be called only once
// per process, and removes the process's handlers of SIGINT and SIGTERM.
func RunGinkgo(parts []ScenarioResult) (agrees bool) {
	bad, specs := false, 0
	Describe("streamassay", Ordered, ContinueOnFailure, func() {
		for _, p := range parts {
			Context(p.Dialect.Name+" "+p.Scenario.Name, func() {
				for _, r := range p.Evaluation.Results {
					if r.Verdict == spec.Silent {
						continue // not reported, because there are thousands of them
					}
					specs++
					bad = bad || r.Verdict == spec.Failed || r.Verdict == spec.Error
					It(r.Obligation.Check.Title(), specLabels(r.Obligation), func() { reportResult(r) })
				}
			})
		}
	})
	formatter.ColorableStdOut, formatter.ColorableStdErr = io.Discard, io.Discard
	GinkgoWriter.ClearTeeWriters()
	suite, reporter := GinkgoConfiguration()
	suite.FailOnEmpty = specs > 0
	reporter.Succinct, reporter.NoColor = true, true
	passed := RunSpecs(silentTestingT{}, "streamassay", suite, reporter)
	signal.Reset(os.Interrupt, syscall.SIGTERM) // Ginkgo handles them from RunSpecs on
	return passed != bad
}
