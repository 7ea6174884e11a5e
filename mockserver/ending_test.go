package mockserver_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/streamassay/streamassay/mockserver"
	"github.com/streamassay/streamassay/spec"
)

// TestEndings checks that a client can tell the five endings of a stream apart.
func TestEndings(t *testing.T) {
	for _, name := range both {
		k := newTestClientWithTimeout(t, made(t, mockserver.Config{}, name), 2*time.Second)
		whole := k.ask("run-0", "hello")
		if whole.End != nil || whole.Status != 200 || !strings.HasSuffix(string(whole.Body), "\n\n") {
			t.Fatalf("%s: without a fault it ends with %v", name, whole.End)
		}
		for _, c := range []struct {
			fault string
			end   error
			torn  bool
		}{
			{"clean-end; event=2", nil, false},
			{"abort; event=2", spec.ErrTruncated, false},
			{"reset; event=2", spec.ErrReset, false},
			{"torn; event=2", spec.ErrTruncated, true},
			{"stall; event=2", spec.ErrIdleTimeout, false},
		} {
			t.Run(name+"/"+c.fault, func(t *testing.T) {
				t.Parallel()
				got := k.ask("run-"+strings.Fields(c.fault)[0], "hello", "X-Mock-Fault: "+c.fault)
				if !errors.Is(got.End, c.end) {
					t.Errorf("it ends with %v, want %v", got.End, c.end)
				}
				// Only a torn stream ends within its third frame.
				frames, rest := strings.Count(string(got.Body), "\n\n"), got.Body[strings.LastIndex(string(got.Body), "\n\n")+2:]
				if frames != 2 || (len(rest) > 0) != c.torn {
					t.Errorf("got %d frames and %q, want 2 frames", frames, rest)
				}
			})
		}
	}
}
