package suites

import (
	"encoding/base64"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/streamassay/streamassay/internal/redact"
	"github.com/streamassay/streamassay/internal/wire"
	"github.com/streamassay/streamassay/spec"
)

// defaultCredential is the value of the header field Authorization if the dialect requires
// credentials and the target has none for the primary user. Scenarios about missing credentials are
// then not played.
const defaultCredential = "Bearer streamassay"

// isCredentialHeader reports whether a header field with the given name identifies the user. It
// returns true for the usual fields, such as Authorization and Cookie, and for all fields of the
// other user.
func (t *Target) isCredentialHeader(name string) bool {
	return redact.IdentifiesUser(name) || t.OtherHeader.Has(name)
}

// hasUserCredentials reports whether credentials of the primary user are configured, in the base
// URL or in a header field.
func (t *Target) hasUserCredentials() bool {
	return t.Base != nil && t.Base.User != nil ||
		slices.ContainsFunc(t.Header, func(f spec.HeaderField) bool { return t.isCredentialHeader(f.Name) })
}

// headerFor returns the header fields of every request of the given principal. Principals differ
// only in their credentials; an anonymous client has none. The random credentials of the unknown
// user are drawn from ids. The result for a principal in [derivations] is valid only if
// derivedPrincipals returns that principal.
func (t *Target) headerFor(who spec.Principal, ids *rand.Rand) spec.Header {
	header := spec.Header{}
	for _, f := range t.Header {
		switch {
		case who == spec.PrimaryUser || !t.isCredentialHeader(f.Name):
			header = append(header, f)
		case who == spec.UnknownUser:
			header = append(header, spec.HeaderField{Name: f.Name, Value: invalidCredential(f.Value, ids)})
		case derivations[who] != nil:
			value, _ := replaceSecrets(f.Value, derivations[who])
			header = append(header, spec.HeaderField{Name: f.Name, Value: value})
		}
	}
	switch {
	case who == spec.OtherUser:
		header = append(header, t.OtherHeader...)
	case who == spec.PrimaryUser && !t.hasUserCredentials() && t.Dialect.RequiresCredentials():
		header = append(header, spec.HeaderField{Name: "Authorization", Value: defaultCredential})
	case who == spec.UnknownUser && t.Base.User != nil && !header.Has("Authorization"):
		header = append(header, spec.HeaderField{Name: "Authorization", Value: invalidCredential("Basic x", ids)})
	}
	return header
}

// invalidCredential returns a credential that has the form of value, but a random secret drawn from
// ids. It keeps the scheme of an Authorization field and the names of cookies.
func invalidCredential(value string, ids *rand.Rand) string {
	random := func() string { return fmt.Sprintf("%016x%016x", ids.Uint64(), ids.Uint64()) }
	if scheme, ok := basicScheme(value); ok {
		return scheme + " " + base64.StdEncoding.EncodeToString([]byte(random()+":"+random()))
	}
	invalid, _ := replaceSecrets(value, func(string) (string, bool) { return random(), true })
	return invalid
}

// basicScheme returns the scheme as written in value, and true, if value is the value of an
// Authorization field with the scheme Basic, whose name is not case-sensitive.
func basicScheme(value string) (scheme string, ok bool) {
	scheme, _, ok = strings.Cut(value, " ")
	return scheme, ok && strings.EqualFold(scheme, "Basic")
}

// derivations maps the principals whose credentials are derived from those of the primary user to
// functions that derive an invalid secret from a valid one.
var derivations = map[spec.Principal]func(secret string) (string, bool){
	spec.LongerCredentials: lengthenSecret, spec.ShorterCredentials: shortenSecret,
}

// derivedPrincipals returns the principals in [derivations] for which the credentials of the primary
// user have a form from which certainly invalid ones can be derived. All secrets must have that form,
// because any of them may suffice to identify the user.
func (t *Conversation) derivedPrincipals() (all []spec.Principal) {
	for _, who := range []spec.Principal{spec.LongerCredentials, spec.ShorterCredentials} {
		ok := t.target.Base.User == nil && t.target.hasUserCredentials()
		for _, f := range t.target.Header {
			if t.target.isCredentialHeader(f.Name) {
				value, derived := replaceSecrets(f.Value, derivations[who])
				// The other user may have a similar name.
				ok = ok && derived && !slices.Contains(t.target.OtherHeader, spec.HeaderField{Name: f.Name, Value: value})
			}
		}
		if ok {
			all = append(all, who)
		}
	}
	return all
}

// replaceSecrets returns a copy of value, the value of a header field with credentials, in which the
// results of derive replace the secrets. It keeps the scheme of an Authorization field and the names
// of cookies. It returns false if derive returns false for a secret, or if the scheme is Basic.
func replaceSecrets(value string, derive func(secret string) (string, bool)) (replaced string, ok bool) {
	if _, isBasic := basicScheme(value); isBasic { // some servers look only at the beginning of a long password
		return "", false
	}
	if scheme, secret, ok := strings.Cut(value, " "); ok && !strings.ContainsAny(scheme, "=;") {
		secret, ok = derive(strings.TrimSpace(secret))
		return scheme + " " + secret, ok
	}
	if !strings.Contains(value, "=") {
		return derive(value)
	}
	var pairs []string
	for pair := range strings.SplitSeq(value, ";") {
		name, secret, _ := strings.Cut(strings.TrimSpace(pair), "=")
		secret, ok := derive(secret)
		if !ok {
			return "", false
		}
		pairs = append(pairs, name+"="+secret)
	}
	return strings.Join(pairs, "; "), true
}

// secretEnd is what lengthenSecret appends to a secret.
const secretEnd = "-streamassay"

// lengthenSecret returns secret with [secretEnd] after it, but before the padding of Base64 text. It
// returns false if secret is not a bearer token (RFC 6750, section 2.1) of eight characters or more,
// or of four or more without padding. The result differs from secret also when decoded from Base64.
func lengthenSecret(secret string) (string, bool) {
	token := strings.TrimRight(secret, "=")
	return token + secretEnd + secret[len(token):], isToken(token) && (token == secret || len(token) >= minShortened)
}

// minShortened is the minimum length of a secret that shortenSecret shortens. What is left of a
// shorter one could be a common word, and redacting it would make reports unreadable.
const minShortened = 8

// shortenSecret returns secret without its last character and without the padding of Base64 text. It
// returns false if secret is not a bearer token of eight characters or more, and for a short one that
// ends with a digit: without the digit, it could be the secret of another user.
func shortenSecret(secret string) (string, bool) {
	token := strings.TrimRight(secret, "=")
	if !isToken(token) || len(token) < minShortened {
		return "", false
	}
	c := token[len(token)-1]
	return token[:len(token)-1], len(token) >= 32 || c < '0' || c > '9'
}

// SharedSecret returns the beginning of secret that a test run also sends without the rest, as a part
// of invalid credentials. It must be redacted like the secret itself. It is "" if there is none.
func SharedSecret(secret string) string {
	token := strings.TrimRight(secret, "=")
	if _, ok := shortenSecret(secret); ok || token != secret && len(token) >= minShortened {
		return token[:len(token)-1]
	}
	return ""
}

// isToken reports whether token consists of four or more of the characters that a bearer token has
// before its padding.
func isToken(token string) bool {
	return len(token) >= 4 && !strings.ContainsFunc(token, func(c rune) bool {
		return !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.ContainsRune("-._~+/", c))
	})
}

// newClients returns an HTTP client for each principal. The clients have the configuration cfg,
// except for the header, and share one memory limit. The random credentials of the unknown user are
// drawn from ids. newClients returns an error if cfg is invalid.
func (t *Target) newClients(cfg wire.Config, ids *rand.Rand) (map[spec.Principal]*wire.Client, error) {
	cfg.Header = t.headerFor(spec.PrimaryUser, ids)
	user, err := wire.NewClient(cfg)
	if err != nil {
		return nil, err
	}
	all := map[spec.Principal]*wire.Client{spec.PrimaryUser: user}
	others := []spec.Principal{
		spec.OtherUser, spec.Anonymous, spec.UnknownUser, spec.LongerCredentials, spec.ShorterCredentials,
	}
	for _, who := range others {
		if all[who], err = user.WithHeader(t.headerFor(who, ids)); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// checkCredentials returns an error if the target has credentials for the other user but not for
// the primary user, or if the credentials of both users are the same.
func (t *Target) checkCredentials() error {
	if len(t.OtherHeader) == 0 {
		return nil
	}
	if !t.hasUserCredentials() {
		return errors.New("other headers without credentials of the first user: give the credentials of both")
	}
	same := t.Base == nil || t.Base.User == nil
	for _, f := range t.Header {
		same = same && (!t.isCredentialHeader(f.Name) || slices.Contains(t.OtherHeader, f))
	}
	if same {
		return errors.New("other headers: these are the credentials of the first user, want those of another")
	}
	return nil
}

// missingSetup returns a message about a setting that scenario s needs and the target does not
// have, such as "no stream limit is configured (--stream-limit)". It returns "" if no setting is
// missing.
func (t *Target) missingSetup(s Scenario) (missing string) {
	switch {
	case (s.Denial == spec.DeniedAnonymous || s.Denial == spec.DeniedUnknownUser) && !t.hasUserCredentials():
		return "no credentials of the user are configured (--header)"
	case s.Denial == spec.DeniedOtherUser && len(t.OtherHeader) == 0:
		return "no second user is configured (--other-header)"
	case s.Denial == spec.DeniedStreamLimit && t.StreamLimit == 0:
		return "no stream limit is configured (--stream-limit)"
	}
	return ""
}
