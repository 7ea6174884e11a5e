package replay

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"sync"

	"github.com/streamassay/streamassay/internal/transcript"
)

// A RecordingDir saves recorded conversations as transcripts in a directory, each in its own file.
// It does not overwrite files that it did not create: if the file name for a conversation is taken,
// it adds a number to the name. It is safe for concurrent use.
type RecordingDir struct {
	root  *os.Root // the directory
	mu    sync.Mutex
	names map[int]string  // file names by the number of the conversation
	taken map[string]bool // the values of names
}

// OpenRecordingDir opens the directory dir for recordings, and creates it and its parents if they
// do not exist. The caller must close the result.
func OpenRecordingDir(dir string) (*RecordingDir, error) {
	var root *os.Root
	err := os.MkdirAll(dir, 0o755)
	if err == nil {
		root, err = os.OpenRoot(dir)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot open the directory of recordings: %w", err)
	}
	return &RecordingDir{root: root, names: map[int]string{}, taken: map[string]bool{}}, nil
}

// Close closes the directory, after which Save fails. It does not remove the saved files. It
// returns an error if the directory cannot be closed.
func (f *RecordingDir) Close() error { return f.root.Close() }

// Save writes conversation c, identified by c.Number, to its file, and atomically replaces an
// earlier version of the file. It returns an error if the file cannot be written.
func (f *RecordingDir) Save(c RecordedConversation) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	name, err := f.reserveName(c)
	if err != nil {
		return err
	}
	tmp := "." + name + "-" + rand.Text()[:8]
	defer f.root.Remove(tmp)
	err = f.root.WriteFile(tmp, transcript.Format(c.Transcript()), 0o644)
	if err == nil {
		err = f.root.Rename(tmp, name)
	}
	if err != nil {
		return fmt.Errorf("cannot write recording %s: %w", name, err)
	}
	return nil
}

// FileName returns the name, without directory, of the file of conversation c, identified by
// c.Number. The result is "" before the first call of Save for the conversation.
func (f *RecordingDir) FileName(c RecordedConversation) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.names[c.Number]
}

// maxNames is the maximum number of files whose names differ only in the number at the end. It
// limits the search for a free name.
const maxNames = 10_000

// reserveName returns the name of the file for conversation c. If c has no file yet, reserveName
// chooses a name that no other file has. It returns an error if there is no such name or the
// directory cannot be read. The caller must hold f.mu.
func (f *RecordingDir) reserveName(c RecordedConversation) (string, error) {
	if name, ok := f.names[c.Number]; ok {
		return name, nil
	}
	stem := c.Name()
	for n := range maxNames {
		name := stem + ".txtar"
		if n > 0 {
			name = fmt.Sprintf("%s-%d.txtar", stem, n+1)
		}
		_, err := f.root.Lstat(name)
		switch {
		case f.taken[name] || err == nil:
			continue
		case !errors.Is(err, fs.ErrNotExist):
			return "", fmt.Errorf("cannot write recording %s: %w", name, err)
		}
		f.names[c.Number], f.taken[name] = name, true
		return name, nil
	}
	return "", fmt.Errorf("too many recordings: %d are called %s; move some to another directory", maxNames, stem)
}

// maxStemLength is the maximum length, in bytes, of a thread id that is used unchanged in a file
// name. A longer id is cut to half of this length, and a hash is appended.
const maxStemLength = 80

// Name returns a name for the conversation that is valid on all file systems, whatever the thread
// id contains. It is the name of the conversation's file, but without the extension, and without
// the number that is added if the name is already taken.
func (c RecordedConversation) Name() string {
	family, _, _ := strings.Cut(c.Dialect, "@")
	if c.Thread == "" {
		return family + "-no-thread"
	}
	clean := strings.Map(func(r rune) rune {
		if r == '-' || r == '_' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' {
			return r
		}
		return '_'
	}, c.Thread)
	if clean == c.Thread && len(clean) <= maxStemLength {
		return family + "-" + clean
	}
	sum := sha256.Sum256([]byte(c.Thread))
	return family + "-" + clean[:min(len(clean), maxStemLength/2)] + "-" + hex.EncodeToString(sum[:6])
}
