package files

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// linkPattern matches a link. Its groups are the path of the file, the time at which the link
// expires, in Unix seconds, and the signature. None of them is escaped, because the path of a file
// contains no characters that must be escaped.
var linkPattern = regexp.MustCompile(`/` + linkDir + `/([^/?]+)\?expires=(\d{1,20})&signature=([\w-]+)$`)

// Link returns a signed URL of the file f. The URL begins with base and expires after
// Config.LinkLifetime. Link returns "" if f.Path is not a path that Put can return.
func (s *Store) Link(base string, f File) string {
	if !isValidPath(f.Path) {
		return ""
	}
	until := strconv.FormatInt(s.cfg.Now().Add(s.cfg.LinkLifetime).Unix(), 10)
	query := "?expires=" + until + "&signature=" + s.sign(f.Path, until)
	return strings.TrimSuffix(base, "/") + "/" + linkDir + "/" + f.Path + query
}

// ParseLink returns the file to which link refers. The result is false if link is not one that Link
// has returned. The base of the link is ignored, and the link may have expired.
//
// ParseLink does not check that the file exists. In the result, Size is 0, and Type is derived from
// the file name extension in the path; it is "" if there is none. Find returns the actual Size and
// Type.
func (s *Store) ParseLink(link string) (File, bool) {
	f, _, ok := s.verifyLink(link)
	return f, ok
}

// verifyLink returns the file to which a link refers and the time at which the link expires. The
// result ok is false if the link is malformed or its signature is not valid. It is true for a link
// that has expired.
func (s *Store) verifyLink(link string) (f File, until time.Time, ok bool) {
	// Link returns only characters that need no escaping, so there is one form to parse.
	m := linkPattern.FindStringSubmatch(link)
	if m == nil {
		return f, until, false
	}
	path, expiry, signature := m[1], m[2], m[3]
	if !isValidPath(path) || !hmac.Equal([]byte(signature), []byte(s.sign(path, expiry))) {
		return f, until, false
	}
	seconds, err := strconv.ParseInt(expiry, 10, 64)
	return File{Path: path, Type: typeOfPath(path)}, time.Unix(seconds, 0), err == nil
}

// sign returns the signature of a link to the file at path: an HMAC-SHA256, in base64url without
// padding. The parameter until is the time at which the link expires, in decimal Unix seconds.
// Neither parameter contains a line feed, which separates the fields of the signed text.
func (s *Store) sign(path, until string) string {
	mac := hmac.New(sha256.New, s.cfg.SigningKey)
	mac.Write([]byte("GET\n" + linkDir + "\n" + path + "\n" + until))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}
