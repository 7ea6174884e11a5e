// Package blob stores blobs, which are bytes with a media type and metadata, in memory or in a
// directory.
package blob

import (
	"context"
	"io"
)

// A Storage stores blobs at paths, which consist of ASCII letters, digits, '-', '_' and '.'. Its
// methods are safe for concurrent use. For a blob that does not exist, the error of a method wraps
// fs.ErrNotExist; other errors mean that the storage is unavailable or full.
type Storage interface {
	// Put stores data with the attributes a at a path that was not used before. Readers never see
	// only a part of the blob. Put ignores a.Size, and does not retain data.
	Put(ctx context.Context, path string, data []byte, a Attributes) error

	// Stat returns the attributes of a blob.
	Stat(ctx context.Context, path string) (Attributes, error)

	// Open returns a reader of a blob, and its attributes. The reader may fail when ctx is done.
	// The caller must close it.
	Open(ctx context.Context, path string) (io.ReadSeekCloser, Attributes, error)

	// Ping returns an error if blobs cannot be stored. It may store a blob and delete it to find
	// out.
	Ping(ctx context.Context) error
}

// Attributes describe a blob.
type Attributes struct {
	Type     string            // media type; "" if unknown
	Size     int64             // in bytes
	Metadata map[string]string // values by name, both in ASCII; names are in lower case
}

// ProbeSize is the size, in bytes, of the blob that Ping stores. It is large enough for Ping to
// fail on a file system that has only a little space left.
const ProbeSize = 16 << 10
