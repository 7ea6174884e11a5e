package main

import (
	"context"
	"log/slog"
	"net/url"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"github.com/streamassay/streamassay/reference/identity"
)

// A authFlags is who may ask, and from where.
type authFlags struct {
	users            []string
	jwks             string
	issuer, audience string
	origins          []string

	tokens *identity.StaticTokens // those of users, as they were checked
}

func (d *authFlags) addFlags(flags *pflag.FlagSet) {
	flags.StringArrayVar(&d.users, "user", nil, "`NAME:TOKEN` of a user, or @FILE with one in a line; can be given several times")
	flags.StringVar(&d.jwks, "jwks", "", "`URL|FILE` of the keys (JWKS) whose owner signs tokens (JWT); the claim sub is the user")
	flags.StringVar(&d.issuer, "jwks-issuer", "", "`NAME` that has to be the claim iss of signed tokens")
	flags.StringVar(&d.audience, "jwks-audience", "", "`NAME` that has to be in the claim aud of signed tokens")
	flags.StringArrayVar(&d.origins, "cors", nil, "`ORIGIN` whose pages may ask, such as https://app.example, or * for all; can be given several times")
}

// hasUsers says whether there are users to tell apart.
func (d *authFlags) hasUsers() bool { return len(d.users) > 0 || d.jwks != "" }

// check says what is wrong, and never what a token is.
func (d *authFlags) check() error {
	if len(d.users) > 0 && d.jwks != "" {
		return usageError("--user and --jwks: users come from one or the other")
	}
	if d.jwks == "" && d.issuer+d.audience != "" {
		return usageError("--jwks-issuer and --jwks-audience are about the tokens of --jwks, which is not given")
	}
	d.tokens = &identity.StaticTokens{}
	for _, pair := range d.users {
		path, inFile := strings.CutPrefix(pair, "@")
		if !inFile {
			if err := d.tokens.Add(pair); err != nil {
				return usageError("--user: %v", err)
			}
			continue
		}
		if err := d.readUserFile(path); err != nil {
			return usageError("--user @%s: %v", path, withoutPath(err))
		}
	}
	for _, o := range d.origins {
		if u, err := url.Parse(o); o != "*" && (err != nil || u.Scheme == "" || u.Host == "" || u.Scheme+"://"+u.Host != o || strings.ToLower(o) != o) {
			return usageError("--cors %s: an origin is SCHEME://HOST[:PORT] as browsers send it, such as https://app.example, or *", o)
		}
	}
	return nil
}

func (d *authFlags) readUserFile(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return d.tokens.Read(f)
}

// openAuthenticator is the book of users; nil is that anybody is who they say.
func (d *authFlags) openAuthenticator(ctx context.Context, log *slog.Logger) (identity.Authenticator, error) {
	switch {
	case d.jwks != "":
		keys, err := identity.OpenJWT(ctx, d.jwks, identity.JWTConfig{Issuer: d.issuer, Audience: d.audience, Log: log})
		if err != nil {
			return nil, usageError("--jwks: %v", err)
		}
		return keys, nil
	case d.tokens.Len() > 0:
		return d.tokens, nil
	}
	return nil, nil
}
