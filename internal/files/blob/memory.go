package blob

import (
	"bytes"
	"context"
	"io"
	"io/fs"
	"sync"
)

// A memoryStorage is a storage in memory. When its blobs have more than maxBytes bytes in total, it
// drops the oldest ones, but never the latest one.
type memoryStorage struct {
	mu       sync.Mutex
	blobs    map[string]memoryBlob
	paths    []string // oldest first
	size     int64    // size of all blobs in bytes
	maxBytes int64
}

type memoryBlob struct {
	data []byte
	Attributes
}

// NewMemory returns a storage in memory. When its blobs have more than maxBytes bytes in total, it
// drops the oldest ones, but never the latest one.
func NewMemory(maxBytes int64) Storage {
	return &memoryStorage{blobs: map[string]memoryBlob{}, maxBytes: maxBytes}
}

func (m *memoryStorage) Put(ctx context.Context, path string, data []byte, a Attributes) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	a.Size = int64(len(data))
	m.mu.Lock()
	defer m.mu.Unlock()
	m.blobs[path] = memoryBlob{bytes.Clone(data), a}
	m.paths = append(m.paths, path)
	for m.size += a.Size; m.size > m.maxBytes && len(m.paths) > 1; m.paths = m.paths[1:] {
		m.size -= m.blobs[m.paths[0]].Size
		delete(m.blobs, m.paths[0])
	}
	return nil
}

func (m *memoryStorage) get(path string) (memoryBlob, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	b, ok := m.blobs[path]
	if !ok {
		return b, fs.ErrNotExist
	}
	return b, nil
}

func (m *memoryStorage) Stat(_ context.Context, path string) (Attributes, error) {
	b, err := m.get(path)
	return b.Attributes, err
}

func (m *memoryStorage) Open(_ context.Context, path string) (io.ReadSeekCloser, Attributes, error) {
	b, err := m.get(path)
	return memoryReader{bytes.NewReader(b.data)}, b.Attributes, err
}

func (m *memoryStorage) Ping(ctx context.Context) error { return ctx.Err() }

// A memoryReader is a reader of a blob in memory. Its method Close does nothing.
type memoryReader struct{ *bytes.Reader }

func (memoryReader) Close() error { return nil }
