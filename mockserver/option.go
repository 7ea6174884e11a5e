package mockserver

import (
	"errors"
	"fmt"
	"os"

	"github.com/streamassay/streamassay/internal/fault"
	"github.com/streamassay/streamassay/internal/replay"
	"github.com/streamassay/streamassay/internal/script"
)

// An Option changes the configuration of a server that [New] or [NewTest] creates. If an argument
// of an option is invalid, or a file that an argument names cannot be read, New returns an error
// and NewTest fails the test.
type Option func(*configBuilder) error

// A configBuilder is the configuration that options change. An option that adds scripts or
// recordings appends them to the configBuilder; apply loads them after it has called all options.
type configBuilder struct {
	*Config
	scripts    []script.Source
	recordings []string // paths of files and directories
}

// Script returns an Option that adds the rules of a script. The argument text is the script in
// YAML; docs/mock.md in the repository describes the format. If the script is invalid, [New]
// returns an error that names the line.
func Script(text string) Option {
	return func(o *configBuilder) error {
		o.scripts = append(o.scripts, script.Source{Name: fmt.Sprintf("script %d", len(o.scripts)+1), Data: []byte(text)})
		return nil
	}
}

// ScriptFiles returns an Option that adds the rules of the scripts in the named files. [New]
// returns an error if a file cannot be read or is not a valid script.
func ScriptFiles(names ...string) Option {
	return func(o *configBuilder) error {
		for _, name := range names {
			data, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			o.scripts = append(o.scripts, script.Source{Name: name, Data: data})
		}
		return nil
	}
}

// Recordings returns an Option that adds recorded responses. The server sends them in response to
// requests that no script rule matches. Each path names a recording (.txtar, .http, .sse or .har)
// or a directory that contains recordings. [New] returns an error if a path cannot be read or a
// recording is invalid.
func Recordings(paths ...string) Option {
	return func(o *configBuilder) error {
		o.recordings = append(o.recordings, paths...)
		return nil
	}
}

// Fault returns an Option that injects faults into the response to every request to which they
// apply. In the argument text, commas separate faults, and semicolons separate the parameters of a
// fault, as in "abort; event=3, slow-head; for=2s". The command "streamassay list faults" prints
// all faults. [New] returns an error if a fault or a parameter is unknown or invalid. If Fault is
// used several times, the faults are combined.
func Fault(text string) Option {
	return func(o *configBuilder) error {
		faults, err := fault.Parse(text)
		o.Defaults.Faults = append(o.Defaults.Faults, faults...)
		return err
	}
}

// Pace returns an Option that sets the timing of replies. The argument text is a pace in the YAML
// form that [ParsePace] accepts, such as "{first: 300ms, rate: 40}". [New] returns the error of
// ParsePace if the text is invalid.
func Pace(text string) Option {
	return func(o *configBuilder) (err error) {
		o.Defaults.Pace, err = ParsePace(text)
		return err
	}
}

// Seed returns an Option that sets [Config.Seed], so that equal requests get equal responses in
// every run of the program. It also freezes the clock at [Epoch], unless [Config.Clock] is set.
func Seed(seed uint64) Option {
	return func(o *configBuilder) error {
		o.Config.Seed = &seed
		return nil
	}
}

// Vary returns an Option that makes the server vary the encoding of its responses, such as the
// order of JSON members. The responses keep their meaning and conform to the protocol. The seed
// selects the variation.
func Vary(seed uint64) Option {
	return func(o *configBuilder) error {
		o.Defaults.Vary = &seed
		return nil
	}
}

// Strict returns an Option that makes the server refuse, with status 501, each run that neither a
// rule nor a recording matches. Without this option, the scripted agent of package reference
// answers such a run.
func Strict() Option {
	return func(o *configBuilder) error {
		o.Defaults.Strict = true
		return nil
	}
}

// apply applies the options to c. If options add scripts, these replace c.Scripts; if options add
// recordings, these replace c.Replay. If scripts or recordings are invalid, the error lists all
// problems, each with its file and line. After an error, the caller must not use c.
func (c *Config) apply(options []Option) error {
	o := &configBuilder{Config: c}
	for _, option := range options {
		if err := option(o); err != nil {
			return err
		}
	}
	var problems []error
	if len(o.scripts) > 0 {
		set, found := script.Load(o.scripts, c.Dialects)
		if c.Scripts = set; set == nil {
			for _, p := range found {
				problems = append(problems, errors.New(p.String()))
			}
		}
	}
	if len(o.recordings) > 0 {
		library, found := replay.Load(o.recordings, c.Dialects)
		if c.Replay = library; library == nil {
			for _, p := range found {
				problems = append(problems, errors.New(p.String()))
			}
		}
	}
	return errors.Join(problems...)
}
