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

// Kinds are the files that can be played, for whoever names them in a message.
const Kinds = ".txtar, .http, .sse, .har"

// Reads says whether a file of this name is a recording.
func Reads(path string) bool {
	ext := strings.ToLower(filepath.Ext(path))
	return ext != "" && slices.Contains(strings.Split(Kinds, ", "), ext)
}

// Load reads recordings to answer from: files, and what lies in directories, however
// deep. Files there that are no recordings, and those whose names begin with a dot, are
// passed over. Of the problems, one of level Error means that the library is nil.
func Load(paths []string, dialects []*dialect.Dialect) (*Library, []Problem) {
	files, problems := find(paths)
	if len(problems) > 0 {
		return nil, problems
	}
	list, err := transcript.OpenAll(files)
	if err != nil {
		return nil, []Problem{placed(err)}
	}
	return New(list, dialects)
}

// find lists the recordings that paths lead to, by name.
func find(paths []string) (files []string, problems []Problem) {
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
			if err = walk(path, add); err == nil && len(files) == before {
				err = fmt.Errorf("there is no recording in it: the names of recordings end with %s", Kinds)
			}
		case !Reads(path):
			err = fmt.Errorf("it is no recording: the names of recordings end with %s", Kinds)
		default:
			err = add(path, info.Size())
		}
		if err != nil {
			return nil, []Problem{{File: path, Level: Error, Text: bare(err)}}
		}
	}
	return files, nil
}

func walk(dir string, add func(string, int64) error) error {
	return filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case path != dir && strings.HasPrefix(entry.Name(), "."):
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		case !entry.Type().IsRegular() || !Reads(path):
			return nil
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		return add(path, info.Size())
	})
}

// bare is an error without the path that its problem names anyway.
func bare(err error) string {
	if inner, ok := errors.AsType[*fs.PathError](err); ok {
		return "cannot be read: " + inner.Err.Error()
	}
	return err.Error()
}

// placed is the problem of an error that begins with FILE:LINE: or FILE:.
func placed(err error) Problem {
	p := Problem{Level: Error, Text: err.Error()}
	file, text, ok := strings.Cut(p.Text, ": ")
	if !ok {
		return p
	}
	p.File, p.Text = file, text
	if at := strings.LastIndexByte(file, ':'); at > 0 {
		if _, err := fmt.Sscanf(file[at+1:], "%d", &p.Line); err == nil {
			p.File = file[:at]
		}
	}
	return p
}

// New makes a library of transcripts. Those that name a dialect that is not among
// dialects are left out, with a warning; those that name none are of the only one.
func New(list []*transcript.Transcript, dialects []*dialect.Dialect) (*Library, []Problem) {
	l := &Library{}
	b := builder{library: l, dialects: dialects}
	for _, t := range list {
		b.add(t)
	}
	if slices.ContainsFunc(b.problems, func(p Problem) bool { return p.Level == Error }) {
		return nil, b.problems
	}
	if l.exchanges == 0 {
		b.problem(Error, "recordings", "none of them holds an answer that can be played in %s", namesOf(dialects))
		return nil, b.problems
	}
	return l, b.problems
}

// A builder fills a library.
type builder struct {
	library  *Library
	dialects []*dialect.Dialect
	problems []Problem
}

func (b *builder) problem(level Level, file, format string, args ...any) {
	b.problems = append(b.problems, Problem{File: file, Level: level, Text: fmt.Sprintf(format, args...)})
}

func (b *builder) warn(x *exchange, format string, args ...any) {
	b.problem(Warning, x.talk.file, fmt.Sprintf("exchange %d: ", x.n+1)+format, args...)
}

// add takes a transcript in. It is not changed.
func (b *builder) add(t *transcript.Transcript) {
	for _, note := range t.Notes {
		b.problem(Warning, t.Name, "%s", note)
	}
	d := b.dialectOf(t)
	if d == nil {
		return
	}
	c := &conversation{n: len(b.library.conversations), file: t.Name, dialect: d}
	own := *t
	own.Trace.Exchanges = slices.Clone(t.Trace.Exchanges)
	d.CompleteRequests(&own.Trace)
	if own.Target != "" {
		own.StripBasePath(own.Target)
	}
	own.StripBasePath(d.Base)
	for i, x := range own.Trace.Exchanges {
		e := &exchange{n: i, talk: c, method: x.Request.Method, answer: x.Response}
		if b.hear(e, x) {
			c.exchanges = append(c.exchanges, e)
		}
	}
	if len(c.exchanges) > 0 {
		b.library.conversations = append(b.library.conversations, c)
		b.library.exchanges += len(c.exchanges)
	}
}

// dialectOf is the dialect of a transcript, nil if it cannot be played.
func (b *builder) dialectOf(t *transcript.Transcript) *dialect.Dialect {
	if t.Dialect == "" {
		if len(b.dialects) == 1 {
			return b.dialects[0]
		}
		b.problem(Error, t.Name, "it does not say its dialect: add a line like \"dialect: %s\", or serve only one", b.dialects[0].Name)
		return nil
	}
	named, err := dialect.Open(t.Dialect)
	if err != nil {
		b.problem(Error, t.Name, "%v", err)
		return nil
	}
	if i := slices.IndexFunc(b.dialects, func(d *dialect.Dialect) bool { return d.Name == named.Name }); i >= 0 {
		return b.dialects[i]
	}
	b.problem(Warning, t.Name, "it is left out: it speaks %s, and what is served is %s", named.Name, namesOf(b.dialects))
	return nil
}

func namesOf(dialects []*dialect.Dialect) string {
	var names []string
	for _, d := range dialects {
		names = append(names, d.Name)
	}
	return strings.Join(names, ", ")
}

// hear understands a recorded exchange, and says whether it can be played.
func (b *builder) hear(e *exchange, x spec.Exchange) bool {
	d := e.talk.dialect
	e.ask = d.ParseRequest(x.Request)
	switch {
	case x.Request.Method == "":
		i := slices.IndexFunc(d.Operations(), func(o *dialect.Operation) bool { return o.IsStream })
		if i < 0 {
			b.warn(e, "it is left out: its request is not recorded, and %s streams nothing", d.Name)
			return false
		}
		e.op = d.Operations()[i]
	default:
		e.op = d.Operation(x.Request)
	}
	switch {
	case e.op == nil:
		b.warn(e, "it is left out: %s %s is nothing that %s has", x.Request.Method, x.Request.Target, d.Name)
		return false
	case x.Request.Principal == spec.OtherUser || x.Request.Principal == spec.UnknownUser:
		b.warn(e, "it is left out: who asks there (%s) cannot be told from others", x.Request.Principal)
		return false
	case x.Response.Status == 0 && errors.Is(x.Response.End, spec.ErrNotHTTP):
		b.warn(e, "it is left out: its answer is not HTTP")
		return false
	case x.Response.Status == 0 && (errors.Is(x.Response.End, spec.ErrClientLeft) || errors.Is(x.Response.End, spec.ErrIdleTimeout)):
		b.warn(e, "it is left out: no answer had come yet")
		return false
	case errors.Is(x.Response.End, spec.ErrClientLeft), errors.Is(x.Response.End, spec.ErrLimitExceeded):
		b.warn(e, "the client did not hear the answer out: what is played ends where the recording does")
	}
	e.key = questionOf(&e.ask)
	e.listen(x)
	e.opens = !slices.ContainsFunc(e.talk.exchanges, func(o *exchange) bool {
		return o.op == e.op && o.ask.Run != "" && o.ask.Run == e.ask.Run && o.thread() == e.thread()
	})
	return true
}
