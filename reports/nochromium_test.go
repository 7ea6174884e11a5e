//go:build !chromium

package reports

import "testing"

// TestReportInBrowser is a placeholder for the test with the build tag chromium.
func TestReportInBrowser(t *testing.T) {
	t.Skip("NOT TESTED: the report in a browser; go test -tags chromium does it, with a chromium in the PATH")
}
