package reference

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/streamassay/streamassay/internal/state"
	"github.com/streamassay/streamassay/spec"
)

// The roles of stored messages. The role says who contributed the message.
const (
	roleUser      = "user"
	roleAssistant = "assistant"
	roleTool      = "tool"
)

// requestMessages returns the messages that a request adds to its conversation: its last user
// message with the images attached to it, and the tool results and interrupt replies that follow.
// Earlier messages in the request repeat the history and are omitted.
func (s *Server) requestMessages(c *requestContext) (messages []state.Message) {
	at := s.cfg.Now()
	for _, part := range c.event.Parts {
		m := state.Message{Run: c.event.Run, Text: part.Text, At: at}
		switch part.Kind {
		case spec.InputUser:
			messages = messages[:0]
			m.Role = roleUser
			for _, image := range part.Parts {
				if f, ok := s.uploadedFile(image); ok {
					m.Files = append(m.Files, state.Attachment{Path: f.Path, Type: cmp.Or(f.Type, image.Type)})
				}
			}
		case spec.InputResume: // for agents only: it is not a message of the user
			m.Role, m.Hidden = roleUser, true
		case spec.InputToolResult:
			m.Role, m.ToolCall, m.Name = roleTool, part.Call, part.Name
		default:
			continue
		}
		m.ID = cmp.Or(part.Message, c.event.Run+"-u"+strconv.Itoa(len(messages)+1))
		messages = append(messages, m)
	}
	return messages
}

// A messageRecorder assembles the messages of a conversation from the events of an agent, so that
// they can be stored.
type messageRecorder struct {
	run       string                 // id of the run
	now       func() time.Time       // returns the time for Message.At
	open      []*messageBuilder      // messages of the assistant that have not ended
	calls     map[string]*state.Call // incomplete tool calls, by id
	completed []state.Message        // complete messages that takeCompleted has not returned yet
}

// A messageBuilder is a message whose end has not been recorded yet.
type messageBuilder struct {
	state.Message                 // without Text and At
	text          strings.Builder // the text so far
}

// addText appends piece to the open message of the assistant with the given id. If there is none,
// it starts one.
func (r *messageRecorder) addText(id, piece string) {
	i := slices.IndexFunc(r.open, func(d *messageBuilder) bool { return d.ID == id })
	if i < 0 {
		i = len(r.open)
		r.open = append(r.open, &messageBuilder{Message: state.Message{ID: id, Run: r.run, Role: roleAssistant}})
	}
	r.open[i].text.WriteString(piece)
}

// endMessage marks the message with the given id as complete. It does nothing if no message with
// that id is open.
func (r *messageRecorder) endMessage(id string) {
	i := slices.IndexFunc(r.open, func(d *messageBuilder) bool { return d.ID == id })
	if i < 0 {
		return
	}
	m := r.open[i].Message
	m.Text, m.At = r.open[i].text.String(), r.now()
	r.open = slices.Delete(r.open, i, i+1)
	r.completed = append(r.completed, m)
}

// addCallEvent records e, an event of a tool call. A complete call becomes part of a hidden
// message, which agents receive but which is not part of the history that users see.
func (r *messageRecorder) addCallEvent(e *spec.Event) {
	if r.calls == nil {
		r.calls = map[string]*state.Call{}
	}
	c := r.calls[e.Call]
	if c == nil {
		c = &state.Call{ID: e.Call}
		r.calls[e.Call] = c
	}
	c.Name += e.Name
	c.Arguments += e.Text
	if e.Kind != spec.ToolEnd {
		return
	}
	delete(r.calls, e.Call)
	if n := len(r.completed); n > 0 && len(r.completed[n-1].Calls) > 0 { // parallel calls share a message
		r.completed[n-1].Calls = append(r.completed[n-1].Calls, *c)
		return
	}
	r.completed = append(r.completed, state.Message{
		ID: r.run + "-" + e.Call, Run: r.run, Role: roleAssistant, At: r.now(), Calls: []state.Call{*c}, Hidden: true,
	})
}

// addResult records e, a tool result, as a complete message.
func (r *messageRecorder) addResult(e *spec.Event) {
	r.completed = append(r.completed, state.Message{
		ID: e.Message, Run: r.run, Role: roleTool, Text: e.Text, Name: e.Name, ToolCall: e.Call, At: r.now(),
	})
}

// takeCompleted returns the messages that were completed since the last call. If the last of them
// contains tool calls, it is returned by a later call, because parallel calls may still be added to
// it.
func (r *messageRecorder) takeCompleted() []state.Message {
	n := len(r.completed)
	if n > 0 && len(r.completed[n-1].Calls) > 0 {
		n--
	}
	done := r.completed[:n:n]
	r.completed = r.completed[n:]
	return done
}

// takeAll completes the open messages and returns all messages that takeCompleted has not returned.
// It is called when the run ends.
func (r *messageRecorder) takeAll() []state.Message {
	for len(r.open) > 0 {
		r.endMessage(r.open[0].ID)
	}
	done := r.completed
	r.completed = nil
	return done
}
