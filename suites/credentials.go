package suites

import (
	"encoding/base64"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"

	"github.com/streamassay/streamassay/internal/redact"
	"github.com/streamassay/streamassay/internal/wire"
	"github.com/streamassay/streamassay/spec"
)

// isCredentialHeader reports whether a header field with the given name identifies the user. This
// is the case if [redact.IdentifiesUser] returns true, as for Authorization and Cookie, or if the
// field is in t.OtherHeader.
func (t *Target) isCredentialHeader(name string) bool {
	return redact.IdentifiesUser(name) || t.OtherHeader.Has(name)
}

// hasUserCredentials reports whether credentials of [spec.PrimaryUser] are configured, in the base
// URL or in a header field.
func (t *Target) hasUserCredentials() bool {
	return t.Base != nil && t.Base.User != nil ||
		slices.ContainsFunc(t.Header, func(f spec.HeaderField) bool { return t.isCredentialHeader(f.Name) })
}

// sendsDefaultCredential reports whether the requests of [spec.PrimaryUser] have the credential
// [redact.DefaultCredential]. This is the case if the dialect requires credentials and none are
// configured. Scenarios about missing credentials are then not played.
func (t *Target) sendsDefaultCredential() bool {
	return !t.hasUserCredentials() && t.Dialect.RequiresCredentials()
}

// RedactedHeader returns the header fields that the client adds to each request of the given
// principal, with [redact.Placeholder] in place of each value except [redact.DefaultCredential].
func (t *Target) RedactedHeader(who spec.Principal) spec.Header {
	header := t.headerFor(who, rand.New(rand.NewPCG(0, 0)))
	for i, f := range header {
		if f.Value != redact.DefaultCredential {
			header[i].Value = redact.Placeholder
		}
	}
	return header
}

// headerFor returns the header fields that the client adds to each request of the given principal.
// Principals differ only in their credentials. [spec.Anonymous] has none, and those of
// [spec.UnknownUser] are random; the argument ids is the source of randomness. The result for a
// principal in [derivations] must not be used unless derivedPrincipals returns that principal.
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
	case who == spec.PrimaryUser && t.sendsDefaultCredential():
		header = append(header, spec.HeaderField{Name: "Authorization", Value: redact.DefaultCredential})
	case who == spec.UnknownUser && t.Base.User != nil && !header.Has("Authorization"):
		header = append(header, spec.HeaderField{Name: "Authorization", Value: invalidCredential("Basic x", ids)})
	}
	return header
}

// invalidCredential returns a credential that has the form of value, but a random secret generated
// with ids. It keeps the scheme of an Authorization field and the names of cookies.
func invalidCredential(value string, ids *rand.Rand) string {
	random := func() string { return fmt.Sprintf("%016x%016x", ids.Uint64(), ids.Uint64()) }
	if scheme, ok := basicScheme(value); ok {
		return scheme + " " + base64.StdEncoding.EncodeToString([]byte(random()+":"+random()))
	}
	invalid, _ := replaceSecrets(value, func(string) (string, bool) { return random(), true })
	return invalid
}

// basicScheme reports whether value is the value of an Authorization field with the scheme Basic,
// in capital or small letters. If so, scheme is the name of the scheme as it occurs in value.
func basicScheme(value string) (scheme string, ok bool) {
	scheme, _, ok = strings.Cut(value, " ")
	return scheme, ok && strings.EqualFold(scheme, "Basic")
}

// derivations maps the principals whose credentials are derived from those of [spec.PrimaryUser] to
// functions that derive an invalid secret from a valid one. Such a function returns false if the
// secret has an unsuitable form.
var derivations = map[spec.Principal]func(secret string) (string, bool){
	spec.LongerCredentials: lengthenSecret, spec.ShorterCredentials: shortenSecret,
}

// derivedPrincipals returns the principals in [derivations] whose credentials are certainly
// invalid. It omits a principal if one of the secrets of [spec.PrimaryUser] has an unsuitable form,
// because each secret may suffice to identify the user. It also omits a principal whose credentials
// are those of [spec.OtherUser].
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

// replaceSecrets returns a copy of value, the value of a header field with credentials, in which
// the results of derive replace the secrets. It keeps the scheme of an Authorization field and the
// names of cookies. It returns false if derive returns false for a secret, or if the scheme is
// Basic.
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

// secretEnd is the text that lengthenSecret appends to a secret.
const secretEnd = "-streamassay"

// lengthenSecret returns a bearer token (RFC 6750, section 2.1) with [secretEnd] appended to the
// characters before the padding. The result still differs from secret if both are decoded as
// Base64. lengthenSecret returns false if secret is not a bearer token, or has fewer than four
// characters before the padding, or fewer than [minShortened] if there is padding.
func lengthenSecret(secret string) (string, bool) {
	token := strings.TrimRight(secret, "=")
	return token + secretEnd + secret[len(token):], isToken(token) && (token == secret || len(token) >= minShortened)
}

// minShortened is the minimum length, without padding, of a secret that shortenSecret shortens. A
// shorter one could become a common word, and redacting that word would make reports unreadable.
const minShortened = 8

// shortenSecret returns secret without its last character and without the padding of Base64 text.
// It returns false if secret is not a bearer token or is shorter than [minShortened]. It also
// returns false if a secret of fewer than 32 characters ends with a digit: without the digit, it
// could be the secret of another user.
func shortenSecret(secret string) (string, bool) {
	token := strings.TrimRight(secret, "=")
	if !isToken(token) || len(token) < minShortened {
		return "", false
	}
	c := token[len(token)-1]
	return token[:len(token)-1], len(token) >= 32 || c < '0' || c > '9'
}

// SharedSecret returns the beginning of secret that the invalid credentials of a test run contain.
// This part must be redacted like the secret itself. The result is "" if no invalid credentials
// contain such a part.
func SharedSecret(secret string) string {
	token := strings.TrimRight(secret, "=")
	if _, ok := shortenSecret(secret); ok || token != secret && len(token) >= minShortened {
		return token[:len(token)-1]
	}
	return ""
}

// isToken reports whether token consists of at least four characters, all of which may occur in a
// bearer token before the padding (RFC 6750, section 2.1).
func isToken(token string) bool {
	return len(token) >= 4 && !strings.ContainsFunc(token, func(c rune) bool {
		return !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.ContainsRune("-._~+/", c))
	})
}

// newClients returns an HTTP client for each principal. All clients have the configuration cfg, but
// different header fields; see headerFor. They share one memory limit. The argument ids is the
// source of the random credentials of [spec.UnknownUser]. newClients returns an error if cfg is
// invalid.
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

// checkCredentials returns an error if t.OtherHeader is not empty although [spec.PrimaryUser] has
// no credentials, or if it contains the credentials of that user.
func (t *Target) checkCredentials() error {
	if len(t.OtherHeader) == 0 {
		return nil
	}
	if !t.hasUserCredentials() {
		return errors.New("needs the first user's credentials, too: add --header 'Authorization: …'")
	}
	same := t.Base == nil || t.Base.User == nil
	for _, f := range t.Header {
		same = same && (!t.isCredentialHeader(f.Name) || slices.Contains(t.OtherHeader, f))
	}
	if same {
		return errors.New("these are the credentials of the first user, want those of another user")
	}
	return nil
}

// RejectsOtherUser reports whether the server seems to reject the credentials of [spec.OtherUser]:
// in the conversation p, the status of each response to that user is 401, and a finding of r, a
// check result of p, refers to such a response.
func RejectsOtherUser(p ScenarioResult, r spec.CheckResult) bool {
	isOther := func(x spec.Exchange) bool { return x.Request.Principal == spec.OtherUser }
	for _, x := range p.Trace.Exchanges {
		if isOther(x) && x.Response.Status != http.StatusUnauthorized {
			return false
		}
	}
	return slices.ContainsFunc(r.Findings, func(f spec.Finding) bool {
		i := f.Event.Exchange
		return i < len(p.Trace.Exchanges) && isOther(p.Trace.Exchanges[i])
	})
}

// MissingSetup returns a message about a setting that scenario s needs and the target does not
// have, such as "no stream limit is configured (--stream-limit)". It returns "" if no setting is
// missing.
func (t *Target) MissingSetup(s Scenario) (missing string) {
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
