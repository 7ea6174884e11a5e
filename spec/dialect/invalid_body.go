package dialect

import (
	"fmt"
	"strings"

	"github.com/streamassay/streamassay/spec"
)

// breakContentType adds to m.requests copies of the valid request with an undocumented content
// type, and copies with a body that is not a JSON object. The argument media is the media type
// object of the JSON body in the document.
func (m *invalidRequestBuilder) breakContentType(media node) {
	for _, other := range []string{"text/plain", "application/x-www-form-urlencoded"} {
		m.add("header Content-Type is "+other, m.withContentType(other), m.valid)
	}
	for _, other := range []string{"application/xml", "multipart/form-data; boundary=x"} {
		m.addDemanded("header Content-Type is "+other, m.withContentType(other))
	}
	for _, c := range malformedBodies(string(m.valid.Body), media.get("x-utf-8").value == true) {
		bad := m.valid
		bad.Body = []byte(c.body)
		m.add(c.name, bad, m.valid)
	}
}

// A malformedBody is a request body that is not a JSON object. Its name describes the defect, such
// as "body is empty".
type malformedBody struct{ name, body string }

// malformedBodies returns malformed variants of valid, which is the JSON text of an object. If
// notUTF8 is true, some of them are not valid UTF-8 (RFC 3629). None of them has a number such as
// NaN or an unpaired surrogate, because widely used parsers accept these.
func malformedBodies(valid string, notUTF8 bool) []malformedBody {
	inside := strings.TrimSuffix(valid, "}")
	all := []malformedBody{
		{"body ends too early to be JSON", inside},
		{"body is empty", ""},
		{"body is blank", "  "},
		{"body has an extra comma", inside + ",}"},
		{"body is two values", valid + valid},
		{"body is a bare word", "hello"},
		{"body has a word before its value", "hello " + valid},
		{"body has a hexadecimal number", inside + `,"note":0x10}`},
		{"body has a comment", inside + "/* */}"},
		{"body has a line feed in a string", inside + ",\"note\":\"a\nb\"}"},
		{"body has single quotes", strings.ReplaceAll(valid, `"`, "'")},
		{"body has a name without quotes", inside + `,note:"a"}`},
		{"body is a list of its value", "[" + valid + "]"},
		{"body is its JSON text in a string", compactJSON(valid)},
	}
	if notUTF8 {
		all = append(all, malformedBody{"body is not UTF-8", inside + ",\"note\":\"a\xff\"}"},
			malformedBody{"body has an overlong form of a letter", inside + ",\"note\":\"a\xc1\xa1\"}"})
	}
	return all
}

// withContentType returns a copy of the valid request with media as its Content-Type.
func (m *invalidRequestBuilder) withContentType(media string) spec.Request {
	r := m.valid
	r.Header = r.Header.With("Content-Type", media)
	return r
}

// A bodySizeLimit is the x-max-bytes of a media type: the maximum size of a body, and instructions
// for making one body that exceeds it and one that does not. Both are made from a valid body: the
// merge patch is applied, and the string at fillPath is replaced with one that gives the body the
// required size.
type bodySizeLimit struct {
	maxBytes    int      // maximum size of a body in bytes; 0 if there is none
	over, under int      // sizes in bytes of a body that exceeds the maximum, and of one that does not
	merge       any      // JSON merge patch (RFC 7396)
	fillPath    []string // location of the string in the body
}

// bodyLimitOf returns the x-max-bytes of a media type object. If there is none, the result sets no
// limit.
func bodyLimitOf(media node) (m bodySizeLimit) {
	n := media.get("x-max-bytes")
	m.maxBytes, _ = intValue(n.get("limit"))
	m.over, _ = intValue(n.get("over"))
	m.under, _ = intValue(n.get("under"))
	m.merge = n.get("with").value
	m.fillPath = tokensOf(n.get("fill").text())
	return m
}

// isExceeded reports whether body has more bytes than the limit allows.
func (m bodySizeLimit) isExceeded(body []byte) bool { return m.maxBytes > 0 && len(body) > m.maxBytes }

// breakBodySize adds two requests whose body has more bytes than limit allows. The second body
// consists mostly of three-byte characters, so a server that counts characters accepts it. If
// limit.maxBytes is 0, breakBodySize adds nothing. The argument v is the decoded body of the valid
// request.
func (m *invalidRequestBuilder) breakBodySize(limit bodySizeLimit, v any) {
	if limit.maxBytes == 0 {
		return
	}
	grown := func(bytes int, fill string) spec.Request {
		body := mergePatch(v, limit.merge)
		r := m.valid
		r.Body = []byte(compactJSON(replaceAt(body, limit.fillPath, "")))
		n := max(0, bytes-len(r.Body)) / len(fill)
		r.Body = []byte(compactJSON(replaceAt(body, limit.fillPath, strings.Repeat(fill, n))))
		return r
	}
	if name := fmt.Sprintf("body has %d bytes", limit.over); m.isWanted(name) {
		m.add(name, grown(limit.over, "a"), grown(limit.under, "a"))
	}
	if name := "body has too many bytes in fewer characters"; m.isWanted(name) {
		m.add(name, grown(limit.over, "世"), m.valid)
	}
}
