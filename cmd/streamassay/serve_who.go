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

// A door is who may ask, and from where.
type door struct {
	users            []string
	jwks             string
	issuer, audience string
	origins          []string

	tokens *identity.Tokens // those of users, as they were checked
}

func (d *door) addFlags(flags *pflag.FlagSet) {
	flags.StringArrayVar(&d.users, "user", nil, "`NAME:TOKEN` of a user, or @FILE with one in a line; can be given several times")
	flags.StringVar(&d.jwks, "jwks", "", "`URL|FILE` of the keys (JWKS) whose owner signs tokens (JWT); the claim sub is the user")
	flags.StringVar(&d.issuer, "jwks-issuer", "", "`NAME` that has to be the claim iss of signed tokens")
	flags.StringVar(&d.audience, "jwks-audience", "", "`NAME` that has to be in the claim aud of signed tokens")
	flags.StringArrayVar(&d.origins, "cors", nil, "`ORIGIN` whose pages may ask, such as https://app.example, or * for all; can be given several times")
}

// secured says whether there are users to tell apart.
func (d *door) secured() bool { return len(d.users) > 0 || d.jwks != "" }

// check says what is wrong, and never what a token is.
func (d *door) check() error {
	if len(d.users) > 0 && d.jwks != "" {
		return usage("--user and --jwks: users come from one or the other")
	}
	if d.jwks == "" && d.issuer+d.audience != "" {
		return usage("--jwks-issuer and --jwks-audience are about the tokens of --jwks, which is not given")
	}
	d.tokens = &identity.Tokens{}
	for _, pair := range d.users {
		path, inFile := strings.CutPrefix(pair, "@")
		if !inFile {
			if err := d.tokens.Add(pair); err != nil {
				return usage("--user: %v", err)
			}
			continue
		}
		if err := d.read(path); err != nil {
			return usage("--user @%s: %v", path, plainError(err))
		}
	}
	for _, o := range d.origins {
		if u, err := url.Parse(o); o != "*" && (err != nil || u.Scheme == "" || u.Host == "" || u.Scheme+"://"+u.Host != o || strings.ToLower(o) != o) {
			return usage("--cors %s: an origin is SCHEME://HOST[:PORT] as browsers send it, such as https://app.example, or *", o)
		}
	}
	return nil
}

func (d *door) read(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return d.tokens.Read(f)
}

// open is the book of users; nil is that anybody is who they say.
func (d *door) open(ctx context.Context, log *slog.Logger) (identity.Book, error) {
	switch {
	case d.jwks != "":
		keys, err := identity.OpenKeys(ctx, d.jwks, identity.KeysConfig{Issuer: d.issuer, Audience: d.audience, Log: log})
		if err != nil {
			return nil, usage("--jwks: %v", err)
		}
		return keys, nil
	case d.tokens.Len() > 0:
		return d.tokens, nil
	}
	return nil, nil
}
