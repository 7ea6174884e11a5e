package reference

import (
	"strconv"
	"strings"
	"time"

	"github.com/streamassay/streamassay/internal/files"
	"github.com/streamassay/streamassay/internal/state"
	"github.com/streamassay/streamassay/spec"
)

// serveHistory responds with the messages that a conversation has on one day (in UTC): the latest
// day with messages or, if the request names a day, the latest one before that day. If there is no
// such day, the history is empty.
//
// If the request names no conversation, serveHistory uses the one in which the user most recently
// started a run; if there is none, the history is empty. If the named conversation does not exist
// or belongs to another user, serveHistory sends the refusal that the dialect's document describes.
func (s *Server) serveHistory(c *requestContext) {
	if c.event.Thread != "" {
		if _, ok := s.authorizeThread(c, false); !ok {
			return
		}
	} else {
		prefix := s.runRef("", "").Thread
		latest, err := s.registry.store.LatestThread(c.r.Context(), c.user, prefix)
		if err != nil {
			s.refuseStoreError(c, err)
			return
		}
		if c.event.Thread = strings.TrimPrefix(latest, prefix); c.event.Thread == "" {
			s.respond(c, spec.Event{Kind: spec.History})
			return
		}
	}
	thread := s.runRef(c.event.Thread, "").Thread
	day, messages, more, err := s.registry.store.DayMessages(c.r.Context(), thread, c.event.Day)
	if err != nil {
		s.refuseStoreError(c, err)
		return
	}
	reply := spec.Event{Kind: spec.History, Thread: c.event.Thread, Day: day, HasMore: strconv.FormatBool(more)}
	for _, m := range messages {
		reply.Parts = append(reply.Parts, s.historyMessage(c, m))
	}
	s.respond(c, reply)
}

// historyKinds maps the role of a stored message to the kind of its event in a history.
var historyKinds = map[string]spec.Kind{
	roleUser: spec.HistoryUser, roleAssistant: spec.HistoryAssistant, roleTool: spec.HistoryTool,
}

// historyMessage returns the stored message m as an event of a history, for the response to the
// request c. It creates new signed links to files, because earlier links may have expired. It
// converts the text of a tool result to JSON; see asJSON.
func (s *Server) historyMessage(c *requestContext, m state.Message) spec.Event {
	e := spec.Event{
		Kind: historyKinds[m.Role], ID: m.ID, Seq: strconv.FormatInt(m.Seq, 10), Role: m.Role, Text: m.Text,
		Created: m.At.UTC().Format(time.RFC3339Nano),
	}
	if m.Role == roleTool {
		e.Text = asJSON(m.Text)
	}
	for _, f := range m.Files {
		link := s.cfg.Files.Link(s.fileBaseURL(c), files.File{Path: f.Path, Type: f.Type})
		e.Parts = append(e.Parts, spec.Event{Kind: spec.HistoryImage, Type: f.Type, Text: link})
	}
	return e
}
