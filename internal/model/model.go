// Package model provides an agent that uses a language model, on any server with OpenAI's chat
// completions API, streaming and tool calls. It emits the events of [reference.Agent], which are
// the same for all dialects.
package model

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"time"

	"github.com/streamassay/streamassay/reference"
)

// A Config configures an agent that uses a model. Only BaseURL and Model are required.
type Config struct {
	BaseURL      string        // of the server: "http://127.0.0.1:8000/v1"
	APIKey       string        // sent as a bearer token, never logged or reported; "" sends none
	Model        string        // name of the model at the server
	SystemPrompt string        // comes before the system messages of requests
	Tools        []Tool        // tools that the server runs
	MaxRounds    int           // limit of requests to the model per run; 0 means 8
	Timeout      time.Duration // idle timeout of the server, and time limit of a tool; 0 means a minute
	HTTPClient   *http.Client  // nil means a new client
}

// Limits of one run: the bytes of all responses of the model together, and the number of tool
// calls in one response.
const (
	maxBytes = 16 << 20 // of all responses
	maxCalls = 128      // tool calls in one response
)

// A chatModel is a model on a server, with the URL to which the requests are sent.
type chatModel struct {
	Config
	completionsURL string
}

// New returns an agent that uses the model that cfg describes, or an error if cfg is invalid. It
// does not connect to the server: each run reports failures of the server in an error event.
func New(cfg Config) (reference.Agent, error) {
	base, err := url.Parse(cfg.BaseURL)
	switch {
	case err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https":
		return nil, errors.New("invalid base URL of the model, want http(s)://HOST/PATH") // it may contain a password
	case cfg.Model == "":
		return nil, errors.New("missing name of the model")
	}
	if err := checkTools(cfg.Tools); err != nil {
		return nil, err
	}
	cfg.MaxRounds = cmp.Or(cfg.MaxRounds, 8)
	cfg.Timeout = cmp.Or(cfg.Timeout, time.Minute)
	cfg.HTTPClient = cmp.Or(cfg.HTTPClient, &http.Client{})
	m := &chatModel{Config: cfg, completionsURL: base.JoinPath("chat/completions").String()}
	return reference.NewAgent(m.respond), nil
}

// respond runs one turn, whose events it emits with e.
func (m *chatModel) respond(ctx context.Context, turn reference.Turn, e *reference.EventEmitter) {
	r := &modelRun{chatModel: m, EventEmitter: e, ctx: ctx, turn: turn, remainingBytes: maxBytes}
	r.fail(r.askUntilDone())
}
