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

// isEventStream reports whether h is the header of an event stream, by its media type. If it is,
// the last newline of the section is part of the body. In other sections, that newline usually only
// ends the section.
func isEventStream(h spec.Header) bool { return h.MediaType() == eventStream }

// A parsedHead is the part of a section before the body: directives, start line and header fields.
type parsedHead struct {
	at        time.Duration     // when the request was sent, since the start of the conversation
	principal spec.Principal    // who sent the request; "" if not stated
	wants     []string          // IDs of checks that fail at the request, or at the head of the response
	framing   *spec.BodyFraming // nil if not stated
	crlf      bool              // lines of the body end with CR LF

	startLine []string // parts of the start line; nil if there is none
	header    spec.Header
}

// A sectionLineReader holds the unread part of a section of a transcript, or of the output of curl,
// with the position of that part in the file.
type sectionLineReader struct {
	position
	name string // of the section, for errors; "" for the output of curl
	data []byte
}

// nextLine removes the first line from s.data and returns it without its line ending. The result
// ended reports whether the line had a line ending, which only the last line may lack.
func (s *sectionLineReader) nextLine() (line string, ended bool) {
	text, rest, ended := bytes.Cut(s.data, []byte("\n"))
	s.data = rest
	s.line++
	return string(bytes.TrimSuffix(text, []byte("\r"))), ended
}

// lastLineAt returns the position of the line that nextLine returned last.
func (s *sectionLineReader) lastLineAt() position { return position{s.file, s.line - 1} }

// parseHead parses everything before the body of the section and removes it from s.data. The
// function split receives the start line and has to return its parts, or an error if the line is
// malformed. It is not called if a raw directive states the parts. If the section has no start
// line, h.startLine is nil. parseHead returns an error if the head is invalid.
func (s *sectionLineReader) parseHead(split func(string) ([]string, error)) (h parsedHead, err error) {
	if started, err := s.parsePreamble(&h); err != nil || !started {
		return h, err
	}
	line, _ := s.nextLine()
	if raw, ok := strings.CutPrefix(line, directivePrefix+" "+rawDirective+" "); ok {
		h.startLine, err = parseQuotedStrings(raw)
	} else {
		h.startLine, err = split(line)
	}
	if err != nil {
		return h, s.lastLineAt().errorAt("%s: %w", s.name, err)
	}
	for len(s.data) > 0 {
		if line, _ = s.nextLine(); line == "" {
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

// parsePreamble parses the directives before the start line, stores them in h and removes them
// from s.data. The result started reports whether the start line follows. It is false if the
// section ends, or continues with a directive of the body. parsePreamble returns an error if a
// directive is invalid.
func (s *sectionLineReader) parsePreamble(h *parsedHead) (started bool, err error) {
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
			f := spec.BodyFraming(arg)
			if arg == "unknown" {
				f = spec.FramingUnknown
			} else if !slices.Contains(framings, f) {
				return false, s.errorAt(":@ framing %s: want one of none, length, chunked, close, h2, unknown", excerpt(arg))
			}
			h.framing = &f
		case "want":
			if arg = strings.TrimSpace(arg); arg == "" {
				return false, s.errorAt(":@ want: want the ID of a check")
			}
			h.wants = append(h.wants, arg)
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

// otherPrincipals lists the principals that a who directive can name. Without that directive, the
// sender of a request is spec.PrimaryUser, the user whose conversation it is.
var otherPrincipals = []spec.Principal{
	spec.OtherUser, spec.Anonymous, spec.UnknownUser, spec.LongerCredentials, spec.ShorterCredentials,
}

// framings lists the framings that a framing directive can state. The directive can also state
// "unknown", which stands for spec.FramingUnknown.
var framings = []spec.BodyFraming{
	spec.FramingNone, spec.FramingLength, spec.FramingChunked, spec.FramingClose, spec.FramingHTTP2,
}

// framingOf returns the framing of the response r to a request with the given method: how the end
// of the body is marked. If the head does not imply a framing, for example because the recording
// lacks fields, the result is spec.FramingUnknown.
func framingOf(method string, r spec.Response) spec.BodyFraming {
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

// lastHeaderValue returns the value of the last header field called name, without regard to case,
// or "" if h has no such field.
func lastHeaderValue(h spec.Header, name string) (value string) {
	for _, f := range h {
		if strings.EqualFold(f.Name, name) {
			value = f.Value
		}
	}
	return value
}

// httpVersion matches the protocol version in a start line, such as HTTP/1.1 or HTTP/2. HTTP/?
// stands for an unknown version.
var httpVersion = regexp.MustCompile(`^HTTP/(\?|[0-9](\.[0-9])?)$`)

// canonicalProto returns s, a protocol that httpVersion matches, with both numbers of its version,
// such as "HTTP/2.0" for "HTTP/2". It returns "" for "HTTP/?".
func canonicalProto(s string) string {
	switch {
	case s == "HTTP/?":
		return ""
	case len(s) == len("HTTP/2"):
		return s + ".0"
	}
	return s
}

// splitRequest splits line, a request line, into method and target. A method of "?" becomes "", and
// a missing target is "". splitRequest returns an error if the line is malformed.
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

// splitResponse splits line, a status line, into protocol, status and reason. The protocol "HTTP/?"
// becomes "". splitResponse returns an error if the line is malformed.
func splitResponse(line string) ([]string, error) {
	proto, rest, _ := strings.Cut(line, " ")
	status, reason, _ := strings.Cut(strings.TrimSpace(rest), " ")
	if n, err := strconv.Atoi(status); !httpVersion.MatchString(proto) || err != nil || n < 0 || n > 999 {
		return nil, fmt.Errorf("invalid start line %q: want HTTP/1.1 STATUS REASON "+
			"(none but a directive like :@ cut if there was no response)", excerpt(line))
	}
	return []string{canonicalProto(proto), status, strings.TrimSpace(reason)}, nil
}

// parseHeadField parses line, a line of a head, as a header field. The line is NAME: VALUE or a raw
// directive. parseHeadField returns an error if line is neither.
func parseHeadField(line string) (spec.HeaderField, error) {
	raw, ok := strings.CutPrefix(line, directivePrefix+" "+rawDirective+" ")
	if ok {
		return parseField(raw)
	}
	if strings.HasPrefix(line, directivePrefix) {
		return spec.HeaderField{}, fmt.Errorf("%s: the only directive among header fields is :@ raw \"NAME\" \"VALUE\"; "+
			"others go before the start line or after the empty line", excerpt(line))
	}
	return parseField(line)
}

// parseField parses a header field. The field is written as NAME: VALUE, or as two Go string
// literals in double quotes: the name, spaces and the value. parseField returns an error if line
// has neither form.
func parseField(line string) (spec.HeaderField, error) {
	if strings.HasPrefix(line, `"`) {
		parts, err := parseQuotedStrings(line)
		if err == nil && len(parts) != 2 {
			err = fmt.Errorf("%s: want the name and the value of a header field as two strings", excerpt(line))
		}
		if err != nil {
			return spec.HeaderField{}, err
		}
		return spec.HeaderField{Name: parts[0], Value: parts[1]}, nil
	}
	name, value, ok := strings.Cut(line, ":")
	if !ok || !isToken(name) {
		return spec.HeaderField{}, fmt.Errorf(
			"invalid header field %q: want NAME: VALUE, or an empty line at the end of the head",
			excerpt(line))
	}
	return spec.HeaderField{Name: name, Value: strings.Trim(value, " \t")}, nil
}

// parseQuotedStrings returns the values of the Go string literals in s. The literals must be in
// double quotes and separated by spaces. parseQuotedStrings returns an error if s contains anything
// else or no literal at all.
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
