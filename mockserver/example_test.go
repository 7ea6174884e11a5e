package mockserver_test

import (
	"bufio"
	"fmt"
	"net/http"
	"strings"

	"github.com/streamassay/streamassay/mockserver"
)

// t stands for the argument of a test function.
var t = &exampleTB{}

// This example tests a client against a mock that has one scripted reply.
func ExampleNewTest() {
	mock := mockserver.NewTest(t, "agkit", mockserver.Seed(7), mockserver.Script(`
rules:
  - name: greet
    when: {text: hello}
    reply: good morning
`))
	printEvents(send(mock.URL, "hello"))
	// Output:
	// data: {"content":"good","type":"text"}
	// data: {"content":" morning","type":"text"}
	// data: [DONE]
	// end: <nil>
}

// This example injects a fault: the connection is closed before the second event.
func ExampleFault() {
	mock := mockserver.NewTest(t, "agkit", mockserver.Seed(7), mockserver.Fault("abort; event=1"))
	printEvents(send(mock.URL, "conformance:text good morning"))
	fmt.Println("applied:", mock.Requests("")[0].Faults)
	// Output:
	// data: {"content":"good","type":"text"}
	// end: unexpected EOF
	// applied: [abort; event=1]
}

// This example checks what a client sent.
func ExampleServer_Requests() {
	mock := mockserver.NewTest(t, "agkit", mockserver.Script("rules: [{name: any, reply: hello}]"))
	printEvents(send(mock.URL, "good morning"))
	for _, r := range mock.Requests("") {
		fmt.Println(r.Method, r.Target, r.Header.Get("Content-Type"), r.Status)
		fmt.Printf("%s\n", r.Body)
		fmt.Println("matched:", r.Rule, "violations:", len(r.Findings))
	}
	// Output:
	// data: {"content":"hello","type":"text"}
	// data: [DONE]
	// end: <nil>
	// POST /send-message application/json 200
	// {"conversationId":"c1","messages":[{"role":"user","content":"good morning"}]}
	// matched: any violations: 0
}

// This example states which requests are expected of a client.
func ExampleServer_Verify() {
	mock := mockserver.NewTest(t, "agkit", mockserver.Seed(7), mockserver.Script("rules: [{reply: hello}]"))
	printEvents(send(mock.URL, "good morning"))
	fmt.Println(mock.Verify("calls: [{op: run, exactly: 1}]"))
	fmt.Println(mock.Verify("calls: [{op: run, exactly: 2}]"))
	// Output:
	// data: {"content":"hello","type":"text"}
	// data: [DONE]
	// end: <nil>
	// <nil>
	// failed op run: got 1, want exactly 2: #1 POST /send-message → 200, whole
	// failed: 1 exchange
}

// send is the client: it starts a run with a user message.
func send(base, text string) (*http.Response, error) {
	return http.Post(base+"/send-message", "application/json", strings.NewReader(
		`{"conversationId":"c1","messages":[{"role":"user","content":"`+text+`"}]}`))
}

// printEvents prints the lines of a response that are not empty, and how the response ended.
func printEvents(r *http.Response, err error) {
	if err != nil {
		fmt.Println(err)
		return
	}
	defer r.Body.Close()
	lines := bufio.NewScanner(r.Body)
	for lines.Scan() {
		if lines.Text() != "" {
			fmt.Println(lines.Text())
		}
	}
	fmt.Println("end:", lines.Err())
}

// An exampleTB stands for a *testing.T in examples and in tests of NewTest.
type exampleTB struct{ cleanups []func() }

func (t *exampleTB) Helper()           {}
func (t *exampleTB) Fatal(args ...any) { panic(fmt.Sprint(args...)) }
func (t *exampleTB) Cleanup(f func())  { t.cleanups = append(t.cleanups, f) }
