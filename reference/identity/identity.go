// Package identity says who asks: it turns the token of a request into the name of a
// user. It knows no user's rights, no dialect and no answer to a request, and it never
// repeats a token: not in an error, not in a name, not in a log.
package identity

import (
	"context"
	"net/http"
	"strings"
)

// A Book knows users by their tokens. It may be asked by many at once.
type Book interface {
	// Who is the user that a token stands for; ok is false if it stands for nobody.
	Who(ctx context.Context, token string) (user string, ok bool)
}

// mostToken is how many bytes a token has at most: a header of a request holds it, and
// signed tokens with many claims have a few thousand.
const mostToken = 16 << 10

// Bearer is the token in the Authorization header. There has to be one such header
// and one token in it: of two, whoever stands in front of us may have checked the other.
func Bearer(h http.Header) (token string, ok bool) {
	values := h["Authorization"]
	if len(values) != 1 {
		return "", false
	}
	scheme, token, _ := strings.Cut(values[0], " ")
	token = strings.Trim(token, " ")
	if !strings.EqualFold(scheme, "Bearer") || len(token) > mostToken || !visible(token) {
		return "", false
	}
	return token, true
}

// visible says whether s is one word of printable ASCII.
func visible(s string) bool {
	for i := range len(s) {
		if s[i] <= ' ' || s[i] > '~' {
			return false
		}
	}
	return s != ""
}

// Anyone is the book in which everybody stands: a token is the name of its user. It is
// for loopback addresses, where whoever can ask could read our memory just as well.
var Anyone Book = anyone{}

type anyone struct{}

// mostName is how many bytes a name has at most.
const mostName = 256

func (anyone) Who(_ context.Context, token string) (user string, ok bool) {
	if len(token) > mostName || !visible(token) {
		return "", false
	}
	return token, true
}
