package journal

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"slices"
	"strings"

	"github.com/streamassay/streamassay/spec"
)

// usual are the headers and query parameters whose values are nobody's business.
var usual = []string{
	"Authorization", "Proxy-Authorization", "Cookie", "Set-Cookie", "X-Api-Key", "Api-Key", "X-Auth-Token", "X-Access-Token",
	"X-Csrf-Token", "X-Amz-Security-Token", "X-Goog-Api-Key",
	"access_token", "refresh_token", "id_token", "token", "api_key", "apikey", "client_secret", "password", "secret", "signature", "sig",
}

// Usual are the names of headers and query parameters that are always hidden.
func Usual() []string { return slices.Clone(usual) }

// hidden is what stands for a secret.
const hidden = "***"

// shortest is how long a secret is at least to be looked for elsewhere: shorter ones
// stand in every text.
const shortest = 6

// names are those of what is hidden, by length: most names are told apart by it.
type names struct{ byLength [][]string }

func namesOf(more []string) names {
	var n names
	for _, name := range append(slices.Clone(usual), more...) {
		for len(n.byLength) <= len(name) {
			n.byLength = append(n.byLength, nil)
		}
		n.byLength[len(name)] = append(n.byLength[len(name)], name)
	}
	return n
}

// telling are parts of names by which a secret is known, whoever it belongs to.
var telling = []string{"token", "secret", "password", "passwd", "apikey", "api-key", "api_key", "credential", "session", "authorization"}

// harmless are the names without a telling part that nearly every exchange has.
var harmless = map[string]bool{
	"Access-Control-Allow-Origin": true, "Access-Control-Expose-Headers": true, "X-Accel-Buffering": true, "X-Mock-Seed": true, "X-Request-Id": true,
	"Accept": true, "Accept-Encoding": true, "Accept-Language": true, "Cache-Control": true, "Connection": true, "Content-Length": true,
	"Content-Type": true, "Date": true, "Host": true, "Last-Event-Id": true, "Origin": true, "Referer": true, "Transfer-Encoding": true,
	"User-Agent": true, "Vary": true,
}

func (n *names) has(name string) bool {
	if len(name) >= len("token") && !harmless[name] {
		lower := strings.ToLower(name)
		if slices.ContainsFunc(telling, func(part string) bool { return strings.Contains(lower, part) }) || lower == "x-auth" {
			return true
		}
	}
	if len(name) >= len(n.byLength) {
		return false
	}
	for _, known := range n.byLength[len(name)] {
		if strings.EqualFold(known, name) {
			return true
		}
	}
	return false
}

// secrets are all spellings of what a request wants to keep to itself.
func (n *names) secrets(dst [][]byte, r spec.Request) [][]byte {
	before := len(dst)
	for _, f := range r.Header {
		if n.has(f.Name) {
			dst = append(dst, told(f.Name, f.Value)...)
		}
	}
	if _, query, ok := strings.Cut(r.Target, "?"); ok {
		for pair := range strings.SplitSeq(query, "&") {
			name, value, _ := strings.Cut(pair, "=")
			if n.has(unescaped(name)) {
				dst = append(dst, spellings(unescaped(value))...)
				dst = append(dst, spellings(value)...)
			}
		}
	}
	if len(dst) == before {
		return dst
	}
	return longestFirst(dst)
}

// longestFirst puts secrets in order: one may be part of another.
func longestFirst(secrets [][]byte) [][]byte {
	slices.SortFunc(secrets, func(a, b []byte) int { return cmp.Or(len(b)-len(a), bytes.Compare(a, b)) })
	return slices.CompactFunc(secrets, bytes.Equal)
}

// told are the secrets in the value of a header: the whole, and the parts that matter
// elsewhere.
func told(name, value string) (all [][]byte) {
	all = spellings(value)
	if strings.EqualFold(name, "Cookie") || strings.EqualFold(name, "Set-Cookie") {
		for part := range strings.SplitSeq(value, ";") {
			if _, secret, ok := strings.Cut(part, "="); ok {
				all = append(all, spellings(strings.Trim(strings.TrimSpace(secret), `"`))...)
			}
			if strings.EqualFold(name, "Set-Cookie") {
				break // what follows are attributes
			}
		}
		return all
	}
	scheme, token, ok := strings.Cut(strings.TrimSpace(value), " ")
	if !ok {
		return all
	}
	token = strings.TrimSpace(token)
	all = append(all, spellings(token)...)
	if strings.EqualFold(scheme, "Basic") {
		if plain, err := base64.StdEncoding.DecodeString(token); err == nil {
			_, password, _ := strings.Cut(string(plain), ":")
			all = append(all, spellings(password)...)
		}
	}
	return all
}

// spellings are a secret as it is, and as a URL or a JSON string spells it.
func spellings(secret string) (all [][]byte) {
	if len(secret) < shortest {
		return nil
	}
	inJSON, _ := json.Marshal(secret)
	for _, s := range []string{secret, url.QueryEscape(secret), url.PathEscape(secret), string(inJSON[1 : len(inJSON)-1]), strings.ReplaceAll(strings.ReplaceAll(secret, `\`, `\\`), `"`, `\"`)} {
		if !slices.ContainsFunc(all, func(b []byte) bool { return string(b) == s }) {
			all = append(all, []byte(s))
		}
	}
	return all
}

func unescaped(s string) string {
	if plain, err := url.QueryUnescape(s); err == nil {
		return plain
	}
	return s
}

// header is a copy without the values that nobody may read.
func (n *names) header(h spec.Header) spec.Header {
	if len(h) == 0 {
		return nil
	}
	out := slices.Clone(h)
	for i, f := range out {
		switch {
		case n.has(f.Name):
			out[i].Value = hidden
		case strings.EqualFold(f.Name, "Referer"), strings.EqualFold(f.Name, "Location"):
			out[i].Value = n.address(f.Value)
		}
	}
	return out
}

// address is a URL without the secrets in it.
func (n *names) address(text string) string {
	if u, err := url.Parse(text); err == nil && u.User != nil {
		u.User = url.User(hidden)
		text = u.String()
	}
	return n.target(text)
}

// target is a request's without the values of such parameters.
func (n *names) target(target string) string {
	path, query, ok := strings.Cut(target, "?")
	if !ok {
		return target
	}
	pairs := strings.Split(query, "&")
	changed := false
	for i, pair := range pairs {
		if name, _, ok := strings.Cut(pair, "="); ok && n.has(unescaped(name)) {
			pairs[i], changed = name+"="+hidden, true
		}
	}
	if !changed {
		return target
	}
	return path + "?" + strings.Join(pairs, "&")
}

// hide replaces secrets. What has none comes back as it is, not as a copy.
func hide(data []byte, secrets [][]byte) []byte {
	for _, secret := range secrets {
		if bytes.Contains(data, secret) {
			data = bytes.ReplaceAll(data, secret, []byte(hidden))
		}
	}
	return data
}

// mask puts stars in the place of secrets, one for each byte: what was sent keeps its
// sizes. So are parts of secrets at the ends, where the rest of them stands elsewhere.
func mask(data []byte, secrets [][]byte) {
	for _, secret := range secrets {
		for at := 0; ; {
			i := bytes.Index(data[at:], secret)
			if i < 0 {
				break
			}
			at += i + len(secret)
			stars(data[at-len(secret) : at])
		}
		for n := min(len(secret)-1, len(data)); n >= shortest; n-- {
			if bytes.HasSuffix(data, secret[:n]) {
				stars(data[len(data)-n:])
			}
			if bytes.HasPrefix(data, secret[len(secret)-n:]) {
				stars(data[:n])
			}
		}
	}
}

func stars(data []byte) {
	for i := range data {
		data[i] = '*'
	}
}

// quoted is a string as JSON spells it.
func quoted(s string) []byte {
	b, _ := json.Marshal(s)
	return b
}
