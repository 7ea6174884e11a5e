package files

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"strconv"
	"strings"
	"time"
)

// The names of the query parameters of a link, with their separators, in the order in which they
// occur.
const (
	expiresParam   = "expires="
	signatureParam = "&signature="
)

// Link returns a signed URL of the file f below a base URL. The URL expires after
// Config.LinkLifetime. Link returns "" if Put cannot have returned f.
func (s *Store) Link(base string, f File) string {
	if !isValidPath(f.Path) {
		return ""
	}
	until := strconv.FormatInt(s.cfg.Now().Add(s.cfg.LinkLifetime).Unix(), 10)
	query := expiresParam + until + signatureParam + s.sign(f.Path, until)
	return strings.TrimSuffix(base, "/") + "/" + linkDir + "/" + f.Path + "?" + query
}

// ParseLink returns the file of a link that Link returned, for any base and even if the link has
// expired. It returns false for any other link. The file may no longer exist. Its Size is 0, and
// its Type is set only if the path shows it; see Find.
func (s *Store) ParseLink(link string) (File, bool) {
	f, _, ok := s.verifyLink(link)
	return f, ok
}

// verifyLink returns the file to which a link refers, and the time until which the link is valid.
// ok is false if the link is malformed or its signature is not valid. It is true for a link that
// has expired.
func (s *Store) verifyLink(link string) (f File, until time.Time, ok bool) {
	// Link returns only characters that need no escaping, so there is one form to parse.
	address, query, hasQuery := cutLast(link, "?")
	dir, path, _ := cutLast(address, "/")
	query, hasExpiry := strings.CutPrefix(query, expiresParam)
	expiry, signature, signed := strings.Cut(query, signatureParam)
	if !hasQuery || !hasExpiry || !signed || len(expiry) > 20 {
		return f, until, false
	}
	if !strings.HasSuffix(dir, "/"+linkDir) || !isValidPath(path) {
		return f, until, false
	}
	if !hmac.Equal([]byte(signature), []byte(s.sign(path, expiry))) {
		return f, until, false
	}
	seconds, err := strconv.ParseInt(expiry, 10, 64)
	return File{Path: path, Type: typeOfPath(path)}, time.Unix(seconds, 0), err == nil
}

// sign returns the signature of a link to the file at path. The parameter until is the time at
// which the link expires, in Unix seconds. Line feeds separate the signed fields, because no field
// contains one.
func (s *Store) sign(path, until string) string {
	mac := hmac.New(sha256.New, s.cfg.SigningKey)
	mac.Write([]byte("GET\n" + linkDir + "\n" + path + "\n" + until))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// cutLast splits text around the last sep. ok is false if text does not contain sep; before is
// then the whole text.
func cutLast(text, sep string) (before, after string, ok bool) {
	if i := strings.LastIndex(text, sep); i >= 0 {
		return text[:i], text[i+len(sep):], true
	}
	return text, "", false
}
