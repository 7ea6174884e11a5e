package blob

import (
	"context"
	"errors"
	"io/fs"
	"testing"
)

// TestPutCanceled checks that neither storage stores a blob, or drops another one for it, if the
// context is canceled.
func TestPutCanceled(t *testing.T) {
	for name, s := range map[string]Storage{"memory": NewMemory(1), "dir": openDir(t, t.TempDir())} {
		if err := s.Put(t.Context(), "old", []byte("x"), red); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := s.Put(ctx, "new", []byte("x"), red); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: Put returns %v", name, err)
		}
		if _, err := s.Stat(t.Context(), "new"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: the new blob: %v, want none", name, err)
		}
		if _, err := s.Stat(t.Context(), "old"); err != nil {
			t.Errorf("%s: the old blob: %v", name, err)
		}
	}
}
