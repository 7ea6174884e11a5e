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

// curlOwnHeaders lists the header fields that curl sets itself. A curl command must not set them.
var curlOwnHeaders = []string{"Host", "Content-Length", "Transfer-Encoding", "Connection"}

// maxCurlBody is the maximum size in bytes of a body that a curl command contains. A larger body
// has to be read from a file, because operating systems limit the length of an argument.
const maxCurlBody = 16 << 10

// Curl returns a one-line command for a POSIX shell that sends the request again, with the same
// method, path, header fields and body. The command prints the head of the response and then the
// stream as it arrives. Credentials, and values that are [redact.Placeholder], are replaced by
// shell variables such as $AUTHORIZATION or, if r.Principal is [spec.OtherUser],
// $OTHER_AUTHORIZATION. A body of more than 16 KiB has to be saved to a file first, as a comment in
// the command says.
//
// The parameter base is the URL to which the path of the request is appended, or a shell variable
// such as "$BASE" if the URL is unknown. It is ignored if the target of the request is a URL, such
// as a signed URL that the server issued. The command consists of printable characters only. Other
// characters are written as printf escapes in the body, percent-encoded in the path, and replaced
// by spaces in the method and in header fields.
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

// headerArgs returns the -H options of a curl command for the header fields of the request. It
// omits the fields in [curlOwnHeaders] and those with an unsafe name (see isHeaderToken). It also
// returns options that keep curl from adding fields that the request does not have.
func headerArgs(r spec.Request) (words []string) {
	contains := func(list []string, name string) bool {
		return slices.ContainsFunc(list, func(s string) bool { return strings.EqualFold(s, name) })
	}
	for _, f := range r.Header {
		value := replaceUnprintable(strings.TrimSpace(f.Value))
		switch {
		case !isHeaderToken(f.Name) || contains(curlOwnHeaders, f.Name):
		case value == redact.Placeholder || redact.IsCredential(f.Name) && value != redact.DefaultCredential:
			variable := strings.TrimPrefix(string(r.Principal)+"_"+f.Name, "_")
			variable = strings.ToUpper(strings.NewReplacer("-", "_", ".", "_").Replace(variable))
			words = append(words, `-H "`+f.Name+`: $`+variable+`"`)
		case value == "":
			words = append(words, "-H "+shellQuote(f.Name+";")) // with a colon it would be left out
		default:
			words = append(words, "-H "+shellQuote(f.Name+": "+value))
		}
	}
	if len(r.Header) == 0 { // the header was not recorded
		return words
	}
	isCredential := func(f spec.HeaderField) bool {
		return redact.IsCredential(f.Name) || f.Value == redact.Placeholder
	}
	if r.Principal == spec.OtherUser && !slices.ContainsFunc(r.Header, isCredential) { // the recording omits it
		words = append(words, `-H "Authorization: $OTHER_AUTHORIZATION"`)
	}
	// These fields, which curl adds by default, may change the response.
	if !r.Header.Has("Accept") {
		words = append(words, "-H 'Accept:'")
	}
	if len(r.Body) > 0 && !r.Header.Has("Content-Type") {
		words = append(words, "-H 'Content-Type:'")
	}
	return words
}

// isHeaderToken reports whether name consists of one or more ASCII letters, digits, hyphens,
// underscores and dots. Other characters are not safe in the value of curl's option -H: if the
// value begins with @, for example, curl reads a file.
func isHeaderToken(name string) bool {
	for _, r := range name {
		if r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("-_.", r) {
			return false
		}
	}
	return name != ""
}

// bodyArgs returns in data the options of a curl command that send b as the body of the request,
// quoted for the shell. The results before and after are text to put before and after the whole
// command, such as a printf command with a pipe, or "" if none is needed. If b is empty, all
// results are empty.
func bodyArgs(b []byte) (before string, data []string, after string) {
	switch {
	case len(b) == 0:
		return "", nil, ""
	case len(b) > maxCurlBody:
		return "", []string{"--data-binary @BODY"}, fmt.Sprintf("  # BODY: a file with the %d bytes of the body", len(b))
	case b[0] == '@' || !isPrintableText(b): // after @, curl expects a file name
		return "printf " + shellQuote(printfFormat(b)) + " | ", []string{"--data-binary @-"}, ""
	}
	return "", []string{"--data-binary " + shellQuote(string(b))}, ""
}

// isPrintableText reports whether b is UTF-8 text that consists of printable characters and spaces.
// Control characters, including line feeds and tabs, are not printable. If b is empty,
// isPrintableText returns true.
func isPrintableText(b []byte) bool {
	return utf8.Valid(b) && !strings.ContainsFunc(string(b), func(r rune) bool { return !unicode.IsGraphic(r) })
}

// printfFormat returns a format with which the shell command printf prints exactly the bytes b. The
// caller must quote the format for the shell.
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

// replaceUnprintable returns s with each unprintable character replaced by a space. It is meant for
// methods and header values, which must not contain such characters.
func replaceUnprintable(s string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsGraphic(r) {
			return ' '
		}
		return r
	}, s)
}

// urlArg returns the URL of a request, base followed by target (see targetBase), as one quoted
// argument of a shell command. It percent-encodes the bytes of target that are not printable ASCII.
// If base is a shell variable such as $BASE, the shell expands it.
func urlArg(base, target string) string {
	base = targetBase(base, target)
	var safe strings.Builder
	for _, c := range []byte(target) {
		if c <= ' ' || c >= 0x7f {
			fmt.Fprintf(&safe, "%%%02X", c)
			continue
		}
		safe.WriteByte(c)
	}
	if name, ok := strings.CutPrefix(base, "$"); ok && isHeaderToken(name) && !strings.ContainsAny(name, "-.") {
		if safe.Len() == 0 {
			return `"` + base + `"`
		}
		return `"` + base + `"` + shellQuote(safe.String())
	}
	return shellQuote(replaceUnprintable(base) + safe.String())
}

// targetBase returns the URL to which target, the target of a request, is appended: base, or "" if
// target is itself a URL with the scheme http or https.
func targetBase(base, target string) string {
	if strings.HasPrefix(target, "http://") || strings.HasPrefix(target, "https://") {
		return ""
	}
	return base
}

// shellQuote returns s in single quotes, so that a POSIX shell treats it as one word.
func shellQuote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
