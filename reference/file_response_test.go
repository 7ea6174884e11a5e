package reference

import (
	"net/http/httptest"
	"testing"
	"time"
)

// A deadlineRecorder is a response writer that keeps the last write deadline.
type deadlineRecorder struct {
	*httptest.ResponseRecorder
	deadline time.Time
}

func (r *deadlineRecorder) SetWriteDeadline(t time.Time) error {
	r.deadline = t
	return nil
}

// TestFileDeadline checks that each write of a file gives the client a new deadline.
func TestFileDeadline(t *testing.T) {
	r := &deadlineRecorder{ResponseRecorder: httptest.NewRecorder()}
	w := deadlineExtender{r}
	for range 2 {
		r.deadline = time.Time{}
		before := time.Now()
		if _, err := w.Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
		if left := r.deadline.Sub(before); left < writeTimeout || left > 2*writeTimeout {
			t.Errorf("deadline %v after the write, want %v", left, writeTimeout)
		}
	}
	if r.Body.String() != "xx" {
		t.Errorf("wrote %q", r.Body)
	}
}
