package files

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"strconv"
	"strings"
	"time"
)

// What stands in a link behind its path.
const (
	expires   = "expires="
	signature = "&signature="
)

// Link is a URL of a file below a base, good for a while. What is not the name of a
// file has none.
func (s *Shelf) Link(base string, f File) string {
	if f.Bucket != Bucket || !proper(f.Path) {
		return ""
	}
	until := strconv.FormatInt(s.cfg.Now().Add(s.cfg.Life).Unix(), 10)
	return strings.TrimSuffix(base, "/") + "/" + Bucket + "/" + f.Path + "?" + expires + until + signature + s.sign(f.Path, until)
}

// Owns says of which file a link is, if it was made here, below whatever base, and
// whether or not it has ended. The file may be gone; its size is not told, and its
// type is only if it is a usual one: Find knows.
func (s *Shelf) Owns(link string) (File, bool) {
	f, _, ok := s.read(link)
	return f, ok
}

// read reads a link back.
func (s *Shelf) read(link string) (f File, until time.Time, ok bool) {
	// Nothing in what Link makes has to be escaped, so there is one way to spell it.
	mark := strings.LastIndexByte(link, '?')
	if mark < 0 {
		return f, until, false
	}
	dir, path, _ := cutLast(link[:mark], "/")
	stamp, sign, signed := strings.Cut(strings.TrimPrefix(link[mark+1:], expires), signature)
	if !strings.HasSuffix(dir, "/"+Bucket) || !proper(path) || !signed || !strings.HasPrefix(link[mark+1:], expires) || len(stamp) > 20 {
		return f, until, false
	}
	if !hmac.Equal([]byte(sign), []byte(s.sign(path, stamp))) {
		return f, until, false
	}
	at, err := strconv.ParseInt(stamp, 10, 64)
	return File{Bucket: Bucket, Path: path, Type: typed(path)}, time.Unix(at, 0), err == nil
}

// sign signs that a file may be read until then. No part has a line feed in it.
func (s *Shelf) sign(path, until string) string {
	mac := hmac.New(sha256.New, s.cfg.Key)
	mac.Write([]byte("GET\n" + Bucket + "\n" + path + "\n" + until))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

func cutLast(text, sep string) (before, after string, ok bool) {
	if i := strings.LastIndex(text, sep); i >= 0 {
		return text[:i], text[i+len(sep):], true
	}
	return text, "", false
}
