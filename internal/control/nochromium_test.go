//go:build !chromium

package control

import "testing"

// TestPageInBrowser is a placeholder for the test with the build tag chromium.
func TestPageInBrowser(t *testing.T) {
	t.Skip("NOT TESTED: the page in a browser (needs go test -tags chromium and chromium in the PATH)")
}
