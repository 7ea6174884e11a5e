package model_test

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gleak"
)

// fakeEnv is the environment variable that makes this test binary the fake: a model's server in a
// process of its own. The fake responds according to the first word of the last user message, see
// scripts_test.go, and records the requests.
const fakeEnv = "STREAMASSAY_FAKE_MODEL"

func TestMain(m *testing.M) {
	if os.Getenv(fakeEnv) != "" {
		serveFake(os.Stdin, os.Stdout)
		return
	}
	flag.Parse()
	if f := flag.Lookup("rapid.seed"); f.Value.String() == "0" { // failures are reproducible
		if err := f.Value.Set("20261121"); err != nil {
			panic(err)
		}
	}
	code := m.Run()
	stopFake()
	os.Exit(code)
}

// serveFake runs the fake: it writes the address of its server to out, and serves until in is
// closed.
func serveFake(in io.Reader, out io.Writer) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(out, "error:", err)
		return
	}
	f := &fakeServer{asked: map[string][]asked{}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /{test}/v1/chat/completions", f.complete)
	mux.HandleFunc("GET /{test}/asked", f.tell)
	go http.Serve(l, mux)
	fmt.Fprintln(out, l.Addr())
	io.Copy(io.Discard, in)
}

// fake holds the process of the fake, or the zero value if that is not running.
var fake struct {
	sync.Mutex
	cmd     *exec.Cmd
	in      io.Closer
	address string
}

// stopFake ends the process of the fake and waits for its exit. It does nothing if the process is
// not running.
func stopFake() {
	if fake.cmd != nil {
		fake.in.Close()
		fake.cmd.Wait()
	}
}

// An upstreamExchange is the fake as used by one test.
type upstream struct {
	*testing.T
	root   string
	client *http.Client
}

// fakeModel returns the fake for use by the test t, which sees only its own requests. It starts the
// fake if necessary. The test fails if it leaves goroutines behind, other than those of connections
// to the fake.
func fakeModel(t *testing.T) upstream {
	t.Helper()
	fake.Lock()
	defer fake.Unlock()
	if fake.cmd == nil {
		startFake(t)
	}
	before := gleak.Goroutines()
	client := &http.Client{Transport: &http.Transport{}}
	t.Cleanup(func() {
		client.CloseIdleConnections()
		NewWithT(t).Eventually(gleak.Goroutines).WithTimeout(5 * time.Second).ShouldNot(gleak.HaveLeaked(before))
	})
	name := strings.NewReplacer("/", "_", "#", "_", " ", "_").Replace(t.Name())
	return upstream{T: t, root: "http://" + fake.address + "/" + name, client: client}
}

func startFake(t *testing.T) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), fakeEnv+"=1")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("the fake did not start: %q %v", line, err)
	}
	fake.cmd, fake.in, fake.address = cmd, in, strings.TrimSpace(line)
}

// An asked value is a record of one request to the fake.
type asked struct {
	Auth, Accept string
	Body         request
}

// A request holds the members of the JSON body of a request that the fake reads.
type request struct {
	Model    string
	Stream   bool
	Messages []message
	Tools    []struct {
		Type     string
		Function struct {
			Name, Description string
			Parameters        json.RawMessage
		}
	}
}

type message struct {
	Role             string
	Content          json.RawMessage
	ToolCallID       string `json:"tool_call_id"`
	ReasoningContent string `json:"reasoning_content"`
	ToolCalls        []struct {
		ID, Type string
		Function struct{ Name, Arguments string }
	} `json:"tool_calls"`
}

// text returns the content of the message. If the content consists of parts, it returns the text of
// the first one.
func (m message) text() (s string) {
	if json.Unmarshal(m.Content, &s) == nil {
		return s
	}
	var parts []struct{ Text string }
	if json.Unmarshal(m.Content, &parts); len(parts) > 0 {
		return parts[0].Text
	}
	return ""
}

// String returns the message in the notation of the tests: ROLE(ID): TEXT [ID NAME ARGUMENTS],
// where (ID) is the call that a tool result answers.
func (m message) String() string {
	s := m.Role
	if m.ToolCallID != "" {
		s += "(" + m.ToolCallID + ")"
	}
	s += ": " + m.text()
	for _, c := range m.ToolCalls {
		s += fmt.Sprintf(" [%s %s %s]", c.ID, c.Function.Name, c.Function.Arguments)
	}
	return s
}

// asked returns the requests of this test that the fake has received so far.
func (u upstream) asked() (all []asked) {
	u.Helper()
	res, err := u.client.Get(u.root + "/asked")
	if err != nil {
		u.Fatal(err)
	}
	defer res.Body.Close()
	if err := json.NewDecoder(res.Body).Decode(&all); err != nil {
		u.Fatal(err)
	}
	return all
}

// said returns the messages in the latest request to the fake, one per line.
func (u upstream) said() string {
	u.Helper()
	all := u.asked()
	if len(all) == 0 {
		u.Fatal("got no request")
	}
	return lines(all[len(all)-1].Body.Messages)
}

func lines[T fmt.Stringer](all []T) string {
	var b strings.Builder
	for _, one := range all {
		b.WriteString(one.String() + "\n")
	}
	return b.String()
}

type fakeServer struct {
	sync.Mutex
	asked map[string][]asked
}

func (f *fakeServer) tell(w http.ResponseWriter, r *http.Request) {
	f.Lock()
	defer f.Unlock()
	json.NewEncoder(w).Encode(f.asked[r.PathValue("test")])
}

func (f *fakeServer) complete(w http.ResponseWriter, r *http.Request) {
	a := asked{Auth: r.Header.Get("Authorization"), Accept: r.Header.Get("Accept")}
	if err := json.NewDecoder(r.Body).Decode(&a.Body); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	f.Lock()
	name := r.PathValue("test")
	f.asked[name] = append(f.asked[name], a)
	nth := len(f.asked[name])
	f.Unlock()
	say(&reply{ResponseWriter: w, r: r, ask: a.Body, auth: a.Auth, nth: nth})
}
