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

// A OutputFile is something to write, named without a folder.
type OutputFile struct {
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

// ConvertOptions say how to convert. All may be left out.
type ConvertOptions struct {
	Format  Format           // "": what the file can become
	Dialect *dialect.Dialect // what a recording speaks; with it what is not of the protocol is left out
	BaseURL string           // the path, or URL, at which the server had the dialect's base
	Secrets []string         // values that nothing may be written of
}

// maxFixtureBytes bounds a file of fixtures, in bytes.
const maxFixtureBytes = 16 << 20

// Convert makes transcripts of what browsers and curl recorded, one for each
// conversation, and scripts of the fixtures of aimock. What cannot be said is named: a
// problem of level Error is about something that is left out, one of level Warning about
// something that is said otherwise. Nothing else gets lost.
func Convert(path string, o ConvertOptions) ([]OutputFile, []Problem) {
	to := Transcript
	switch ext := strings.ToLower(filepath.Ext(path)); ext {
	case ".har", ".sse", ".http":
	case ".json":
		to = Script
	default:
		return nil, []Problem{{File: path, Severity: Error, Message: fmt.Sprintf("%q cannot be converted: .har, .sse and .http become transcripts, .json (fixtures of aimock) scripts", ext)}}
	}
	if o.Format != "" && o.Format != to {
		return nil, []Problem{{File: path, Severity: Error, Message: fmt.Sprintf("it can become a %s, not a %s", to, o.Format)}}
	}
	if to == Script {
		data, err := readFixtures(path)
		if err != nil {
			return nil, []Problem{{File: path, Severity: Error, Message: withoutPath(err)}}
		}
		return ConvertFixtures(path, data)
	}
	t, err := transcript.Open(path)
	if err != nil {
		return nil, []Problem{problemOf(err)}
	}
	return convertRecording(path, t, o)
}

func readFixtures(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.Size() > maxFixtureBytes {
		return nil, fmt.Errorf("it has more than %d MiB", maxFixtureBytes>>20)
	}
	return os.ReadFile(path)
}

// fileStem is a file's name without its folder and its end.
func fileStem(path string) string {
	name := filepath.Base(path)
	return strings.TrimSuffix(name, filepath.Ext(name))
}

// convertRecording takes a recording apart into its conversations.
func convertRecording(path string, t *transcript.Transcript, o ConvertOptions) (files []OutputFile, problems []Problem) {
	for _, note := range t.Notes {
		problems = append(problems, Problem{File: path, Severity: Warning, Message: note})
	}
	if o.BaseURL != "" {
		t.StripBasePath(o.BaseURL)
	}
	conversations, left := splitConversations(t, o.Dialect)
	for _, what := range left {
		problems = append(problems, Problem{File: path, Severity: Warning, Message: what})
	}
	if len(conversations) == 0 {
		return nil, append(problems, Problem{File: path, Severity: Error, Message: fmt.Sprintf("nothing in it is asked of %s: is its base (%s) where requests went, or is --base to be set?", o.Dialect.Name, cmp.Or(o.Dialect.Base, "/"))})
	}
	for i, c := range conversations {
		out := RecordedConversation{Dialect: t.Dialect, Target: t.Target, StartedAt: t.Recorded, Trace: c, Secrets: slices.Clone(o.Secrets)}
		if o.Dialect != nil {
			out.Dialect = o.Dialect.Name
		}
		for j, x := range c.Exchanges {
			var request spec.Event
			if o.Dialect != nil {
				request = o.Dialect.ParseRequest(x.Request)
			}
			out.Secrets = append(out.Secrets, exchangeSecrets(x, request)...)
			out.Trace.Exchanges[j].At = x.At - c.Exchanges[0].At
		}
		tr := out.Transcript()
		tr.Recorded = t.Recorded
		tr.Comment = "Converted from " + filepath.Base(path) + "."
		name := fileStem(path)
		if len(conversations) > 1 {
			name = fmt.Sprintf("%s-%d", name, i+1)
		}
		files = append(files, OutputFile{Name: name + ".txtar", Data: transcript.Format(tr)})
	}
	return files, problems
}

// splitConversations are the conversations of a recording, in the order in which they began, and
// what belongs to none. Without a dialect all is one.
func splitConversations(t *transcript.Transcript, d *dialect.Dialect) (conversations []spec.Trace, skipped []string) {
	if d == nil {
		return []spec.Trace{t.Trace}, nil
	}
	d.CompleteRequests(&t.Trace)
	t.StripBasePath(d.Base)
	at := map[string]int{}
	for i, x := range t.Trace.Exchanges {
		if x.Request.Method != "" && d.Operation(x.Request) == nil {
			skipped = append(skipped, fmt.Sprintf("exchange %d is left out: %s %.80s is nothing that %s has", i+1, x.Request.Method, targetPath(x.Request.Target), d.Name))
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
			n = len(conversations)
			at[thread] = n
			conversations = append(conversations, spec.Trace{})
		}
		conversations[n].Exchanges = append(conversations[n].Exchanges, x)
	}
	return conversations, skipped
}
