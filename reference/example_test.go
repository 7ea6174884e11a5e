package reference_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/streamassay/streamassay/reference"
	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
)

// echo is an agent that repeats the prompt of the user.
var echo = reference.NewAgent(func(_ context.Context, t reference.Turn, e *reference.EventEmitter) {
	prompt, _ := t.Prompt()
	e.EmitMessage("You said: ", prompt)
})

// A server is an HTTP handler. The test of a client can start it with httptest.
func ExampleNew() {
	d, err := dialect.Open("agkit")
	if err != nil {
		log.Fatal(err)
	}
	server := httptest.NewServer(reference.New(d, echo, reference.Config{}))
	defer server.Close()

	body := `{"conversationId":"c1","messages":[{"role":"user","content":"Hello"}]}`
	response, err := http.Post(server.URL+d.Base+"/send-message", "application/json", strings.NewReader(body))
	if err != nil {
		log.Fatal(err)
	}
	defer response.Body.Close()
	stream, err := io.ReadAll(response.Body)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(string(stream))
	// Output:
	// data: {"content":"You said: ","type":"text"}
	//
	// data: {"content":"Hello","type":"text"}
	//
	// data: [DONE]
}

// users maps tokens to the names of users.
type users map[string]string

func (u users) Authenticate(_ context.Context, token string) (user string, ok bool) {
	user, ok = u[token]
	return user, ok
}

// One handler serves all dialects to known users.
func ExampleNewDialectMux() {
	all, err := dialect.All()
	if err != nil {
		log.Fatal(err)
	}
	mux := reference.NewDialectMux(all, echo, reference.Config{Authenticator: users{"token-of-ada": "ada"}})
	for _, token := range []string{"token-of-ada", "another"} {
		body := strings.NewReader(`{"conversationId":"c1","messages":[{"role":"user","content":"Hello"}]}`)
		request := httptest.NewRequest(http.MethodPost, "/agkit@0.0.10/send-message", body)
		request.Header.Set("Authorization", "Bearer "+token)
		response := httptest.NewRecorder()
		mux.ServeHTTP(response, request)
		fmt.Println(response.Code, response.Header().Get("Content-Type"))
	}
	if err := mux.Shutdown(context.Background()); err != nil {
		log.Fatal(err)
	}
	// Output:
	// 200 text/event-stream
	// 401 application/json
}

// An agent emits any neutral event, such as those of a tool call. The ids are made by the emitter.
func ExampleNewAgent() {
	lookUp := reference.NewAgent(func(ctx context.Context, _ reference.Turn, e *reference.EventEmitter) {
		call := e.NewCallID()
		e.Emit(spec.Event{Kind: spec.ToolStart, Message: e.NewMessageID(), Call: call, Name: "lookup"})
		e.Emit(spec.Event{Kind: spec.ToolDelta, Call: call, Text: `{"word":"stream"}`})
		e.Emit(spec.Event{Kind: spec.ToolEnd, Call: call})
		if ctx.Err() != nil {
			e.Fail("the lookup was canceled", "")
			return
		}
		e.Emit(spec.Event{Kind: spec.ToolResult, Message: e.NewMessageID(), Call: call, Name: "lookup", Text: `{"found":true}`})
		e.EmitMessage("I have looked it up.")
	})
	for event := range lookUp(context.Background(), reference.Turn{Event: spec.Event{Run: "run-1"}}) {
		fmt.Printf("%s %q\n", event.Kind, event.Text)
	}
	// Output:
	// run.start ""
	// tool.start ""
	// tool.delta "{\"word\":\"stream\"}"
	// tool.end ""
	// tool.result "{\"found\":true}"
	// message.start ""
	// message.delta "I have looked it up."
	// message.end ""
	// run.end ""
}
