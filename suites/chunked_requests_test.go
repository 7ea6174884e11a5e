package suites_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"testing"

	"github.com/streamassay/streamassay/reference"
	"github.com/streamassay/streamassay/spec/dialect"
	"github.com/streamassay/streamassay/suites"
)

// TestBodiesInChunks checks that a server may refuse all bodies in chunks, and that a server that
// changes the texts in such bodies is found.
func TestBodiesInChunks(t *testing.T) {
	t.Parallel()
	d, err := dialect.Open("agui")
	if err != nil {
		t.Fatal(err)
	}
	correct := reference.New(d, reference.Scripted, reference.Config{})
	for name, tc := range map[string]struct {
		receive http.HandlerFunc // handles requests with bodies in chunks
		refused bool             // receive refuses the requests
		found   bool
	}{
		"accepted": {receive: correct.ServeHTTP},
		"refused": {refused: true, receive: func(w http.ResponseWriter, r *http.Request) {
			http.Error(w, "a length is required", http.StatusLengthRequired)
		}},
		"changed": {found: true, receive: func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			body = bytes.ReplaceAll(body, []byte(" 1000 "), []byte(" 1001 ")) // of a text of more than 65,536 bytes
			r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
			correct.ServeHTTP(w, r)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			inChunks := 0
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.ContentLength < 0 {
					inChunks++
					tc.receive(w, r)
					return
				}
				correct.ServeHTTP(w, r)
			}))
			defer srv.Close()
			base, err := url.Parse(srv.URL + "/agent")
			if err != nil {
				t.Fatal(err)
			}
			parts, err := suites.Run(t.Context(), suites.Target{
				Dialect: d, Base: base, ClaimedCapabilities: []string{"all"}, Seed: 3, Only: []string{"payloads"},
			}, nil)
			if err != nil {
				t.Fatal(err)
			}
			var found []string
			for _, r := range parts[0].Evaluation.Results {
				if len(r.Findings) > 0 {
					found = append(found, r.PlannedCheck.Check.ID)
				}
			}
			if slices.Contains(found, "script.text") != tc.found || len(found) > 0 != tc.found {
				t.Errorf("found %q; want findings: %v", found, tc.found)
			}
			if (inChunks == 1) != tc.refused {
				t.Errorf("%d requests were sent in chunks; want only one if it is refused, and otherwise several", inChunks)
			}
		})
	}
}
