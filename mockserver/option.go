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
// of an option is invalid, or a file that it names cannot be read, New returns an error and NewTest
// fails the test.
type Option func(*optionState) error

// An optionState holds the configuration to which options are applied, and the scripts and
// recordings that are loaded after the last option was applied.
type optionState struct {
	*Config
	scripts    []script.Source
	recordings []string
}

// Script adds the rules of a script. The text of the script is YAML; docs/mock.md in the repository
// describes its format.
func Script(text string) Option {
	return func(o *optionState) error {
		o.scripts = append(o.scripts, script.Source{Name: fmt.Sprintf("script %d", len(o.scripts)+1), Data: []byte(text)})
		return nil
	}
}

// ScriptFiles adds the rules of the scripts with the given file names.
func ScriptFiles(names ...string) Option {
	return func(o *optionState) error {
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

// Recordings adds recorded responses, which answer requests that no rule matches. The paths name
// recordings (.txtar, .http, .sse, .har) or directories that contain recordings.
func Recordings(paths ...string) Option {
	return func(o *optionState) error {
		o.recordings = append(o.recordings, paths...)
		return nil
	}
}

// Fault injects faults into every request to which they apply. The list separates faults by commas
// and their parameters by semicolons, such as "abort; event=3, slow-head; for=2s". The command
// "streamassay list faults" prints all faults.
func Fault(list string) Option {
	return func(o *optionState) error {
		faults, err := fault.Parse(list)
		o.Defaults.Faults = append(o.Defaults.Faults, faults...)
		return err
	}
}

// Pace sets the timing of replies, in the YAML form that [ParsePace] accepts.
func Pace(text string) Option {
	return func(o *optionState) (err error) {
		o.Defaults.Pace, err = ParsePace(text)
		return err
	}
}

// Seed sets [Config.Seed], so that equal requests get equal responses in every run of the program.
func Seed(seed uint64) Option {
	return func(o *optionState) error {
		o.Config.Seed = &seed
		return nil
	}
}

// Vary makes the server encode its responses in an unusual form that the protocol allows. The seed
// selects the form.
func Vary(seed uint64) Option {
	return func(o *optionState) error {
		o.Defaults.Vary = &seed
		return nil
	}
}

// Strict makes the server refuse, with status 501, each run that neither a rule nor a recording
// matches. Without this option the scripted agent of package reference answers such a run.
func Strict() Option {
	return func(o *optionState) error {
		o.Defaults.Strict = true
		return nil
	}
}

// apply applies the options to c. Scripts and recordings of options replace those of c. It returns
// an error if an option has an invalid argument, or if a script or recording has errors; the error
// then lists all problems, each with its file and line.
func (c *Config) apply(options []Option) error {
	o := &optionState{Config: c}
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
