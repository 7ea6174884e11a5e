// Package model provides an agent that uses a language model, on any server with OpenAI's chat
// completions API, streaming and tool calls. It emits the events of [reference.Agent], which are
// the same for all dialects.
package model

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"time"

	"github.com/streamassay/streamassay/reference"
)

// A Config configures an agent that uses a model. Only BaseURL and Model are required.
type Config struct {
	BaseURL      string        // base URL of the model's server, such as "http://127.0.0.1:8000/v1"
	APIKey       string        // sent as a bearer token; never logged or reported; "": not sent
	Model        string        // name of the model at the server
	SystemPrompt string        // comes before the system messages of requests
	Tools        []Tool        // tools that this server runs
	MaxRounds    int           // maximum number of requests to the model in one run; 0: 8
	Timeout      time.Duration // idle timeout of the model's server, and time limit of a tool; 0: one minute
	HTTPClient   *http.Client  // client for requests to the model's server; nil: a new client
	Log          *slog.Logger  // gets the reasons of failed requests to the model's server; nil discards them
}

// Limits of one run: the bytes of all responses of the model together, and the number of tool
// calls in one response.
const (
	maxBytes = 16 << 20 // bytes of all responses
	maxCalls = 128      // tool calls in one response
)

// An upstreamModel is a model on a server, together with the URL to which requests are sent.
type upstreamModel struct {
	Config
	completionsURL string
}

// New returns an agent that uses the model that cfg describes, or an error if cfg is invalid. It
// does not connect to the model's server. If the server fails during a run, the run ends with an
// error event.
func New(cfg Config) (reference.Agent, error) {
	base, err := url.Parse(cfg.BaseURL)
	switch {
	case err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https":
		return nil, errors.New("invalid base URL of the model, want http(s)://HOST/PATH") // it may contain a password
	case base.User != nil || base.RawQuery != "" || base.Fragment != "":
		return nil, errors.New("invalid base URL of the model, want no user, query or fragment " +
			"(the key is configured separately)")
	case cfg.Model == "":
		return nil, errors.New("missing name of the model")
	}
	if err := checkTools(cfg.Tools); err != nil {
		return nil, err
	}
	cfg.MaxRounds = cmp.Or(cfg.MaxRounds, 8)
	cfg.Timeout = cmp.Or(cfg.Timeout, time.Minute)
	cfg.HTTPClient = cmp.Or(cfg.HTTPClient, &http.Client{})
	cfg.Log = cmp.Or(cfg.Log, slog.New(slog.DiscardHandler))
	m := &upstreamModel{Config: cfg, completionsURL: base.JoinPath("chat/completions").String()}
	return reference.NewAgent(m.respond), nil
}

// respond runs the agent for one turn and emits the events of the turn with e. If the turn fails,
// the last of them is an error event.
func (m *upstreamModel) respond(ctx context.Context, turn reference.Turn, e *reference.EventEmitter) {
	r := &modelRun{upstreamModel: m, EventEmitter: e, ctx: ctx, turn: turn, remainingBytes: maxBytes}
	if f, ok := errors.AsType[*runError](r.askUntilDone()); ok { // for other errors, the events are not consumed
		if f == errTruncated { // other failures of the model's server are logged where they are noticed
			m.Log.Warn("the model's response was truncated", "model", m.Model)
		}
		r.Fail(f.text, f.code)
	}
}
