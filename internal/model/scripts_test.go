package model_test

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"
)

// A reply is the response of the fake to one request.
type reply struct {
	http.ResponseWriter
	r    *http.Request
	ask  request
	auth string
	nth  int // which request of the test, from 1
}

// say sends the response according to the script that the first word of the last user message
// names. It repeats tool results as text, unless the script makes further calls.
func say(a *reply) {
	script := a.word(0)
	last := a.ask.Messages[len(a.ask.Messages)-1]
	switch f := scripts[script]; {
	case last.Role == "tool" && script != "forever" && script != "429-again":
		var results []string
		for _, m := range a.ask.Messages {
			if m.Role == "tool" {
				results = append(results, m.text())
			}
		}
		a.text("gave: ", strings.Join(results, " | "))
		a.finish("stop")
	case f == nil:
		a.text("You said: ", last.text())
		a.finish("stop")
	default:
		f(a)
	}
}

// word returns word number n of the last user message, starting at 0, or "" if there is no such
// word.
func (a *reply) word(n int) (word string) {
	for _, m := range a.ask.Messages {
		if m.Role == "user" {
			word = append(strings.Fields(m.text()), "", "")[n]
		}
	}
	return word
}

// raw sends data as part of the event stream and flushes it.
func (a *reply) raw(data string) {
	if a.Header().Get("Content-Type") == "" {
		a.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	}
	a.Write([]byte(data))
	http.NewResponseController(a.ResponseWriter).Flush()
}

// frame returns the frame of a chunk with a delta. finish is its finish reason; "" means null.
func frame(delta, finish string) string {
	reason := "null"
	if finish != "" {
		reason = fmt.Sprintf("%q", finish)
	}
	return fmt.Sprintf(`data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":%s,"finish_reason":%s}]}`+"\n\n", delta, reason)
}

func member(name, text string) string {
	data, _ := json.Marshal(map[string]string{name: text})
	return string(data)
}

func (a *reply) delta(delta string) { a.raw(frame(delta, "")) }

func (a *reply) text(pieces ...string) {
	a.delta(`{"role":"assistant","content":""}`)
	for _, piece := range pieces {
		a.delta(member("content", piece))
	}
}

// call sends a delta of a tool call. Members that are "" are omitted.
func (a *reply) call(index int, id, name, arguments string) {
	c := map[string]any{"index": index}
	f := map[string]any{}
	if id != "" {
		c["id"], c["type"] = id, "function"
	}
	if name != "" {
		f["name"] = name
	}
	if arguments != "" {
		f["arguments"] = arguments
	}
	c["function"] = f
	data, _ := json.Marshal(map[string]any{"tool_calls": []any{c}})
	a.delta(string(data))
}

func (a *reply) finish(reason string) {
	a.raw(frame("{}", reason))
	a.raw(`data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}` + "\n\ndata: [DONE]\n\n")
}

// called sends a tool call and the end of the response.
func (a *reply) called(name, arguments string) {
	a.call(0, "theirs-1", name, arguments)
	a.finish("tool_calls")
}

func (a *reply) refuse(status int, media, body string) {
	a.Header().Set("Content-Type", media)
	a.WriteHeader(status)
	a.Write([]byte(body))
}

// stay waits, without sending anything, until the client leaves.
func (a *reply) stay() { <-a.r.Context().Done() }

// cut resets the connection.
func (a *reply) cut() {
	conn, _, err := http.NewResponseController(a.ResponseWriter).Hijack()
	if err != nil {
		panic(err)
	}
	conn.(*net.TCPConn).SetLinger(0)
	conn.Close()
}

const greeting = "Grüß dich, 世界! 👩‍👩‍👧"

// scripts maps the name of a script to the function that sends the response.
var scripts = map[string]func(*reply){
	"text": func(a *reply) {
		a.raw(": a comment\n\n")
		a.text("Grüß", " dich, ", "世界! 👩‍👩‍👧")
		a.finish("stop")
	},
	"bytes": func(a *reply) { // characters, and lines, are cut between writes
		for _, b := range []byte(frame(member("content", greeting), "")) {
			a.raw(string([]byte{b}))
		}
		a.finish("stop")
	},
	"crlf": func(a *reply) {
		a.raw(strings.ReplaceAll(frame(member("content", greeting), "stop"), "\n", "\r\n") + "data: [DONE]\r\n\r\n")
	},
	"empty": func(a *reply) { a.finish("stop") },
	"refusal": func(a *reply) {
		a.delta(member("refusal", "I will not."))
		a.finish("stop")
	},
	"reasoning-content": func(a *reply) { a.reason("reasoning_content") },
	"reasoning":         func(a *reply) { a.reason("reasoning") },
	"reasoning-twice": func(a *reply) {
		a.delta(`{"reasoning_content":"hm","reasoning":"hm"}`)
		a.text("yes")
		a.finish("stop")
	},
	"reasoning-tool": func(a *reply) {
		a.delta(member("reasoning_content", "I look"))
		a.called("lookup", `{"word":"x"}`)
	},
	"null-error": func(a *reply) {
		a.raw(`data: {"choices":[{"index":0,"delta":{"content":"fine"},"finish_reason":null}],"error":null}` + "\n\n")
		a.finish("stop")
	},
	"odd-types": func(a *reply) { // members of another type count as absent
		a.delta(`{"role":7,"content":"fi","reasoning":{"x":1},"refusal":false}`)
		a.raw(`data: {"id":1,"choices":[{"index":0,"logprobs":"?","delta":{"content":["?"],"reasoning_content":5}}]}` + "\n\n")
		a.raw(": a comment\n\nevent: completion\ndata: {\"choices\":[{\"index\":0,\ndata: \"delta\":{\"content\":\"ne\"}}]}\n\n")
		a.finish("stop")
	},
	"slow": func(a *reply) {
		for i := range 7 {
			<-time.After(100 * time.Millisecond) // it is another process: there is no clock to share
			a.text(fmt.Sprint(i, " "))
		}
		a.finish("stop")
	},
	"length": func(a *reply) { a.text("and so"); a.finish("length") },
	"no-done": func(a *reply) {
		a.text("done")
		a.raw(frame("{}", "stop"))
	},
	"no-end": func(a *reply) { // sends the end marker and keeps the connection open
		a.text("done")
		a.raw(frame("{}", "stop"))
		a.stay()
	},
	"done-only": func(a *reply) { a.text("done"); a.raw("data: [DONE]\n\n") },
	"cut-late":  func(a *reply) { a.text("done"); a.raw(frame("{}", "stop")); a.cut() },
	"other-choice": func(a *reply) {
		a.raw(`data: {"choices":[{"index":1,"delta":{"content":"no"}}]}` + "\n\n")
		a.finish("stop")
	},

	"tool": func(a *reply) {
		a.delta(`{"role":"assistant","content":null}`)
		a.call(0, "theirs-1", "lookup", "")
		a.call(0, "", "", `{"wo`)
		a.call(0, "", "", `rd":"ä`)
		a.call(0, "", "", `b"}`)
		a.finish("tool_calls")
	},
	"tools": func(a *reply) {
		a.text("\n\n") // models do that, and mean nothing
		a.call(0, "theirs-1", "lookup", "")
		a.call(0, "", "", `{"word"`)
		a.call(1, "theirs-2", "lookup", "")
		a.call(1, "", "", `{"wor`)
		a.call(0, "", "", `:"one"}`)
		a.call(1, "", "", `d":"three"}`)
		a.finish("tool_calls")
	},
	"whole-tool": func(a *reply) { a.called("lookup", `{"word":"x"}`) },
	"stop-tool":  func(a *reply) { a.call(0, "theirs-1", "lookup", `{"word":"x"}`); a.finish("stop") },
	"no-id-tool": func(a *reply) { a.call(0, "", "lookup", `{"word":"x"}`); a.finish("tool_calls") },
	"same-index": func(a *reply) {
		a.call(0, "theirs-1", "lookup", `{"word":"x"}`)
		a.call(0, "theirs-2", "lookup", `{"word":"yy"}`)
		a.finish("tool_calls")
	},
	"same-index-no-id": func(a *reply) {
		a.call(0, "", "lookup", `{"word":"x"}`)
		a.call(0, "", "lookup", `{"word":"yy"}`)
		a.finish("tool_calls")
	},
	"same-id": func(a *reply) {
		a.call(0, "theirs-1", "lookup", `{"word":"x"}`)
		a.call(1, "theirs-1", "lookup", `{"word":"yy"}`)
		a.finish("tool_calls")
	},
	"name-again": func(a *reply) { // with each piece
		a.call(0, "theirs-1", "lookup", `{"wor`)
		a.call(0, "theirs-1", "lookup", `d":"x"}`)
		a.finish("tool_calls")
	},
	"late-name": func(a *reply) {
		a.call(0, "theirs-1", "", `{"wor`)
		a.call(0, "", "lookup", `d":"x"}`)
		a.finish("tool_calls")
	},
	"no-name": func(a *reply) { a.call(0, "theirs-1", "", `{}`); a.finish("tool_calls") },
	"text-tool": func(a *reply) {
		a.text("Let me ", "look.")
		a.call(0, "theirs-1", "lookup", `{"word"`)
		a.text("Looking.")
		a.call(0, "", "", `:"x"}`)
		a.finish("tool_calls")
	},
	"unknown-tool":   func(a *reply) { a.called("dance", `{}`) },
	"bad-arguments":  func(a *reply) { a.called("lookup", `{"word":`) },
	"no-arguments":   func(a *reply) { a.called("current_time", "") },
	"panicking-tool": func(a *reply) { a.called("panic", "{}") },
	"failing-tool":   func(a *reply) { a.called("fail", "{}") },
	"hanging-tool":   func(a *reply) { a.called("hang", "{}") },
	"client-tool":    func(a *reply) { a.called("paint", `{"color":"blue"}`) },
	"client-garbage": func(a *reply) { a.called("paint", `blue`) },
	"call":           func(a *reply) { a.called(a.word(1), `{"n":7}`) },
	"mixed-tools": func(a *reply) {
		a.call(0, "theirs-1", "lookup", `{"word":"x"}`)
		a.call(1, "theirs-2", "paint", `{"color":"blue"}`)
		a.finish("tool_calls")
	},
	"forever":    func(a *reply) { a.called("lookup", `{"word":"x"}`) },
	"tool-flood": func(a *reply) { a.flood(func(i int) { a.call(i, "", "lookup", "{}") }) },
	"tool-cut":   func(a *reply) { a.call(0, "theirs-1", "lookup", `{"wo`); a.cut() },

	"429": func(a *reply) { a.refuse(429, "application/json", `{"error":{"message":"slow down"}}`) },
	"429-long": func(a *reply) {
		a.Header().Set("Retry-After", "60")
		a.refuse(429, "application/json", `{"error":{"message":"slow down"}}`)
	},
	"429-always": func(a *reply) { a.busy(429) },
	"429-once": func(a *reply) {
		if a.nth == 1 {
			a.busy(429)
			return
		}
		a.text("here ", "I am")
		a.finish("stop")
	},
	"429-again": func(a *reply) { // before each call
		if a.nth%2 == 1 {
			a.busy(429)
			return
		}
		a.called("lookup", `{"word":"x"}`)
	},
	"503-once": func(a *reply) {
		if a.nth == 1 {
			a.busy(503)
			return
		}
		a.text("here ", "I am")
		a.finish("stop")
	},
	"401": func(a *reply) { a.refuse(401, "application/json", `{"error":{"message":"Incorrect key: `+a.auth+`"}}`) },
	"403": func(a *reply) { a.refuse(403, "text/html", "<html>no</html>") },
	"404": func(a *reply) { a.refuse(404, "application/json", `{"error":"model 'm' not found"}`) },
	"400": func(a *reply) {
		a.refuse(400, "application/json", `{"object":"error","message":"too\n\nmany   tokens`+strings.Repeat(" x", 9000)+`"}`)
	},
	"422":  func(a *reply) { a.refuse(422, "application/json", `{"detail":[{"msg":"no"}]}`) },
	"500":  func(a *reply) { a.refuse(500, "text/plain", "Internal Server Error") },
	"503":  func(a *reply) { a.refuse(503, "application/json", `{"detail":"loading"}`) },
	"504":  func(a *reply) { a.refuse(504, "", "") },
	"204":  func(a *reply) { a.WriteHeader(204) },
	"301":  func(a *reply) { a.Header().Set("Location", "http://127.0.0.1:1/"); a.WriteHeader(307) },
	"hang": func(a *reply) { a.stay() },
	"hang-refusing": func(a *reply) {
		a.Header().Set("Content-Length", "100")
		a.refuse(500, "application/json", `{"err`)
		http.NewResponseController(a.ResponseWriter).Flush()
		a.stay()
	},
	"hang-up":   func(a *reply) { a.cut() },
	"stall":     func(a *reply) { a.text("so ", "far"); a.stay() },
	"cut":       func(a *reply) { a.text("so ", "far"); a.cut() },
	"close":     func(a *reply) { a.text("so ", "far") },
	"nothing":   func(a *reply) { a.raw("\n") },
	"half-line": func(a *reply) { a.text("so "); a.raw(frame(member("content", "far"), "stop")[:60]) },
	"stream-error": func(a *reply) {
		a.text("so ", "far")
		a.raw("event: error\n" + `data: {"error":{"message":"out of memory","type":"server_error","code":null}}` + "\n\n")
	},
	"stream-text":   func(a *reply) { a.raw(`data: {"error":"out of memory"}` + "\n\n") },
	"stream-object": func(a *reply) { a.raw(`data: {"object":"error","message":"out of memory","code":40303}` + "\n\n") },
	"stream-429":    func(a *reply) { a.raw(`data: {"error":{"message":"slow down","code":"429"}}` + "\n\n") },
	"garbage":       func(a *reply) { a.text("so "); a.raw("data: {not json\n\n") },
	"no-object":     func(a *reply) { a.raw("data: []\n\n") },
	"html":          func(a *reply) { a.refuse(200, "text/html", "<html>log in</html>") },
	"json":          func(a *reply) { a.refuse(200, "application/json", `{"choices":[{"message":{"content":"hi"}}]}`) },
	"json-error":    func(a *reply) { a.refuse(200, "application/json", `{"error":{"message":"out of memory"}}`) },
	"endless":       func(a *reply) { a.flood(func(int) { a.text(strings.Repeat("x", 1<<16)) }) },
	"endless-line":  func(a *reply) { a.flood(func(int) { a.raw(strings.Repeat("x", 1<<16)) }) },
	"endless-tail": func(a *reply) {
		a.text("done")
		a.flood(func(int) { a.raw(frame("{}", "stop") + ":" + strings.Repeat("x", 1<<16) + "\n") })
	},
	"filter":        func(a *reply) { a.text("how to "); a.finish("content_filter") },
	"finish-error":  func(a *reply) { a.text("so "); a.finish("error") },
	"function-call": func(a *reply) { a.delta(`{"function_call":{"name":"x"}}`); a.finish("function_call") },
}

// busy sends an error response with the given status that asks the client to retry after 10 ms.
func (a *reply) busy(status int) {
	a.Header().Set("Retry-After", "0.01")
	a.refuse(status, "application/json", `{"error":{"message":"slow down"}}`)
}

func (a *reply) reason(name string) {
	a.delta(member(name, "hm, "))
	a.delta(member(name, "so"))
	a.text("yes")
	a.finish("stop")
}

// flood calls f, which is to send data, repeatedly until the client leaves. i counts the calls,
// starting at 0.
func (a *reply) flood(f func(i int)) {
	for i := 0; a.r.Context().Err() == nil; i++ {
		f(i)
	}
}
