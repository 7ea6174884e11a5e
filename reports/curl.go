package reports

import (
	"encoding/base64"
	"strings"
	"unicode/utf8"

	"github.com/streamassay/streamassay/spec"
)

// secret are the fields whose values are nobody's business.
var secret = map[string]bool{"authorization": true, "cookie": true, "proxy-authorization": true, "x-api-key": true}

// mostCurl bounds the body that a command shows, in bytes: what is larger is in
// the transcript.
const mostCurl = 8 << 10

// Curl is a command for a POSIX shell that sends the request again. Secrets stand
// in it as shell variables.
func Curl(base string, r spec.Request) string {
	var b strings.Builder
	if !clear(r.Body) && len(r.Body) > 0 {
		b.WriteString("printf %s " + quote(base64.StdEncoding.EncodeToString(r.Body[:min(len(r.Body), mostCurl)])) + " | base64 -d | ")
	}
	b.WriteString("curl -sN -i")
	if r.Method != "GET" && !(r.Method == "POST" && len(r.Body) > 0) {
		b.WriteString(" -X " + quote(r.Method))
	}
	for _, f := range r.Header {
		value := quote(f.Name + ": " + f.Value)
		if secret[strings.ToLower(f.Name)] {
			value = `"` + f.Name + `: $` + strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_")) + `"`
		}
		b.WriteString(" -H " + value)
	}
	switch {
	case len(r.Body) == 0:
	case !clear(r.Body):
		b.WriteString(" --data-binary @-")
	case len(r.Body) > mostCurl:
		b.WriteString(" --data-raw " + quote(text(r.Body, mostCurl)))
	default:
		b.WriteString(" --data-raw " + quote(string(r.Body)))
	}
	target := base + r.Target
	if strings.HasPrefix(base, "$") {
		b.WriteString(` "` + base + `"` + quote(r.Target))
		return b.String()
	}
	b.WriteString(" " + quote(target))
	return b.String()
}

// clear says that a body can stand in a command as it is.
func clear(body []byte) bool {
	return utf8.Valid(body) && !strings.ContainsRune(string(body), 0)
}

// quote makes one word of a POSIX shell of any text.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
