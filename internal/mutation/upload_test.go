package mutation

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
)

// TestUnchangedLink checks that endEarlierLinks waits for a different link only for maxLinkWait, and
// that a link that stays the same does not end.
func TestUnchangedLink(t *testing.T) {
	d, err := dialect.Open("runs@2026-04")
	if err != nil {
		t.Fatal(err)
	}
	const link = "/files/a.png?signature=x"
	server := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if v := parseRequest(d, r, nil); v.isOperation("sign") {
			reply := spec.Event{Kind: spec.AttachmentSigned, ID: "a.png", Text: link}
			encoded := d.Operation(v.raw).EncodeResponse(reply)
			w.Header().Set("Content-Type", encoded.MediaType)
			w.Write(encoded.Body)
			return
		}
		w.Write([]byte("the file"))
	})
	sign, err := d.BuildRequest("sign", spec.Event{ID: "a.png"})
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		h := endEarlierLinks(dialectHandler{server, d})
		since := time.Now()
		for _, target := range []string{d.Base + sign.Target, d.Base + sign.Target, link} {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodGet, target, nil))
			if w.Code != http.StatusOK {
				t.Errorf("GET %s: status %d, want 200", target, w.Code)
			}
		}
		if took := time.Since(since); took < maxLinkWait || took >= 2*maxLinkWait {
			t.Errorf("the requests took %v, want about %v", took, maxLinkWait)
		}
	})
}
