package speech

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

const key = "sk-secret"

// fake starts a server with OpenAI's transcription API, whose responses answer sends. It returns
// the base URL of the server, and asked, which counts the requests.
func fake(t *testing.T, answer http.HandlerFunc) (base string, asked *atomic.Int32) {
	asked = new(atomic.Int32)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		answer(w, r)
	}))
	t.Cleanup(s.Close)
	return s.URL + "/v1", asked
}

func TestService(t *testing.T) {
	wav := riff(mono, second)
	t.Setenv("OPENAI_API_KEY", "of another service")
	t.Setenv("OPENAI_ORG_ID", "org")
	t.Setenv("OPENAI_BASE_URL", "http://127.0.0.1:1")
	base, _ := fake(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost || r.URL.Path != "/v1/audio/transcriptions" || r.URL.RawQuery != "" {
			t.Errorf("%s %s", r.Method, r.URL)
		}
		if r.Header.Get("Authorization") != "Bearer "+key || r.Header.Get("OpenAI-Organization") != "" {
			t.Errorf("headers %v", r.Header)
		}
		if r.FormValue("model") != "tiny" {
			t.Errorf("model %q", r.FormValue("model"))
		}
		file, head, err := r.FormFile("file")
		if err != nil {
			t.Error(err)
			return
		}
		got, _ := io.ReadAll(file)
		if !bytes.Equal(got, wav) || head.Filename != "recording.wav" || head.Header.Get("Content-Type") != "audio/wav" {
			t.Errorf("%d bytes, %v", len(got), head.Header)
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"text":" hello world\n","usage":{"type":"duration","seconds":1}}`)
	})
	for _, base := range []string{base, base + "/"} {
		got, err := open(t, "openai:"+base, Config{APIKey: key, Model: "tiny"})(t.Context(), wav)
		if err != nil || got != "hello world" {
			t.Errorf("got %q, %v", got, err)
		}
	}
}

// TestServiceWithoutKey checks that no API key is sent if none is configured, not even one in the
// environment.
func TestServiceWithoutKey(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", key)
	base, _ := fake(t, func(w http.ResponseWriter, r *http.Request) {
		if got := r.Header.Values("Authorization"); len(got) > 0 {
			t.Errorf("Authorization %q", got)
		}
		if got := r.FormValue("model"); got != "whisper-1" {
			t.Errorf("model %q", got)
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"text":""}`)
	})
	if got, err := open(t, "openai:"+base, Config{})(t.Context(), riff(mono, second)); err != nil || got != "" {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestServiceFails(t *testing.T) {
	say := func(status int, kind, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		}
	}
	leaks := `{"error":{"message":"Incorrect API key provided: ` + key + `","code":"invalid_api_key"}}`
	for name, test := range map[string]struct {
		answer http.HandlerFunc
		text   string
		asked  int32
	}{
		"401": {say(401, "application/json", leaks), "401", 1},
		"429": {say(429, "application/json", leaks), "429", 2},
		"500": {say(500, "text/html", "<html>"+key), "500", 2},
		"redirect": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/v2?"+key, http.StatusTemporaryRedirect)
		}, "", 1},
		"HTML":        {say(200, "text/html", "<html>"+key), "", 1},
		"no text":     {say(200, "application/json", `{"texts":"`+key+`"}`), "has no text", 1},
		"null":        {say(200, "application/json", `null`), "", 1},
		"text object": {say(200, "application/json", `{"text":{"a":"`+key+`"}}`), "", 1},
		"broken JSON": {say(200, "application/json", `{"text":"`+key), "", 1},
		"nothing":     {say(204, "application/json", ``), "", 1},
		"cut": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			_, _ = io.WriteString(w, `{"text":"`)
		}, "", 1},
		"endless": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"text":"`)
			for err := error(nil); err == nil; {
				_, err = io.WriteString(w, strings.Repeat("a", 64<<10))
			}
		}, "exceeds", 1},
		"deaf": {func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			<-r.Context().Done()
		}, "deadline", 1},
	} {
		t.Run(name, func(t *testing.T) {
			base, asked := fake(t, test.answer)
			wait := 20 * time.Second
			if test.text == "deadline" {
				wait = 200 * time.Millisecond
			}
			got, err := open(t, "openai:"+base, Config{APIKey: key, Timeout: wait})(t.Context(), riff(mono, second))
			if !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), test.text) || strings.Contains(err.Error(), key) {
				t.Errorf("got %.60q, %v; want %q", got, err, test.text)
			}
			if n := asked.Load(); n != test.asked {
				t.Errorf("got %d requests, want %d", n, test.asked)
			}
		})
	}
}

// TestServiceOnceMore checks that a failed request is retried once, with the complete recording.
func TestServiceOnceMore(t *testing.T) {
	var first atomic.Bool
	base, asked := fake(t, func(w http.ResponseWriter, r *http.Request) {
		file, _, err := r.FormFile("file")
		if err != nil {
			t.Error(err)
			return
		}
		if got, _ := io.ReadAll(file); !bytes.Equal(got, riff(mono, second)) {
			t.Errorf("%d bytes", len(got))
		}
		if first.CompareAndSwap(false, true) {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"text":"again"}`)
	})
	got, err := open(t, "openai:"+base, Config{})(t.Context(), riff(mono, second))
	if err != nil || got != "again" || asked.Load() != 2 {
		t.Errorf("got %q, %v after %d", got, err, asked.Load())
	}
}

func TestServiceGone(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
	hear := open(t, "openai:http://"+l.Addr().String()+"/v1", Config{APIKey: key, Timeout: 20 * time.Second})
	if _, err := hear(t.Context(), riff(mono, second)); !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), "refused") {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := hear(ctx, riff(mono, second)); !errors.Is(err, ErrUnavailable) || !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
