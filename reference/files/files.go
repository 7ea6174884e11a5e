// Package files keeps what clients upload, and hands out links to it that end. It
// does not know who may upload or see what, nor any dialect: owners are names to it.
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

// Bucket is where every file is said to be, whatever the storage calls itself: what
// is moved to another storage keeps its name.
const Bucket = "attachments"

const (
	storageTimeout = 15 * time.Second // for the storage, and no longer
	maxMemoryBytes = 256 << 20        // bytes that are kept in memory
	minKeyBytes    = 16               // bytes of a key that is given
)

// What is wrong with a file. Whatever goes wrong with the storage is ErrUnavailable: the
// file is fine, and may be sent again.
var (
	ErrEmpty       = errors.New("the file is empty")
	ErrTooLarge    = errors.New("the file is too large")
	ErrNotImage    = errors.New("the file is no image")
	ErrNotFound    = errors.New("there is no such file")
	ErrUnavailable = errors.New("the storage cannot be reached")
)

// Config is how files are kept; the zero value is usable.
type Config struct {
	SigningKey   []byte           // signs links; none is a random one, so that links end with the process
	LinkLifetime time.Duration    // of a link; 0 is an hour
	MaxFileBytes int64            // bytes of one file; 0 is 10 MiB
	Now          func() time.Time // nil is time.Now
}

// A Store is where files are kept.
type Store struct {
	cfg     Config
	bucket  *blob.Bucket
	dir     string   // "" if it is none
	evictor *evictor // in memory alone
}

// A File is one that is kept.
type File struct {
	Bucket, Path string
	Type         string // a media type
	Size         int64
}

// An Upload is a file that a client sends. The name is only a hint.
type Upload struct {
	Owner, Thread, Name, Type string
	Data                      []byte
}

// Locations are the places that Open understands.
const Locations = "memory, dir:PATH or s3://BUCKET?region=REGION"

// Open makes the shelf at a place. "" is memory. What stands in the place may be
// secret, so no error repeats it.
func Open(ctx context.Context, location string, cfg Config) (*Store, error) {
	if n := len(cfg.SigningKey); n > 0 && n < minKeyBytes {
		return nil, fmt.Errorf("files: the key has %d bytes; %d are the least", n, minKeyBytes)
	}
	dir, isDir := strings.CutPrefix(location, "dir:")
	switch {
	case location == "" || location == "memory" || location == "mem://":
		return NewMemory(cfg), nil
	case isDir && dir != "":
		bucket, err := fileblob.OpenBucket(dir, &fileblob.Options{
			CreateDir: true, DirFileMode: 0o700,
			NoTempDir: true, // it may be on another disk, and what is half written is nobody else's business
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
	return nil, fmt.Errorf("files: the place is none of %s", Locations)
}

// NewMemory makes a shelf that ends with the process. It holds 256 MiB; then the oldest
// files go.
func NewMemory(cfg Config) *Store {
	return &Store{cfg: cfg.withDefaults(), bucket: memblob.OpenBucket(nil), evictor: &evictor{maxBytes: maxMemoryBytes}}
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

// openS3 opens an object store. Of what is wrong only the name of the parameter is
// told.
func openS3(ctx context.Context, location string) (*blob.Bucket, error) {
	u, err := url.Parse(location)
	if err != nil || u.Host == "" || u.User != nil || strings.Trim(u.Path, "/") != "" {
		return nil, errors.New("s3: say s3://BUCKET?region=REGION; keys come from the environment")
	}
	q, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return nil, errors.New("s3: the parameters cannot be read")
	}
	if e, err := url.Parse(q.Get("endpoint")); err != nil || e.User != nil {
		return nil, errors.New("s3: the endpoint is a URL without a user")
	}
	for _, sums := range []string{"request_checksum_calculation", "response_checksum_validation"} {
		if !q.Has(sums) { // stores of others do not know these, and the driver then writes to stderr
			q.Set(sums, "when_required")
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
		for _, said := range []string{"parameter %q", "value for %s:", "value for %q:"} {
			if strings.Contains(err.Error(), fmt.Sprintf(said, name)) {
				return nil, fmt.Errorf("s3: the parameter %s is not accepted", name)
			}
		}
	}
	return nil, errors.New("s3: the parameters are not accepted")
}

// Put keeps a file. When it returns without an error the file can be found.
func (s *Store) Put(ctx context.Context, up Upload) (File, error) {
	if len(up.Data) == 0 {
		return File{}, ErrEmpty
	}
	if int64(len(up.Data)) > s.cfg.MaxFileBytes {
		return File{}, fmt.Errorf("%w: %d bytes are the most", ErrTooLarge, s.cfg.MaxFileBytes)
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
		_ = s.bucket.Delete(ctx, old) // in memory; whoever reads it has it
	}
	return f, nil
}

// Find is the file of a name, and who put it there.
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
	if owner, err = url.PathUnescape(owner); !ok || err != nil { // not put there by a shelf
		return File{}, "", ErrNotFound
	}
	return File{Bucket: Bucket, Path: path, Type: attrs.ContentType, Size: attrs.Size}, owner, nil
}

// probeSize is more than fits into a file system that is full.
const probeSize = 16 << 10

// Ping says whether files can be kept now: it keeps one, and removes it.
func (s *Store) Ping(ctx context.Context) error {
	if err := s.checkDir(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, storageTimeout)
	defer cancel()
	name := "probe-" + rand.Text() // others may look at the same time
	err := s.bucket.WriteAll(ctx, name, make([]byte, probeSize), nil)
	if err == nil {
		err = s.bucket.Delete(ctx, name)
	}
	if err != nil {
		return unavailable(err)
	}
	return nil
}

// Close lets go of the storage. What is in memory is gone.
func (s *Store) Close() error { return s.bucket.Close() }

// checkDir says whether a directory is. The driver would make it again, perhaps on
// another disk than the one that is gone.
func (s *Store) checkDir() error {
	if s.dir == "" {
		return nil
	}
	info, err := os.Stat(s.dir)
	if err == nil && !info.IsDir() {
		err = errors.New("the directory is a file")
	}
	if err != nil {
		return unavailable(err)
	}
	return nil
}

func unavailable(err error) error { return fmt.Errorf("%w: %w", ErrUnavailable, err) }

// lookupError is what a driver's error says of a file that was looked for.
func lookupError(err error) error {
	if gcerrors.Code(err) == gcerrors.NotFound {
		return ErrNotFound
	}
	return unavailable(err)
}

// evictor are the files in memory, oldest first.
type evictor struct {
	mu       sync.Mutex
	files    []File
	size     int64
	maxBytes int64
}

// add adds a file, and says which have to go for it. Of none nothing goes.
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
