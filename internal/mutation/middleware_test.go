package mutation

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/iotest"

	"github.com/streamassay/streamassay/spec/dialect"
)

// TestUnreadableRequest checks that interceptRequests refuses requests whose body cannot be read or
// is too large.
func TestUnreadableRequest(t *testing.T) {
	d, err := dialect.Open("runs@2026-04")
	if err != nil {
		t.Fatal(err)
	}
	server := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	h := editRequests(func(v parsedRequest) *http.Request { return v.httpRequest })(dialectHandler{server, d})
	for _, c := range []struct {
		name string
		body io.Reader
		want int // status of the response
	}{
		{"readable", bytes.NewReader([]byte("{}")), http.StatusOK},
		{"broken off", io.MultiReader(bytes.NewReader([]byte("{")), iotest.ErrReader(io.ErrUnexpectedEOF)), http.StatusBadRequest},
		{"too large", bytes.NewReader(make([]byte, maxRequestBody+1)), http.StatusRequestEntityTooLarge},
	} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, d.Base+"/runs", c.body))
		if w.Code != c.want {
			t.Errorf("%s: status %d, want %d", c.name, w.Code, c.want)
		}
	}
}
