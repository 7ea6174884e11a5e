package mockserver_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/streamassay/streamassay/mockserver"
)

// TestNewTestRefuses checks that NewTest fails the test if the dialect or an option is invalid, and
// that the message names what is wrong.
func TestNewTestRefuses(t *testing.T) {
	for _, c := range []struct {
		dialect, want string
		option        mockserver.Option
	}{
		{"rans", "runs", mockserver.Strict()},
		{"agkit", "script 1:2:5", mockserver.Script("rules:\n  - repyl: hello\n")},
		{"agkit", "missing.yaml", mockserver.ScriptFiles("testdata/missing.yaml")},
		{"agkit", "missing.txtar", mockserver.Recordings("testdata/missing.txtar")},
		{"agkit", "did you mean abort?", mockserver.Fault("abrot")},
		{"agkit", "rate", mockserver.Pace("{rate: -1}")},
	} {
		func() {
			defer func() {
				if message := fmt.Sprint(recover()); !strings.Contains(message, c.want) {
					t.Errorf("%s: the message is %q, want %q in it", c.dialect, message, c.want)
				}
			}()
			mockserver.NewTest(&exampleTB{}, c.dialect, c.option)
			t.Errorf("%s: NewTest accepts what should be refused with %q", c.dialect, c.want)
		}()
	}
}

// TestNewTestCloses checks that the end of a test ends the streams of its mock and closes the
// address.
func TestNewTestCloses(t *testing.T) {
	tb := &exampleTB{}
	mock := mockserver.NewTest(tb, "agkit", mockserver.Fault("stall; event=1"))
	r, err := send(mock.URL, "conformance:many 3")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	for _, cleanup := range tb.cleanups {
		cleanup()
	}
	if _, err := http.Get(mock.URL); err == nil {
		t.Error("the address answers after the end of the test")
	}
}

// TestOptions checks the effect of the options for which there is no example.
func TestOptions(t *testing.T) {
	path := filepath.Join(t.TempDir(), "greet.yaml")
	if err := os.WriteFile(path, []byte("rules: [{when: {text: hello}, reply: good evening}]"), 0o600); err != nil {
		t.Fatal(err)
	}
	mock := mockserver.NewTest(t, "agkit", mockserver.Seed(7), mockserver.Vary(3), mockserver.Pace("{first: 1ms}"),
		mockserver.ScriptFiles(path), mockserver.Strict())
	k := newTestClient(t, mock.Server)
	answer := k.ask("run-1", "hello")
	if text := streamText(k, answer); text != "good evening" || strings.Contains(string(answer.Body), `{"content":"good","type":"text"}`) {
		t.Errorf("it says %q, want the text of the file, in varied frames\n%s", text, answer.Body)
	}
	if r := k.ask("run-2", "other"); r.Status != http.StatusNotImplemented {
		t.Errorf("a request that no rule matches is answered with %d, want 501", r.Status)
	}
	if seed := mock.Seed(); seed != 7 {
		t.Errorf("the seed is %d, want 7", seed)
	}
}
