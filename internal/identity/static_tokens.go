package identity

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"strings"
)

// StaticTokens authenticates users by a fixed list of tokens. The zero value accepts no token. Add
// and Read must not be called concurrently with other methods.
type StaticTokens struct {
	entries []tokenEntry
}

// A tokenEntry is the SHA-256 hash of a token, and the user to whom the token belongs. Hashes are
// compared in constant time, so that the duration does not reveal how much of a token was guessed
// correctly.
type tokenEntry struct {
	sum  [sha256.Size]byte // hash of the token
	user string            // name of the user
}

// minToken is the minimum length of a token in bytes. Shorter tokens would be easy to guess.
const minToken = 8

// Add adds a token of a user. The parameter pair has the form NAME:TOKEN, in which NAME consists of
// 1 to 256 and TOKEN of 8 to 16,384 visible ASCII characters. A user may have several tokens. Add
// returns an error if pair is invalid or if another user has the same token. The error does not
// contain the token.
func (t *StaticTokens) Add(pair string) error {
	name, token, found := strings.Cut(pair, ":")
	switch {
	case !found:
		return errors.New("missing colon, want NAME:TOKEN") // pair may be the token, so it is not quoted
	case name == "":
		return errors.New("empty name, want NAME:TOKEN")
	case len(name) > maxName || !isVisibleASCII(name):
		return fmt.Errorf("invalid name, want one word of at most %d visible ASCII characters", maxName)
	case len(token) < minToken:
		return fmt.Errorf("the token of user %s is too short, want at least %d characters", name, minToken)
	case len(token) > maxToken || !isVisibleASCII(token):
		return fmt.Errorf("invalid token of %s, want one word of at most %d visible ASCII characters", name, maxToken)
	}
	sum := sha256.Sum256([]byte(token))
	for _, e := range t.entries {
		if e.sum == sum && e.user != name {
			return fmt.Errorf("%s and %s have the same token", e.user, name)
		}
	}
	t.entries = append(t.entries, tokenEntry{sum, name})
	return nil
}

// maxTokenFile is the maximum size of a file of tokens in bytes.
const maxTokenFile = 1 << 20

// Read adds the tokens in a file, which it reads from r. Each line of the file is NAME:TOKEN; Read
// skips empty lines and lines that begin with #. It returns an error if r fails, if a line is
// invalid, or if the file has no tokens or is larger than 1 MiB. After an error in a line, the
// tokens of the preceding lines remain added.
func (t *StaticTokens) Read(r io.Reader) error {
	text, err := io.ReadAll(io.LimitReader(r, maxTokenFile+1))
	if err != nil {
		return err
	}
	if len(text) > maxTokenFile {
		return fmt.Errorf("the file exceeds %d bytes", maxTokenFile)
	}
	n, before := 0, len(t.entries)
	for line := range strings.Lines(string(text)) {
		n++
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		if err := t.Add(line); err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
	}
	if len(t.entries) == before {
		return errors.New("the file has no users, want lines NAME:TOKEN")
	}
	return nil
}

// Len returns the number of tokens.
func (t *StaticTokens) Len() int { return len(t.entries) }

// Authenticate implements [Authenticator]. It compares the token with every entry, even after a
// match, so that its duration does not reveal which entry matches, if any.
func (t *StaticTokens) Authenticate(_ context.Context, token string) (user string, ok bool) {
	sum := sha256.Sum256([]byte(token))
	at := -1
	for i := range t.entries {
		at = subtle.ConstantTimeSelect(subtle.ConstantTimeCompare(sum[:], t.entries[i].sum[:]), i, at)
	}
	if at < 0 {
		return "", false
	}
	return t.entries[at].user, true
}
