package redact

import (
	"encoding/base64"
	"net/url"
	"slices"
	"strings"
)

// identityHeaders are the header fields by which a client says who it is. What else is a
// credential is in others, and what else looks like one is found by a part of its name.
var identityHeaders = []string{
	"Authorization", "Cookie", "X-Api-Key", "Api-Key", "X-Auth-Token", "X-Access-Token", "X-Amz-Security-Token", "X-Goog-Api-Key",
}

// otherSecretNames are header fields and query parameters that hold secrets without saying who
// asks, or not to the server.
var otherSecretNames = []string{
	"Proxy-Authorization", "Set-Cookie", "X-Csrf-Token", "X-Xsrf-Token",
	"access_token", "refresh_token", "id_token", "token", "api_key", "apikey", "client_secret", "password", "secret", "signature", "sig",
}

// secretNameParts are parts of names by which a secret is known, whoever it belongs to.
var secretNameParts = []string{"token", "secret", "password", "passwd", "apikey", "api-key", "api_key", "credential", "session", "authorization"}

// harmlessHeaders are fields that hold no secrets, most of them in nearly every exchange. Those
// that begin with Access-Control- are too.
var harmlessHeaders = []string{
	"Accept", "Accept-Encoding", "Accept-Language", "Cache-Control", "Connection", "Content-Length", "Content-Type", "Date", "Host",
	"Last-Event-Id", "Origin", "Referer", "Transfer-Encoding", "User-Agent", "Vary", "X-Accel-Buffering", "X-Mock-Seed", "X-Request-Id",
}

var secretsByLength, harmlessByLength = groupByLength(identityHeaders, otherSecretNames), groupByLength(harmlessHeaders)

// groupByLength sorts names by length: most are told apart by it.
func groupByLength(lists ...[]string) (byLength [][]string) {
	for _, name := range slices.Concat(lists...) {
		for len(byLength) <= len(name) {
			byLength = append(byLength, nil)
		}
		byLength[len(name)] = append(byLength[len(name)], name)
	}
	return byLength
}

func containsName(byLength [][]string, name string) bool {
	return len(name) < len(byLength) &&
		slices.ContainsFunc(byLength[len(name)], func(s string) bool { return strings.EqualFold(s, name) })
}

// IsHarmless reports whether the value of a header field is no secret, whoever sends it.
func IsHarmless(name string) bool {
	const cors = "Access-Control-"
	return containsName(harmlessByLength, name) || len(name) > len(cors) && strings.EqualFold(name[:len(cors)], cors)
}

// IsCredential reports whether the value of a header field or a query parameter is a
// secret.
func IsCredential(name string) bool {
	if containsName(secretsByLength, name) {
		return true
	}
	if len(name) < len("token") || IsHarmless(name) {
		return false
	}
	lower := strings.ToLower(name)
	return lower == "x-auth" || slices.ContainsFunc(secretNameParts, func(part string) bool { return strings.Contains(lower, part) })
}

// IdentifiesUser reports whether a header field says who sends a request.
func IdentifiesUser(name string) bool {
	return slices.ContainsFunc(identityHeaders, func(s string) bool { return strings.EqualFold(s, name) })
}

// SecretValues returns the secrets in the value of a header field: the whole, the token after
// its scheme, the password in Basic credentials, the values of cookies.
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
			break // what follows are attributes
		}
	}
	return slices.DeleteFunc(all, func(s string) bool { return s == "" })
}

// basicSecrets are what Basic credentials keep secret: all of them, and the password.
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

// RedactTarget returns the target of a request, or a reference to one, with [Mark] in the place
// of the values of the query parameters that are secrets by their names.
func RedactTarget(target string, secret func(name string) bool) string {
	path, query, ok := strings.Cut(target, "?")
	if !ok {
		return target
	}
	pairs := strings.Split(query, "&")
	changed := false
	for i, pair := range pairs {
		if name, _, ok := strings.Cut(pair, "="); ok && secret(unescape(name)) {
			pairs[i], changed = name+"="+Placeholder, true
		}
	}
	if !changed {
		return target
	}
	return path + "?" + strings.Join(pairs, "&")
}

// SecretParameters returns the values of the query parameters of a target that are secrets by
// their names, as they stand and decoded.
func SecretParameters(target string, secret func(name string) bool) (all []string) {
	_, query, _ := strings.Cut(target, "?")
	for pair := range strings.SplitSeq(query, "&") {
		name, value, _ := strings.Cut(pair, "=")
		if value != "" && secret(unescape(name)) {
			all = append(all, value, unescape(value))
		}
	}
	return all
}

func unescape(s string) string {
	if plain, err := url.QueryUnescape(s); err == nil {
		return plain
	}
	return s
}
