//go:build !chromium

package control

import "testing"

// The page is looked at in a browser where there is one.
func TestPageInBrowser(t *testing.T) {
	t.Skip("NOT TESTED: the page in a browser; go test -tags chromium does it, with a chromium in the PATH")
}
