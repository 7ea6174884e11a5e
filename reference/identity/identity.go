// Package identity says who asks: it turns the token of a request into the name of a
// user. It knows no user's rights, no dialect and no answer to a request, and it never
// repeats a token: not in an error, not in a name, not in a log.
package identity

import (
	"context"
	"net/http"
	"strings"
)

// A Authenticator knows users by their tokens. It may be asked by many at once.
type Authenticator interface {
	// Who is the user that a token stands for; ok is false if it stands for nobody.
	Authenticate(ctx context.Context, token string) (user string, ok bool)
}

// maxToken is how many bytes a token has at most: a header of a request holds it, and
// signed tokens with many claims have a few thousand.
const maxToken = 16 << 10

// Bearer is the token in the Authorization header. There has to be one such header
// and one token in it: of two, whoever stands in front of us may have checked the other.
func Bearer(h http.Header) (token string, ok bool) {
	values := h["Authorization"]
	if len(values) != 1 {
		return "", false
	}
	scheme, token, _ := strings.Cut(values[0], " ")
	token = strings.Trim(token, " ")
	if !strings.EqualFold(scheme, "Bearer") || len(token) > maxToken || !isVisibleASCII(token) {
		return "", false
	}
	return token, true
}

// isVisibleASCII says whether s is one word of printable ASCII.
func isVisibleASCII(s string) bool {
	for i := range len(s) {
		if s[i] <= ' ' || s[i] > '~' {
			return false
		}
	}
	return s != ""
}

// TokenAsName is the book in which everybody stands: a token is the name of its user. It is
// for loopback addresses, where whoever can ask could read our memory just as well.
var TokenAsName Authenticator = tokenAsName{}

type tokenAsName struct{}

// maxName is how many bytes a name has at most.
const maxName = 256

func (tokenAsName) Authenticate(_ context.Context, token string) (user string, ok bool) {
	if len(token) > maxName || !isVisibleASCII(token) {
		return "", false
	}
	return token, true
}
