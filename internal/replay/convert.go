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

// A ConvertedFile is a file that a conversion produces. Its name has no directory; the caller
// decides where to write it.
type ConvertedFile struct {
	Name string
	Data []byte
}

// An OutputFormat is a kind of file that a conversion can produce.
type OutputFormat string

// The formats of files that a conversion produces.
const (
	Transcript OutputFormat = "transcript" // .txtar, converted from .har, .sse and .http
	Script     OutputFormat = "script"     // .yaml, converted from fixture files of aimock (.json)
)

// A ConvertOptions configures a conversion. All fields are optional.
type ConvertOptions struct {
	Format  OutputFormat     // the desired format; "" means the format to which the file can be converted
	Dialect *dialect.Dialect // the dialect of a recording; if not nil, exchanges of other dialects are omitted
	BaseURL string           // the path or URL at which the recorded server served the dialect; "" means none
	Secrets []string         // values to redact in transcripts
}

// maxFixtureBytes is the maximum size of a file of aimock fixtures, in bytes.
const maxFixtureBytes = 16 << 20

// Convert converts the file at path to files of a different format, and returns them without
// writing them. The extension of path determines the conversion. A recording made with a browser or
// curl (.har, .sse or .http) becomes transcripts: one for each thread if o.Dialect is set,
// otherwise one for the whole file. A file of aimock fixtures (.json; see [ConvertFixtures])
// becomes a script. Convert reports an error for everything that cannot be converted, and a warning
// for everything that is omitted or represented differently.
func Convert(path string, o ConvertOptions) ([]ConvertedFile, []FileProblem) {
	to := Transcript
	switch ext := strings.ToLower(filepath.Ext(path)); ext {
	case ".har", ".sse", ".http":
	case ".json":
		to = Script
	default:
		return nil, fileError(path, "cannot convert %q: .har, .sse and .http become transcripts, "+
			".json (fixtures of aimock) scripts", ext)
	}
	if o.Format != "" && o.Format != to {
		return nil, fileError(path, "the file can be converted to a %s, not to a %s", to, o.Format)
	}
	if to == Script {
		data, err := readFixtures(path)
		if err != nil {
			return nil, fileError(path, "%s", withoutPath(err))
		}
		return ConvertFixtures(path, data)
	}
	t, err := transcript.Open(path)
	if err != nil {
		return nil, []FileProblem{problemOf(err)}
	}
	return convertRecording(path, t, o)
}

// readFixtures returns the content of a file of aimock fixtures. It returns an error if the file is
// larger than maxFixtureBytes or cannot be read.
func readFixtures(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.Size() > maxFixtureBytes {
		return nil, fmt.Errorf("the file is too large: at most %d MiB are allowed", maxFixtureBytes>>20)
	}
	return os.ReadFile(path)
}

// fileError returns a list with one problem, which is an error about the whole file at path. The
// message is formatted as by [fmt.Sprintf].
func fileError(path, format string, args ...any) []FileProblem {
	return []FileProblem{{File: path, Severity: Error, Message: fmt.Sprintf(format, args...)}}
}

// fileStem returns the name of the file at path without its directory and extension.
func fileStem(path string) string {
	name := filepath.Base(path)
	return strings.TrimSuffix(name, filepath.Ext(name))
}

// convertRecording returns one transcript for each conversation of the recording t, and the
// problems that it found. The parameter path is the file from which t was read. If o.Dialect is set
// and t has no exchange of that dialect, there are no transcripts, and the last problem is an
// error. convertRecording modifies t.
func convertRecording(
	path string, t *transcript.Transcript, o ConvertOptions,
) (files []ConvertedFile, problems []FileProblem) {
	hasTarget := func(x spec.Exchange) bool { return x.Request.Target != "" }
	if o.BaseURL != "" && !t.StripBasePath(o.BaseURL) && slices.ContainsFunc(t.Trace.Exchanges, hasTarget) {
		message := "no request begins with the base path " + o.BaseURL + ", which is not removed"
		problems = append(problems, FileProblem{File: path, Severity: Warning, Message: message})
	}
	conversations, skipped := splitConversations(t, o.Dialect)
	for _, message := range slices.Concat(t.Notes, skipped) {
		problems = append(problems, FileProblem{File: path, Severity: Warning, Message: message})
	}
	if len(conversations) == 0 {
		return nil, append(problems, fileError(path,
			"no requests of %s in the file: if a base path such as /v1 comes before the paths of the dialect (%s…), set --base",
			o.Dialect.Name, cmp.Or(o.Dialect.Base, "/"))...)
	}
	for i, c := range conversations {
		out := &transcript.Transcript{
			Comment: "Converted from " + filepath.Base(path) + ".", Dialect: t.Dialect, Target: t.Target,
			Recorded: t.Recorded, Trace: c, Secrets: slices.Clone(o.Secrets),
		}
		if o.Dialect != nil {
			out.Dialect = o.Dialect.Name
		}
		start := c.Exchanges[0].At // before the loop changes it: out.Trace shares the exchanges
		for j, x := range c.Exchanges {
			var request spec.Event
			if o.Dialect != nil {
				request = o.Dialect.ParseRequest(x.Request)
			}
			out.Secrets = append(out.Secrets, ExchangeSecrets(x, request)...)
			out.Trace.Exchanges[j].At = x.At - start
		}
		name := fileStem(path)
		if len(conversations) > 1 {
			name = fmt.Sprintf("%s-%d", name, i+1)
		}
		files = append(files, ConvertedFile{Name: name + ".txtar", Data: transcript.Format(out)})
	}
	return files, problems
}

// splitConversations returns the conversations of the recording t in order of their first
// exchanges: one for each thread, and one for all exchanges without a thread. Requests that are not
// operations of dialect d are omitted, and skipped has a message for each of them. If d is nil, the
// whole recording is one conversation.
//
// If d is not nil, splitConversations modifies t: it completes requests of which only the body is
// known, and removes the base path of d from the request targets.
func splitConversations(
	t *transcript.Transcript, d *dialect.Dialect,
) (conversations []spec.Trace, skipped []string) {
	if d == nil {
		return []spec.Trace{t.Trace}, nil
	}
	d.CompleteRequests(&t.Trace)
	t.StripBasePath(d.Base)
	d.UseEndpoint(&t.Trace)
	at := map[string]int{}
	for i, x := range t.Trace.Exchanges {
		if x.Request.Method != "" && d.Operation(x.Request) == nil {
			skipped = append(skipped, fmt.Sprintf("exchange %d is omitted: %s %.80s is not an operation of %s",
				i+1, x.Request.Method, targetPath(x.Request.Target), d.Name))
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
