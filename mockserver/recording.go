package mockserver

import (
	"net/http"
	"time"

	"github.com/streamassay/streamassay/internal/fault"
	"github.com/streamassay/streamassay/internal/journal"
	"github.com/streamassay/streamassay/internal/pace"
	"github.com/streamassay/streamassay/internal/replay"
	"github.com/streamassay/streamassay/internal/script"
	"github.com/streamassay/streamassay/reference"
)

// findRecording returns the recorded response to the request h, or nil if there is none. The
// parameter decision is the result of decide; if it contains a rule, findRecording returns nil
// without searching the recordings. The result of a search is recorded in the journal.
func (x *requestState) findRecording(h *reference.ParsedRequest, decision script.Decision) *replay.Response {
	if x.settings.Replay == nil || decision.Rule != nil {
		return nil
	}
	response, reasons := x.settings.Replay.Find(h.Dialect, h.Request, nil, x.scope.sessions)
	all := journalMisses(decision.Mismatches)
	for _, text := range reasons {
		all = append(all, journal.RuleMismatch{Rule: "recordings", Why: text})
	}
	if response == nil {
		x.entry.Matched("", all)
		return nil
	}
	x.entry.Matched(response.Source, all)
	return response
}

// replayEndings maps each way in which a recorded response can be incomplete to the way in which
// the mock ends its own response. Endings of complete responses are not in the map.
var replayEndings = map[replay.StreamEnd]fault.StreamEnd{
	replay.Truncated: fault.Abort, replay.NoResponse: fault.Abort, replay.Reset: fault.Reset, replay.Stall: fault.Stall,
}

// replay returns a handler that sends the recorded response a with its recorded timing and ending.
// The recorded times are divided by the Speed of the pace in the X-Mock-Pace header or, if that is
// not positive, by the Speed in the settings. If neither is positive, the times are unchanged. The
// http.ResponseWriter of the handler must be a *responseWriter.
func (x *requestState) replay(a *replay.Response) http.HandlerFunc {
	speed := 1.0
	for _, configured := range []*pace.Pace{x.settings.Pace, x.overrides.Pace} {
		if configured != nil && configured.Speed > 0 {
			speed = configured.Speed
		}
	}
	return func(w http.ResponseWriter, _ *http.Request) {
		client := w.(*responseWriter).client
		if a.End == replay.NoResponse {
			_ = client.Finish(fault.Abort)
			return
		}
		for _, f := range a.Header {
			w.Header()[http.CanonicalHeaderKey(f.Name)] = nil
		}
		for _, f := range a.Header {
			w.Header().Add(f.Name, f.Value)
		}
		began := time.Now()
		w.WriteHeader(a.Status)
		for due, piece := range a.TimedChunks(speed) {
			if d := time.Until(began.Add(due)); d > 0 {
				if client.Flush() != nil || client.Sleep(d) != nil {
					return
				}
			}
			if _, err := w.Write(piece); err != nil {
				return
			}
		}
		if how, ends := replayEndings[a.End]; ends {
			_ = client.Finish(how)
		}
	}
}
