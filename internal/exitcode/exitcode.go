// Package exitcode defines the exit codes of the program. The README explains them.
package exitcode

import "slices"

// The exit codes of all commands. Code 4 is reserved.
const (
	Passed       = 0 // something was checked, and no violation or difference was found
	Failed       = 1 // a requirement or an expectation is violated, or there is a difference
	Usage        = 2 // the usage or the configuration is invalid
	Inconclusive = 3 // nothing failed, but nothing, or not everything, could be checked
	Internal     = 5 // internal error of streamassay

	SignalBase  = 128 // plus the number of a signal: the program was ended by that signal
	Interrupted = 130 // the program was ended by SIGINT
	Terminated  = 143 // the program was ended by SIGTERM
)

// Worse returns the worse of two exit codes. From the worst to the best, these are [Internal],
// [Terminated], [Interrupted], [Failed], [Inconclusive] and [Passed]. Any other exit code, even
// [Usage], counts as [Passed], and Worse never returns it.
func Worse(a, b int) int {
	order := []int{Passed, Inconclusive, Failed, Interrupted, Terminated, Internal}
	return order[max(slices.Index(order, a), slices.Index(order, b), 0)]
}
