package dialect

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"github.com/streamassay/streamassay/internal/textfile"
	"github.com/streamassay/streamassay/internal/yamltree"
)

// A FileError is an error about a document or catalogue, or about one place in it.
type FileError struct {
	File    string // name or path of the file
	Line    int    // from 1; 0 if the error concerns the file as a whole
	Pointer string // JSON pointer to the invalid value; "" if the error concerns the file as a whole
	Message string
}

// Error returns the error in the form "FILE:LINE: POINTER: MESSAGE", without the line if it is 0
// and without the pointer if it is "".
func (e *FileError) Error() string {
	text := e.File
	if e.Line > 0 {
		text += ":" + strconv.Itoa(e.Line)
	}
	if e.Pointer != "" {
		text += ": " + e.Pointer
	}
	return text + ": " + e.Message
}

// A sourceFile is the file of a document or catalogue, before it is parsed.
type sourceFile struct {
	name string // path for messages
	data []byte // content
}

// documentFile returns the name of the file with the document of the given version. This is
// VERSION.yaml or, if version is already the name of a YAML file, version itself.
func documentFile(version string) string {
	if isYAMLFile(version) {
		return version
	}
	return version + ".yaml"
}

// catalogueFile returns the name of the file with the catalogue of the given version,
// VERSION.requirements.yaml. If version is the name of a YAML file, such as "own.yml", the result
// has the same extension: "own.requirements.yml".
func catalogueFile(version string) string {
	file := documentFile(version)
	extension := path.Ext(file)
	return strings.TrimSuffix(file, extension) + ".requirements" + extension
}

// isYAMLFile reports whether a file name ends in .yaml or .yml.
func isYAMLFile(name string) bool {
	return strings.HasSuffix(name, ".yaml") || strings.HasSuffix(name, ".yml")
}

// MaxFileBytes is the maximum size, in bytes, of a document or catalogue that [OpenFile] reads.
// OpenFile returns an error for a larger file.
const MaxFileBytes = 4 << 20

// A sizeLimitedDirFS is a file system of the files in one directory. Its method ReadFile reads only
// regular files of at most [MaxFileBytes]. Errors contain the path of the file as returned by the
// method path.
type sizeLimitedDirFS struct{ dir string } // "" is the working directory

// Open implements [fs.FS]. Unlike ReadFile, it does not restrict which files can be read.
func (b sizeLimitedDirFS) Open(name string) (fs.File, error) {
	return os.DirFS(cmp.Or(b.dir, ".")).Open(name)
}

// ReadFile implements [fs.ReadFileFS]. It returns a [*FileError] if the file is not directly in the
// directory, is not a regular file, is too large, is not UTF-8, or cannot be read. The result does
// not contain the byte order mark with which a file may begin.
func (b sizeLimitedDirFS) ReadFile(name string) ([]byte, error) {
	fail := func(message string) ([]byte, error) {
		return nil, &FileError{File: b.path(name), Message: message}
	}
	if !fs.ValidPath(name) || strings.Contains(name, "/") {
		return fail("must be the name of a file in the same directory")
	}
	info, err := os.Stat(b.path(name))
	switch {
	case err != nil:
		return fail(causeOf(err))
	case !info.Mode().IsRegular():
		return fail("is not a regular file")
	}
	f, err := os.Open(b.path(name))
	if err != nil {
		return fail(causeOf(err))
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, MaxFileBytes+1))
	switch {
	case err != nil:
		return fail(causeOf(err))
	case len(data) > MaxFileBytes:
		return fail(fmt.Sprintf("is larger than %d bytes", MaxFileBytes))
	}
	text, problem := textfile.Decode(data)
	if problem != nil {
		return nil, &FileError{File: b.path(name), Line: problem.Line, Message: problem.Message}
	}
	return text, nil
}

// path returns the path of the file with the given name in the directory. The path begins with the
// directory as the user gave it.
func (b sizeLimitedDirFS) path(name string) string {
	if b.dir == "" {
		return name
	}
	return strings.TrimSuffix(b.dir, "/") + "/" + name
}

// causeOf returns the text of err, an error of package os. If err is an [fs.PathError], it omits
// the operation and the path and returns only the cause, such as "no such file or directory".
func causeOf(err error) string {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err.Error()
	}
	return err.Error()
}

// errorAt returns an error with the given message about the value at a JSON pointer. The error has
// the position of the value in the first of the files that contains the value. If none of them
// contains the value, it has the position of the innermost enclosing value that one of them
// contains.
func errorAt(files []sourceFile, pointer, message string) *FileError {
	found := &FileError{Pointer: pointer, Message: message}
	longest := -1
	for _, f := range files {
		tree, err := parser.ParseBytes(f.data, 0)
		if err != nil || len(tree.Docs) == 0 {
			continue
		}
		if _, line, depth := yamltree.Find(tree.Docs[0].Body, tokensOf(pointer)...); depth > longest {
			found.File, found.Line, longest = f.name, line, depth
		}
	}
	return found
}

// tokensOf returns the unescaped tokens of a JSON pointer. It returns nil for the pointer "".
func tokensOf(pointer string) (tokens []string) {
	if pointer == "" {
		return nil
	}
	for token := range strings.SplitSeq(pointer[1:], "/") {
		tokens = append(tokens, unescape(token))
	}
	return tokens
}

// pointerAt returns the JSON pointer to the innermost member or item inside n whose key or value
// begins at the given line and column, both from 1. It returns "" if there is none. The argument at
// is the pointer to n.
func pointerAt(n ast.Node, line, column int, at string) (pointer string) {
	here := func(n ast.Node) bool {
		t := n.GetToken()
		return t != nil && t.Position.Line == line && t.Position.Column == column
	}
	visit := func(n ast.Node, key ast.Node, at string) {
		if inner := pointerAt(n, line, column, at); inner != "" {
			pointer = inner
		} else if here(key) || here(yamltree.Content(n)) {
			pointer = at
		}
	}
	if list, ok := yamltree.Content(n).(*ast.SequenceNode); ok {
		for i, item := range list.Values {
			visit(item, item, at+"/"+strconv.Itoa(i))
		}
	}
	for _, field := range yamltree.Fields(n) {
		visit(field.Value, field.Key, at+"/"+escape(yamltree.Key(field)))
	}
	return pointer
}

// yamlError converts err, an error of the YAML package about f, to a FileError. The Line of the
// result is 0 if err does not state a position.
func (f sourceFile) yamlError(err error) *FileError {
	e := &FileError{File: f.name, Message: strings.ReplaceAll(err.Error(), "\n", " ")}
	if at, ok := errors.AsType[yaml.Error](err); ok {
		e.Message = yamltree.ErrorText(at)
		if at.GetToken() != nil {
			e.Line = at.GetToken().Position.Line
		}
	}
	if _, ok := errors.AsType[*yaml.SyntaxError](err); ok {
		e.Message = "not YAML: " + e.Message
	}
	return e
}
