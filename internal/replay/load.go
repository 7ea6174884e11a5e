package replay

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/streamassay/streamassay/internal/transcript"
	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
)

// The limits of a [Library], which bound its memory.
const (
	MaxFiles = 10_000    // number of files with recordings
	MaxBytes = 512 << 20 // total size of the recordings in bytes
)

// Extensions lists the file name extensions of recordings, separated by a comma and a space.
const Extensions = ".txtar, .http, .sse, .har"

// IsRecording reports whether path ends with one of the extensions of recordings, in upper or lower
// case.
func IsRecording(path string) bool {
	ext := strings.ToLower(filepath.Ext(path))
	return ext != "" && slices.Contains(strings.Split(Extensions, ", "), ext)
}

// Load returns a library of the recordings at paths, each a file or a directory, and the problems
// found in them. If a problem is an error, the library is nil. The parameter dialects lists the
// dialects that are served, at least one. Recordings of other dialects are omitted with a warning.
//
// Load searches directories recursively. In them, it ignores files that are not recordings, and
// files and directories whose names begin with a dot.
func Load(paths []string, dialects []*dialect.Dialect) (*Library, []FileProblem) {
	files, problems := findRecordings(paths)
	if len(problems) > 0 {
		return nil, problems
	}
	list, err := transcript.OpenAll(files)
	if err != nil {
		return nil, []FileProblem{problemOf(err)}
	}
	return NewLibrary(list, dialects)
}

// findRecordings returns the paths of the recordings at paths, each a file or a directory that is
// searched recursively. The result has no duplicates. If a path cannot be read or has no
// recordings, or if all recordings together exceed MaxFiles or MaxBytes, findRecordings returns one
// problem and no files.
func findRecordings(paths []string) (files []string, problems []FileProblem) {
	total := int64(0)
	add := func(path string, size int64) error {
		if slices.Contains(files, path) {
			return nil
		}
		files = append(files, path)
		switch total += size; {
		case len(files) > MaxFiles:
			return fmt.Errorf("too many recordings: at most %d are allowed", MaxFiles)
		case total > MaxBytes:
			return fmt.Errorf("the recordings are too large: at most %d MiB in total are allowed", MaxBytes>>20)
		}
		return nil
	}
	for _, path := range paths {
		info, err := os.Stat(path)
		switch {
		case err != nil:
		case info.IsDir():
			found := false
			err = walkRecordings(path, func(path string, size int64) error {
				found = true
				return add(path, size)
			})
			if err == nil && !found {
				err = fmt.Errorf("the directory contains no recordings (%s)", Extensions)
			}
		case !IsRecording(path):
			err = fmt.Errorf("the file is not a recording (%s)", Extensions)
		default:
			err = add(path, info.Size())
		}
		if err != nil {
			return nil, fileError(path, "%s", withoutPath(err))
		}
	}
	return files, nil
}

// walkRecordings calls add for each recording in dir and its subdirectories. The arguments of add
// are the path of the file, which begins with dir, and its size in bytes. A recording is a regular
// file for which [IsRecording] returns true. Files and directories whose names begin with a dot are
// skipped. If add or reading a directory fails, walkRecordings stops and returns the error.
func walkRecordings(dir string, add func(string, int64) error) error {
	return filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case path != dir && strings.HasPrefix(entry.Name(), "."):
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		case !entry.Type().IsRegular() || !IsRecording(path):
			return nil
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		return add(path, info.Size())
	})
}

// withoutPath returns the text of err for a problem, whose file is in a separate field. If err
// contains an [fs.PathError], the result is "cannot be read: " followed by the cause, without the
// path. Otherwise, it is the unchanged text of err.
func withoutPath(err error) string {
	if inner, ok := errors.AsType[*fs.PathError](err); ok {
		return "cannot be read: " + inner.Err.Error()
	}
	return err.Error()
}

// problemOf returns err as a problem with the severity Error. The text of err before the first
// colon that a space follows is taken for the path of the file, perhaps with a colon and a line
// number, and the rest for the message. If there is no such colon, the whole text is the message.
func problemOf(err error) FileProblem {
	p := FileProblem{Severity: Error, Message: err.Error()}
	file, text, ok := strings.Cut(p.Message, ": ")
	if !ok {
		return p
	}
	p.File, p.Message = file, text
	if at := strings.LastIndexByte(file, ':'); at > 0 {
		if _, err := fmt.Sscanf(file[at+1:], "%d", &p.Line); err == nil {
			p.File = file[:at]
		}
	}
	return p
}

// NewLibrary returns a library of the given transcripts, and the problems found in them. If a
// problem is an error, the library is nil. The parameter dialects lists the dialects that are
// served, at least one.
//
// A transcript of a dialect that is not served is omitted with a warning. It is an error if a
// transcript names an unknown dialect, if it names none and several are served, or if no transcript
// has a response that can be replayed. If all transcripts are of dialects that are not served, the
// only problem says so.
func NewLibrary(list []*transcript.Transcript, dialects []*dialect.Dialect) (*Library, []FileProblem) {
	l := &Library{}
	b := libraryBuilder{library: l, dialects: dialects}
	for _, t := range list {
		b.addTranscript(t)
	}
	if slices.ContainsFunc(b.problems, func(p FileProblem) bool { return p.Severity == Error }) {
		return nil, b.problems
	}
	if len(list) > 0 && len(b.foreign) == len(list) {
		return nil, []FileProblem{b.allForeign(list)}
	}
	if l.exchanges == 0 {
		b.addProblem(Error, "recordings", "none of the recordings has a response that can be replayed in %s",
			dialectNames(dialects))
		return nil, b.problems
	}
	return l, b.problems
}

// A libraryBuilder adds transcripts to a library and collects the problems that it finds in them.
type libraryBuilder struct {
	library  *Library
	dialects []*dialect.Dialect // the served dialects
	problems []FileProblem
	foreign  []string // dialect of each transcript that was omitted because its dialect is not served
}

// allForeign returns the error for a list of transcripts none of which is of a served dialect. All
// must be in b.foreign.
func (b *libraryBuilder) allForeign(list []*transcript.Transcript) FileProblem {
	file, what := list[0].Name, "the recording is"
	if len(list) > 1 {
		file, what = "recordings", "all are"
	}
	names := slices.Compact(slices.Sorted(slices.Values(b.foreign)))
	return FileProblem{File: file, Severity: Error, Message: fmt.Sprintf("%s of %s, not of %s: use --dialect %s", what,
		strings.Join(names, ", "), dialectNames(b.dialects), strings.Join(names, ","))}
}

func (b *libraryBuilder) addProblem(level Severity, file, format string, args ...any) {
	b.problems = append(b.problems, FileProblem{File: file, Severity: level, Message: fmt.Sprintf(format, args...)})
}

// warnf records a warning about the recorded exchange x.
func (b *libraryBuilder) warnf(x *replayableExchange, format string, args ...any) {
	b.addProblem(Warning, x.conversation.file, fmt.Sprintf("exchange %d: ", x.index+1)+format, args...)
}

// addTranscript adds to the library the exchanges of transcript t that can be replayed, and records
// problems in b. It does not modify t.
func (b *libraryBuilder) addTranscript(t *transcript.Transcript) {
	for _, note := range t.Notes {
		b.addProblem(Warning, t.Name, "%s", note)
	}
	d := b.dialectOf(t)
	if d == nil {
		return
	}
	c := &replayableConversation{index: len(b.library.conversations), file: t.Name, dialect: d}
	for i, x := range RelativeTrace(t, d).Exchanges {
		e := &replayableExchange{index: i, conversation: c, method: x.Request.Method, response: x.Response}
		if b.prepareExchange(e, x) {
			c.exchanges = append(c.exchanges, e)
		}
	}
	if len(c.exchanges) > 0 {
		b.library.conversations = append(b.library.conversations, c)
		b.library.exchanges += len(c.exchanges)
	}
}

// RelativeTrace returns a copy of the recording in t, which is of dialect d. In the copy, requests
// of which only the body is known are complete, and the request targets are relative to the base
// URL of the server.
func RelativeTrace(t *transcript.Transcript, d *dialect.Dialect) spec.Trace {
	own := *t
	own.Trace.Exchanges = slices.Clone(t.Trace.Exchanges)
	d.CompleteRequests(&own.Trace)
	if own.Target != "" {
		own.StripBasePath(own.Target)
	}
	own.StripBasePath(d.Base)
	d.UseEndpoint(&own.Trace)
	return own.Trace
}

// dialectOf returns the served dialect in which transcript t was recorded. If t does not name a
// dialect, dialectOf returns the only served dialect. It records a problem and returns nil if t
// names a dialect that is unknown or not served, or if t names none and several are served.
func (b *libraryBuilder) dialectOf(t *transcript.Transcript) *dialect.Dialect {
	if t.Dialect == "" {
		if len(b.dialects) == 1 {
			return b.dialects[0]
		}
		line := ""
		if filepath.Ext(t.Name) == ".txtar" { // the only format that can name a dialect
			line = fmt.Sprintf("add a line like \"dialect: %s\", or ", b.dialects[0].Name)
		}
		b.addProblem(Error, t.Name, "the recording does not name its dialect: %sgive exactly one --dialect", line)
		return nil
	}
	served := func(name string) int {
		return slices.IndexFunc(b.dialects, func(d *dialect.Dialect) bool { return d.Name == name })
	}
	if i := served(t.Dialect); i >= 0 {
		return b.dialects[i]
	}
	named, err := dialect.Open(t.Dialect)
	if err != nil {
		b.addProblem(Error, t.Name, "%v", err)
		return nil
	}
	if i := served(named.Name); i >= 0 {
		return b.dialects[i]
	}
	b.foreign = append(b.foreign, named.Name)
	b.addProblem(Warning, t.Name, "the recording is ignored: its dialect is %s, served is %s",
		named.Name, dialectNames(b.dialects))
	return nil
}

// dialectNames returns the names of the given dialects, separated by ", ".
func dialectNames(dialects []*dialect.Dialect) string {
	var names []string
	for _, d := range dialects {
		names = append(names, d.Name)
	}
	return strings.Join(names, ", ")
}

// prepareExchange sets the fields of e that depend on the dialect, such as the operation and the
// match key, from the recorded exchange x. If x cannot be replayed, it records a warning and
// returns false. The index, conversation, method and response of e must already be set.
func (b *libraryBuilder) prepareExchange(e *replayableExchange, x spec.Exchange) bool {
	d := e.conversation.dialect
	e.request, e.operation = d.ParseRequest(x.Request), d.Operation(x.Request)
	if x.Request.Method == "" {
		i := slices.IndexFunc(d.Operations(), func(o *dialect.Operation) bool { return o.IsStream })
		if i < 0 {
			b.warnf(e, "ignored: it has no request, and %s has no streams", d.Name)
			return false
		}
		e.operation = d.Operations()[i]
	}
	switch {
	case e.operation == nil:
		b.warnf(e, "ignored: %s %s is not an operation of %s", x.Request.Method, x.Request.Target, d.Name)
		return false
	case x.Request.Principal != spec.PrimaryUser && x.Request.Principal != spec.Anonymous:
		b.warnf(e, "ignored: its principal (%s) cannot be recognized in a request", x.Request.Principal)
		return false
	case x.Response.Status == 0 && errors.Is(x.Response.End, spec.ErrNotHTTP):
		b.warnf(e, "ignored: its response is not HTTP")
		return false
	case x.Response.Status == 0 &&
		(errors.Is(x.Response.End, spec.ErrClientLeft) || errors.Is(x.Response.End, spec.ErrIdleTimeout)):
		b.warnf(e, "ignored: it has no response")
		return false
	case errors.Is(x.Response.End, spec.ErrClientLeft), errors.Is(x.Response.End, spec.ErrLimitExceeded),
		errors.Is(x.Response.End, spec.ErrStillOpen):
		b.warnf(e, "the client left before the end of the response: the replay ends where the recording does")
	}
	e.key = newMatchKey(&e.request)
	e.indexResponse(x)
	e.startsRun = !slices.ContainsFunc(e.conversation.exchanges, func(o *replayableExchange) bool {
		return o.operation == e.operation && o.request.Run != "" && o.request.Run == e.request.Run && o.thread() == e.thread()
	})
	return true
}
