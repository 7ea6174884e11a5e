// Package identity authenticates the users of a server by bearer tokens. It only maps a
// token to the name of a user, and never repeats a token in an error, a name or a log
// record.
package identity

import (
	"context"
	"net/http"
	"strings"
)

// An Authenticator maps tokens to users. Implementations must be safe for concurrent use.
type Authenticator interface {
	// Authenticate returns the name of the user to whom token belongs; ok is false if token is
	// invalid.
	Authenticate(ctx context.Context, token string) (user string, ok bool)
}

// maxToken is the maximum size of a token in bytes. Even a signed token with many claims has only a
// few thousand bytes.
const maxToken = 16 << 10

// Bearer returns the bearer token in the Authorization header. The result ok is false unless h has
// exactly one such header, with one token of at most 16 KiB. Bearer rejects several headers,
// because a proxy and the server could otherwise authenticate the client by different tokens.
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

// isVisibleASCII reports whether s consists of one or more printable ASCII characters other than
// spaces.
func isVisibleASCII(s string) bool {
	return s != "" && strings.IndexFunc(s, func(r rune) bool { return r <= ' ' || r > '~' }) < 0
}

// TokenAsName is an authenticator that returns the token itself as the name of the user. It accepts
// each token of at most 256 visible ASCII characters. It does not verify who sent the token, so it
// is meant only for servers on loopback addresses.
var TokenAsName Authenticator = tokenAsName{}

type tokenAsName struct{}

// maxName is the maximum size of a user name in bytes.
const maxName = 256

func (tokenAsName) Authenticate(_ context.Context, token string) (user string, ok bool) {
	if len(token) > maxName || !isVisibleASCII(token) {
		return "", false
	}
	return token, true
}
