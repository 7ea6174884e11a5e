package mockserver_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/streamassay/streamassay/internal/script"
	"github.com/streamassay/streamassay/mockserver"
	"github.com/streamassay/streamassay/spec/dialect"
)

// This example serves a mock, which is an http.Handler, and sends a request to it.
func Example() {
	d, _ := dialect.Open("agkit")
	seed := uint64(7)
	set, problems := script.Load([]script.Source{{Name: "greet.yaml", Data: []byte(`
rules:
  - name: greet
    when: {text: hello}
    reply: good morning
`)}}, []*dialect.Dialect{d})
	if set == nil {
		fmt.Println(problems)
		return
	}
	m, _ := mockserver.New(mockserver.Config{Dialects: []*dialect.Dialect{d}, Seed: &seed, Scripts: set})
	srv := httptest.NewServer(m)
	defer srv.Close()

	r, err := http.Post(srv.URL+m.BasePath("agkit@0.0.10")+"/send-message", "application/json",
		strings.NewReader(`{"conversationId":"c1","messages":[{"role":"user","content":"hello"}]}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer r.Body.Close()
	_, _ = io.Copy(printer{}, r.Body)
	// Output:
	// data: {"content":"good","type":"text"}
	//
	// data: {"content":" morning","type":"text"}
	//
	// data: [DONE]
}

type printer struct{}

func (printer) Write(p []byte) (int, error) { return fmt.Print(string(p)) }
