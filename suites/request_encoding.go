package suites

import (
	"bytes"
	"encoding/json"
	"fmt"
	"mime"
	"slices"
	"strings"
	"unicode/utf16"

	"github.com/streamassay/streamassay/spec"
)

// An equivalentRequestForm is one of several equivalent forms of a request. A server must respond
// to all of them in the same way.
type equivalentRequestForm struct {
	doc     string                            // follows the word "requests" in descriptions; "" for the original form
	rewrite func(r spec.Request) spec.Request // returns r in this form, without modifying r
}

// requestForms are forms of a request that are equivalent in HTTP (RFC 9110) and JSON (RFC 8259).
// The first form is the original request.
var requestForms = []equivalentRequestForm{
	{"", func(r spec.Request) spec.Request { return r }},
	{"with a charset parameter in its Content-Type", func(r spec.Request) spec.Request {
		return withField(r, "Content-Type", func(v string) string { return v + "; charset=utf-8" })
	}},
	{"with a charset parameter in capital letters in its Content-Type", func(r spec.Request) spec.Request {
		return withField(r, "Content-Type", func(v string) string { return v + ";charset=UTF-8" })
	}},
	{"with its media type in capital letters", func(r spec.Request) spec.Request {
		return withField(r, "Content-Type", func(v string) string {
			media, params, _ := strings.Cut(v, ";")
			return strings.TrimSuffix(strings.ToUpper(media)+";"+params, ";")
		})
	}},
	{"with field names in lower case", func(r spec.Request) spec.Request { return withFieldNames(r, strings.ToLower) }},
	{"with field names in capital letters", func(r spec.Request) spec.Request { return withFieldNames(r, strings.ToUpper) }},
	{"with a list of media types in its Accept field", func(r spec.Request) spec.Request {
		return withField(r, "Accept", func(v string) string { return "application/xml;q=0.1, " + v + ";q=0.9" })
	}},
	{"with an Accept field that also allows JSON, but prefers the usual type", func(r spec.Request) spec.Request {
		return withField(r, "Accept", func(v string) string { return "application/json;q=0.5, " + v })
	}},
	{"with an Accept field that allows any media type", func(r spec.Request) spec.Request {
		return withField(r, "Accept", func(string) string { return "*/*" })
	}},
	{"with an Expect field", func(r spec.Request) spec.Request { return withBodyField(r, "Expect", "100-continue") }},
	{"with white space in its JSON", func(r spec.Request) spec.Request {
		return withJSON(r, func(v any) []byte {
			text, _ := json.MarshalIndent(v, "\t", "  ")
			return append(append([]byte("\r\n\t"), text...), '\n')
		})
	}},
	{"with the members of its JSON in another order", func(r spec.Request) spec.Request {
		return withJSON(r, func(v any) []byte { return appendReversed(nil, v, jsonText) })
	}},
	{"with escaped characters in its JSON", withEscapes},
}

// withEscapes returns a copy of r in which each character of its JSON is escaped. It returns r if
// the body is not JSON or larger than [maxEscapedBody].
func withEscapes(r spec.Request) spec.Request {
	if len(r.Body) > maxEscapedBody {
		return r
	}
	return withJSON(r, func(v any) []byte { return appendReversed(nil, v, escapeAll) })
}

// inChunks returns a copy of r with its body in chunks (RFC 9112, section 7.1) and with escapes; see
// [withEscapes]. A server may refuse it, because it has no Content-Length (RFC 9110, status 411).
func inChunks(r spec.Request) spec.Request {
	return withBodyField(withEscapes(r), "Transfer-Encoding", "chunked")
}

// maxEscapedBody is the maximum size, in bytes, of a body whose characters are escaped. Escaping
// can increase the size by a factor of six, and a server may limit the size of bodies.
const maxEscapedBody = 8 << 10

// withField returns a copy of r in which the value of each header field with the given name is
// replaced with change(value). The comparison of names ignores case.
func withField(r spec.Request, name string, change func(string) string) spec.Request {
	r.Header = slices.Clone(r.Header)
	for i, f := range r.Header {
		if strings.EqualFold(f.Name, name) {
			r.Header[i].Value = change(f.Value)
		}
	}
	return r
}

// withQuotedBoundary returns a copy of r in which the boundary parameter of a multipart body is a
// quoted string (RFC 2046, section 5.1.1). It does not change other requests.
func withQuotedBoundary(r spec.Request) spec.Request {
	return withField(r, "Content-Type", func(v string) string {
		if media, boundary, ok := strings.Cut(v, "boundary="); ok && !strings.ContainsAny(boundary, `";`) {
			return media + `boundary="` + boundary + `"`
		}
		return v
	})
}

// withReversedFields returns a copy of r in which the fields of a multipart body are in the
// opposite order. It does not change other requests.
func withReversedFields(r spec.Request) spec.Request {
	return withFormFields(r, func(fields [][]byte) { slices.Reverse(fields) })
}

// withFormFields calls edit with the fields of the multipart body of r. It returns a copy of r with
// the fields as edit leaves them, or r itself if the body is not multipart. Each field consists of
// what is between two delimiters, and so begins and ends with a line break. The function edit may
// replace and reorder the elements of the slice, but must not modify the bytes of an element.
func withFormFields(r spec.Request, edit func(fields [][]byte)) spec.Request {
	_, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || params["boundary"] == "" {
		return r
	}
	delimiter := []byte("--" + params["boundary"])
	parts := bytes.Split(r.Body, delimiter) // the first and the last part are not fields
	if len(parts) > 2 {
		edit(parts[1 : len(parts)-1])
		r.Body = bytes.Join(parts, delimiter)
	}
	return r
}

// withTextFieldTypes returns a copy of r in which each text field of the multipart body that has no
// Content-Type gets "text/plain; charset=utf-8" (RFC 7578, section 4.4). It returns r if the body
// is not multipart.
func withTextFieldTypes(r spec.Request) spec.Request {
	if strings.Contains(r.Header.Get("Content-Type"), "boundary=") {
		// The header of a file ends with its media type, and not with a quotation mark.
		const typed = "\"\r\nContent-Type: text/plain; charset=utf-8\r\n\r\n"
		r.Body = bytes.ReplaceAll(r.Body, []byte("\"\r\n\r\n"), []byte(typed))
	}
	return r
}

// withBodyField returns a copy of r in which the header field with the given name has the given
// value. If r has no body, it returns r.
func withBodyField(r spec.Request, name, value string) spec.Request {
	if len(r.Body) > 0 {
		r.Header = slices.Clone(r.Header).With(name, value)
	}
	return r
}

// withFieldNames returns a copy of r in which the name of each header field is replaced with
// change(name). This includes the header fields within a multipart body.
func withFieldNames(r spec.Request, change func(string) string) spec.Request {
	r.Header = slices.Clone(r.Header)
	for i, f := range r.Header {
		r.Header[i].Name = change(f.Name)
	}
	return withFormFields(r, func(fields [][]byte) {
		for i, field := range fields {
			header, content, _ := bytes.Cut(field, []byte("\r\n\r\n"))
			var changed []byte
			for line := range bytes.SplitSeq(header, []byte("\r\n")) {
				if name, value, ok := bytes.Cut(line, []byte(":")); ok {
					line = slices.Concat([]byte(change(string(name))), []byte(":"), value)
				}
				changed = append(append(changed, line...), "\r\n"...)
			}
			fields[i] = slices.Concat(changed, []byte("\r\n"), content)
		}
	})
}

// withJSON returns a copy of r whose body is encode(v), where v is the decoded JSON body. Numbers
// in v have the type [json.Number]. If the body is not JSON, withJSON returns r.
func withJSON(r spec.Request, encode func(v any) []byte) spec.Request {
	d := json.NewDecoder(bytes.NewReader(r.Body))
	d.UseNumber()
	var v any
	if r.Header.MediaType() == "application/json" && d.Decode(&v) == nil {
		r.Body = encode(v)
	}
	return r
}

// appendReversed appends the JSON text of v to b and returns the result. The members of objects are
// in descending order of their names. appendReversed calls encode to encode each string and each
// name. The value v must be one that package [encoding/json] decoded.
func appendReversed(b []byte, v any, encode func(string) string) []byte {
	switch v := v.(type) {
	case string:
		return append(b, encode(v)...)
	case []any:
		b = append(b, '[')
		for i, item := range v {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendReversed(b, item, encode)
		}
		return append(b, ']')
	case map[string]any:
		names := make([]string, 0, len(v))
		for name := range v {
			names = append(names, name)
		}
		slices.Sort(names)
		slices.Reverse(names)
		b = append(b, '{')
		for i, name := range names {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendReversed(append(append(b, encode(name)...), ':'), v[name], encode)
		}
		return append(b, '}')
	}
	text, _ := json.Marshal(v) // a number, a boolean or null
	return append(b, text...)
}

// escapeAll returns s as a JSON string in which each character is escaped: a slash as \/ and any
// other character as \uXXXX. A character above U+FFFF is encoded as a surrogate pair.
func escapeAll(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, unit := range utf16.Encode([]rune(s)) {
		if unit == '/' {
			b.WriteString(`\/`)
			continue
		}
		fmt.Fprintf(&b, `\u%04x`, unit)
	}
	b.WriteByte('"')
	return b.String()
}
