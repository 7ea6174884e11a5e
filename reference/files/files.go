// Package files stores uploaded images and serves them under signed links that expire.
// It does not decide who may upload or read a file: it treats owners as names.
package files

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"gocloud.dev/blob"
	"gocloud.dev/blob/fileblob"
	"gocloud.dev/blob/memblob"
	_ "gocloud.dev/blob/s3blob" // the scheme s3
	"gocloud.dev/gcerrors"
)

// Bucket is the bucket name of every file. It does not depend on the storage, so that files keep
// their names when they are moved to another storage.
const Bucket = "attachments"

// Limits of files and of their storage.
const (
	storageTimeout = 15 * time.Second // for one call of the storage
	maxMemoryBytes = 256 << 20        // bytes of all files in memory
	minKeyBytes    = 16               // bytes of a configured signing key
)

// Errors of files. ErrUnavailable stands for all errors of the storage: the file is
// valid, and the caller may try again.
var (
	ErrEmpty       = errors.New("the file is empty")
	ErrTooLarge    = errors.New("the file is too large")
	ErrNotImage    = errors.New("the file is not an image")
	ErrNotFound    = errors.New("no such file")
	ErrUnavailable = errors.New("the file storage is unavailable")
)

// A Config configures a [Store]. The zero value of each field is a usable default.
type Config struct {
	SigningKey   []byte           // signs links; nil means a random key, so that links end with the process
	LinkLifetime time.Duration    // how long a link is valid; 0 means an hour
	MaxFileBytes int64            // size limit of a file in bytes; 0 means 10 MiB
	Now          func() time.Time // nil means time.Now
}

// A Store stores uploaded images and makes signed links to them. Its methods are safe for
// concurrent use.
type Store struct {
	cfg     Config
	bucket  *blob.Bucket
	dir     string   // the storage directory, or ""
	evictor *evictor // for a store in memory, else nil
}

// A File describes a stored file.
type File struct {
	Bucket, Path string
	Type         string // media type
	Size         int64  // in bytes
}

// An Upload is a file to be stored. Its Name is only a hint: the name of a stored file contains at
// most a part of it.
type Upload struct {
	Owner, Thread, Name, Type string
	Data                      []byte
}

// Locations describes the locations that Open accepts, for error messages.
const Locations = "memory, dir:PATH or s3://BUCKET?region=REGION"

// Open opens the store at a location; "" means in memory. Errors do not repeat the
// location, which may contain secrets.
func Open(ctx context.Context, location string, cfg Config) (*Store, error) {
	if n := len(cfg.SigningKey); n > 0 && n < minKeyBytes {
		return nil, fmt.Errorf("files: the signing key has %d bytes, want at least %d", n, minKeyBytes)
	}
	dir, isDir := strings.CutPrefix(location, "dir:")
	switch {
	case location == "" || location == "memory" || location == "mem://":
		return NewMemory(cfg), nil
	case isDir && dir != "":
		bucket, err := fileblob.OpenBucket(dir, &fileblob.Options{
			CreateDir: true, DirFileMode: 0o700,
			NoTempDir: true, // the system's may be on another disk, and is readable by other users
		})
		if err != nil {
			return nil, fmt.Errorf("files: %w", err)
		}
		return &Store{cfg: cfg.withDefaults(), bucket: bucket, dir: dir}, nil
	case strings.HasPrefix(location, "s3://"):
		bucket, err := openS3(ctx, location)
		if err != nil {
			return nil, fmt.Errorf("files: %w", err)
		}
		return &Store{cfg: cfg.withDefaults(), bucket: bucket}, nil
	}
	return nil, fmt.Errorf("files: unknown location, want %s", Locations)
}

// NewMemory returns a store that keeps files in memory. When the files exceed 256 MiB, it drops the
// oldest ones.
func NewMemory(cfg Config) *Store {
	return &Store{
		cfg: cfg.withDefaults(), bucket: memblob.OpenBucket(nil), evictor: &evictor{maxBytes: maxMemoryBytes},
	}
}

func (c Config) withDefaults() Config {
	c.SigningKey = slices.Clone(c.SigningKey)
	if len(c.SigningKey) == 0 {
		c.SigningKey = []byte(rand.Text() + rand.Text())
	}
	if c.LinkLifetime <= 0 {
		c.LinkLifetime = time.Hour
	}
	if c.MaxFileBytes <= 0 {
		c.MaxFileBytes = 10 << 20
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return c
}

// openS3 opens the S3 object store at location. Its errors contain the names of invalid parameters,
// but not their values.
func openS3(ctx context.Context, location string) (*blob.Bucket, error) {
	u, err := url.Parse(location)
	if err != nil || u.Host == "" || u.User != nil || strings.Trim(u.Path, "/") != "" {
		return nil, errors.New("s3: invalid location, want s3://BUCKET?region=REGION (credentials come from the environment)")
	}
	q, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return nil, errors.New("s3: invalid parameters, want NAME=VALUE pairs joined by &")
	}
	if e, err := url.Parse(q.Get("endpoint")); err != nil || e.User != nil {
		return nil, errors.New("s3: invalid endpoint, want a URL without a user")
	}
	for _, param := range []string{"request_checksum_calculation", "response_checksum_validation"} {
		if !q.Has(param) { // other vendors' stores lack checksums, and the driver then writes to stderr
			q.Set(param, "when_required")
		}
	}
	u.RawQuery = q.Encode()
	ctx, cancel := context.WithTimeout(ctx, storageTimeout)
	defer cancel()
	bucket, err := blob.OpenBucket(ctx, u.String())
	if err == nil {
		return bucket, nil
	}
	for name := range q {
		for _, format := range []string{"parameter %q", "value for %s:", "value for %q:"} {
			if strings.Contains(err.Error(), fmt.Sprintf(format, name)) {
				return nil, fmt.Errorf("s3: unknown parameter %s, or invalid value", name)
			}
		}
	}
	return nil, errors.New("s3: the parameters were rejected")
}

// Put stores an image. The error is ErrEmpty, ErrTooLarge, ErrNotImage or
// ErrUnavailable, or wraps one of them.
func (s *Store) Put(ctx context.Context, up Upload) (File, error) {
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
	f := File{Bucket: Bucket, Path: newPath(up.Name, kind), Type: kind, Size: int64(len(up.Data))}
	if err := s.checkDir(); err != nil {
		return File{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, storageTimeout)
	defer cancel()
	err = s.bucket.WriteAll(ctx, f.Path, up.Data, &blob.WriterOptions{
		ContentType: kind,
		Metadata:    map[string]string{"owner": url.PathEscape(up.Owner), "thread": url.PathEscape(up.Thread)},
	})
	if err != nil {
		return File{}, unavailable(err)
	}
	for _, old := range s.evictor.add(f) {
		_ = s.bucket.Delete(ctx, old) // in memory: readers keep their copy
	}
	return f, nil
}

// Find returns a file and the name of its owner. The error is ErrNotFound or wraps
// ErrUnavailable.
func (s *Store) Find(ctx context.Context, bucket, path string) (f File, owner string, err error) {
	if bucket != Bucket || !isValidPath(path) {
		return File{}, "", ErrNotFound
	}
	if err := s.checkDir(); err != nil {
		return File{}, "", err
	}
	ctx, cancel := context.WithTimeout(ctx, storageTimeout)
	defer cancel()
	attrs, err := s.bucket.Attributes(ctx, path)
	if err != nil {
		return File{}, "", lookupError(err)
	}
	owner, ok := attrs.Metadata["owner"]
	if owner, err = url.PathUnescape(owner); !ok || err != nil { // not written by Put
		return File{}, "", ErrNotFound
	}
	return File{Bucket: Bucket, Path: path, Type: attrs.ContentType, Size: attrs.Size}, owner, nil
}

// probeSize is the size, in bytes, of the file that Ping writes. A file of that size does not fit
// into the remainder of a full file system.
const probeSize = 16 << 10

// Ping checks that files can be stored, by storing a file and deleting it. The error wraps
// ErrUnavailable.
func (s *Store) Ping(ctx context.Context) error {
	if err := s.checkDir(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, storageTimeout)
	defer cancel()
	name := "probe-" + rand.Text() // other processes may call Ping at the same time
	err := s.bucket.WriteAll(ctx, name, make([]byte, probeSize), nil)
	if err == nil {
		err = s.bucket.Delete(ctx, name)
	}
	if err != nil {
		return unavailable(err)
	}
	return nil
}

// Close releases the storage. Files in memory are lost.
func (s *Store) Close() error { return s.bucket.Close() }

// checkDir returns an error if the storage directory no longer exists. Without this check, the
// driver would create the directory again, perhaps on another disk if its own was unmounted.
func (s *Store) checkDir() error {
	if s.dir == "" {
		return nil
	}
	info, err := os.Stat(s.dir)
	if err == nil && !info.IsDir() {
		err = errors.New("the directory was replaced by a file")
	}
	if err != nil {
		return unavailable(err)
	}
	return nil
}

func unavailable(err error) error { return fmt.Errorf("%w: %w", ErrUnavailable, err) }

// lookupError converts an error of the storage driver: to ErrNotFound if the file does not exist,
// and otherwise to one that wraps ErrUnavailable.
func lookupError(err error) error {
	if gcerrors.Code(err) == gcerrors.NotFound {
		return ErrNotFound
	}
	return unavailable(err)
}

// An evictor lists the files in memory, oldest first, and chooses those that must be deleted to
// stay within the limit of bytes.
type evictor struct {
	mu       sync.Mutex
	files    []File
	size     int64
	maxBytes int64
}

// add adds a file and returns the paths of the files that the caller must delete to stay within
// the limit. A nil evictor has no limit.
func (r *evictor) add(f File) (evicted []string) {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.files = append(r.files, f)
	r.size += f.Size
	for r.size > r.maxBytes && len(r.files) > 1 {
		evicted = append(evicted, r.files[0].Path)
		r.size -= r.files[0].Size
		r.files = r.files[1:]
	}
	return evicted
}
