// Package model is an agent behind which a language model stands: any server that
// speaks the chat completions of OpenAI, with streaming and tool calls. It does not
// know any dialect, nor what becomes of what it says; and of the model it knows no
// more than an address and a name.
package model

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"net/url"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/streamassay/streamassay/reference"
	"github.com/streamassay/streamassay/spec"
)

// Config says which model is asked, and how.
type Config struct {
	BaseURL      string        // where the server is: "http://127.0.0.1:8000/v1"
	APIKey       string        // sent as a bearer token, and never told; "" is none
	Model        string        // its name at the server
	SystemPrompt string        // what the model is told first, before what requests want it to be told
	Tools        []Tool        // what it can call that is run here
	MaxRounds    int           // how often it is asked in one run at most; 0 is 8
	Timeout      time.Duration // how long the server, or a tool, may be silent; 0 is a minute
	HTTPClient   *http.Client  // nil is one of its own
}

// What one run may cost at most, besides rounds.
const (
	maxBytes = 16 << 20 // of answers
	maxCalls = 128      // of tools, in one answer
)

// A chatModel is one that can be asked.
type chatModel struct {
	Config
	completions openai.ChatCompletionService
}

// New makes the agent. It does not ask whether there is anybody at the address: what
// is wrong there is told by each run.
func New(cfg Config) (reference.Agent, error) {
	base, err := url.Parse(cfg.BaseURL)
	switch {
	case err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https":
		return nil, errors.New("the model's address is not an http or https URL") // it may hold a password
	case cfg.Model == "":
		return nil, errors.New("the model has no name")
	}
	if err := checkTools(cfg.Tools); err != nil {
		return nil, err
	}
	if cfg.MaxRounds == 0 {
		cfg.MaxRounds = 8
	}
	if cfg.Timeout == 0 {
		cfg.Timeout = time.Minute
	}
	if cfg.HTTPClient == nil {
		cfg.HTTPClient = &http.Client{}
	}
	if base.Path == "" {
		base.Path = "/"
	}
	options := []option.RequestOption{
		option.WithBaseURL(base.String()), option.WithHTTPClient(cfg.HTTPClient), option.WithMaxRetries(0),
	}
	if cfg.APIKey != "" {
		options = append(options, option.WithAPIKey(cfg.APIKey))
	}
	// Not the whole client: that would take keys and addresses from the environment.
	m := &chatModel{Config: cfg, completions: openai.NewChatCompletionService(options...)}
	return m.respond, nil
}

// respond is the agent.
func (m *chatModel) respond(ctx context.Context, turn reference.Turn) iter.Seq[spec.Event] {
	return func(yield func(spec.Event) bool) {
		r := &run{chatModel: m, ctx: ctx, turn: turn, yield: yield, remainingBytes: maxBytes}
		r.emit(spec.Event{Kind: spec.RunStart})
		if err := r.askUntilDone(); err != nil {
			r.fail(err)
			return
		}
		r.emit(spec.Event{Kind: spec.RunEnd})
	}
}
