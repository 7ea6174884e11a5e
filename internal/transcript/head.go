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

const eventStream = "text/event-stream"

// isEventStream says whether a message's last newline is its own.
func isEventStream(h spec.Header) bool { return h.MediaType() == eventStream }

// A sectionHead is what a section says before its body.
type sectionHead struct {
	at        time.Duration
	principal spec.Principal
	framing   *spec.Framing // nil: nothing is said about it
	crlf      bool

	startLine []string // the parts of the start line; nil if there is none
	header    spec.Header
}

// A section is a file of the archive while it is being read.
type section struct {
	position
	name string
	data []byte
}

// nextLine takes a line off.
func (s *section) nextLine() string {
	line, rest, _ := bytes.Cut(s.data, []byte("\n"))
	s.data = rest
	s.line++
	return string(bytes.TrimSuffix(line, []byte("\r")))
}

// lastLineAt is the place of the line that was taken off last.
func (s *section) lastLineAt() position { return position{s.file, s.line - 1} }

// parseHead reads up to the body. split takes a start line apart.
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

// parsePreamble reads the directions before a start line. It stops at one that
// belongs to a body, and says whether there is a start line.
func (s *section) parsePreamble(h *sectionHead) (started bool, err error) {
	for len(bytes.TrimSpace(s.data)) > 0 {
		line, _, _ := bytes.Cut(s.data, []byte("\n"))
		direction, ok := strings.CutPrefix(strings.TrimRight(string(line), " \t\r"), directivePrefix+" ")
		if !ok {
			return true, nil
		}
		word, arg, _ := strings.Cut(direction, " ")
		switch word {
		case "at":
			if h.at, err = time.ParseDuration(arg); err != nil || h.at < 0 {
				return false, s.errorAt(":@ at %s: it takes a duration like 120ms", excerpt(arg))
			}
		case "who":
			if h.principal = spec.Principal(arg); !slices.Contains(otherPrincipals, h.principal) {
				return false, s.errorAt(":@ who %s: it takes one of %v", excerpt(arg), otherPrincipals)
			}
		case "framing":
			if h.framing, err = parseFraming(arg); err != nil {
				return false, s.errorAt(":@ framing %s: %w", excerpt(arg), err)
			}
		case "lines":
			if arg != "crlf" {
				return false, s.errorAt(":@ lines %s: it takes crlf and nothing else", excerpt(arg))
			}
			h.crlf = true
		default:
			return word == rawDirective, nil
		}
		s.nextLine()
	}
	return false, nil
}

// otherPrincipals are those who may ask and are not the user.
var otherPrincipals = []spec.Principal{spec.OtherUser, spec.Anonymous, spec.UnknownUser}

// framings are the framings by the words of the format.
var framings = []spec.Framing{spec.FramingNone, spec.FramingLength, spec.FramingChunked, spec.FramingClose, spec.FramingHTTP2}

func parseFraming(word string) (*spec.Framing, error) {
	for _, f := range framings {
		if word == string(f) {
			return &f, nil
		}
	}
	if unknown := spec.FramingUnknown; word == "unknown" {
		return &unknown, nil
	}
	return nil, fmt.Errorf("it takes one of none, length, chunked, close, h2, unknown")
}

// framingOf is what a head says about the framing of the body that follows; for a
// head that somebody shortened, it may say nothing.
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

func lastHeaderValue(h spec.Header, name string) (value string) {
	for _, f := range h {
		if strings.EqualFold(f.Name, name) {
			value = f.Value
		}
	}
	return value
}

func parseStart(line string, split func(string) ([]string, error)) ([]string, error) {
	if raw, ok := strings.CutPrefix(line, directivePrefix+" "+rawDirective+" "); ok {
		return parseQuotedStrings(raw)
	}
	return split(line)
}

// httpVersion is how a start line names the protocol.
var httpVersion = regexp.MustCompile(`^HTTP/(\?|[0-9](\.[0-9])?)$`)

// canonicalProto spells a protocol with both numbers; "?" is an unknown one.
func canonicalProto(s string) string {
	switch {
	case s == "HTTP/?":
		return ""
	case len(s) == len("HTTP/2"):
		return s + ".0"
	}
	return s
}

func splitRequest(line string) ([]string, error) {
	parts := strings.Fields(line)
	if n := len(parts); n > 1 && httpVersion.MatchString(parts[n-1]) {
		if parts = parts[:n-1]; n == 2 {
			parts = append(parts, "")
		}
	}
	if len(parts) != 2 || parts[0] != "?" && !isToken(parts[0]) {
		return nil, fmt.Errorf("the start line is %q: it is METHOD TARGET HTTP/1.1, a request that nobody wrote down has none, and a target with spaces is spelled out by :@ raw", excerpt(line))
	}
	if parts[0] == "?" {
		parts[0] = ""
	}
	return parts, nil
}

func splitResponse(line string) ([]string, error) {
	proto, rest, _ := strings.Cut(line, " ")
	status, reason, _ := strings.Cut(strings.TrimSpace(rest), " ")
	if n, err := strconv.Atoi(status); !httpVersion.MatchString(proto) || err != nil || n < 0 || n > 999 {
		return nil, fmt.Errorf("the start line is %q: it is HTTP/1.1 STATUS REASON, and an answer that never came has none but a direction like :@ cut", excerpt(line))
	}
	return []string{canonicalProto(proto), status, strings.TrimSpace(reason)}, nil
}

func parseHeadField(line string) (spec.Field, error) {
	raw, ok := strings.CutPrefix(line, directivePrefix+" "+rawDirective+" ")
	if ok {
		return parseField(raw)
	}
	if strings.HasPrefix(line, directivePrefix) {
		return spec.Field{}, fmt.Errorf("%s: among header fields there is no direction but :@ raw \"NAME\" \"VALUE\"; the others stand before the start line or after the empty line", excerpt(line))
	}
	return parseField(line)
}

// parseField reads a field, in clear or as two Go strings.
func parseField(line string) (spec.Field, error) {
	if strings.HasPrefix(line, `"`) {
		parts, err := parseQuotedStrings(line)
		if err == nil && len(parts) != 2 {
			err = fmt.Errorf("%s: a field spelled out is its name and its value, as two strings", excerpt(line))
		}
		if err != nil {
			return spec.Field{}, err
		}
		return spec.Field{Name: parts[0], Value: parts[1]}, nil
	}
	name, value, ok := strings.Cut(line, ":")
	if !ok || !isToken(name) {
		return spec.Field{}, fmt.Errorf("%q is no header field: that is NAME: VALUE, and an empty line ends the head", excerpt(line))
	}
	return spec.Field{Name: name, Value: strings.Trim(value, " \t")}, nil
}

// parseQuotedStrings reads strings in double quotes, separated by spaces.
func parseQuotedStrings(s string) (parts []string, err error) {
	for rest := strings.TrimSpace(s); rest != ""; rest = strings.TrimLeft(rest, " ") {
		quoted, err := strconv.QuotedPrefix(rest)
		if err != nil || quoted[0] != '"' {
			return nil, fmt.Errorf("%s: it takes strings in double quotes, with the escapes of Go", excerpt(s))
		}
		part, err := strconv.Unquote(quoted)
		if err != nil {
			return nil, err
		}
		parts = append(parts, part)
		rest = rest[len(quoted):]
	}
	if parts == nil {
		return nil, errors.New(":@ raw takes strings in double quotes")
	}
	return parts, nil
}
