package files

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/streamassay/streamassay/internal/files/blob"
	"github.com/streamassay/streamassay/internal/files/s3"
)

// png is the beginning of a PNG file, which is all that the package looks at.
var png = []byte("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR")

var start = time.Date(2026, 4, 1, 12, 0, 0, 0, time.UTC)

// A clock shows a time that the test sets.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

// each runs a subtest for each kind of store: in memory, in a directory, and on an S3 server that
// each starts itself.
func each(t *testing.T, cfg Config, test func(t *testing.T, s *Store, c *clock)) {
	t.Helper()
	for name, place := range map[string]func(t *testing.T) string{
		"memory": func(*testing.T) string { return "memory" },
		"dir":    func(t *testing.T) string { return "dir:" + filepath.Join(t.TempDir(), "new", "files") },
		"s3":     func(t *testing.T) string { return newStore(t) },
	} {
		t.Run(name, func(t *testing.T) {
			c := &clock{at: start}
			cfg.Now = c.now
			test(t, open(t, place(t), cfg), c)
		})
	}
}

// open opens the store at place. The test ends if opening fails.
func open(t *testing.T, place string, cfg Config) *Store {
	t.Helper()
	s, err := openAt(place, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// openAt opens a store in memory ("memory"), in a directory ("dir:PATH") or on an S3 server.
func openAt(place string, cfg Config) (*Store, error) {
	dir, isDir := strings.CutPrefix(place, "dir:")
	if place == "memory" {
		return NewMemory(cfg), nil
	}
	var storage blob.Storage
	var err error
	if isDir {
		storage, err = blob.OpenDir(dir)
	} else {
		storage, err = s3.Open(place)
	}
	if err != nil {
		return nil, err
	}
	return New(storage, cfg)
}

// put stores a file and returns it. The test ends if storing fails.
func put(t *testing.T, s *Store, up NewFile) File {
	t.Helper()
	f, err := s.Put(t.Context(), up)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func a(name string) NewFile {
	return NewFile{Owner: "ann", Thread: "t", Name: name, Type: "image/png", Data: png}
}

func TestPutFind(t *testing.T) {
	each(t, Config{}, func(t *testing.T, s *Store, _ *clock) {
		if err := s.Ping(t.Context()); err != nil {
			t.Error(err)
		}
		for _, owner := range []string{"ann", "", "Ännchen / 安 \n\x00%41+ ", "a\xff", "a\xfe"} {
			f := put(t, s, NewFile{Owner: owner, Thread: "T 1", Name: "my cat.jpeg", Type: "Image/PNG; x=y", Data: png})
			if f.Type != "image/png" || f.Size != int64(len(png)) || !strings.HasSuffix(f.Path, "-my-cat.png") {
				t.Errorf("put %+v", f)
			}
			got, who, err := s.Find(t.Context(), f.Path)
			if err != nil || got != f || who != owner {
				t.Errorf("found %+v of %q, %v; want %+v of %q", got, who, err, f, owner)
			}
		}
		one, two := put(t, s, a("x")), put(t, s, a("x"))
		if one.Path == two.Path {
			t.Error("two files at one path")
		}
	})
}

func TestFindUnknown(t *testing.T) {
	each(t, Config{}, func(t *testing.T, s *Store, _ *clock) {
		f := put(t, s, a("cat"))
		id := strings.Repeat("a", 26)
		for _, at := range []string{
			"", ".", "..", id, id + "-x.png", f.Path + ".attrs", "../" + f.Path, "/" + f.Path, "./" + f.Path, f.Path + "/", f.Path + "\x00",
			f.Path + "\n", strings.ToUpper(f.Path), "../../etc/passwd", `..\` + f.Path, id + "-" + strings.Repeat("x", 41),
			strings.Repeat(id, 1000), id + "-ü",
		} {
			if got, owner, err := s.Find(t.Context(), at); !errors.Is(err, ErrNotFound) {
				t.Errorf("%.80q: found %+v of %q, %v", at, got, owner, err)
			}
		}
	})
}

// TestForeignFile checks that a file in the directory that was not stored by Put is not found.
func TestForeignFile(t *testing.T) {
	dir := t.TempDir()
	s := open(t, "dir:"+dir, Config{})
	path := newPath("x", "image/png")
	if err := os.WriteFile(filepath.Join(dir, path), png, 0o600); err != nil {
		t.Fatal(err)
	}
	if f, _, err := s.Find(t.Context(), path); !errors.Is(err, ErrNotFound) {
		t.Errorf("found %+v, %v", f, err)
	}
	w := get(s, s.Link(base, File{Path: path}))
	if h := w.Header(); h.Get("Content-Type") != "application/octet-stream" || h.Get("Content-Disposition") != "attachment" {
		t.Errorf("served with %v", h)
	}
}

func TestPutRefuses(t *testing.T) {
	s := open(t, "memory", Config{MaxFileBytes: 1000})
	full := append(bytes.Clone(png), make([]byte, 1000-len(png))...)
	for name, test := range map[string]struct {
		kind string
		data []byte
		want error
	}{
		"empty":              {"image/png", nil, ErrEmpty},
		"empty, other type":  {"text/plain", []byte{}, ErrEmpty},
		"as much as goes":    {"image/png", full, nil},
		"too large":          {"image/png", append(full, 0), ErrTooLarge},
		"too large, other":   {"text/plain", append(full, 0), ErrTooLarge},
		"no type":            {"", png, ErrNotImage},
		"text":               {"text/plain", png, ErrNotImage},
		"image alone":        {"image", png, ErrNotImage},
		"image/":             {"image/", png, ErrNotImage},
		"image/*":            {"image/*", png, ErrNotImage},
		"two types":          {"image/png, text/html", png, ErrNotImage},
		"two slashes":        {"image/png/x", png, ErrNotImage},
		"as a parameter":     {"text/html; a=image/png", png, ErrNotImage},
		"imagex":             {"imagex/png", png, ErrNotImage},
		"line feed":          {"image/png\nx: y", png, ErrNotImage},
		"long type":          {"image/" + strings.Repeat("x", 200), png, ErrNotImage},
		"jpeg that is png":   {"image/jpeg", png, nil},
		"unknown bytes":      {"image/png", []byte("\x00\x01\x02\x03"), nil},
		"unknown type":       {"image/x-own", []byte("\x00\x01\x02\x03"), nil},
		"HTML":               {"image/png", []byte("  <!DOCTYPE html><script>alert(1)</script>"), ErrNotImage},
		"PDF":                {"image/png", []byte("%PDF-1.7\n"), ErrNotImage},
		"zip":                {"image/png", []byte("PK\x03\x04\x00\x00\x00\x00"), ErrNotImage},
		"gzip":               {"image/png", []byte("\x1f\x8b\x08\x00\x00\x00"), ErrNotImage},
		"plain text":         {"image/png", []byte("hello there, this is a text"), ErrNotImage},
		"wave":               {"image/png", []byte("RIFF\x00\x00\x00\x00WAVEfmt "), ErrNotImage},
		"mp4":                {"image/png", []byte("\x00\x00\x00\x18ftypmp42\x00\x00\x00\x00mp42isom"), ErrNotImage},
		"wasm":               {"image/png", []byte("\x00asm\x01\x00\x00\x00"), ErrNotImage},
		"svg":                {"image/svg+xml", []byte(`<svg xmlns="http://www.w3.org/2000/svg"/>`), nil},
		"svg with a head":    {"image/svg+xml", []byte(`<?xml version="1.0"?><svg/>`), nil},
		"svg with a comment": {"image/svg+xml", []byte("\n<!-- made by hand --><svg/>"), nil},
		"svg that is HTML":   {"image/svg+xml", []byte("<html><script>alert(1)</script>"), ErrNotImage},
		"svg that is zip":    {"image/svg+xml", []byte("PK\x03\x04\x00\x00\x00\x00"), ErrNotImage},
		"png that is svg":    {"image/png", []byte(`<?xml version="1.0"?><svg/>`), ErrNotImage},
	} {
		t.Run(name, func(t *testing.T) {
			f, err := s.Put(t.Context(), NewFile{Owner: "ann", Type: test.kind, Data: test.data})
			if !errors.Is(err, test.want) || (err == nil) != (f != File{}) {
				t.Errorf("got %+v, %v; want %v", f, err, test.want)
			}
			if err != nil && (len(err.Error()) > 120 || strings.ContainsAny(err.Error(), "\n<")) {
				t.Errorf("unfit error %q", err)
			}
		})
	}
}

var names = map[string]string{
	"cat.png":                   "cat",
	"":                          "",
	"../../etc/passwd":          "passwd",
	`..\..\x`:                   "x",
	"/abs":                      "abs",
	"a\x00b.png":                "a-b",
	"a\r\nSet-Cookie: x":        "a-Set-Cookie-x",
	"CON":                       "CON",
	".htaccess":                 "htaccess",
	"..":                        "",
	"...":                       "",
	"-rf":                       "rf",
	"猫 cat ünï.JPG":             "cat-n",
	"evil.php.png":              "evil-php",
	"x.attrs":                   "x",
	"a/":                        "",
	"a%2e%2e%2fb":               "a-2e-2e-2fb",
	"\xff\xfe.png":              "",
	"\u202egnp.exe":             "gnp",
	strings.Repeat("ab", 5000):  strings.Repeat("ab", 20),
	strings.Repeat("../", 5000): "",
}

func TestNames(t *testing.T) {
	for name, want := range names {
		if got := cleanName(name); got != want {
			t.Errorf("%.40q is %q, want %q", name, got, want)
		}
	}
	dir := filepath.Join(t.TempDir(), "files")
	s := open(t, "dir:"+dir, Config{})
	for name := range names {
		if f := put(t, s, a(name)); !isValidPath(f.Path) {
			t.Errorf("%.40q is at %q", name, f.Path)
		}
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 2*len(names) { // each has one with what is known of it
		t.Errorf("%d files for %d, %v", len(left), len(names), err)
	}
	if outside, err := os.ReadDir(filepath.Dir(dir)); err != nil || len(outside) != 1 {
		t.Errorf("outside: %v, %v", outside, err)
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the directory is %v, %v", info.Mode(), err)
	}
}

func FuzzName(f *testing.F) {
	for name := range names {
		f.Add(name, "image/png")
	}
	f.Add("x", "image/svg+xml")
	f.Add("x", "image/../x")
	safe := regexp.MustCompile(`^[a-z2-7]{26}(-[A-Za-z0-9_-]+)?(\.[a-z]+)?$`)
	f.Fuzz(func(t *testing.T, name, kind string) {
		path := newPath(name, kind)
		root := filepath.Join("root", "files")
		if !safe.MatchString(path) || !isValidPath(path) || len(path) > 80 || filepath.Dir(filepath.Join(root, path)) != root {
			t.Errorf("%q is at %q", name, path)
		}
		if strings.HasSuffix(path, ".attrs") {
			t.Errorf("%q is at %q, which is the driver's", name, path)
		}
	})
}

func TestAtOnce(t *testing.T) {
	each(t, Config{}, func(t *testing.T, s *Store, _ *clock) {
		var group sync.WaitGroup
		paths := make([]string, 20)
		for i := range paths {
			group.Go(func() {
				f, err := s.Put(t.Context(), NewFile{Owner: fmt.Sprint(i), Name: "x", Type: "image/png", Data: append(bytes.Clone(png), byte(i))})
				if err != nil {
					t.Error(err)
				}
				paths[i] = f.Path
				if _, owner, err := s.Find(t.Context(), f.Path); err != nil || owner != fmt.Sprint(i) {
					t.Errorf("%d: of %q, %v", i, owner, err)
				}
				if _, ok := s.ParseLink(s.Link("", f)); !ok {
					t.Errorf("%d: the link is not known", i)
				}
			})
		}
		group.Wait()
		for i, path := range paths {
			w := get(s, s.Link("", File{Path: path}))
			if data := w.Body.Bytes(); len(data) != len(png)+1 || data[len(png)] != byte(i) {
				t.Errorf("%d: %d %q", i, w.Code, data)
			}
		}
	})
}

// TestMemoryEnds checks that a store in memory drops its oldest files when the limit is exceeded.
func TestMemoryEnds(t *testing.T) {
	s, err := New(blob.NewMemory(int64(3*len(png))), Config{})
	if err != nil {
		t.Fatal(err)
	}
	var kept []File
	for range 5 {
		kept = append(kept, put(t, s, a("x")))
	}
	for i, f := range kept {
		_, _, err := s.Find(t.Context(), f.Path)
		if gone := i < 2; gone != errors.Is(err, ErrNotFound) || !gone && err != nil {
			t.Errorf("%d: %v", i, err)
		}
	}
}

func TestCanceled(t *testing.T) {
	each(t, Config{}, func(t *testing.T, s *Store, _ *clock) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := s.Put(ctx, a("x")); !errors.Is(err, ErrUnavailable) {
			t.Errorf("put: %v", err)
		}
	})
}
