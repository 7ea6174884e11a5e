package main

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// A backendFlag is what stands behind the server in one respect: the kind that was chosen, and
// where it is, if that kind is somewhere.
type backendFlag struct {
	flag     string
	text     string // as it was given
	kind     string
	location string // "gpt" of "openai:gpt"; the whole text of a URL
	syntax   string // what is right, for people
	kinds    []backendKind
}

// A backendKind of a part, and how its place is written.
type backendKind struct {
	name string
	form locationForm
}

type locationForm int

const (
	noLocation   locationForm = iota // the name is all
	textLocation                     // NAME:WORD, where the word is not empty
	urlLocation                      // NAME:URL
	wholeURL                         // the name is the scheme of a URL
)

// backendFlags are all of them.
type backendFlags struct {
	agent, state, files, speech backendFlag
	model, speechModel          string
}

func newBackendFlags() backendFlags {
	return backendFlags{
		agent: backendFlag{flag: "agent", text: "scripted", syntax: "scripted or openai:BASE_URL", kinds: []backendKind{{"scripted", noLocation}, {"openai", urlLocation}}},
		state: backendFlag{flag: "state", text: "memory", syntax: "memory, sqlite:PATH, redis://HOST:PORT or unix://PATH",
			kinds: []backendKind{{"memory", noLocation}, {"sqlite", textLocation}, {"redis", wholeURL}, {"rediss", wholeURL}, {"unix", wholeURL}}},
		files: backendFlag{flag: "files", text: "memory", syntax: "memory, dir:PATH or s3://BUCKET", kinds: []backendKind{{"memory", noLocation}, {"dir", textLocation}, {"s3", wholeURL}}},
		speech: backendFlag{flag: "speech", text: "scripted", syntax: "scripted, exec:COMMAND, openai:BASE_URL or none",
			kinds: []backendKind{{"scripted", noLocation}, {"none", noLocation}, {"exec", textLocation}, {"openai", urlLocation}}},
	}
}

func (p *backendFlags) addFlags(flags *pflag.FlagSet) {
	flags.StringVar(&p.agent.text, "agent", p.agent.text, "`AGENT` that answers: scripted (docs/prompts.md), or openai:BASE_URL of a server of chat completions; its key is in OPENAI_API_KEY")
	flags.StringVar(&p.model, "model", "", "`NAME` of the model that --agent openai: is asked for")
	flags.StringVar(&p.state.text, "state", p.state.text, "`STORE` of conversations: memory, sqlite:PATH, or redis://HOST:PORT (or unix://PATH), which several servers can share")
	flags.StringVar(&p.files.text, "files", p.files.text, "`STORE` of attachments: memory, dir:PATH or s3://BUCKET")
	flags.StringVar(&p.speech.text, "speech", p.speech.text, "`EAR` that turns speech into text: scripted, exec:COMMAND, openai:BASE_URL or none")
	flags.StringVar(&p.speechModel, "speech-model", "", "`NAME` of the model that --speech openai: is asked for (default: whisper-1)")
}

// check reads all of them, and says what is wrong.
func (p *backendFlags) check() error {
	for _, one := range []*backendFlag{&p.agent, &p.state, &p.files, &p.speech} {
		if !one.parse() {
			return usageError("--%s %s %s", one.flag, withoutSecrets(one.text), one.problem())
		}
	}
	switch {
	case p.agent.kind == "openai" && p.model == "":
		return usageError("--agent %s: it takes --model NAME", withoutSecrets(p.agent.text))
	case p.agent.kind != "openai" && p.model != "":
		return usageError("--model %s: only --agent openai:BASE_URL has models", p.model)
	case p.speech.kind != "openai" && p.speechModel != "":
		return usageError("--speech-model %s: only --speech openai:BASE_URL has models", p.speechModel)
	}
	return nil
}

// parse takes the text apart.
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

// problem says what is wrong with the text, as the rest of a sentence.
func (p *backendFlag) problem() string {
	i := slices.IndexFunc(p.kinds, func(k backendKind) bool { return k.name == p.kind })
	if i >= 0 && p.kinds[i].form == textLocation {
		return fmt.Sprintf("has nothing after %s: (it is %s)", p.kind, p.syntax)
	}
	return "is none of " + p.syntax
}

// withoutSecrets is a text that may be a URL without the secrets that can be in one.
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
