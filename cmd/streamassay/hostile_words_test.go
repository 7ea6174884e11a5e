package main

import (
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
)

// A tongue holds the templates from which hostile targets build the frames of one dialect. A frame
// without a template is not sent.
type tongue struct {
	dialect           string
	start, open, text string // of a run, of a message, and a piece of it
	closed, end       string
	accept            string // the reply to a request that opens a run told elsewhere
}

// tongues holds the templates of each dialect that hostile targets use. In a template, %T stands
// for the id of the thread, %R for that of the run, %M for that of a message, %X for a text and %N
// for a number.
var tongues = []tongue{
	{
		dialect: "agkit@0.0.10",
		text:    `data: {"type":"text","content":"%X"}`,
		open:    `data: {"type":"tool-call-start","toolCallId":"%M","toolCallName":"lookup"}`,
		closed:  `data: {"type":"tool-call-end","toolCallId":"%M"}`,
		end:     `data: [DONE]`,
	}, {
		dialect: "agentscope@1.1",
		start:   `data: {"sequence_number":0,"object":"response","status":"created","id":"r1","created_at":1795226757,"session_id":"%T"}`,
		open:    `data: {"sequence_number":%N,"object":"message","status":"in_progress","id":"%M","type":"message","role":"assistant"}`,
		text:    `data: {"sequence_number":%N,"object":"content","status":"in_progress","type":"text","index":0,"delta":true,"msg_id":"%M","text":"%X"}`,
		closed:  `data: {"sequence_number":%N,"object":"message","status":"completed","id":"%M","type":"message","role":"assistant","content":[]}`,
		end:     `data: {"sequence_number":%N,"object":"response","status":"completed","id":"r1","created_at":1795226757,"session_id":"%T","completed_at":1795226805,"output":[]}`,
	}, {
		dialect: "agentscope-java@0.1",
		start:   `data: {"sequenceNumber":0,"object":"response","status":"created","id":"r1","createdAt":1795226757,"output":[],"sessionId":"%T"}`,
		open:    `data: {"sequenceNumber":%N,"object":"message","status":"created","id":"%M","type":"MESSAGE","role":"assistant","content":[]}`,
		text:    `data: {"sequenceNumber":%N,"object":"content","status":"in_progress","type":"text","index":0,"delta":true,"msgId":"%M","text":"%X"}`,
		closed:  `data: {"sequenceNumber":%N,"object":"message","status":"completed","id":"%M","type":"MESSAGE","role":"assistant","content":[]}`,
		end:     `data: {"sequenceNumber":%N,"object":"response","status":"completed","id":"r1","createdAt":1795226757,"completedAt":1795226805,"output":[],"sessionId":"%T"}`,
	}, {
		dialect: "runs@2026-04",
		accept:  `{"created":true,"runId":"%R","taskId":"t1","threadId":"%T"}`,
		start:   "id: %N-0\nevent: RUN_STARTED\n" + `data: {"type":"RUN_STARTED","threadId":"%T","runId":"%R"}`,
		open:    "id: %N-0\nevent: TEXT_MESSAGE_START\n" + `data: {"type":"TEXT_MESSAGE_START","threadId":"%T","runId":"%R","messageId":"%M","role":"assistant"}`,
		text:    "id: %N-0\nevent: TEXT_MESSAGE_CONTENT\n" + `data: {"type":"TEXT_MESSAGE_CONTENT","threadId":"%T","runId":"%R","messageId":"%M","delta":"%X"}`,
		closed:  "id: %N-0\nevent: TEXT_MESSAGE_END\n" + `data: {"type":"TEXT_MESSAGE_END","threadId":"%T","runId":"%R","messageId":"%M"}`,
		end:     "id: %N-0\nevent: RUN_FINISHED\n" + `data: {"type":"RUN_FINISHED","threadId":"%T","runId":"%R"}`,
	},
}

// A speaker writes one stream from the templates of a tongue.
type speaker struct {
	tongue
	w           io.Writer
	flush       func()
	gone        <-chan struct{} // the client has hung up
	thread, run string
	bound       map[string]string // templates with thread and run filled in
	n           int
	err         error // of the client's having gone
}

var (
	threadName = regexp.MustCompile(`"(?:threadId|session_id|sessionId)":"([^"]*)"`)
	runName    = regexp.MustCompile(`"runId":"([^"]*)"`)
)

// asked sets the ids of the thread and the run from the request r, and reads its body to the end.
func (s *speaker) asked(r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	if m := threadName.FindSubmatch(body); m != nil {
		s.thread = string(m[1])
	}
	if m := runName.FindSubmatch(body); m != nil {
		s.run = string(m[1])
	}
	if rest, ok := strings.CutPrefix(r.URL.Path, "/api/v1/agent/runs/"); ok {
		s.thread, _, _ = strings.Cut(rest, "/")
		s.run = r.URL.Query().Get("runId")
	}
}

// say writes one frame, with message and text filled into the template; an empty template writes
// nothing. It returns false if a write has failed, because the client has left.
func (s *speaker) say(template, message, text string) bool {
	if template == "" || s.err != nil {
		return s.err == nil
	}
	bound, ok := s.bound[template]
	if !ok {
		bound = strings.NewReplacer("%T", s.thread, "%R", s.run).Replace(template)
		s.bound[template] = bound
	}
	for rest := bound; rest != ""; {
		before, after, found := strings.Cut(rest, "%")
		s.raw(before)
		if rest = after; !found {
			break
		}
		switch after[0] {
		case 'M':
			s.raw(message)
		case 'X':
			s.raw(text)
		case 'N':
			s.raw(strconv.Itoa(s.n))
		}
		rest = after[1:]
	}
	s.n++
	return s.raw("\n\n")
}

func (s *speaker) raw(text string) bool {
	if s.err == nil {
		_, s.err = io.WriteString(s.w, text)
	}
	return s.err == nil
}
