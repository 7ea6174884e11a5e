package replay

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/streamassay/streamassay/internal/transcript"
	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
)

// A File is something to write, named without a folder.
type File struct {
	Name string
	Data []byte
}

// A Format is what can be converted to.
type Format string

// The formats.
const (
	Transcript Format = "transcript" // .txtar: from .har, .sse and .http
	Script     Format = "script"     // .yaml: from the fixture files of aimock, .json
)

// Options say how to convert. All may be left out.
type Options struct {
	To      Format           // "": what the file can become
	Dialect *dialect.Dialect // what a recording speaks; with it what is not of the protocol is left out
	Base    string           // the path, or URL, at which the server had the dialect's base
	Secrets []string         // values that nothing may be written of
}

// mostFixtures bounds a file of fixtures, in bytes.
const mostFixtures = 16 << 20

// Convert makes transcripts of what browsers and curl recorded, one for each
// conversation, and scripts of the fixtures of aimock. What cannot be said is named: a
// problem of level Error is about something that is left out, one of level Warning about
// something that is said otherwise. Nothing else gets lost.
func Convert(path string, o Options) ([]File, []Problem) {
	to := Transcript
	switch ext := strings.ToLower(filepath.Ext(path)); ext {
	case ".har", ".sse", ".http":
	case ".json":
		to = Script
	default:
		return nil, []Problem{{File: path, Level: Error, Text: fmt.Sprintf("%q cannot be converted: .har, .sse and .http become transcripts, .json (fixtures of aimock) scripts", ext)}}
	}
	if o.To != "" && o.To != to {
		return nil, []Problem{{File: path, Level: Error, Text: fmt.Sprintf("it can become a %s, not a %s", to, o.To)}}
	}
	if to == Script {
		data, err := readFixtures(path)
		if err != nil {
			return nil, []Problem{{File: path, Level: Error, Text: bare(err)}}
		}
		return Fixtures(path, data)
	}
	t, err := transcript.Open(path)
	if err != nil {
		return nil, []Problem{placed(err)}
	}
	return transcripts(path, t, o)
}

func readFixtures(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.Size() > mostFixtures {
		return nil, fmt.Errorf("it has more than %d MiB", mostFixtures>>20)
	}
	return os.ReadFile(path)
}

// stem is a file's name without its folder and its end.
func stem(path string) string {
	name := filepath.Base(path)
	return strings.TrimSuffix(name, filepath.Ext(name))
}

// transcripts takes a recording apart into its conversations.
func transcripts(path string, t *transcript.Transcript, o Options) (files []File, problems []Problem) {
	for _, note := range t.Notes {
		problems = append(problems, Problem{File: path, Level: Warning, Text: note})
	}
	if o.Base != "" {
		t.StripBasePath(o.Base)
	}
	talks, left := talksOf(t, o.Dialect)
	for _, what := range left {
		problems = append(problems, Problem{File: path, Level: Warning, Text: what})
	}
	if len(talks) == 0 {
		return nil, append(problems, Problem{File: path, Level: Error, Text: fmt.Sprintf("nothing in it is asked of %s: is its base (%s) where requests went, or is --base to be set?", o.Dialect.Name, cmp.Or(o.Dialect.Base, "/"))})
	}
	for i, c := range talks {
		out := Conversation{Dialect: t.Dialect, Target: t.Target, Began: t.Recorded, Trace: c, Secrets: slices.Clone(o.Secrets)}
		if o.Dialect != nil {
			out.Dialect = o.Dialect.Name
		}
		for j, x := range c.Exchanges {
			var ask spec.Event
			if o.Dialect != nil {
				ask = o.Dialect.ParseRequest(x.Request)
			}
			out.Secrets = append(out.Secrets, secretsOf(x, ask)...)
			out.Trace.Exchanges[j].At = x.At - c.Exchanges[0].At
		}
		tr := out.Transcript()
		tr.Recorded = t.Recorded
		tr.Comment = "Converted from " + filepath.Base(path) + "."
		name := stem(path)
		if len(talks) > 1 {
			name = fmt.Sprintf("%s-%d", name, i+1)
		}
		files = append(files, File{Name: name + ".txtar", Data: transcript.Format(tr)})
	}
	return files, problems
}

// talksOf are the conversations of a recording, in the order in which they began, and
// what belongs to none. Without a dialect all is one.
func talksOf(t *transcript.Transcript, d *dialect.Dialect) (talks []spec.Trace, left []string) {
	if d == nil {
		return []spec.Trace{t.Trace}, nil
	}
	d.CompleteRequests(&t.Trace)
	t.StripBasePath(d.Base)
	at := map[string]int{}
	for i, x := range t.Trace.Exchanges {
		if x.Request.Method != "" && d.Operation(x.Request) == nil {
			left = append(left, fmt.Sprintf("exchange %d is left out: %s %.80s is nothing that %s has", i+1, x.Request.Method, path(x.Request.Target), d.Name))
			continue
		}
		thread := ""
		for e := range d.Events(spec.Trace{Exchanges: []spec.Exchange{x}}) {
			if thread = e.Thread; thread != "" {
				break
			}
		}
		n, known := at[thread]
		if !known {
			n = len(talks)
			at[thread] = n
			talks = append(talks, spec.Trace{})
		}
		talks[n].Exchanges = append(talks[n].Exchanges, x)
	}
	return talks, left
}
