package redact

import (
	"encoding/base64"
	"net/url"
	"slices"
	"strings"
)

// identifying are the header fields by which a client says who it is. What else is a
// credential is in others, and what else looks like one is found by a part of its name.
var identifying = []string{
	"Authorization", "Cookie", "X-Api-Key", "Api-Key", "X-Auth-Token", "X-Access-Token", "X-Amz-Security-Token", "X-Goog-Api-Key",
}

// others are header fields and query parameters that hold secrets without saying who
// asks, or not to the server.
var others = []string{
	"Proxy-Authorization", "Set-Cookie", "X-Csrf-Token", "X-Xsrf-Token",
	"access_token", "refresh_token", "id_token", "token", "api_key", "apikey", "client_secret", "password", "secret", "signature", "sig",
}

// parts are parts of names by which a secret is known, whoever it belongs to.
var parts = []string{"token", "secret", "password", "passwd", "apikey", "api-key", "api_key", "credential", "session", "authorization"}

// harmless are fields that hold no secrets, most of them in nearly every exchange. Those
// that begin with Access-Control- are too.
var harmless = []string{
	"Accept", "Accept-Encoding", "Accept-Language", "Cache-Control", "Connection", "Content-Length", "Content-Type", "Date", "Host",
	"Last-Event-Id", "Origin", "Referer", "Transfer-Encoding", "User-Agent", "Vary", "X-Accel-Buffering", "X-Mock-Seed", "X-Request-Id",
}

var known, innocent = lengths(identifying, others), lengths(harmless)

// lengths sorts names by length: most are told apart by it.
func lengths(lists ...[]string) (byLength [][]string) {
	for _, name := range slices.Concat(lists...) {
		for len(byLength) <= len(name) {
			byLength = append(byLength, nil)
		}
		byLength[len(name)] = append(byLength[len(name)], name)
	}
	return byLength
}

func has(byLength [][]string, name string) bool {
	return len(name) < len(byLength) &&
		slices.ContainsFunc(byLength[len(name)], func(s string) bool { return strings.EqualFold(s, name) })
}

// Harmless reports whether the value of a header field is no secret, whoever sends it.
func Harmless(name string) bool {
	const cors = "Access-Control-"
	return has(innocent, name) || len(name) > len(cors) && strings.EqualFold(name[:len(cors)], cors)
}

// Credential reports whether the value of a header field or a query parameter is a
// secret.
func Credential(name string) bool {
	if has(known, name) {
		return true
	}
	if len(name) < len("token") || Harmless(name) {
		return false
	}
	lower := strings.ToLower(name)
	return lower == "x-auth" || slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(lower, part) })
}

// Identifies reports whether a header field says who sends a request.
func Identifies(name string) bool {
	return slices.ContainsFunc(identifying, func(s string) bool { return strings.EqualFold(s, name) })
}

// Values returns the secrets in the value of a header field: the whole, the token after
// its scheme, the password in Basic credentials, the values of cookies.
func Values(name, value string) []string {
	value = strings.TrimSpace(value)
	all := []string{value}
	set := strings.EqualFold(name, "Set-Cookie")
	if scheme, token, ok := strings.Cut(value, " "); ok && !set && !strings.ContainsAny(scheme, "=;") {
		token = strings.TrimSpace(token)
		all = append(all, token)
		if strings.EqualFold(scheme, "Basic") {
			all = append(all, passwords(token)...)
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

// passwords are what Basic credentials keep secret: all of them, and the password.
func passwords(token string) []string {
	plain, err := base64.StdEncoding.DecodeString(token)
	if err != nil {
		return nil
	}
	if _, password, ok := strings.Cut(string(plain), ":"); ok {
		return []string{string(plain), password}
	}
	return []string{string(plain)}
}

// Target returns the target of a request, or a reference to one, with [Mark] in the place
// of the values of the query parameters that are secrets by their names.
func Target(target string, secret func(name string) bool) string {
	path, query, ok := strings.Cut(target, "?")
	if !ok {
		return target
	}
	pairs := strings.Split(query, "&")
	changed := false
	for i, pair := range pairs {
		if name, _, ok := strings.Cut(pair, "="); ok && secret(unescape(name)) {
			pairs[i], changed = name+"="+Mark, true
		}
	}
	if !changed {
		return target
	}
	return path + "?" + strings.Join(pairs, "&")
}

// Parameters returns the values of the query parameters of a target that are secrets by
// their names, as they stand and decoded.
func Parameters(target string, secret func(name string) bool) (all []string) {
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
