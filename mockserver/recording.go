package mockserver

import (
	"net/http"
	"time"

	"github.com/streamassay/streamassay/mockserver/fault"
	"github.com/streamassay/streamassay/mockserver/journal"
	"github.com/streamassay/streamassay/mockserver/pace"
	"github.com/streamassay/streamassay/mockserver/replay"
	"github.com/streamassay/streamassay/mockserver/script"
	"github.com/streamassay/streamassay/reference"
)

// findRecording is what was recorded for a request that no rule answers, or nil.
func (x *exchange) findRecording(h *reference.ParsedRequest, found script.Decision) *replay.Response {
	library := setting(x.scope, func(s *Settings) *replay.Library { return s.Replay })
	if library == nil || found.Rule != nil {
		return nil
	}
	answer, why := library.Find(h.Dialect, h.Request, nil, x.scope.sessions)
	all := journalMisses(found.Mismatches)
	for _, text := range why {
		all = append(all, journal.Miss{Rule: "recordings", Why: text})
	}
	if answer == nil {
		x.entry.Matched("", all)
		return nil
	}
	x.entry.Matched(answer.Source, all)
	return answer
}

// replayEndings are how recorded answers ended, as faults say it.
var replayEndings = map[replay.StreamEnd]fault.StreamEnd{
	replay.Truncated: fault.Abort, replay.NoResponse: fault.Abort, replay.Reset: fault.Reset, replay.Stall: fault.Stall,
}

// replay answers as it was recorded, at the times at which it came.
func (x *exchange) replay(a *replay.Response) http.HandlerFunc {
	speed := 1.0
	for _, override := range []*pace.Pace{setting(x.scope, func(s *Settings) *pace.Pace { return s.Pace }), x.overrides.pace} {
		if override != nil && override.Speed > 0 {
			speed = override.Speed
		}
	}
	return func(w http.ResponseWriter, _ *http.Request) {
		if a.End == replay.NoResponse {
			x.finish(fault.Abort)
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
				if x.FlushError() != nil || x.sleep(d) != nil {
					return
				}
			}
			if _, err := w.Write(piece); err != nil {
				return
			}
		}
		if how, ends := replayEndings[a.End]; ends {
			x.finish(how)
		}
	}
}
