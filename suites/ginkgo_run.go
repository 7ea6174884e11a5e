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

// silentTestingT satisfies the interface that Ginkgo expects of *testing.T, so that Ginkgo can run
// outside of a Go test.
type silentTestingT struct{}

// Fail does nothing, because RunSpecs returns whether the suite passed.
func (silentTestingT) Fail() {}

// RunGinkgo reports the results as a Ginkgo suite, with one It for each scenario and check that was
// exercised. It returns whether the outcome of the suite agrees with the verdicts: the suite must
// fail if and only if a check failed. It can be called only once per process, and removes the
// process's handlers of SIGINT and SIGTERM.
func RunGinkgo(parts []ScenarioResult) (agrees bool) {
	bad, specs := false, 0
	Describe("streamassay", Ordered, ContinueOnFailure, func() {
		for _, p := range parts {
			Context(p.Dialect.Name+" "+p.Scenario.Name, func() {
				for _, r := range p.Evaluation.Results {
					if r.Verdict == spec.Silent {
						continue // there are thousands
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
