package redact

import (
	"encoding/base64"
	"net/url"
	"slices"
	"strings"
)

// identityHeaders are the header fields with which the sender of a request authenticates itself to
// a server.
var identityHeaders = []string{
	"Authorization", "Cookie", "X-Api-Key", "Api-Key", "X-Auth-Token", "X-Access-Token",
	"X-Amz-Security-Token", "X-Goog-Api-Key",
}

// otherSecretNames are names of header fields and query parameters that hold secrets, but are not
// used to distinguish between the senders of requests.
var otherSecretNames = []string{
	"Proxy-Authorization", "Set-Cookie", "X-Csrf-Token", "X-Xsrf-Token",
	"access_token", "refresh_token", "id_token", "token", "api_key", "apikey",
	"client_secret", "password", "secret", "signature", "sig",
}

// secretNameParts are texts in lower case. A header field or query parameter is considered secret
// if its name, in lower case, contains one of them, unless IsHarmless returns true for the name.
var secretNameParts = []string{
	"token", "secret", "password", "passwd", "apikey", "api-key", "api_key", "credential", "session", "authorization",
}

// harmlessHeaders are common header fields that hold no secrets, in addition to those whose names
// begin with Access-Control-.
var harmlessHeaders = []string{
	"Accept", "Accept-Encoding", "Accept-Language", "Cache-Control", "Connection", "Content-Length", "Content-Type",
	"Date", "Host",
	"Last-Event-Id", "Origin", "Referer", "Transfer-Encoding", "User-Agent", "Vary", "X-Accel-Buffering", "X-Mock-Seed", "X-Request-Id",
}

// containsName reports whether names contains the given name. The comparison ignores case.
func containsName(names []string, name string) bool {
	return slices.ContainsFunc(names, func(s string) bool { return strings.EqualFold(s, name) })
}

// IsHarmless reports whether header fields with the given name are known not to hold secrets. The
// comparison of names ignores case.
func IsHarmless(name string) bool {
	const cors = "Access-Control-"
	return containsName(harmlessHeaders, name) || len(name) > len(cors) && strings.EqualFold(name[:len(cors)], cors)
}

// IsCredential reports whether a header field or query parameter with the given name probably holds
// a secret. The comparison of names ignores case.
func IsCredential(name string) bool {
	if containsName(identityHeaders, name) || containsName(otherSecretNames, name) {
		return true
	}
	if len(name) < len("token") || IsHarmless(name) {
		return false
	}
	lower := strings.ToLower(name)
	return lower == "x-auth" ||
		slices.ContainsFunc(secretNameParts, func(part string) bool { return strings.Contains(lower, part) })
}

// SecretNames holds the names of header fields and query parameters that hold secrets, in addition
// to those for which [IsCredential] returns true.
type SecretNames []string

// Contains reports whether header fields and query parameters with the given name hold secrets,
// that is, whether n contains the name or [IsCredential] returns true for it. The comparison of
// names ignores case.
func (n SecretNames) Contains(name string) bool {
	return IsCredential(name) || containsName(n, name)
}

// IdentifiesUser reports whether the name is one of identityHeaders, the header fields that carry
// the credentials of the sender of a request, such as Authorization. Case is ignored.
func IdentifiesUser(name string) bool { return containsName(identityHeaders, name) }

// SecretValues returns the secrets in the value of the header field with the given name. The first
// one is the whole value. The others are the token after an authentication scheme such as Bearer,
// the decoded Basic credentials and the password in them, and the values of cookies, as far as the
// value contains them. If the value is empty, there are none.
func SecretValues(name, value string) []string {
	value = strings.TrimSpace(value)
	all := []string{value}
	set := strings.EqualFold(name, "Set-Cookie")
	if scheme, token, ok := strings.Cut(value, " "); ok && !set && !strings.ContainsAny(scheme, "=;") {
		token = strings.TrimSpace(token)
		all = append(all, token)
		if strings.EqualFold(scheme, "Basic") {
			all = append(all, basicSecrets(token)...)
		}
	}
	for pair := range strings.SplitSeq(value, ";") {
		if _, cookie, ok := strings.Cut(pair, "="); ok {
			all = append(all, strings.Trim(strings.TrimSpace(cookie), `"`))
		}
		if set {
			break // the rest are attributes
		}
	}
	return slices.DeleteFunc(all, func(s string) bool { return s == "" })
}

// basicSecrets returns the secrets in token, the Base64 text of Basic credentials: the decoded
// text, and the password in it, if any. It returns nil if token is not Base64.
func basicSecrets(token string) []string {
	plain, err := base64.StdEncoding.DecodeString(token)
	if err != nil {
		return nil
	}
	if _, password, ok := strings.Cut(string(plain), ":"); ok {
		return []string{string(plain), password}
	}
	return []string{string(plain)}
}

// WithoutUser returns text, a URL, with [Placeholder] in place of the user and the password. If
// text has no user or is not a valid URL, it is returned unchanged.
func WithoutUser(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.User == nil {
		return text
	}
	u.User = url.User(Placeholder)
	return u.String()
}

// RedactTarget returns target, a URL or the path and query of a request, with [Placeholder] in
// place of the values of secret parameters. It calls the function secret with the decoded name of
// each parameter to learn whether its value is secret. Parameters in the fragment are included,
// because OAuth sends access tokens there.
func RedactTarget(target string, secret func(name string) bool) string {
	pieces := targetPieces(target)
	for i, piece := range pieces {
		if name, _, ok := cutSecretParameter(piece, secret); ok {
			pieces[i] = name + "=" + Placeholder
		}
	}
	return strings.Join(pieces, "")
}

// SecretParameters returns the values that [RedactTarget] replaces for the same arguments. The
// result contains each value twice: as written, and decoded. It does not contain empty values.
func SecretParameters(target string, secret func(name string) bool) (all []string) {
	for _, piece := range targetPieces(target) {
		if _, value, ok := cutSecretParameter(piece, secret); ok && value != "" {
			all = append(all, value, unescape(value))
		}
	}
	return all
}

// targetPieces splits target, a URL or the path and query of a request, before each ?, & and #.
// Each piece except the first is therefore one of these characters, followed by a parameter or
// other text, as in "?a=1".
func targetPieces(target string) (pieces []string) {
	for {
		i := strings.IndexAny(target[min(1, len(target)):], "?&#")
		if i < 0 {
			return append(pieces, target)
		}
		pieces, target = append(pieces, target[:i+1]), target[i+1:]
	}
}

// cutSecretParameter splits piece, a result of targetPieces, at its equals sign into the name and
// the value of a parameter. The name includes the character before it, such as "?", and is not
// decoded. If piece is not a parameter, or if secret returns false for the decoded name, ok is
// false.
func cutSecretParameter(piece string, secret func(name string) bool) (name, value string, ok bool) {
	name, value, ok = strings.Cut(piece, "=")
	return name, value, ok && strings.ContainsAny(name[:min(1, len(name))], "?&#") && secret(unescape(name[1:]))
}

// unescape returns s decoded as by [url.QueryUnescape]. If s contains an invalid escape, it returns
// s unchanged.
func unescape(s string) string {
	if plain, err := url.QueryUnescape(s); err == nil {
		return plain
	}
	return s
}
