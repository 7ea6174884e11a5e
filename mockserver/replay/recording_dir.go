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

// A RecordingDir keeps conversations as transcripts, one file each, in a directory that it
// never leaves. Files of others there are not touched: a conversation that is called as
// one of them gets a name of its own.
type RecordingDir struct {
	root  *os.Root
	mu    sync.Mutex
	names map[int]string // by the number of the conversation
	taken map[string]bool
}

// OpenRecordingDir opens a directory, and makes it if need be.
func OpenRecordingDir(dir string) (*RecordingDir, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("the folder of recordings: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("the folder of recordings: %w", err)
	}
	return &RecordingDir{root: root, names: map[int]string{}, taken: map[string]bool{}}, nil
}

// Close gives the directory back. What was saved stays.
func (f *RecordingDir) Close() error { return f.root.Close() }

// Save writes a conversation down, in the place of what was saved of it before. Who reads
// at the same time reads the one or the other.
func (f *RecordingDir) Save(c RecordedConversation) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	name, err := f.reserveName(c)
	if err != nil {
		return err
	}
	tmp := "." + name + "-" + rand.Text()[:8]
	defer f.root.Remove(tmp)
	if err := f.root.WriteFile(tmp, transcript.Format(c.Transcript()), 0o644); err != nil {
		return fmt.Errorf("the recording %s: %w", name, err)
	}
	if err := f.root.Rename(tmp, name); err != nil {
		return fmt.Errorf("the recording %s: %w", name, err)
	}
	return nil
}

// FileName is the file of a conversation, "" if it was not saved.
func (f *RecordingDir) FileName(c RecordedConversation) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.names[c.Number]
}

// maxNames is how many files may be called alike.
const maxNames = 10_000

// reserveName is the file of a conversation: a free one, the first time.
func (f *RecordingDir) reserveName(c RecordedConversation) (string, error) {
	if name, ok := f.names[c.Number]; ok {
		return name, nil
	}
	stem := recordingStem(c)
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
			return "", fmt.Errorf("the recording %s: %w", name, err)
		}
		f.names[c.Number], f.taken[name] = name, true
		return name, nil
	}
	return "", fmt.Errorf("there are %d recordings called %s: move some away", maxNames, stem)
}

// maxStemLength is how long a name may be before it is cut.
const maxStemLength = 80

// recordingStem is a name for a conversation that every file system takes, and that is one file
// in the directory whatever the thread is called.
func recordingStem(c RecordedConversation) string {
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
