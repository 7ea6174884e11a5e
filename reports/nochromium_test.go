//go:build !chromium

package reports

import "testing"

// The report is looked at in a browser where there is one.
func TestReportInBrowser(t *testing.T) {
	t.Skip("NOT TESTED: the report in a browser; go test -tags chromium does it, with a chromium in the PATH")
}
