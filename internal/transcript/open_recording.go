package transcript

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/streamassay/streamassay/internal/textfile"
	"github.com/streamassay/streamassay/spec"
)

// parsers maps each file name extension of recordings to the function that parses the files with
// that extension.
var parsers = map[string]func(path string, data []byte) (*Transcript, error){
	".txtar": Parse,
	".http":  openCurl,
	".sse":   openStream,
	".har":   parseHAR,
}

// Open reads one conversation from a file, whose extension determines the format:
//
//   - .txtar: a transcript; see the package comment.
//   - .http: the output of "curl -sN -i", with the request (or only its body) in
//     NAME.request.json in the same directory. Without that file the request is unknown and
//     its Method is "".
//   - .sse: the body of an event stream. The request is unknown.
//   - .har: an HTTP archive, version 1.2.
//
// Open returns an error if the file has a different extension, cannot be read or is invalid. The
// error names the file, the line or JSON path, and what is expected.
func Open(path string) (*Transcript, error) {
	read, ok := parsers[strings.ToLower(filepath.Ext(path))]
	if !ok {
		if name, isRequest := strings.CutSuffix(path, ".request.json"); isRequest {
			return nil, fmt.Errorf("%s: is read together with %s.http: give that file only", path, name)
		}
		return nil, fmt.Errorf("%s: unknown kind of recording (want a name that ends with .txtar, .http, .sse or .har)", path)
	}
	data, err := readFile(path)
	if err != nil {
		return nil, err
	}
	if ext := filepath.Ext(path); strings.ToLower(ext) != ".http" && bytes.HasPrefix(data, []byte("HTTP/")) {
		status, _, _ := bytes.Cut(data, []byte("\n"))
		return nil, position{path, 1}.errorAt("begins with %q, like the output of curl -i: name it %s.http",
			excerpt(strings.TrimSpace(string(status))), strings.TrimSuffix(path, ext))
	}
	return read(path, data)
}

// Read reads one conversation from r, such as standard input. The parameter name becomes the name
// of the transcript and is used in errors. Read returns an error if r cannot be read, is empty,
// contains more than [MaxFileBytes] bytes, or is invalid.
//
// Read recognizes the format by the content: the output of "curl -i" begins with a status line, an
// HTTP archive begins with a brace, and a transcript has a section "1.request". Anything else is
// the body of an event stream.
func Read(name string, r io.Reader) (*Transcript, error) {
	data, err := io.ReadAll(io.LimitReader(r, MaxFileBytes+1))
	problem := textfile.CheckFormat(data)
	start := bytes.TrimLeft(bytes.TrimPrefix(data, []byte("\ufeff")), " \t\r\n")
	switch {
	case err != nil:
		return nil, readError(name, err)
	case len(data) > MaxFileBytes:
		return nil, tooLarge(name)
	case problem != nil:
		return nil, position{name, problem.Line}.errorAt("%s", problem.Message)
	case len(start) == 0:
		return nil, fmt.Errorf("%s: empty input", name)
	case bytes.HasPrefix(start, []byte("HTTP/")):
		return parseCurl(name, start, recordedCurlCall{})
	case start[0] == '{':
		return parseHAR(name, data)
	case bytes.Contains(data, []byte("-- 1.request --")):
		return Parse(name, data)
	}
	return openStream(name, data)
}

// OpenAll reads the files with the given paths and returns their conversations, in the order of
// their first files. A path that occurs twice is read once. OpenAll stops at the first file that
// cannot be read or is invalid, and returns the error.
//
// Each file is one conversation, with one exception: several files NAME.1.http, NAME.2.http and so
// on are the parts of one conversation, which is named NAME.*.http. If one of the numbers is
// missing, each of these files is a conversation, with a note about the missing parts.
func OpenAll(paths []string) ([]*Transcript, error) {
	parts := map[string][]string{} // by conversation, in order
	for _, path := range paths {
		if group, n := conversationPart(path); n > 0 && !slices.Contains(parts[group], path) {
			parts[group] = append(parts[group], path)
		}
	}
	var all []*Transcript
	done := map[string]bool{}
	number := func(path string) int {
		_, n := conversationPart(path)
		return n
	}
	for _, path := range paths {
		group, n := conversationPart(path)
		if done[path] || done[group] {
			continue
		}
		files := parts[group]
		slices.SortFunc(files, func(a, b string) int { return cmp.Compare(number(a), number(b)) }) // 9 before 12
		t, err := &Transcript{}, error(nil)
		if len(files) > 1 && number(files[len(files)-1]) == len(files) { // none is missing
			done[group] = true
			t, err = openParts(group, files)
		} else {
			done[path] = true
			t, err = Open(path)
		}
		if err != nil {
			return nil, err
		}
		if n > 0 && !done[group] && (n > 1 || len(files) > 1) {
			t.Notes = append(t.Notes, "judged on its own: other parts of "+filepath.Base(group)+" are missing")
		}
		all = append(all, t)
	}
	return all, nil
}

// conversationPart returns the name of the conversation of which the file at path is a part, and
// the number of the part, from 1. For "a.2.http", it returns "a.*.http" and 2. If the file is not a
// numbered part, it returns path and 0.
func conversationPart(path string) (group string, n int) {
	rest, ok := strings.CutSuffix(path, ".http")
	dot := strings.LastIndexByte(rest, '.')
	if !ok || dot < 0 {
		return path, 0
	}
	n, err := strconv.Atoi(rest[dot+1:])
	if err != nil || n < 1 || strconv.Itoa(n) != rest[dot+1:] {
		return path, 0
	}
	return rest[:dot] + ".*.http", n
}

// openParts reads the given files, in order, and joins them into one conversation, whose name is
// group. It returns the error of the first file that cannot be read or is invalid.
func openParts(group string, files []string) (*Transcript, error) {
	t := &Transcript{Name: group, Files: files}
	for _, path := range files {
		part, err := Open(path)
		if err != nil {
			return nil, err
		}
		t.Trace.Exchanges = append(t.Trace.Exchanges, part.Trace.Exchanges...)
		t.Playback = append(t.Playback, part.Playback...)
		for _, note := range part.Notes {
			t.Notes = append(t.Notes, filepath.Base(path)+": "+note)
		}
		if part.Comment != "" {
			t.Comment = strings.TrimPrefix(t.Comment+"\n"+filepath.Base(path)+" "+part.Comment, "\n")
		}
	}
	return t, nil
}

// readFile returns the content of the file at path. It returns an error if the file cannot be read,
// is a directory, or is larger than MaxFileBytes.
func readFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, readError(path, err)
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, readError(path, err)
	case info.IsDir():
		return nil, fmt.Errorf("%s is a folder: name the recordings in it", path)
	case info.Size() > MaxFileBytes:
		return nil, tooLarge(path)
	}
	var b bytes.Buffer
	b.Grow(int(info.Size()) + bytes.MinRead) // ReadFrom then reads a regular file without copying it
	if _, err := b.ReadFrom(io.LimitReader(f, MaxFileBytes+1)); err != nil {
		return nil, readError(path, err)
	}
	if b.Len() > MaxFileBytes {
		return nil, tooLarge(path)
	}
	if problem := textfile.CheckFormat(b.Bytes()); problem != nil {
		return nil, position{path, problem.Line}.errorAt("%s", problem.Message)
	}
	return b.Bytes(), nil
}

// readError returns an error that states that the file at path cannot be read, and wraps err. If
// err is an [fs.PathError], which contains the path, too, only its inner error is wrapped.
func readError(path string, err error) error {
	if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
		err = pathErr.Err
	}
	return fmt.Errorf("%s: cannot be read: %w", path, err)
}

// tooLarge returns the error for the file called name, which is larger than MaxFileBytes.
func tooLarge(name string) error {
	return fmt.Errorf("%s: larger than the limit of %d MiB", name, MaxFileBytes>>20)
}

// openStream returns a conversation with a single response, an event stream whose body is data. The
// request is unknown. The parameter path becomes the name of the conversation. The error is always
// nil.
func openStream(path string, data []byte) (*Transcript, error) {
	r := spec.Response{Status: 200, Header: spec.Header{{Name: "Content-Type", Value: eventStream}}, Body: data}
	return singleExchange(path, spec.Exchange{Response: r}), nil
}

// singleExchange returns a conversation with the given name that consists of the exchange x.
func singleExchange(name string, x spec.Exchange) *Transcript {
	return &Transcript{
		Name:     name,
		Trace:    spec.Trace{Exchanges: []spec.Exchange{x}},
		Playback: [][]PlaybackStep{playbackSteps(x.Response)},
	}
}

// openCurl parses data, the content of the file NAME.http at path, as the output of curl. If there
// is a file NAME.request.json in the same directory, openCurl reads the request from that file. It
// returns an error if one of the two files is invalid, or if NAME.request.json cannot be read.
func openCurl(path string, data []byte) (*Transcript, error) {
	beside := path[:len(path)-len(".http")] + ".request.json"
	request, err := readFile(beside)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return parseCurl(path, data, recordedCurlCall{})
	case err != nil:
		return nil, err
	}
	run, err := parseCurlInvocation(beside, request)
	if err != nil {
		return nil, err
	}
	return parseCurl(path, data, run)
}
