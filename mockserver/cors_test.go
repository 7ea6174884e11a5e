package mockserver_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/streamassay/streamassay/mockserver"
)

// from sends a request as a page of another origin sends it. It returns the response and its body.
func from(t *testing.T, srv *httptest.Server, method, path, body string, header ...string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, srv.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Origin", "http://app.example")
	r.Header.Set("Content-Type", "application/json")
	for _, line := range header {
		name, value, _ := strings.Cut(line, ": ")
		r.Header.Set(name, value)
	}
	resp, err := srv.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	got, _ := io.ReadAll(resp.Body) // some responses are truncated on purpose
	return resp, string(got)
}

const greeting = `{"conversationId":"c1","messages":[{"role":"user","content":"hi"}]}`

// TestCORS checks that a page of another origin may read every response, refusals
// included, in every encoding.
func TestCORS(t *testing.T) {
	srv := httptest.NewServer(made(t, mockserver.Config{}, "agkit"))
	defer srv.Close()
	for _, tc := range []struct {
		name, method, path, body, header string
		status                           int
	}{
		{"stream", "POST", "/send-message", greeting, "", 200},
		{"head", "HEAD", "/send-message", "", "", 405},
		{"no JSON", "POST", "/send-message", "{", "", 422},
		{"nothing there", "GET", "/nowhere", "", "", 404},
		{"not allowed", "GET", "/send-message", "", "", 405},
		{"fault", "POST", "/send-message", greeting, "X-Mock-Fault: http-error; status=503", 503},
		{"quota", "POST", "/send-message", greeting, "X-Mock-Fault: too-many", 429},
		{"wrong override", "POST", "/send-message", greeting, "X-Mock-Fault: nonsense", 400},
		{"cut", "POST", "/send-message", greeting, "X-Mock-Fault: abort; event=1", 200},
	} {
		for _, vary := range []string{"off", "5"} {
			t.Run(tc.name+" "+vary, func(t *testing.T) {
				header := []string{"X-Mock-Vary: " + vary}
				if tc.header != "" {
					header = append(header, tc.header)
				}
				resp, _ := from(t, srv, tc.method, tc.path, tc.body, header...)
				if resp.StatusCode != tc.status {
					t.Errorf("status %d, want %d", resp.StatusCode, tc.status)
				}
				if got := resp.Header.Get("Access-Control-Allow-Origin"); got != "*" {
					t.Errorf("Access-Control-Allow-Origin is %q, want *", got)
				}
				if tc.status == 200 && resp.ContentLength >= 0 {
					t.Errorf("a stream has Content-Length %d", resp.ContentLength)
				}
			})
		}
	}
}

// TestDataBeforeFaultArrives checks that the data before a fault reaches the client,
// whatever the ending.
func TestDataBeforeFaultArrives(t *testing.T) {
	srv := httptest.NewServer(made(t, mockserver.Config{}, "agkit"))
	defer srv.Close()
	_, whole := from(t, srv, "POST", "/send-message", greeting)
	first := whole[:strings.Index(whole, "\n\n")+2]
	for _, how := range []string{"clean-end", "abort", "torn"} {
		for range 20 {
			if _, got := from(t, srv, "POST", "/send-message", greeting, "X-Mock-Fault: "+how+"; event=1"); !strings.HasPrefix(got, first) || strings.Contains(got, "[DONE]") {
				t.Fatalf("%s: got %q, want %q and no terminal event", how, got, first)
			}
		}
	}
}

// TestNamesOfTests checks that a test id may be any header value.
func TestNamesOfTests(t *testing.T) {
	m := made(t, mockserver.Config{}, "agkit")
	srv := httptest.NewServer(m)
	defer srv.Close()
	for _, name := range []string{strings.Repeat("x", 5000), `bad "id"`, "../x", "a b"} {
		if _, got := from(t, srv, "POST", "/send-message", greeting, "X-Test-Id: "+name); !strings.Contains(got, "[DONE]") {
			t.Errorf("%.20q: got %q", name, got)
		}
	}
}
