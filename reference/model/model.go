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
	Base    string        // where the server is: "http://127.0.0.1:8000/v1"
	Key     string        // sent as a bearer token, and never told; "" is none
	Model   string        // its name at the server
	System  string        // what the model is told first, before what requests want it to be told
	Tools   []Tool        // what it can call that is run here
	Rounds  int           // how often it is asked in one run at most; 0 is 8
	Timeout time.Duration // how long the server, or a tool, may be silent; 0 is a minute
	Client  *http.Client  // nil is one of its own
}

// What one run may cost at most, besides rounds.
const (
	mostBytes = 16 << 20 // of answers
	mostCalls = 128      // of tools, in one answer
)

// A model is one that can be asked.
type model struct {
	Config
	chat openai.ChatCompletionService
}

// New makes the agent. It does not ask whether there is anybody at the address: what
// is wrong there is told by each run.
func New(cfg Config) (reference.Agent, error) {
	base, err := url.Parse(cfg.Base)
	switch {
	case err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https":
		return nil, errors.New("the model's address is not an http or https URL") // it may hold a password
	case cfg.Model == "":
		return nil, errors.New("the model has no name")
	}
	if err := check(cfg.Tools); err != nil {
		return nil, err
	}
	if cfg.Rounds == 0 {
		cfg.Rounds = 8
	}
	if cfg.Timeout == 0 {
		cfg.Timeout = time.Minute
	}
	if cfg.Client == nil {
		cfg.Client = &http.Client{}
	}
	if base.Path == "" {
		base.Path = "/"
	}
	options := []option.RequestOption{
		option.WithBaseURL(base.String()), option.WithHTTPClient(cfg.Client), option.WithMaxRetries(0),
	}
	if cfg.Key != "" {
		options = append(options, option.WithAPIKey(cfg.Key))
	}
	// Not the whole client: that would take keys and addresses from the environment.
	m := &model{Config: cfg, chat: openai.NewChatCompletionService(options...)}
	return m.answer, nil
}

// answer is the agent.
func (m *model) answer(ctx context.Context, turn reference.Turn) iter.Seq[spec.Event] {
	return func(yield func(spec.Event) bool) {
		r := &run{model: m, ctx: ctx, turn: turn, yield: yield, left: mostBytes}
		r.say(spec.Event{Kind: spec.RunStart})
		if err := r.play(); err != nil {
			r.fail(err)
			return
		}
		r.say(spec.Event{Kind: spec.RunEnd})
	}
}
