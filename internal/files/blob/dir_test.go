package blob

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// openDir opens a storage in a directory. The test ends if that fails.
func openDir(t *testing.T, path string) Storage {
	t.Helper()
	s, err := OpenDir(path)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// names returns the sorted names of the files in a directory, separated by spaces.
func names(t *testing.T, path string) string {
	t.Helper()
	entries, err := os.ReadDir(path)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return strings.Join(all, " ")
}

// write creates files in dir. texts maps the name of each file to its content. The test ends if
// that fails.
func write(t *testing.T, dir string, texts map[string]string) {
	t.Helper()
	for name, text := range texts {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

var red = Attributes{Type: "image/png", Metadata: map[string]string{"color": "red"}}

// TestDirModes checks that only the owner of the directory can read what is stored.
func TestDirModes(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "files")
	s := openDir(t, dir)
	if err := s.Put(t.Context(), "x", []byte("hello"), red); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]fs.FileMode{".": 0o700, "..": 0o700, "x": 0o600, "x.attrs": 0o600} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v; want %v", name, info.Mode(), err, want)
		}
	}
	if got := names(t, dir); got != "x x.attrs" {
		t.Errorf("the directory holds %s", got)
	}
}

// TestDirLinks checks that symbolic links which lead out of the directory are not followed.
func TestDirLinks(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, "files")
	s := openDir(t, dir)
	write(t, root, map[string]string{"secret": "outside", "secret.attrs": `{"user.metadata":{"color":"blue"}}`})
	if err := s.Put(t.Context(), "y", []byte("inside"), red); err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]string{"x": "../secret", "x.attrs": "../secret.attrs", "z": filepath.Join(root, "secret")} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.Remove(filepath.Join(dir, "y.attrs")), os.Symlink("../secret.attrs", filepath.Join(dir, "y.attrs"))); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"x", "y", "z", "../secret", filepath.Join(root, "secret")} {
		if a, err := s.Stat(t.Context(), path); err == nil || a.Metadata != nil {
			t.Errorf("%s: %+v, %v", path, a, err)
		}
		if content, _, err := s.Open(t.Context(), path); err == nil {
			text, _ := io.ReadAll(content)
			t.Errorf("%s: opened %q", path, text)
		}
	}
	if err := s.Put(t.Context(), "z", []byte("hello"), red); err != nil {
		t.Error(err)
	}
	if text, err := os.ReadFile(filepath.Join(root, "secret")); string(text) != "outside" || err != nil {
		t.Errorf("the file outside is %q, %v", text, err)
	}
	if err := s.Put(t.Context(), "../new", []byte("hello"), red); err == nil {
		t.Error("stored outside")
	}
}

// TestDirPutFails checks that a blob that cannot be stored leaves nothing behind.
func TestDirPutFails(t *testing.T) {
	dir := t.TempDir()
	s := openDir(t, dir)
	if err := os.Mkdir(filepath.Join(dir, "x"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := s.Put(t.Context(), "x", []byte("hello"), red); err == nil || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("put: %v", err)
	}
	if got := names(t, dir); got != "x" {
		t.Errorf("the directory holds %s", got)
	}
	if _, err := s.Stat(t.Context(), "x"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("stat of a directory: %v", err)
	}
}

// TestDirOfGoCloud checks that blobs which gocloud.dev has written remain readable.
func TestDirOfGoCloud(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{"x.png": "hello", "x.png.attrs": `{"user.cache_control":"","user.content_disposition":"",` +
		`"user.content_encoding":"","user.content_language":"","user.content_type":"image/png",` +
		`"user.metadata":{"owner":"ann","thread":"t"},"md5":"XUFAKrxLKna5cZ2REBfFkg=="}`})
	a, err := openDir(t, dir).Stat(t.Context(), "x.png")
	if err != nil || a.Type != "image/png" || a.Size != 5 || a.Metadata["owner"] != "ann" || a.Metadata["thread"] != "t" {
		t.Errorf("got %+v, %v", a, err)
	}
}
