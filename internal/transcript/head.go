package transcript

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/streamassay/streamassay/spec"
)

// eventStream is the media type of an event stream.
const eventStream = "text/event-stream"

// isEventStream reports whether a message is an event stream, whose last newline belongs to
// the body.
func isEventStream(h spec.Header) bool { return h.MediaType() == eventStream }

// A sectionHead is the part of a section before the body.
type sectionHead struct {
	at        time.Duration // when the request was sent
	principal spec.Principal
	framing   *spec.Framing // nil if not stated
	crlf      bool          // lines of the body end with CR LF

	startLine []string // parts of the start line; nil if there is none
	header    spec.Header
}

// A section is the unparsed rest of one section of the archive, with its position.
type section struct {
	position
	name string
	data []byte
}

// nextLine consumes a line.
func (s *section) nextLine() string {
	line, rest, _ := bytes.Cut(s.data, []byte("\n"))
	s.data = rest
	s.line++
	return string(bytes.TrimSuffix(line, []byte("\r")))
}

// lastLineAt returns the position of the last consumed line.
func (s *section) lastLineAt() position { return position{s.file, s.line - 1} }

// parseHead parses everything before the body. split splits a start line into its parts.
func (s *section) parseHead(split func(string) ([]string, error)) (h sectionHead, err error) {
	if started, err := s.parsePreamble(&h); err != nil || !started {
		return h, err
	}
	if h.startLine, err = parseStart(s.nextLine(), split); err != nil {
		return h, s.lastLineAt().errorAt("%s: %w", s.name, err)
	}
	for len(s.data) > 0 {
		line := s.nextLine()
		if line == "" {
			return h, nil
		}
		field, err := parseHeadField(line)
		if err != nil {
			return h, s.lastLineAt().errorAt("%s: %w", s.name, err)
		}
		h.header = append(h.header, field)
	}
	return h, nil
}

// parsePreamble parses the directives before a start line, up to one that belongs to a body.
// started is whether there is a start line.
func (s *section) parsePreamble(h *sectionHead) (started bool, err error) {
	for len(bytes.TrimSpace(s.data)) > 0 {
		line, _, _ := bytes.Cut(s.data, []byte("\n"))
		directive, ok := strings.CutPrefix(strings.TrimRight(string(line), " \t\r"), directivePrefix+" ")
		if !ok {
			return true, nil
		}
		word, arg, _ := strings.Cut(directive, " ")
		switch word {
		case "at":
			if h.at, err = time.ParseDuration(arg); err != nil || h.at < 0 {
				return false, s.errorAt(":@ at %s: want a duration (e.g. 120ms)", excerpt(arg))
			}
		case "who":
			if h.principal = spec.Principal(arg); !slices.Contains(otherPrincipals, h.principal) {
				return false, s.errorAt(":@ who %s: want one of %v", excerpt(arg), otherPrincipals)
			}
		case "framing":
			if h.framing, err = parseFraming(arg); err != nil {
				return false, s.errorAt(":@ framing %s: %w", excerpt(arg), err)
			}
		case "lines":
			if arg != "crlf" {
				return false, s.errorAt(":@ lines %s: want crlf", excerpt(arg))
			}
			h.crlf = true
		default:
			return word == rawDirective, nil
		}
		s.nextLine()
	}
	return false, nil
}

// otherPrincipals are the principals other than the primary user.
var otherPrincipals = []spec.Principal{spec.OtherUser, spec.Anonymous, spec.UnknownUser}

// framings are the framings that a directive can state, besides unknown.
var framings = []spec.Framing{
	spec.FramingNone, spec.FramingLength, spec.FramingChunked, spec.FramingClose, spec.FramingHTTP2,
}

// parseFraming returns the framing for its name in a directive.
func parseFraming(word string) (*spec.Framing, error) {
	for _, f := range framings {
		if word == string(f) {
			return &f, nil
		}
	}
	if unknown := spec.FramingUnknown; word == "unknown" {
		return &unknown, nil
	}
	return nil, fmt.Errorf("want one of none, length, chunked, close, h2, unknown")
}

// framingOf returns the framing that a head implies for its body. It is unknown if the head
// was abridged.
func framingOf(method string, r spec.Response) spec.Framing {
	coding := strings.ToLower(lastHeaderValue(r.Header, "Transfer-Encoding"))
	switch {
	case method == "HEAD" || r.Status == 101 || r.Status == 204 || r.Status == 304:
		return spec.FramingNone
	case r.Proto == "HTTP/2.0":
		return spec.FramingHTTP2
	case coding != "" && strings.TrimSpace(coding[strings.LastIndexByte(coding, ',')+1:]) == "chunked":
		return spec.FramingChunked
	case coding != "":
		return spec.FramingClose
	case r.Header.Has("Content-Length"):
		return spec.FramingLength
	}
	return spec.FramingUnknown
}

// lastHeaderValue returns the last value of a header field.
func lastHeaderValue(h spec.Header, name string) (value string) {
	for _, f := range h {
		if strings.EqualFold(f.Name, name) {
			value = f.Value
		}
	}
	return value
}

// parseStart splits a start line, encoded or not, into its parts.
func parseStart(line string, split func(string) ([]string, error)) ([]string, error) {
	if raw, ok := strings.CutPrefix(line, directivePrefix+" "+rawDirective+" "); ok {
		return parseQuotedStrings(raw)
	}
	return split(line)
}

// httpVersion matches the protocol of a start line.
var httpVersion = regexp.MustCompile(`^HTTP/(\?|[0-9](\.[0-9])?)$`)

// canonicalProto returns a protocol with both version numbers, and "" for "HTTP/?".
func canonicalProto(s string) string {
	switch {
	case s == "HTTP/?":
		return ""
	case len(s) == len("HTTP/2"):
		return s + ".0"
	}
	return s
}

// splitRequest splits a request line into method and target.
func splitRequest(line string) ([]string, error) {
	parts := strings.Fields(line)
	if n := len(parts); n > 1 && httpVersion.MatchString(parts[n-1]) {
		if parts = parts[:n-1]; n == 2 {
			parts = append(parts, "")
		}
	}
	if len(parts) != 2 || parts[0] != "?" && !isToken(parts[0]) {
		return nil, fmt.Errorf("invalid start line %q: want METHOD TARGET HTTP/1.1 "+
			"(none if the request was not recorded; encode a target with spaces with :@ raw)", excerpt(line))
	}
	if parts[0] == "?" {
		parts[0] = ""
	}
	return parts, nil
}

// splitResponse splits a status line into protocol, status and reason.
func splitResponse(line string) ([]string, error) {
	proto, rest, _ := strings.Cut(line, " ")
	status, reason, _ := strings.Cut(strings.TrimSpace(rest), " ")
	if n, err := strconv.Atoi(status); !httpVersion.MatchString(proto) || err != nil || n < 0 || n > 999 {
		return nil, fmt.Errorf("invalid start line %q: want HTTP/1.1 STATUS REASON "+
			"(none but a directive like :@ cut if there was no response)", excerpt(line))
	}
	return []string{canonicalProto(proto), status, strings.TrimSpace(reason)}, nil
}

// parseHeadField parses a line of the header, encoded or not.
func parseHeadField(line string) (spec.Field, error) {
	raw, ok := strings.CutPrefix(line, directivePrefix+" "+rawDirective+" ")
	if ok {
		return parseField(raw)
	}
	if strings.HasPrefix(line, directivePrefix) {
		return spec.Field{}, fmt.Errorf("%s: the only directive among header fields is :@ raw \"NAME\" \"VALUE\"; "+
			"others go before the start line or after the empty line", excerpt(line))
	}
	return parseField(line)
}

// parseField parses a header field as NAME: VALUE or as two Go strings.
func parseField(line string) (spec.Field, error) {
	if strings.HasPrefix(line, `"`) {
		parts, err := parseQuotedStrings(line)
		if err == nil && len(parts) != 2 {
			err = fmt.Errorf("%s: want the name and the value of a header field as two strings", excerpt(line))
		}
		if err != nil {
			return spec.Field{}, err
		}
		return spec.Field{Name: parts[0], Value: parts[1]}, nil
	}
	name, value, ok := strings.Cut(line, ":")
	if !ok || !isToken(name) {
		return spec.Field{}, fmt.Errorf("invalid header field %q: want NAME: VALUE, or an empty line at the end of the head",
			excerpt(line))
	}
	return spec.Field{Name: name, Value: strings.Trim(value, " \t")}, nil
}

// parseQuotedStrings parses Go strings in double quotes, separated by spaces.
func parseQuotedStrings(s string) (parts []string, err error) {
	for rest := strings.TrimSpace(s); rest != ""; rest = strings.TrimLeft(rest, " ") {
		quoted, err := strconv.QuotedPrefix(rest)
		if err != nil || quoted[0] != '"' {
			return nil, fmt.Errorf("%s: want Go strings in double quotes", excerpt(s))
		}
		part, err := strconv.Unquote(quoted)
		if err != nil {
			return nil, err
		}
		parts = append(parts, part)
		rest = rest[len(quoted):]
	}
	if parts == nil {
		return nil, errors.New(":@ raw: want Go strings in double quotes")
	}
	return parts, nil
}
