package main

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// A backendFlag is a flag that selects a backend of the server: its kind and, for kinds that
// need one, its location.
type backendFlag struct {
	flag     string
	text     string // as it was given
	kind     string
	location string // the part after "KIND:", or the complete text if that is a URL
	syntax   string // valid values, for messages
	kinds    []backendKind
}

// A backendKind is one kind of backend, such as SQLite, and the syntax of its location.
type backendKind struct {
	name string
	form locationSyntax
}

// A locationSyntax is the form in which a flag gives the kind and the location of a backend.
type locationSyntax int

const (
	noLocation   locationSyntax = iota // NAME
	textLocation                       // NAME:TEXT, not empty
	urlLocation                        // NAME:URL
	wholeURL                           // a URL with NAME as its scheme
)

// A backendFlags holds the flags that select the backends of the server.
type backendFlags struct {
	agent, state, files, speech backendFlag
	model, speechModel          string
}

// newBackendFlags returns the flags with their default values.
func newBackendFlags() backendFlags {
	return backendFlags{
		agent: backendFlag{flag: "agent", text: "scripted", syntax: "scripted or openai:BASE_URL",
			kinds: []backendKind{{"scripted", noLocation}, {"openai", urlLocation}}},
		state: backendFlag{flag: "state", text: "memory", syntax: "memory, sqlite:PATH, redis://HOST:PORT or unix://PATH (a Redis socket)",
			kinds: []backendKind{
				{"memory", noLocation}, {"sqlite", textLocation}, {"redis", wholeURL}, {"rediss", wholeURL}, {"unix", wholeURL},
			}},
		files: backendFlag{flag: "files", text: "memory", syntax: "memory, dir:PATH or s3://BUCKET",
			kinds: []backendKind{{"memory", noLocation}, {"dir", textLocation}, {"s3", wholeURL}}},
		speech: backendFlag{flag: "speech", text: "scripted", syntax: "scripted, exec:COMMAND, openai:BASE_URL or none",
			kinds: []backendKind{
				{"scripted", noLocation}, {"none", noLocation}, {"exec", textLocation}, {"openai", urlLocation},
			}},
	}
}

// addFlags adds --agent, --state and the other flags about backends and models to flags.
func (p *backendFlags) addFlags(flags *pflag.FlagSet) {
	flags.StringVar(&p.agent.text, "agent", p.agent.text,
		"`AGENT` agent: scripted (docs/prompts.md), or openai:BASE_URL of a chat completions API, with the key in "+
			"OPENAI_API_KEY")
	flags.StringVar(&p.model, "model", "", "`NAME` model for --agent openai:BASE_URL")
	flags.StringVar(&p.state.text, "state", p.state.text,
		"`STORE` store of threads and runs: memory, sqlite:PATH, or redis://HOST:PORT or unix://PATH (a Redis "+
			"socket), which "+
			"several servers can share")
	flags.StringVar(&p.files.text, "files", p.files.text, "`STORE` store of attachments: memory, dir:PATH or s3://BUCKET")
	flags.StringVar(&p.speech.text, "speech", p.speech.text,
		"`BACKEND` speech-to-text backend: scripted, exec:COMMAND, openai:BASE_URL or none")
	flags.StringVar(&p.speechModel, "speech-model", "", "`NAME` model for --speech openai:BASE_URL (default: whisper-1)")
}

// check parses the flags and returns a usage error if one is invalid, or if a model is named for a
// backend that has no model.
func (p *backendFlags) check() error {
	for _, f := range []*backendFlag{&p.agent, &p.state, &p.files, &p.speech} {
		if !f.parse() {
			return usageError("--%s %s: %s", f.flag, withoutSecrets(f.text), f.problem())
		}
	}
	switch {
	case p.agent.kind == "openai" && p.model == "":
		return usageError("--agent %s: needs --model NAME", withoutSecrets(p.agent.text))
	case p.agent.kind != "openai" && p.model != "":
		return usageError("--model %s: needs --agent openai:BASE_URL", p.model)
	case p.speech.kind != "openai" && p.speechModel != "":
		return usageError("--speech-model %s: needs --speech openai:BASE_URL", p.speechModel)
	}
	return nil
}

// parse sets the kind and the location from the text of the flag. It reports whether the text is
// valid.
func (p *backendFlag) parse() bool {
	name, rest, _ := strings.Cut(p.text, ":")
	at := slices.IndexFunc(p.kinds, func(k backendKind) bool { return k.name == name })
	if at < 0 {
		return false
	}
	p.kind, p.location = name, rest
	switch p.kinds[at].form {
	case noLocation:
		return p.text == name
	case textLocation:
		return strings.TrimSpace(rest) != ""
	case urlLocation:
		u, err := url.Parse(rest)
		return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
	default:
		u, err := url.Parse(p.text)
		p.location = p.text
		return err == nil && (u.Host != "" || name == "unix" && u.Path != "")
	}
}

// problem returns a description of the error in the text of the flag. It must be called only after
// parse has returned false.
func (p *backendFlag) problem() string {
	i := slices.IndexFunc(p.kinds, func(k backendKind) bool { return k.name == p.kind })
	if i >= 0 && p.kinds[i].form == textLocation {
		return fmt.Sprintf("nothing after %s:, want %s", p.kind, p.syntax)
	}
	return "must be " + p.syntax
}

// withoutSecrets returns text unchanged or, if it is a URL, without user name, password and query.
func withoutSecrets(text string) string {
	before, after, found := strings.Cut(text, "://")
	if !found {
		return text
	}
	if at := strings.LastIndexByte(after, '@'); at >= 0 {
		after = after[at+1:]
	}
	after, _, _ = strings.Cut(after, "?")
	return before + "://" + after
}
