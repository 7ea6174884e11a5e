package reports

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/streamassay/streamassay/internal/redact"
	"github.com/streamassay/streamassay/spec"
)

// every returns all 256 byte values in ascending order.
func every() (b []byte) {
	for c := range 256 {
		b = append(b, byte(c))
	}
	return b
}

var requests = []struct {
	name string
	spec.Request
}{
	{"a plain one", spec.Request{Method: "GET", Target: "/health"}},
	{"JSON", spec.Request{Method: "POST", Target: "/process?x=1&y=%20", Header: spec.Header{{Name: "Content-Type", Value: "application/json"}, {Name: "Accept", Value: "text/event-stream"}}, Body: []byte(`{"a":"b"}`)}},
	{"all that a shell obeys", spec.Request{Method: "POST", Target: "/a'b;$(id)?c=`d`&e=\"f\"", Header: spec.Header{{Name: "X-Odd", Value: `it's $HOME "and" \ back; # x`}}, Body: []byte(`it's $HOME $(id) ` + "`id`" + ` "x" \n \\ !! %s %d # & | ; < > * ? ~`)}},
	{"Chinese", spec.Request{Method: "POST", Target: "/世界", Body: []byte(`{"text":"每个事件 — “ok” 🙂"}`)}},
	{"lines", spec.Request{Method: "POST", Target: "/", Body: []byte("{\n\t\"a\": 1\r\n}\n\n")}},
	{"every byte", spec.Request{Method: "POST", Target: "/", Body: every()}},
	{"digits after what is escaped", spec.Request{Method: "POST", Target: "/", Body: []byte("\x00123\x0177\xff00%%\\n\\0")}},
	{"a body that looks like a file", spec.Request{Method: "POST", Target: "/", Body: []byte("@/etc/hostname")}},
	{"a body that looks like an option", spec.Request{Method: "POST", Target: "/", Body: []byte("--help")}},
	{"the same with a line", spec.Request{Method: "POST", Target: "/", Body: []byte("-n\n--help")}},
	{"directions that would turn the command around", spec.Request{Method: "POST", Target: "/", Body: []byte("a\u202eb\u200bc")}},
	{"the largest body", spec.Request{Method: "POST", Target: "/", Body: []byte(strings.Repeat("'", 16<<10))}},
	{"globs", spec.Request{Method: "GET", Target: "/a[1-3]/{b,c}"}},
	{"dots", spec.Request{Method: "GET", Target: "/a/../b/./c"}},
	{"a GET with a body", spec.Request{Method: "GET", Target: "/", Body: []byte("x")}},
	{"a POST without one", spec.Request{Method: "POST", Target: "/cancel"}},
	{"another method", spec.Request{Method: "DELETE", Target: "/runs/1"}},
	{"only the head", spec.Request{Method: "HEAD", Target: "/"}},
	{"a field that is empty", spec.Request{Method: "GET", Target: "/", Header: spec.Header{{Name: "Last-Event-ID", Value: ""}}}},
	{"a field twice", spec.Request{Method: "GET", Target: "/", Header: spec.Header{{Name: "X-A", Value: "1"}, {Name: "X-A", Value: "2"}}}},
	{"fields of the connection", spec.Request{Method: "POST", Target: "/", Header: spec.Header{{Name: "Host", Value: "elsewhere"}, {Name: "Content-Length", Value: "99"}}, Body: []byte("x")}},
	{"no content type, where curl would send one", spec.Request{Method: "POST", Target: "/", Header: spec.Header{{Name: "X-A", Value: "1"}}, Body: []byte("x")}},
}

// TestCurlSendsTheSameAgain runs the commands with a real shell and a real curl, and compares the
// requests that arrive with the requests that were to be sent.
func TestCurlSendsTheSameAgain(t *testing.T) {
	for _, tool := range []string{"sh", "curl"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("there is no %s", tool)
		}
	}
	type arrival struct {
		method, target string
		header         http.Header
		body           []byte
	}
	arrived := make(chan arrival, 1)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		select {
		case arrived <- arrival{r.Method, r.RequestURI, r.Header, body}:
		default:
			t.Errorf("one more request arrived: %s %s", r.Method, r.RequestURI)
		}
	}))
	defer server.Close()
	for _, test := range requests {
		t.Run(test.name, func(t *testing.T) {
			shell(t, Curl(server.URL, test.Request))
			got := <-arrived
			if got.method != test.Method || string(got.body) != string(test.Body) {
				t.Errorf("%s with %q arrived, want %s with %q", got.method, got.body, test.Method, test.Body)
			}
			if want := strings.NewReplacer("世", "%E4%B8%96", "界", "%E7%95%8C").Replace(test.Target); got.target != want {
				t.Errorf("it went to %s, want %s", got.target, want)
			}
			for _, f := range test.Header {
				if !slices.Contains(curlOwnHeaders, f.Name) && !slices.Contains(got.header.Values(f.Name), f.Value) {
					t.Errorf("%s is %q, want %q", f.Name, got.header.Values(f.Name), f.Value)
				}
			}
			if len(test.Header) > 0 {
				for _, name := range []string{"Content-Type", "Accept"} {
					if got.header.Get(name) != test.Header.Get(name) {
						t.Errorf("%s is %q, want %q", name, got.header.Get(name), test.Header.Get(name))
					}
				}
			}
		})
	}
}

func shell(t *testing.T, command string, env ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", command)
	cmd.Dir, cmd.Env = t.TempDir(), append(cmd.Environ(), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s\n%.2000s", err, out, command)
	}
	return string(out)
}

// TestCurlCanBePrinted checks that a command is a single line without characters that a terminal
// interprets.
func TestCurlCanBePrinted(t *testing.T) {
	for _, test := range requests {
		got := Curl("http://127.0.0.1:1/base", test.Request)
		if i := strings.IndexFunc(got, func(r rune) bool { return !unicode.IsGraphic(r) }); i >= 0 || safeText(got) != got {
			t.Errorf("%s: %q", test.name, got)
		}
		if !strings.Contains(got, "curl -sN ") {
			t.Errorf("%s: %s", test.name, got)
		}
	}
}

func TestCurlKeepsSecrets(t *testing.T) {
	got := Curl("http://h", spec.Request{Method: "GET", Target: "/x", Header: spec.Header{
		{Name: "authorization", Value: "Bearer canary"}, {Name: "Cookie", Value: "canary"}, {Name: "X-API-Key", Value: "canary"}, {Name: "Accept", Value: "*/*"},
	}})
	want := `curl -sN -i -H "authorization: $AUTHORIZATION" -H "Cookie: $COOKIE" -H "X-API-Key: $X_API_KEY" -H 'Accept: */*' 'http://h/x'`
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestCurlRedacted checks how a command refers to values that the report does not show, and that it
// shows the public credential.
func TestCurlRedacted(t *testing.T) {
	got := Curl("http://h", spec.Request{Method: "GET", Target: "/x", Principal: spec.OtherUser, Header: spec.Header{
		{Name: "Authorization", Value: redact.Placeholder}, {Name: "X-Tenant.Id", Value: redact.Placeholder}, {Name: "Accept", Value: "*/*"},
	}})
	want := `curl -sN -i -H "Authorization: $OTHER_AUTHORIZATION" -H "X-Tenant.Id: $OTHER_X_TENANT_ID" -H 'Accept: */*' 'http://h/x'`
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	header := spec.Header{{Name: "Accept", Value: "*/*"}}
	got = Curl("http://h", spec.Request{Method: "GET", Target: "/x", Principal: spec.OtherUser, Header: header})
	if want := `curl -sN -i -H 'Accept: */*' -H "Authorization: $OTHER_AUTHORIZATION" 'http://h/x'`; got != want {
		t.Errorf("without the credential:\ngot  %s\nwant %s", got, want)
	}
	header = spec.Header{{Name: "Authorization", Value: redact.DefaultCredential}, {Name: "Accept", Value: "*/*"}}
	got = Curl("http://h", spec.Request{Method: "GET", Target: "/x", Header: header})
	if want := `curl -sN -i -H 'Authorization: Bearer streamassay' -H 'Accept: */*' 'http://h/x'`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestCurlText(t *testing.T) {
	for _, test := range []struct {
		name, base string
		r          spec.Request
		want       string
	}{
		{"an unknown base", "$BASE", spec.Request{Method: "GET", Target: "/runs/it's"}, `curl -sN -i "$BASE"'/runs/it'\''s'`},
		{"a base that is not a variable", "$(id)", spec.Request{Method: "GET", Target: "/"}, `curl -sN -i '$(id)/'`},
		{"a base with an end", "$BASE; id", spec.Request{Method: "GET", Target: "/"}, `curl -sN -i '$BASE; id/'`},
		{"a field that is none", "http://h", spec.Request{Method: "GET", Target: "/", Header: spec.Header{{Name: "@/etc/passwd", Value: "x"}, {Name: "$(id)", Value: "x"}, {Name: "", Value: "x"}, {Name: "Accept", Value: "a\r\nb\x1b"}}},
			`curl -sN -i -H 'Accept: a  b ' 'http://h/'`},
		{"a body that is too large", "http://h", spec.Request{Method: "POST", Target: "/", Body: make([]byte, 16<<10+1)}, `curl -sN -i --data-binary @BODY 'http://h/'  # BODY: a file with the 16385 bytes of the body`},
		{"a method that is none", "http://h", spec.Request{Method: "A'B", Target: "/"}, `curl -sN -i -X 'A'\''B' 'http://h/'`},
	} {
		if got := Curl(test.base, test.r); got != test.want {
			t.Errorf("%s:\ngot  %s\nwant %s", test.name, got, test.want)
		}
	}
}

// TestCurlWords checks the arguments and the input that a real shell passes to curl. It needs
// neither curl nor a server.
func TestCurlWords(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("there is no sh")
	}
	r := spec.Request{Method: "PUT", Target: "/a?b='c'", Header: spec.Header{{Name: "Authorization", Value: "x"}, {Name: "X-A", Value: "'$B`"}}, Body: []byte("\n'%\\$C")}
	got := shell(t, `curl() { printf '<%s>' "$@"; cat; }; `+Curl("$BASE", r), "BASE=http://h/p q", "AUTHORIZATION=Bearer it is")
	want := "<-sN><-i><-X><PUT><-H><Authorization: Bearer it is><-H><X-A: '$B`><-H><Accept:><-H><Content-Type:><--data-binary><@-><http://h/p q/a?b='c'>\n'%\\$C"
	if got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}
