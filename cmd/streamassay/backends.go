package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/streamassay/streamassay/internal/files"
	"github.com/streamassay/streamassay/internal/files/blob"
	"github.com/streamassay/streamassay/internal/files/s3"
	"github.com/streamassay/streamassay/internal/model"
	"github.com/streamassay/streamassay/internal/speech"
	"github.com/streamassay/streamassay/internal/state"
	"github.com/streamassay/streamassay/internal/state/durable"
	"github.com/streamassay/streamassay/internal/wire"
	"github.com/streamassay/streamassay/reference"
)

// A backendKind is one kind of backend that a server can use, such as the SQLite store. T is the
// type of an opened backend.
type backendKind[T any] struct {
	// syntax is the form of the flag values that select the kind, for example "memory", "dir:PATH",
	// "openai:BASE_URL" or "s3://BUCKET". Words in capitals stand for the user's values. An
	// explanation in parentheses may follow.
	syntax string
	hidden bool   // not shown in help and errors
	keeps  string // default number of ended runs that a store keeps, as in "10000 in memory"; "": not in --help
	// open opens the backend. The location is the flag value if that is a URL, otherwise the part
	// of the flag value after the first colon. It is empty if the value has no colon.
	open func(ctx context.Context, location string, s backendSettings) (T, error)
}

// A backendSettings holds the settings, other than the location, with which a backend is opened.
type backendSettings struct {
	retention   state.Config // limits on the ended runs that the store keeps
	signingKey  []byte       // key that signs links to attachments
	apiKey      string       // API key of services that run models; "" means none
	model       string       // model of the agent; "" if the agent uses no model
	speechModel string       // model for speech to text; "" means the default model
	log         *slog.Logger // receives the reason for each failed request to the model's server
}

// openAISyntax is the value of backendKind.syntax for backends that call a service with the OpenAI
// API.
const openAISyntax = "openai:BASE_URL"

// dirSyntax is the value of backendKind.syntax for the kind that keeps attachments in a directory.
const dirSyntax = "dir:PATH"

// The kinds of backend that the serve command can use, in one list for each of the flags --agent,
// --state, --files and --speech. A new kind must be added to the list of its flag.
var (
	agentKinds = []backendKind[reference.Agent]{
		{syntax: "scripted", open: always(reference.Agent(reference.Scripted))},
		{syntax: openAISyntax, open: func(_ context.Context, base string, s backendSettings) (reference.Agent, error) {
			return model.New(model.Config{BaseURL: base, APIKey: s.apiKey, Model: s.model, Tools: model.BuiltinTools(),
				Log: s.log})
		}},
	}
	stateKinds = []backendKind[state.Store]{
		{syntax: "memory", keeps: fmt.Sprint(state.MemoryMaxRuns, " in memory"), open: func(
			_ context.Context, _ string, s backendSettings,
		) (state.Store, error) {
			return state.NewMemory(s.retention), nil
		}},
		{syntax: "sqlite:PATH", keeps: fmt.Sprint(durable.SQLiteMaxRuns, " in SQLite"), open: func(
			_ context.Context, path string, s backendSettings,
		) (state.Store, error) {
			return durable.OpenSQLite(path, s.retention)
		}},
		{syntax: "redis://HOST:PORT", keeps: fmt.Sprint(durable.RedisMaxRuns, " in Redis"), open: openRedis},
		{syntax: "rediss://HOST:PORT", open: openRedis, hidden: true},
		{syntax: "unix://PATH (a Redis socket)", open: openRedis},
	}
	fileKinds = []backendKind[*files.Store]{
		{syntax: "memory", open: func(_ context.Context, _ string, s backendSettings) (*files.Store, error) {
			return files.NewMemory(files.Config{SigningKey: s.signingKey}), nil
		}},
		{syntax: dirSyntax, open: filesIn(blob.OpenDir)},
		{syntax: "s3://BUCKET", open: filesIn(s3.Open)},
	}
	speechKinds = []backendKind[speech.Transcriber]{
		{syntax: "scripted", open: always(speech.Transcriber(speech.Scripted))},
		{syntax: "exec:COMMAND", open: func(_ context.Context, line string, _ backendSettings) (speech.Transcriber, error) {
			return speech.NewCommand(line, speech.Config{})
		}},
		{syntax: openAISyntax, open: func(_ context.Context, base string, s backendSettings) (speech.Transcriber, error) {
			return speech.NewOpenAI(base, speech.Config{APIKey: s.apiKey, Model: s.speechModel})
		}},
		{syntax: "none", open: always(speech.None())},
	}
)

// openRedis opens the store of threads and runs on the Redis server at location, a URL with the
// scheme redis, rediss or unix. Of the settings, it uses only s.retention. It returns an error if
// location is invalid or the server cannot be used.
func openRedis(ctx context.Context, location string, s backendSettings) (state.Store, error) {
	return durable.OpenRedis(ctx, location, s.retention)
}

// always returns a function that ignores its arguments and returns backend. The function can be
// used as backendKind.open.
func always[T any](backend T) func(context.Context, string, backendSettings) (T, error) {
	return func(context.Context, string, backendSettings) (T, error) { return backend, nil }
}

// filesIn returns a function for backendKind.open. The function calls openStorage with the location
// and returns a store that keeps attachments in the opened storage.
func filesIn(
	openStorage func(location string) (blob.Storage, error),
) func(context.Context, string, backendSettings) (*files.Store, error) {
	return func(_ context.Context, location string, s backendSettings) (*files.Store, error) {
		storage, err := openStorage(location)
		if err != nil {
			return nil, err
		}
		return files.New(storage, files.Config{SigningKey: s.signingKey})
	}
}

// A backendFlag is a flag, such as --state, that selects one of several kinds of backend. T is the
// type of the opened backend.
type backendFlag[T any] struct {
	name  string           // name of the flag, without dashes
	text  string           // value of the flag
	kinds []backendKind[T] // the kinds from which the flag selects
}

// syntax returns a description of the valid values of the flag, for help and errors, such as
// "memory, dir:PATH or s3://BUCKET". Hidden kinds are left out.
func (f *backendFlag[T]) syntax() string {
	var all []string
	for _, k := range f.kinds {
		if !k.hidden {
			all = append(all, k.syntax)
		}
	}
	last := len(all) - 1
	return strings.Join(all[:last], ", ") + " or " + all[last]
}

// keeps returns a description of how many ended runs the stores keep by default, such as "1000 in
// memory, 1000000 in SQLite", for the help of --state. It joins the values of backendKind.keeps
// that are not empty.
func (f *backendFlag[T]) keeps() string {
	var all []string
	for _, k := range f.kinds {
		if k.keeps != "" {
			all = append(all, k.keeps)
		}
	}
	return strings.Join(all, ", ")
}

// find returns the kind that the flag selects, and the location to pass to kind.open. The location
// is "" if the syntax of the kind is only a name. If the value of the flag is invalid, find returns
// a usage error that describes the valid values.
func (f *backendFlag[T]) find() (kind backendKind[T], location string, err error) {
	name, rest, _ := strings.Cut(f.text, ":")
	for _, k := range f.kinds {
		kindName, form, _ := strings.Cut(k.syntax, ":")
		if kindName != name {
			continue
		}
		valid := false
		switch u, err := url.Parse(f.text); {
		case form == "":
			valid = f.text == name
		case strings.HasPrefix(form, "//"):
			location, valid = f.text, err == nil && (u.Host != "" || strings.HasPrefix(form, "//PATH") && u.Path != "")
		case k.syntax == openAISyntax:
			base, err := url.Parse(rest)
			location, valid = rest, err == nil && (base.Scheme == "http" || base.Scheme == "https") && base.Host != ""
			if !valid {
				return k, "", f.usageError(errors.New("must be openai:BASE_URL (e.g. openai:http://127.0.0.1:8000/v1)"))
			}
		case strings.TrimSpace(rest) == "":
			return k, "", f.usageError(fmt.Errorf("nothing follows the colon; want %s", f.syntax()))
		default:
			location, valid = rest, true
		}
		if valid {
			return k, location, nil
		}
	}
	return kind, "", f.usageError(errors.New("must be " + f.syntax()))
}

// open opens the backend that the flag selects, with the settings s. Errors are usage errors.
func (f *backendFlag[T]) open(ctx context.Context, s backendSettings) (backend T, err error) {
	kind, location, err := f.find()
	if err != nil {
		return backend, err
	}
	if backend, err = kind.open(ctx, location, s); err != nil {
		return backend, f.usageError(err)
	}
	return backend, nil
}

// usageError returns a usage error that says why the backend cannot be used. The error names the
// flag, shows the value of the flag without secrets, and ends with the text of err.
func (f *backendFlag[T]) usageError(err error) error { return openError("--"+f.name, f.text, err) }

// openError returns a usage error that says why what value names, the value of the named flag,
// cannot be used. The error shows value without secrets and ends with the text of err or, if a
// connection was refused, with a question instead.
func openError(flag, value string, err error) error {
	if wire.IsRefused(err) {
		return usageError("%s %s: %s", flag, withoutSecrets(value), wire.RefusedText)
	}
	return usageError("%s %s: %v", flag, withoutSecrets(value), err)
}

// A backendFlags holds the flags that select the backends of the server.
type backendFlags struct {
	agent              backendFlag[reference.Agent]    // --agent
	state              backendFlag[state.Store]        // --state, the store of threads and runs
	files              backendFlag[*files.Store]       // --files, the store of attachments
	speech             backendFlag[speech.Transcriber] // --speech, the speech-to-text backend
	model, speechModel string                          // values of --model and --speech-model; "" if not given
}

// addFlags adds the flags of p, such as --agent and --model, to the flag set, and sets p to their
// default values.
func (p *backendFlags) addFlags(flags *pflag.FlagSet) {
	p.agent = backendFlag[reference.Agent]{"agent", "scripted", agentKinds}
	p.state = backendFlag[state.Store]{"state", "memory", stateKinds}
	p.files = backendFlag[*files.Store]{"files", "memory", fileKinds}
	p.speech = backendFlag[speech.Transcriber]{"speech", "scripted", speechKinds}
	flags.StringVar(&p.agent.text, "agent", p.agent.text,
		"`AGENT` agent: "+p.agent.syntax()+" of a chat completions API (e.g. http://127.0.0.1:8000/v1), with its key, if it needs one, in the "+
			"environment variable OPENAI_API_KEY; docs/prompts.md describes the scripted agent")
	flags.StringVar(&p.model, "model", "", "`NAME` model for --agent "+openAISyntax+", which requires it")
	flags.StringVar(&p.state.text, "state", p.state.text,
		"`STORE` store of threads and runs: "+p.state.syntax()+"; several servers can share a Redis store")
	flags.StringVar(&p.files.text, "files", p.files.text, "`STORE` store of attachments: "+p.files.syntax()+
		"[?region=REGION&endpoint=URL]; the defaults and credentials of S3 "+
		"are those of the AWS tools (AWS_REGION, AWS_ACCESS_KEY_ID …)")
	flags.StringVar(&p.speech.text, "speech", p.speech.text, "`BACKEND` speech-to-text backend: "+p.speech.syntax()+
		"; COMMAND reads a WAV file from stdin or, "+
		"if it contains {}, from the path put there, and prints the text; scripted returns the comment stored in the WAV "+
		"file or, if there is none, a sentence with the duration of the recording; the key of openai is in "+
		"OPENAI_API_KEY, if it needs one; with the backend none, requests for a transcription get status 503")
	flags.StringVar(&p.speechModel, "speech-model", "", "`NAME` model for --speech "+openAISyntax+" (default: whisper-1)")
}

// check returns a usage error if the value of a flag is invalid, if --model is missing although the
// agent needs a model, or if --model or --speech-model is given for a backend that does not use it.
// It does not open any backend.
func (p *backendFlags) check() error {
	agent, _, err := p.agent.find()
	if err != nil {
		return err
	}
	if _, _, err := p.state.find(); err != nil {
		return err
	}
	files, location, err := p.files.find()
	if err != nil {
		return err
	}
	if files.syntax == dirSyntax {
		if err := checkDir(location); err != nil {
			return p.files.usageError(err)
		}
	}
	speech, _, err := p.speech.find()
	switch {
	case err != nil:
		return err
	case agent.syntax == openAISyntax && p.model == "":
		return p.agent.usageError(errors.New("needs --model NAME"))
	case agent.syntax != openAISyntax && p.model != "":
		return usageError("--model %s: needs --agent %s", p.model, openAISyntax)
	case speech.syntax != openAISyntax && p.speechModel != "":
		return usageError("--speech-model %s: needs --speech %s", p.speechModel, openAISyntax)
	}
	return nil
}

// withoutSecrets returns text, the value of a flag, without credentials, so that messages can show
// it. It removes the user, the password and the query of a URL. If the URL is invalid, it removes
// everything between the scheme and the last at sign, because any of it may be the password.
//
// Text without "://" may be an incomplete URL, so withoutSecrets removes everything before the last
// at sign. However, if text contains a space or tab, or begins with "dir:", "sqlite:" or "exec:",
// withoutSecrets returns it unchanged.
func withoutSecrets(text string) string {
	before, after, found := strings.Cut(text, "://")
	if !found {
		name, _, _ := strings.Cut(text, ":")
		if strings.ContainsAny(text, " \t") || slices.Contains([]string{"dir", "exec", "sqlite"}, name) {
			return text
		}
		return text[strings.LastIndexByte(text, '@')+1:] // perhaps an incomplete URL
	}
	authority := after
	if _, err := url.Parse("http://" + after); err == nil { // not text, which may begin with "openai:"
		if end := strings.IndexAny(after, "/?#"); end >= 0 {
			authority = after[:end]
		}
	}
	after = after[strings.LastIndexByte(authority, '@')+1:]
	after, _, hasQuery := strings.Cut(after, "?")
	if hasQuery {
		after += "?…"
	}
	return before + "://" + after
}
