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

// curlOwnHeaders are the fields that belong to the connection: curl writes its own.
var curlOwnHeaders = []string{"Host", "Content-Length", "Transfer-Encoding", "Connection"}

// curlDefaultHeaders are the fields that curl sends unless it is told not to, and that change
// what is answered.
var curlDefaultHeaders = []string{"Accept"}

// maxCurlBody bounds the body that a command holds, in bytes: shells and systems bound
// the length of a word, and so does the patience of a reader.
const maxCurlBody = 16 << 10

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
		words = append(words, "-X "+shellQuote(replaceUnprintable(r.Method)))
	}
	if strings.ContainsAny(r.Target, "[]{}") {
		words = append(words, "-g")
	}
	if strings.Contains(r.Target, "/.") {
		words = append(words, "--path-as-is")
	}
	words = append(words, headerArgs(r)...)
	before, data, after := bodyArgs(r.Body)
	words = append(words, data...)
	words = append(words, urlArg(base, r.Target))
	return before + strings.Join(words, " ") + after
}

// headerArgs are the request's header fields, and those that curl is to leave out.
func headerArgs(r spec.Request) (words []string) {
	named := func(list []string, name string) bool {
		return slices.ContainsFunc(list, func(s string) bool { return strings.EqualFold(s, name) })
	}
	for _, f := range r.Header {
		value := replaceUnprintable(strings.TrimSpace(f.Value))
		switch {
		case !isHeaderToken(f.Name) || named(curlOwnHeaders, f.Name):
		case redact.IsCredential(f.Name):
			variable := strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_"))
			words = append(words, `-H "`+f.Name+`: $`+variable+`"`)
		case value == "":
			words = append(words, "-H "+shellQuote(f.Name+";")) // with a colon it would be left out
		default:
			words = append(words, "-H "+shellQuote(f.Name+": "+value))
		}
	}
	if len(r.Header) == 0 { // nobody wrote down what was sent
		return words
	}
	for _, name := range curlDefaultHeaders {
		if !r.Header.Has(name) {
			words = append(words, "-H "+shellQuote(name+":"))
		}
	}
	if len(r.Body) > 0 && !r.Header.Has("Content-Type") {
		words = append(words, "-H 'Content-Type:'")
	}
	return words
}

// isHeaderToken says that a name is one of a header field: nothing else may reach a shell,
// or a curl that reads files for names which begin with @.
func isHeaderToken(name string) bool {
	for _, r := range name {
		if r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("-_.", r) {
			return false
		}
	}
	return name != ""
}

// bodyArgs is how a body gets to curl: what comes before the command, the options, and
// what comes after it.
func bodyArgs(b []byte) (before string, data []string, after string) {
	switch {
	case len(b) == 0:
		return "", nil, ""
	case len(b) > maxCurlBody:
		return "", []string{"--data-binary @BODY"}, fmt.Sprintf("  # BODY: a file with the %d bytes of the body", len(b))
	case b[0] == '@' || !isPrintableText(b): // @ would name a file
		return "printf " + shellQuote(printfFormat(b)) + " | ", []string{"--data-binary @-"}, ""
	}
	return "", []string{"--data-binary " + shellQuote(string(b))}, ""
}

// isPrintableText says that bytes can stand in a command as they are.
func isPrintableText(b []byte) bool {
	return utf8.Valid(b) && !strings.ContainsFunc(string(b), func(r rune) bool { return !unicode.IsGraphic(r) })
}

// printfFormat is the format for which printf prints just these bytes.
func printfFormat(b []byte) string {
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

// replaceUnprintable takes what cannot be printed out of a word that cannot hold it anyway.
func replaceUnprintable(s string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsGraphic(r) {
			return ' '
		}
		return r
	}, s)
}

// urlArg is the word that names the resource.
func urlArg(base, target string) string {
	var safe strings.Builder
	for _, c := range []byte(target) {
		if c <= ' ' || c >= 0x7f {
			fmt.Fprintf(&safe, "%%%02X", c)
			continue
		}
		safe.WriteByte(c)
	}
	if name, ok := strings.CutPrefix(base, "$"); ok && isHeaderToken(name) && !strings.ContainsAny(name, "-.") {
		return `"` + base + `"` + shellQuote(safe.String())
	}
	return shellQuote(replaceUnprintable(base) + safe.String())
}

// shellQuote makes one word of a POSIX shell of any text.
func shellQuote(s string) string { return "'" + escapeQuotes(s) + "'" }

// escapeQuotes is how a text stands between single quotes.
func escapeQuotes(s string) string { return strings.ReplaceAll(s, "'", `'\''`) }
