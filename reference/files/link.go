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
	expiresParam   = "expires="
	signatureParam = "&signature="
)

// Link is a URL of a file below a base, good for a while. What is not the name of a
// file has none.
func (s *Store) Link(base string, f File) string {
	if f.Bucket != Bucket || !isValidPath(f.Path) {
		return ""
	}
	until := strconv.FormatInt(s.cfg.Now().Add(s.cfg.LinkLifetime).Unix(), 10)
	return strings.TrimSuffix(base, "/") + "/" + Bucket + "/" + f.Path + "?" + expiresParam + until + signatureParam + s.sign(f.Path, until)
}

// ParseLink says of which file a link is, if it was made here, below whatever base, and
// whether or not it has ended. The file may be gone; its size is not told, and its
// type is only if it is a usual one: Find knows.
func (s *Store) ParseLink(link string) (File, bool) {
	f, _, ok := s.verifyLink(link)
	return f, ok
}

// verifyLink reads a link back.
func (s *Store) verifyLink(link string) (f File, until time.Time, ok bool) {
	// Nothing in what Link makes has to be escaped, so there is one way to spell it.
	mark := strings.LastIndexByte(link, '?')
	if mark < 0 {
		return f, until, false
	}
	dir, path, _ := cutLast(link[:mark], "/")
	stamp, sign, signed := strings.Cut(strings.TrimPrefix(link[mark+1:], expiresParam), signatureParam)
	if !strings.HasSuffix(dir, "/"+Bucket) || !isValidPath(path) || !signed || !strings.HasPrefix(link[mark+1:], expiresParam) || len(stamp) > 20 {
		return f, until, false
	}
	if !hmac.Equal([]byte(sign), []byte(s.sign(path, stamp))) {
		return f, until, false
	}
	at, err := strconv.ParseInt(stamp, 10, 64)
	return File{Bucket: Bucket, Path: path, Type: typeOfPath(path)}, time.Unix(at, 0), err == nil
}

// sign signs that a file may be read until then. No part has a line feed in it.
func (s *Store) sign(path, until string) string {
	mac := hmac.New(sha256.New, s.cfg.SigningKey)
	mac.Write([]byte("GET\n" + Bucket + "\n" + path + "\n" + until))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

func cutLast(text, sep string) (before, after string, ok bool) {
	if i := strings.LastIndex(text, sep); i >= 0 {
		return text[:i], text[i+len(sep):], true
	}
	return text, "", false
}
