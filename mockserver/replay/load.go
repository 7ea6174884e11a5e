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

// What a library may hold.
const (
	MaxFiles = 10_000    // files
	MaxBytes = 512 << 20 // bytes of all of them
)

// Extensions are the files that can be played, for whoever names them in a message.
const Extensions = ".txtar, .http, .sse, .har"

// IsRecording says whether a file of this name is a recording.
func IsRecording(path string) bool {
	ext := strings.ToLower(filepath.Ext(path))
	return ext != "" && slices.Contains(strings.Split(Extensions, ", "), ext)
}

// Load reads recordings to answer from: files, and what lies in directories, however
// deep. Files there that are no recordings, and those whose names begin with a dot, are
// passed over. Of the problems, one of level Error means that the library is nil.
func Load(paths []string, dialects []*dialect.Dialect) (*Library, []Problem) {
	files, problems := findRecordings(paths)
	if len(problems) > 0 {
		return nil, problems
	}
	list, err := transcript.OpenAll(files)
	if err != nil {
		return nil, []Problem{problemOf(err)}
	}
	return NewLibrary(list, dialects)
}

// findRecordings lists the recordings that paths lead to, by name.
func findRecordings(paths []string) (files []string, problems []Problem) {
	total := int64(0)
	add := func(path string, size int64) error {
		if slices.Contains(files, path) {
			return nil
		}
		files = append(files, path)
		switch total += size; {
		case len(files) > MaxFiles:
			return fmt.Errorf("more than %d recordings: name fewer", MaxFiles)
		case total > MaxBytes:
			return fmt.Errorf("the recordings have more than %d MiB in all: name fewer", MaxBytes>>20)
		}
		return nil
	}
	for _, path := range paths {
		info, err := os.Stat(path)
		switch {
		case err != nil:
		case info.IsDir():
			before := len(files)
			if err = walkRecordings(path, add); err == nil && len(files) == before {
				err = fmt.Errorf("there is no recording in it: the names of recordings end with %s", Extensions)
			}
		case !IsRecording(path):
			err = fmt.Errorf("it is no recording: the names of recordings end with %s", Extensions)
		default:
			err = add(path, info.Size())
		}
		if err != nil {
			return nil, []Problem{{File: path, Severity: Error, Message: withoutPath(err)}}
		}
	}
	return files, nil
}

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

// withoutPath is an error without the path that its problem names anyway.
func withoutPath(err error) string {
	if inner, ok := errors.AsType[*fs.PathError](err); ok {
		return "cannot be read: " + inner.Err.Error()
	}
	return err.Error()
}

// problemOf is the problem of an error that begins with FILE:LINE: or FILE:.
func problemOf(err error) Problem {
	p := Problem{Severity: Error, Message: err.Error()}
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

// NewLibrary makes a library of transcripts. Those that name a dialect that is not among
// dialects are left out, with a warning; those that name none are of the only one.
func NewLibrary(list []*transcript.Transcript, dialects []*dialect.Dialect) (*Library, []Problem) {
	l := &Library{}
	b := libraryBuilder{library: l, dialects: dialects}
	for _, t := range list {
		b.addTranscript(t)
	}
	if slices.ContainsFunc(b.problems, func(p Problem) bool { return p.Severity == Error }) {
		return nil, b.problems
	}
	if l.exchanges == 0 {
		b.addProblem(Error, "recordings", "none of them holds an answer that can be played in %s", dialectNames(dialects))
		return nil, b.problems
	}
	return l, b.problems
}

// A libraryBuilder fills a library.
type libraryBuilder struct {
	library  *Library
	dialects []*dialect.Dialect
	problems []Problem
}

func (b *libraryBuilder) addProblem(level Severity, file, format string, args ...any) {
	b.problems = append(b.problems, Problem{File: file, Severity: level, Message: fmt.Sprintf(format, args...)})
}

func (b *libraryBuilder) warnf(x *exchange, format string, args ...any) {
	b.addProblem(Warning, x.conversation.file, fmt.Sprintf("exchange %d: ", x.index+1)+format, args...)
}

// addTranscript takes a transcript in. It is not changed.
func (b *libraryBuilder) addTranscript(t *transcript.Transcript) {
	for _, note := range t.Notes {
		b.addProblem(Warning, t.Name, "%s", note)
	}
	d := b.dialectOf(t)
	if d == nil {
		return
	}
	c := &conversation{index: len(b.library.conversations), file: t.Name, dialect: d}
	own := *t
	own.Trace.Exchanges = slices.Clone(t.Trace.Exchanges)
	d.CompleteRequests(&own.Trace)
	if own.Target != "" {
		own.StripBasePath(own.Target)
	}
	own.StripBasePath(d.Base)
	for i, x := range own.Trace.Exchanges {
		e := &exchange{index: i, conversation: c, method: x.Request.Method, response: x.Response}
		if b.prepareExchange(e, x) {
			c.exchanges = append(c.exchanges, e)
		}
	}
	if len(c.exchanges) > 0 {
		b.library.conversations = append(b.library.conversations, c)
		b.library.exchanges += len(c.exchanges)
	}
}

// dialectOf is the dialect of a transcript, nil if it cannot be played.
func (b *libraryBuilder) dialectOf(t *transcript.Transcript) *dialect.Dialect {
	if t.Dialect == "" {
		if len(b.dialects) == 1 {
			return b.dialects[0]
		}
		b.addProblem(Error, t.Name, "it does not say its dialect: add a line like \"dialect: %s\", or serve only one", b.dialects[0].Name)
		return nil
	}
	named, err := dialect.Open(t.Dialect)
	if err != nil {
		b.addProblem(Error, t.Name, "%v", err)
		return nil
	}
	if i := slices.IndexFunc(b.dialects, func(d *dialect.Dialect) bool { return d.Name == named.Name }); i >= 0 {
		return b.dialects[i]
	}
	b.addProblem(Warning, t.Name, "it is left out: it speaks %s, and what is served is %s", named.Name, dialectNames(b.dialects))
	return nil
}

func dialectNames(dialects []*dialect.Dialect) string {
	var names []string
	for _, d := range dialects {
		names = append(names, d.Name)
	}
	return strings.Join(names, ", ")
}

// prepareExchange understands a recorded exchange, and says whether it can be played.
func (b *libraryBuilder) prepareExchange(e *exchange, x spec.Exchange) bool {
	d := e.conversation.dialect
	e.request = d.ParseRequest(x.Request)
	switch {
	case x.Request.Method == "":
		i := slices.IndexFunc(d.Operations(), func(o *dialect.Operation) bool { return o.IsStream })
		if i < 0 {
			b.warnf(e, "it is left out: its request is not recorded, and %s streams nothing", d.Name)
			return false
		}
		e.operation = d.Operations()[i]
	default:
		e.operation = d.Operation(x.Request)
	}
	switch {
	case e.operation == nil:
		b.warnf(e, "it is left out: %s %s is nothing that %s has", x.Request.Method, x.Request.Target, d.Name)
		return false
	case x.Request.Principal == spec.OtherUser || x.Request.Principal == spec.UnknownUser:
		b.warnf(e, "it is left out: who asks there (%s) cannot be told from others", x.Request.Principal)
		return false
	case x.Response.Status == 0 && errors.Is(x.Response.End, spec.ErrNotHTTP):
		b.warnf(e, "it is left out: its answer is not HTTP")
		return false
	case x.Response.Status == 0 && (errors.Is(x.Response.End, spec.ErrClientLeft) || errors.Is(x.Response.End, spec.ErrIdleTimeout)):
		b.warnf(e, "it is left out: no answer had come yet")
		return false
	case errors.Is(x.Response.End, spec.ErrClientLeft), errors.Is(x.Response.End, spec.ErrLimitExceeded):
		b.warnf(e, "the client did not hear the answer out: what is played ends where the recording does")
	}
	e.key = newMatchKey(&e.request)
	e.indexResponse(x)
	e.startsRun = !slices.ContainsFunc(e.conversation.exchanges, func(o *exchange) bool {
		return o.operation == e.operation && o.request.Run != "" && o.request.Run == e.request.Run && o.thread() == e.thread()
	})
	return true
}
