package reference

import (
	"strconv"
	"strings"
	"time"

	"github.com/streamassay/streamassay/reference/files"
	"github.com/streamassay/streamassay/reference/state"
	"github.com/streamassay/streamassay/spec"
)

// history tells what was said in a conversation on one day: in the one that is
// named, or in the user's latest.
func (s *Server) history(c *call) {
	if c.ask.Thread != "" {
		if _, ok := s.thread(c, false); !ok {
			return
		}
	} else {
		prefix := s.ref("", "").Thread
		latest, err := s.hub.store.Latest(c.r.Context(), c.user, prefix)
		if err != nil {
			s.failed(c, err)
			return
		}
		if c.ask.Thread = strings.TrimPrefix(latest, prefix); c.ask.Thread == "" {
			s.answer(c, spec.Event{Kind: spec.History})
			return
		}
	}
	day, said, more, err := s.hub.store.Day(c.r.Context(), s.ref(c.ask.Thread, "").Thread, c.ask.Day)
	if err != nil {
		s.failed(c, err)
		return
	}
	told := spec.Event{Kind: spec.History, Thread: c.ask.Thread, Day: day, HasMore: strconv.FormatBool(more)}
	for _, m := range said {
		told.Parts = append(told.Parts, s.recall(c, m))
	}
	s.answer(c, told)
}

// toldAs are the kinds of messages in a history, by role.
var toldAs = map[string]spec.Kind{roleUser: spec.HistoryUser, roleAssistant: spec.HistoryAssistant, roleTool: spec.HistoryTool}

// recall is a message as a history tells it. Links are made anew: those that were
// sent may be of no use any more. What a tool gave is told as JSON text, whatever it was.
func (s *Server) recall(c *call, m state.Message) spec.Event {
	e := spec.Event{
		Kind: toldAs[m.Role], ID: m.ID, Seq: strconv.FormatInt(m.Seq, 10), Role: m.Role, Text: m.Text,
		Created: m.At.UTC().Format(time.RFC3339Nano),
	}
	if m.Role == roleTool {
		e.Text = asJSON(m.Text)
	}
	for _, f := range m.Files {
		link := s.cfg.Files.Link(s.links(c), files.File{Bucket: f.Bucket, Path: f.Path, Type: f.Type})
		e.Parts = append(e.Parts, spec.Event{Kind: spec.HistoryImage, Type: f.Type, Text: link})
	}
	return e
}
