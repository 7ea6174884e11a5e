package main

import (
	"context"
	"log/slog"
	"net/url"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"github.com/streamassay/streamassay/internal/identity"
	"github.com/streamassay/streamassay/internal/wire"
)

// A serverAuthFlags holds the values of a server's flags for users, tokens and cross-origin
// requests.
type serverAuthFlags struct {
	users            []string // NAME:TOKEN, or @FILE for a file with one NAME:TOKEN per line
	jwks             string   // URL or file of the keys that verify tokens; "" means none
	issuer, audience string   // required values of the claims iss and aud of tokens; "" accepts any
	origins          []string // origins whose pages may send requests; "*" means all

	tokens *identity.StaticTokens // the users of the --user flags; set by the check method
}

// addFlags adds the flags for users, tokens and cross-origin requests, which set d, to the flag
// set.
func (d *serverAuthFlags) addFlags(flags *pflag.FlagSet) {
	flags.StringArrayVar(&d.users, "user", nil,
		"`NAME:TOKEN` user and bearer token, or @FILE with one NAME:TOKEN per line (repeatable; not with --jwks)")
	flags.StringVar(&d.jwks, "jwks", "", "`URL|FILE` key set (JWKS) that verifies tokens (JWT); the claim sub is the user")
	flags.StringVar(&d.issuer, "jwks-issuer", "", "`NAME` required value of the claim iss of tokens (default: any)")
	flags.StringVar(&d.audience, "jwks-audience", "", "`NAME` required member of the claim aud of tokens (default: any)")
	flags.StringArrayVar(&d.origins, "cors", nil,
		"`ORIGIN` origin whose pages may send requests (e.g. https://app.example), or * for all (repeatable; default: none)")
}

// hasUsers reports whether the flags define users, so that requests must be authenticated.
func (d *serverAuthFlags) hasUsers() bool { return len(d.users) > 0 || d.jwks != "" }

// check stores the users of the --user flags in d.tokens, and returns a usage error if a flag is
// invalid. Errors never contain a token, because tokens are secret.
func (d *serverAuthFlags) check() error {
	if len(d.users) > 0 && d.jwks != "" {
		return usageError("--user and --jwks cannot be used together")
	}
	if d.jwks == "" && d.issuer+d.audience != "" {
		return usageError("--jwks-issuer and --jwks-audience need --jwks")
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
		if o != "*" && !isOrigin(o) {
			return usageError("--cors %s: must be * or SCHEME://HOST[:PORT] in lower case (e.g. https://app.example)", o)
		}
	}
	return nil
}

// isOrigin reports whether s is an origin as browsers send it: SCHEME://HOST[:PORT] in lower case.
func isOrigin(s string) bool {
	u, err := url.Parse(s)
	return err == nil && u.Scheme != "" && u.Host != "" && u.Scheme+"://"+u.Host == s && strings.ToLower(s) == s
}

// readUserFile adds the users in the file at path to d.tokens. For the format of the file, see
// [identity.StaticTokens.Read]. readUserFile returns an error if the file cannot be opened, or the
// error that Read returns.
func (d *serverAuthFlags) readUserFile(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return d.tokens.Read(f)
}

// openAuthenticator returns the authenticator that the flags describe, which logs to log. If the
// flags define no users, the result is nil, and the server must accept every token as the name of a
// user. openAuthenticator returns a usage error if the keys of --jwks cannot be read or used. The
// context ctx applies only to the first read of the keys, which openAuthenticator waits for.
// [serverAuthFlags.check] must have been called before.
func (d *serverAuthFlags) openAuthenticator(ctx context.Context, log *slog.Logger) (identity.Authenticator, error) {
	switch {
	case d.jwks != "":
		keys, err := identity.OpenJWT(ctx, d.jwks, identity.JWTConfig{Issuer: d.issuer, Audience: d.audience, Log: log})
		if err != nil {
			if wire.IsRefused(err) {
				return nil, openError("--jwks", d.jwks, err)
			}
			return nil, usageError("--jwks: %v", err)
		}
		return keys, nil
	case d.tokens.Len() > 0:
		return d.tokens, nil
	}
	return nil, nil
}
