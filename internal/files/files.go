// Package files stores uploaded images and serves them under signed links that expire.
// It does not decide who may upload or read a file: it treats owners as names.
package files

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"slices"
	"time"

	"github.com/streamassay/streamassay/internal/files/blob"
)

// linkDir is the last directory in the path of every link. It is the same for all storages, so that
// links stay valid when files are moved to another storage.
const linkDir = "attachments"

// Limits of files and of their storage.
const (
	storageTimeout = 15 * time.Second // for one call to the storage
	maxMemoryBytes = 256 << 20        // bytes of all files in memory
	minKeyBytes    = 16               // bytes of a configured signing key
)

// Errors that a [Store] returns. ErrUnavailable means that the storage failed: the file is valid,
// and the caller may try again.
var (
	ErrEmpty       = errors.New("the file is empty")
	ErrTooLarge    = errors.New("the file is too large")
	ErrNotImage    = errors.New("the file is not an image")
	ErrNotFound    = errors.New("no such file")
	ErrUnavailable = errors.New("the file storage is unavailable")
)

// A Config configures a [Store]. The zero value of each field is a usable default.
type Config struct {
	SigningKey   []byte           // signs links; empty means a random key, so that only this Store accepts its links
	LinkLifetime time.Duration    // how long a link is valid; 0 means an hour
	MaxFileBytes int64            // size limit of a file in bytes; 0 means 10 MiB
	Now          func() time.Time // nil means time.Now
}

// A Store stores uploaded images and makes signed links to them. Its methods are safe for
// concurrent use.
type Store struct {
	cfg     Config
	storage blob.Storage
}

// A File describes a stored file.
type File struct {
	Path string // unique name in the storage; contains no slash
	Type string // media type; "" if unknown
	Size int64  // in bytes
}

// A NewFile is a file to be stored. Owner and Thread are the names of its owner and of the
// conversation for which it is uploaded. Type is the media type that the client declares. Name is
// the client's file name; the path of the stored file contains at most a part of it.
type NewFile struct {
	Owner, Thread, Name, Type string
	Data                      []byte
}

// New returns a store that keeps its files in the given storage. It returns an error if
// cfg.SigningKey is not empty but has fewer than 16 bytes. The store cancels each call to the
// storage after 15 seconds.
func New(storage blob.Storage, cfg Config) (*Store, error) {
	if n := len(cfg.SigningKey); n > 0 && n < minKeyBytes {
		return nil, fmt.Errorf("files: the signing key has %d bytes, want at least %d", n, minKeyBytes)
	}
	return &Store{cfg: cfg.withDefaults(), storage: storage}, nil
}

// NewMemory returns a store that keeps files in memory. When the files have more than 256 MiB in
// total, it drops the oldest ones.
func NewMemory(cfg Config) *Store {
	return &Store{cfg: cfg.withDefaults(), storage: blob.NewMemory(maxMemoryBytes)}
}

func (c Config) withDefaults() Config {
	c.SigningKey = slices.Clone(c.SigningKey)
	if len(c.SigningKey) == 0 {
		c.SigningKey = []byte(rand.Text() + rand.Text())
	}
	c.LinkLifetime = cmp.Or(max(c.LinkLifetime, 0), time.Hour)
	c.MaxFileBytes = cmp.Or(max(c.MaxFileBytes, 0), 10<<20)
	if c.Now == nil {
		c.Now = time.Now
	}
	return c
}

// Put stores an uploaded image and returns the new file. Any error wraps ErrEmpty, ErrTooLarge,
// ErrNotImage or ErrUnavailable.
func (s *Store) Put(ctx context.Context, up NewFile) (File, error) {
	if len(up.Data) == 0 {
		return File{}, ErrEmpty
	}
	if int64(len(up.Data)) > s.cfg.MaxFileBytes {
		return File{}, fmt.Errorf("%w: want at most %d bytes", ErrTooLarge, s.cfg.MaxFileBytes)
	}
	kind, err := checkImage(up.Type, up.Data)
	if err != nil {
		return File{}, err
	}
	f := File{Path: newPath(up.Name, kind), Type: kind, Size: int64(len(up.Data))}
	ctx, cancel := context.WithTimeout(ctx, storageTimeout)
	defer cancel()
	err = s.storage.Put(ctx, f.Path, up.Data, blob.Attributes{
		Type:     kind,
		Metadata: map[string]string{"owner": url.PathEscape(up.Owner), "thread": url.PathEscape(up.Thread)},
	})
	if err != nil {
		return File{}, unavailable(err)
	}
	return f, nil
}

// Find returns the file at path and the name of its owner. It returns ErrNotFound if there is no
// such file, and an error that wraps ErrUnavailable if the storage fails.
func (s *Store) Find(ctx context.Context, path string) (f File, owner string, err error) {
	if !isValidPath(path) {
		return File{}, "", ErrNotFound
	}
	ctx, cancel := context.WithTimeout(ctx, storageTimeout)
	defer cancel()
	attrs, err := s.storage.Stat(ctx, path)
	if errors.Is(err, fs.ErrNotExist) {
		return File{}, "", ErrNotFound
	}
	if err != nil {
		return File{}, "", unavailable(err)
	}
	owner, ok := attrs.Metadata["owner"]
	if owner, err = url.PathUnescape(owner); !ok || err != nil { // not written by Put
		return File{}, "", ErrNotFound
	}
	return File{Path: path, Type: attrs.Type, Size: attrs.Size}, owner, nil
}

// Ping checks whether files can be stored. If not, it returns an error that wraps ErrUnavailable.
func (s *Store) Ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, storageTimeout)
	defer cancel()
	if err := s.storage.Ping(ctx); err != nil {
		return unavailable(err)
	}
	return nil
}

func unavailable(err error) error { return fmt.Errorf("%w: %w", ErrUnavailable, err) }
