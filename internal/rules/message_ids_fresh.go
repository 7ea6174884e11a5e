package rules

import (
	"cmp"
	"fmt"

	"github.com/streamassay/streamassay/spec"
)

// streamName returns the name of the stream for which request asks. The name is the run id or, if
// request names no run, the number of its exchange, such as "exchange 3".
func streamName(request spec.Event) string {
	return cmp.Or(request.Run, fmt.Sprint("exchange ", request.Exchange))
}

// MessageIDsFresh judges whether messages in different runs of a thread have different ids.
var MessageIDsFresh = &spec.Check{
	ID: "message.ids-fresh",
	Doc: `a message does not have the id of a message of an earlier run in the thread

This is judged for requests with a prompt. A request that continues an earlier run, for example with
a tool result, may also continue the messages of that run.`,
	Needs: []spec.Kind{spec.SlotMessage, spec.MessageEnd},
	Watch: func(p *spec.Pass) func(spec.Event) {
		type threadMessage struct{ thread, message string }
		streamOf := map[threadMessage]string{} // the stream in which an id was used first
		return eachStream(func(p *spec.Pass, request spec.Event) func(spec.Event) {
			stream := streamName(request)
			_, isPrompt := request.Prompt() // anything else may continue an earlier run
			isJudged := isPrompt && request.Thread != "" && request.Valid()
			judged := map[string]bool{}
			return func(e spec.Event) {
				if !isJudged || !isMessageStatus(e) || e.Message == "" || judged[e.Message] {
					return
				}
				judged[e.Message] = true
				key := threadMessage{request.Thread, e.Message}
				first, used := streamOf[key]
				p.Judge(e, !used || first == stream,
					"got the message id %q, which a message of an earlier run of the thread had; expected a new id", e.Message)
				if !used {
					streamOf[key] = stream
				}
			}
		})(p)
	},
}
