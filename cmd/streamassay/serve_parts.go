package main

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// A part is what stands behind the server in one respect: the kind that was chosen, and
// where it is, if that kind is somewhere.
type part struct {
	flag string
	text string // as it was given
	kind string
	rest string // "gpt" of "openai:gpt"; the whole text of a URL
	form string // what is right, for people
	of   []kind
}

// A kind of a part, and how its place is written.
type kind struct {
	name  string
	place place
}

type place int

const (
	none   place = iota // the name is all
	word                // NAME:WORD, where the word is not empty
	httpAt              // NAME:URL
	isURL               // the name is the scheme of a URL
)

// parts are all of them.
type parts struct {
	agent, state, files, speech part
	model, speechModel          string
}

func newParts() parts {
	return parts{
		agent: part{flag: "agent", text: "scripted", form: "scripted or openai:BASE_URL", of: []kind{{"scripted", none}, {"openai", httpAt}}},
		state: part{flag: "state", text: "memory", form: "memory, sqlite:PATH, redis://HOST:PORT or unix://PATH",
			of: []kind{{"memory", none}, {"sqlite", word}, {"redis", isURL}, {"rediss", isURL}, {"unix", isURL}}},
		files: part{flag: "files", text: "memory", form: "memory, dir:PATH or s3://BUCKET", of: []kind{{"memory", none}, {"dir", word}, {"s3", isURL}}},
		speech: part{flag: "speech", text: "scripted", form: "scripted, exec:COMMAND, openai:BASE_URL or none",
			of: []kind{{"scripted", none}, {"none", none}, {"exec", word}, {"openai", httpAt}}},
	}
}

func (p *parts) addFlags(flags *pflag.FlagSet) {
	flags.StringVar(&p.agent.text, "agent", p.agent.text, "`AGENT` that answers: scripted (docs/prompts.md), or openai:BASE_URL of a server of chat completions; its key is in OPENAI_API_KEY")
	flags.StringVar(&p.model, "model", "", "`NAME` of the model that --agent openai: is asked for")
	flags.StringVar(&p.state.text, "state", p.state.text, "`STORE` of conversations: memory, sqlite:PATH, or redis://HOST:PORT (or unix://PATH), which several servers can share")
	flags.StringVar(&p.files.text, "files", p.files.text, "`STORE` of attachments: memory, dir:PATH or s3://BUCKET")
	flags.StringVar(&p.speech.text, "speech", p.speech.text, "`EAR` that turns speech into text: scripted, exec:COMMAND, openai:BASE_URL or none")
	flags.StringVar(&p.speechModel, "speech-model", "", "`NAME` of the model that --speech openai: is asked for (default: whisper-1)")
}

// check reads all of them, and says what is wrong.
func (p *parts) check() error {
	for _, one := range []*part{&p.agent, &p.state, &p.files, &p.speech} {
		if !one.read() {
			return usage("--%s %s %s", one.flag, bare(one.text), one.wrong())
		}
	}
	switch {
	case p.agent.kind == "openai" && p.model == "":
		return usage("--agent %s: it takes --model NAME", bare(p.agent.text))
	case p.agent.kind != "openai" && p.model != "":
		return usage("--model %s: only --agent openai:BASE_URL has models", p.model)
	case p.speech.kind != "openai" && p.speechModel != "":
		return usage("--speech-model %s: only --speech openai:BASE_URL has models", p.speechModel)
	}
	return nil
}

// read takes the text apart.
func (p *part) read() bool {
	name, rest, _ := strings.Cut(p.text, ":")
	at := slices.IndexFunc(p.of, func(k kind) bool { return k.name == name })
	if at < 0 {
		return false
	}
	p.kind, p.rest = name, rest
	switch p.of[at].place {
	case none:
		return p.text == name
	case word:
		return strings.TrimSpace(rest) != ""
	case httpAt:
		u, err := url.Parse(rest)
		return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
	default:
		u, err := url.Parse(p.text)
		p.rest = p.text
		return err == nil && (u.Host != "" || name == "unix" && u.Path != "")
	}
}

// wrong says what is wrong with the text, as the rest of a sentence.
func (p *part) wrong() string {
	i := slices.IndexFunc(p.of, func(k kind) bool { return k.name == p.kind })
	if i >= 0 && p.of[i].place == word {
		return fmt.Sprintf("has nothing after %s: (it is %s)", p.kind, p.form)
	}
	return "is none of " + p.form
}

// bare is a text that may be a URL without the secrets that can be in one.
func bare(text string) string {
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
