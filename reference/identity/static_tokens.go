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

// StaticTokens are users with tokens that were agreed on beforehand. The zero value has
// none, so it lets nobody in.
type StaticTokens struct {
	entries []entry
}

// An entry holds the sum of a token, which has one length whatever the token's is:
// comparing sums in constant time tells nothing about how near a guess was.
type entry struct {
	sum  [sha256.Size]byte
	user string
}

// minToken is how many bytes a token has at least: less is guessed.
const minToken = 8

// Add adds a user by NAME:TOKEN. A name may have several tokens; a token has one name.
func (t *StaticTokens) Add(pair string) error {
	name, token, found := strings.Cut(pair, ":")
	switch {
	case !found:
		return errors.New("it is NAME:TOKEN, and there is no colon") // what there is may be the token
	case name == "":
		return errors.New("it is NAME:TOKEN, and the name is empty")
	case len(name) > maxName || !isVisibleASCII(name):
		return fmt.Errorf("a name is one word of at most %d visible ASCII characters", maxName)
	case len(token) < minToken:
		return fmt.Errorf("the token of %s has %d characters: it takes at least %d", name, len(token), minToken)
	case len(token) > maxToken || !isVisibleASCII(token):
		return fmt.Errorf("the token of %s is not one word of at most %d visible ASCII characters", name, maxToken)
	}
	sum := sha256.Sum256([]byte(token))
	for _, e := range t.entries {
		if e.sum == sum && e.user != name {
			return fmt.Errorf("%s and %s have the same token", e.user, name)
		}
	}
	t.entries = append(t.entries, entry{sum, name})
	return nil
}

// maxTokenFile is how many bytes a file of users has at most.
const maxTokenFile = 1 << 20

// Read adds the users of a file: one NAME:TOKEN in a line; empty lines and those that
// begin with # are skipped.
func (t *StaticTokens) Read(r io.Reader) error {
	text, err := io.ReadAll(io.LimitReader(r, maxTokenFile+1))
	if err != nil {
		return err
	}
	if len(text) > maxTokenFile {
		return fmt.Errorf("it has more than %d bytes", maxTokenFile)
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
		return errors.New("no user is in it: a line is NAME:TOKEN")
	}
	return nil
}

// Len is how many tokens there are.
func (t *StaticTokens) Len() int { return len(t.entries) }

// Authenticate compares with every entry, also after one was found: how long it takes depends
// on how many there are, and on nothing else.
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
