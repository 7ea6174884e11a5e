package blob

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestDirFull checks that on a full disk nothing is stored in part, that Ping fails, and that
// storing works again when there is space.
func TestDirFull(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=64k"); err != nil {
		t.Skipf("DID NOT RUN: the test may not mount a file system: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil { // which fails if a file is still open
			t.Error(err)
		}
	})
	s := openDir(t, dir)
	data := bytes.Repeat([]byte("x"), 10_000)
	stored := 0
	var err error
	for ; err == nil && stored < 10; stored++ {
		err = s.Put(t.Context(), fmt.Sprint("x", stored), data, red)
	}
	stored--
	if stored < 1 || !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("stored %d, then %v", stored, err)
	}
	if err := s.Ping(t.Context()); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("ping: %v", err)
	}
	if n := len(strings.Fields(names(t, dir))); n != 2*stored {
		t.Errorf("%d blobs in %d files: %s", stored, n, names(t, dir))
	}
	for i := range stored + 1 {
		a, err := s.Stat(t.Context(), fmt.Sprint("x", i))
		if i < stored && (err != nil || a.Size != int64(len(data))) || i == stored && !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%d: %+v, %v", i, a, err)
		}
	}
	for _, name := range []string{"x0", "x0.attrs", "x1", "x1.attrs"} {
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(s.Ping(t.Context()), s.Put(t.Context(), "x0", data, red)); err != nil {
		t.Errorf("with space again: %v", err)
	}
}
