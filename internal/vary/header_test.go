package vary_test

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/streamassay/streamassay/internal/vary"
	"github.com/streamassay/streamassay/spec/dialect"
)

// head sends a request to the server at the given address and returns the lines of the response
// head as sent on the wire.
func head(t *testing.T, address string) (lines []string) {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprint(conn, "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
	for in := bufio.NewScanner(conn); in.Scan() && in.Text() != ""; {
		lines = append(lines, in.Text())
	}
	return lines
}

// TestHeaders checks that net/http sends every varied header field exactly as often as it was set,
// and adds no defaults.
func TestHeaders(t *testing.T) {
	d, err := dialect.Open(dialect.Names()[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, media := range []string{"text/event-stream", "application/json", "application/problem+json; charset=utf-8", "text/plain"} {
		lower, other := 0, 0
		for seed := range uint64(40) {
			v := vary.New(seed, d)
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				h := w.Header()
				h.Set("Content-Type", media)
				h.Set("Cache-Control", "no-cache")
				h["Access-Control-Allow-Origin"] = []string{"*"}
				h["Link"] = []string{"a", "b"}
				v.EncodeHeader(h)
				fmt.Fprint(w, "{}")
				w.(http.Flusher).Flush()
			}))
			lines := head(t, srv.Listener.Addr().String())
			srv.Close()
			count := map[string]int{}
			for _, line := range lines[1:] {
				name, value, _ := strings.Cut(line, ": ")
				if strings.EqualFold(name, "Content-Type") {
					if essence, _, _ := strings.Cut(value, ";"); !strings.EqualFold(strings.TrimSpace(essence), strings.TrimSuffix(media, "; charset=utf-8")) {
						t.Errorf("seed %d: %q is another type than %s", seed, value, media)
					}
					if value != media {
						other++
					}
				}
				if strings.HasPrefix(line, "content-type") {
					lower++
				}
				count[strings.ToLower(name)]++
			}
			want := map[string]int{"content-type": 1, "cache-control": 1, "access-control-allow-origin": 1, "link": 2, "date": 1, "transfer-encoding": 1, "connection": 1}
			for name, n := range want {
				if count[name] != n {
					t.Errorf("seed %d %v: %s is there %d times, want %d: %q", seed, v.Traits(), name, count[name], n, lines)
				}
			}
		}
		if lower == 0 || other == 0 && media != "text/plain" || other > 0 && media == "text/plain" {
			t.Errorf("%s: %d names in lower case, %d other spellings of the type", media, lower, other)
		}
	}
}

// TestCursors checks that encoded cursors are valid header values and decode to the
// original, and that other texts are returned unchanged.
func TestCursors(t *testing.T) {
	forms := map[string]bool{}
	for _, name := range dialect.Names() {
		d, err := dialect.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		for seed := range uint64(60) {
			v := vary.New(seed, d)
			for _, text := range []string{"1-0", "12", "a b", "0x31", "==", `{"at":"`, "ü\n", strings.Repeat("9", 300)} {
				spelled := v.EncodeCursor(text)
				if !v.Has(vary.Cursors) {
					if spelled != text {
						t.Errorf("%s: %q became %q", name, text, spelled)
					}
					continue
				}
				if got := vary.DecodeCursor(spelled); got != text || spelled == text {
					t.Errorf("%s: %q became %q, and then %q", name, text, spelled, got)
				}
				if strings.Trim(spelled, " ") != spelled || strings.ContainsAny(spelled, "\r\n\x00%") {
					t.Errorf("%s: %q cannot stand in a header", name, spelled)
				}
				if text == "1-0" {
					forms[spelled] = true
				}
			}
			if v.EncodeCursor("") != "" {
				t.Error("no cursor became one")
			}
		}
	}
	if len(forms) != 5 {
		t.Errorf("seen were %d forms: %v", len(forms), forms)
	}
	for _, text := range []string{"", "1-0", "12", "%%not-a-cursor%%", "0x", "0xZZ", "==", "==!", `{"at":"MS0w","v":[1,2]`} {
		if got := vary.DecodeCursor(text); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
}
