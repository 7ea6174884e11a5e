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

// silentTestingT implements GinkgoTestingT of package ginkgo, so that Ginkgo can run without a
// *testing.T.
type silentTestingT struct{}

// Fail does nothing. [RunGinkgo] uses the result of RunSpecs to determine whether the suite passed.
func (silentTestingT) Fail() {}

// RunGinkgo runs a Ginkgo suite that reports the check results in parts, with one spec (It) for
// each result that is not [spec.Silent]. It discards the output of the suite. agrees reports
// whether the suite failed if and only if a verdict is [spec.Failed] or [spec.Error]. RunGinkgo may
// be called only once per process. It removes the handlers of SIGINT and SIGTERM from the process.
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
					It(r.PlannedCheck.Check.Title(), specLabels(r.PlannedCheck), func() { reportResult(r) })
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
