package control

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/legacy"

	"github.com/streamassay/streamassay/mockserver"
	"github.com/streamassay/streamassay/spec/dialect"
)

// A rig is a mock and its control port.
type rig struct {
	t            testing.TB
	mock         *mockserver.Server
	url, control string
	doc          *openapi3.T
	router       routers.Router
}

// rigged returns a rig for a mock of agentscope@1.1.
func rigged(t testing.TB, cfg mockserver.Config) *rig {
	t.Helper()
	d, err := dialect.Open("agentscope@1.1")
	if err != nil {
		t.Fatal(err)
	}
	cfg.Dialects = []*dialect.Dialect{d}
	m, err := mockserver.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	k := &rig{t: t, mock: m, doc: documented(t)}
	done := make(chan struct{})
	main, control := httptest.NewServer(m), httptest.NewServer(New(m, Config{AllowedHosts: []string{"mock.test"}, Done: done}))
	k.url, k.control = main.URL, control.URL
	if k.router, err = legacy.NewRouter(k.doc); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		close(done)
		if err := m.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
		control.Close()
		main.Close()
	})
	return k
}

// A reply is a response of the control port.
type reply struct {
	status int
	header http.Header
	text   string
	json   any
}

// do sends a request to the control port and validates the response against openapi.yaml.
func (k *rig) do(method, target, body string, header ...string) reply {
	k.t.Helper()
	r, err := http.NewRequestWithContext(k.t.Context(), method, k.control+target, strings.NewReader(body))
	if err != nil {
		k.t.Fatal(err)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	if host := r.Header.Get("Host"); host != "" {
		r.Host = host
	}
	w, err := http.DefaultClient.Do(r)
	if err != nil {
		k.t.Fatal(err)
	}
	defer w.Body.Close()
	data, err := io.ReadAll(w.Body)
	if err != nil {
		k.t.Fatal(err)
	}
	got := reply{status: w.StatusCode, header: w.Header, text: string(data)}
	if strings.Contains(w.Header.Get("Content-Type"), "json") && !strings.Contains(w.Header.Get("Content-Type"), "ndjson") {
		if err := json.Unmarshal(data, &got.json); err != nil {
			k.t.Errorf("%s %s: %v: %s", method, target, err, data)
		}
	}
	k.hold(r, got)
	return got
}

// hold checks that the response got conforms to openapi.yaml, if openapi.yaml documents the
// request.
func (k *rig) hold(r *http.Request, got reply) {
	k.t.Helper()
	asked := r.Clone(r.Context())
	asked.URL.Scheme, asked.URL.Host, asked.Host = "", "", ""
	route, _, err := k.router.FindRoute(asked)
	if err != nil {
		return
	}
	answer := route.Operation.Responses.Status(got.status)
	if answer == nil {
		if answer = route.Operation.Responses.Default(); got.status < 400 {
			k.t.Errorf("%s %s: %d is not documented", r.Method, r.URL.Path, got.status)
			return
		}
	}
	kind, _, _ := mime.ParseMediaType(got.header.Get("Content-Type"))
	if len(answer.Value.Content) == 0 && got.text == "" {
		return
	}
	media := answer.Value.Content[kind]
	if media == nil {
		k.t.Errorf("%s %s: %d as %q is not documented", r.Method, r.URL.Path, got.status, kind)
		return
	}
	k.fits(media.Schema.Value, got.json, got.text)
}

func (k *rig) fits(schema *openapi3.Schema, v any, text string) {
	k.t.Helper()
	if v == nil {
		v = text
	}
	if err := schema.VisitJSON(v, openapi3.EnableJSONSchema2020(), openapi3.VisitAsResponse()); err != nil {
		k.t.Errorf("not as documented: %v\n%.2000s", err, text)
	}
}

// want is like do, but fails the test unless the response has the given status.
func (k *rig) want(status int, method, target, body string, header ...string) reply {
	k.t.Helper()
	got := k.do(method, target, body, header...)
	if got.status != status {
		k.t.Fatalf("%s %s %s: %d %s; wanted %d", method, target, body, got.status, got.text, status)
	}
	return got
}

// at returns the value at a path of a JSON response, such as "streams.0.id", or nil.
func (r reply) at(path string) any {
	v := r.json
	for part := range strings.SplitSeq(path, ".") {
		switch in := v.(type) {
		case map[string]any:
			v = in[part]
		case []any:
			n := 0
			if _, err := fmt.Sscan(part, &n); err != nil || n >= len(in) {
				return nil
			}
			v = in[n]
		default:
			return nil
		}
	}
	return v
}

// patient is an HTTP client with a timeout.
var patient = &http.Client{Timeout: 10 * time.Second}

// A client reads a stream of the mock.
type client struct {
	t    testing.TB
	res  *http.Response
	in   *bufio.Reader
	stop context.CancelFunc
}

// ask starts a run of the mock with the given prompt.
func (k *rig) ask(text string, header ...string) *client {
	k.t.Helper()
	body, _ := json.Marshal(map[string]any{"input": []any{map[string]any{"role": "user", "content": []any{map[string]any{"type": "text", "text": text}}}}})
	ctx, stop := context.WithCancel(k.t.Context())
	r, err := http.NewRequestWithContext(ctx, "POST", k.url+"/process", bytes.NewReader(body))
	if err != nil {
		k.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	res, err := patient.Do(r)
	if err != nil {
		k.t.Fatal(err)
	}
	c := &client{k.t, res, bufio.NewReader(res.Body), stop}
	k.t.Cleanup(c.leave)
	return c
}

func (c *client) leave() {
	c.stop()
	_ = c.res.Body.Close()
}

// frame reads the next frame.
func (c *client) frame() string {
	c.t.Helper()
	var b strings.Builder
	for {
		line, err := c.in.ReadString('\n')
		b.WriteString(line)
		if err != nil {
			c.t.Fatalf("the stream ended: %v after %q", err, b.String())
		}
		if line == "\n" {
			return b.String()
		}
	}
}

// rest returns the rest of the stream.
func (c *client) rest() (string, error) {
	data, err := io.ReadAll(c.in)
	return string(data), err
}
