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

// A silentTestingT is what ginkgo needs of a testing.T.
type silentTestingT struct{}

func (silentTestingT) Fail() {}

// RunGinkgo runs what was recorded and judged as a ginkgo suite, one It for each
// scenario and check, and says whether ginkgo came to the end that was concluded:
// green where nothing failed, red where something did. It can run once per
// process, and leaves it without handlers of SIGINT and SIGTERM.
func RunGinkgo(parts []ScenarioResult) (agrees bool) {
	bad, specs := false, 0
	Describe("streamassay", Ordered, ContinueOnFailure, func() {
		for _, p := range parts {
			Context(p.Dialect.Name+" "+p.Scenario.Name, func() {
				for _, r := range p.Evaluation.Results {
					if r.Verdict == spec.Silent {
						continue // thousands of specs that say nothing
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
	signal.Reset(os.Interrupt, syscall.SIGTERM) // ginkgo swallows them from its start on
	return passed != bad
}
