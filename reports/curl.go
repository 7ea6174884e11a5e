package reports

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/streamassay/streamassay/internal/redact"
	"github.com/streamassay/streamassay/spec"
)

// byCurl are the fields that belong to the connection: curl writes its own.
var byCurl = []string{"Host", "Content-Length", "Transfer-Encoding", "Connection"}

// added are the fields that curl sends unless it is told not to, and that change
// what is answered.
var added = []string{"Accept"}

// mostCurl bounds the body that a command holds, in bytes: shells and systems bound
// the length of a word, and so does the patience of a reader.
const mostCurl = 16 << 10

// Curl is a command of one line for a POSIX shell that sends the request again: the
// same method, path, fields and body, byte for byte. It prints the head of the
// response and then the stream as it comes. Credentials stand in it as shell
// variables ($AUTHORIZATION). A body over [mostCurl] bytes is to be put into a file
// first; the command says so.
//
// base is the URL that the request's path is appended to, or one shell variable,
// "$BASE", where it is not known. Every character of the command can be printed:
// whatever cannot stands as an escape of printf.
func Curl(base string, r spec.Request) string {
	words := []string{"curl", "-sN", "-i"}
	implied := "GET"
	if len(r.Body) > 0 {
		implied = "POST"
	}
	switch r.Method {
	case implied:
	case "HEAD":
		words[2] = "-I" // with -X, curl waits for a body that never comes
	default:
		words = append(words, "-X "+quote(printed(r.Method)))
	}
	if strings.ContainsAny(r.Target, "[]{}") {
		words = append(words, "-g")
	}
	if strings.Contains(r.Target, "/.") {
		words = append(words, "--path-as-is")
	}
	words = append(words, fields(r)...)
	before, data, after := body(r.Body)
	words = append(words, data...)
	words = append(words, address(base, r.Target))
	return before + strings.Join(words, " ") + after
}

// fields are the request's header fields, and those that curl is to leave out.
func fields(r spec.Request) (words []string) {
	named := func(list []string, name string) bool {
		return slices.ContainsFunc(list, func(s string) bool { return strings.EqualFold(s, name) })
	}
	for _, f := range r.Header {
		value := printed(strings.TrimSpace(f.Value))
		switch {
		case !token(f.Name) || named(byCurl, f.Name):
		case redact.Credential(f.Name):
			variable := strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_"))
			words = append(words, `-H "`+f.Name+`: $`+variable+`"`)
		case value == "":
			words = append(words, "-H "+quote(f.Name+";")) // with a colon it would be left out
		default:
			words = append(words, "-H "+quote(f.Name+": "+value))
		}
	}
	if len(r.Header) == 0 { // nobody wrote down what was sent
		return words
	}
	for _, name := range added {
		if !r.Header.Has(name) {
			words = append(words, "-H "+quote(name+":"))
		}
	}
	if len(r.Body) > 0 && !r.Header.Has("Content-Type") {
		words = append(words, "-H 'Content-Type:'")
	}
	return words
}

// token says that a name is one of a header field: nothing else may reach a shell,
// or a curl that reads files for names which begin with @.
func token(name string) bool {
	for _, r := range name {
		if r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("-_.", r) {
			return false
		}
	}
	return name != ""
}

// body is how a body gets to curl: what comes before the command, the options, and
// what comes after it.
func body(b []byte) (before string, data []string, after string) {
	switch {
	case len(b) == 0:
		return "", nil, ""
	case len(b) > mostCurl:
		return "", []string{"--data-binary @BODY"}, fmt.Sprintf("  # BODY: a file with the %d bytes of the body", len(b))
	case b[0] == '@' || !legible(b): // @ would name a file
		return "printf " + quote(printf(b)) + " | ", []string{"--data-binary @-"}, ""
	}
	return "", []string{"--data-binary " + quote(string(b))}, ""
}

// legible says that bytes can stand in a command as they are.
func legible(b []byte) bool {
	return utf8.Valid(b) && !strings.ContainsFunc(string(b), func(r rune) bool { return !unicode.IsGraphic(r) })
}

// printf is the format for which printf prints just these bytes.
func printf(b []byte) string {
	var s strings.Builder
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		switch {
		case r == '%':
			s.WriteString("%%")
		case r == '\\':
			s.WriteString(`\\`)
		case r == '-' && s.Len() == 0: // would be an option
			s.WriteString(`\055`)
		case r == utf8.RuneError && n == 1 || !unicode.IsGraphic(r):
			for _, c := range b[:n] {
				fmt.Fprintf(&s, `\%03o`, c)
			}
		default:
			s.Write(b[:n])
		}
		b = b[n:]
	}
	return s.String()
}

// printed takes what cannot be printed out of a word that cannot hold it anyway.
func printed(s string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsGraphic(r) {
			return ' '
		}
		return r
	}, s)
}

// address is the word that names the resource.
func address(base, target string) string {
	var safe strings.Builder
	for _, c := range []byte(target) {
		if c <= ' ' || c >= 0x7f {
			fmt.Fprintf(&safe, "%%%02X", c)
			continue
		}
		safe.WriteByte(c)
	}
	if name, ok := strings.CutPrefix(base, "$"); ok && token(name) && !strings.ContainsAny(name, "-.") {
		return `"` + base + `"` + quote(safe.String())
	}
	return quote(printed(base) + safe.String())
}

// quote makes one word of a POSIX shell of any text.
func quote(s string) string { return "'" + inQuotes(s) + "'" }

// inQuotes is how a text stands between single quotes.
func inQuotes(s string) string { return strings.ReplaceAll(s, "'", `'\''`) }
