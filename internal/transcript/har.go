package transcript

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/streamassay/streamassay/spec"
)

// A harEntry is one exchange of an HTTP archive (HAR), version 1.2, with those members that this
// package uses.
type harEntry struct {
	Started  string       `json:"startedDateTime"`
	Request  *harRequest  `json:"request"`
	Response *harResponse `json:"response"`
}

// A harRequest is the request of a harEntry.
type harRequest struct {
	Method   string     `json:"method"`
	URL      string     `json:"url"`
	Headers  []harField `json:"headers"`
	PostData *struct {
		MimeType string     `json:"mimeType"`
		Text     *string    `json:"text"`
		Params   []harField `json:"params"`
		Encoding string     `json:"encoding"` // not in HAR 1.2, but written by some tools
	} `json:"postData"`
}

// A harResponse is the response of a harEntry.
type harResponse struct {
	Status  int        `json:"status"`
	Reason  string     `json:"statusText"`
	Version string     `json:"httpVersion"`
	Headers []harField `json:"headers"`
	Content struct {
		Size     float64 `json:"size"`
		MimeType string  `json:"mimeType"`
		Text     *string `json:"text"`
		Encoding string  `json:"encoding"`
	} `json:"content"`
	Error string `json:"_error"` // Chromium's reason for status 0
}

// A harField is a header field or a form parameter.
type harField struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// parseHAR parses data, an HTTP archive (HAR), as one conversation, in the order in which the
// requests started. The parameter name is the file name, for errors. Entries that cannot be
// judged, such as those without a response, are left out; the notes of the transcript give the
// reasons. parseHAR returns an error if the archive or an entry is malformed, or if no entry is
// left.
//
// Request targets are complete paths, from which [Transcript.StripBasePath] can remove the base
// path of a dialect. Bodies have no arrival times, because archives do not contain them.
func parseHAR(name string, data []byte) (*Transcript, error) {
	data, err := decodeUTF8(name, data)
	if err != nil {
		return nil, err
	}
	var archive struct {
		Log *struct {
			Entries []json.RawMessage `json:"entries"`
		} `json:"log"`
	}
	if err := json.Unmarshal(data, &archive); err != nil {
		return nil, jsonError(name, data, err)
	}
	if archive.Log == nil || len(archive.Log.Entries) == 0 {
		return nil, fmt.Errorf("%s: log.entries: missing or empty: want the exchanges of an HTTP archive", name)
	}
	t := &Transcript{Name: name}
	var begun []*harExchange
	for i, raw := range archive.Log.Entries {
		h, why, err := parseEntry(raw)
		switch {
		case err != nil:
			return nil, fmt.Errorf("%s: log.entries[%d]%w", name, i, err)
		case why != "":
			t.Notes = append(t.Notes, fmt.Sprintf("log.entries[%d] is left out: %s", i, why))
			continue
		case h.note != "":
			t.Notes = append(t.Notes, fmt.Sprintf("log.entries[%d]: %s", i, h.note))
		}
		begun = append(begun, &h)
		archive.Log.Entries[i] = nil // release memory: entries may be large
	}
	if len(begun) == 0 {
		return nil, fmt.Errorf("%s: no entry has a response: %s", name, t.Notes[0])
	}
	slices.SortStableFunc(begun, func(a, b *harExchange) int { return a.started.Compare(b.started) })
	t.Target, t.Recorded = begun[0].origin, begun[0].started
	for _, h := range begun {
		if h.origin != begun[0].origin {
			t.Target = ""
		}
		h.At = h.started.Sub(begun[0].started)
		t.Trace.Exchanges = append(t.Trace.Exchanges, h.Exchange)
		t.Playback = append(t.Playback, playbackSteps(h.Response))
	}
	return t, nil
}

// A harExchange is an entry of an HTTP archive, converted to an exchange.
type harExchange struct {
	spec.Exchange
	started time.Time // when the request started
	origin  string    // scheme and host of the URL, such as "https://example.com"
	note    string    // how the exchange differs from the messages that were sent; "" if it does not
}

// parseEntry converts raw, one entry of an HTTP archive, to an exchange. If the exchange cannot be
// judged, for example because it has no response, why is the reason and the caller must leave the
// entry out. Otherwise, why is "". If the entry is malformed, the text of the error begins with
// the JSON path of the mistake within the entry, such as ".request.url".
func parseEntry(raw json.RawMessage) (h harExchange, why string, err error) {
	var e harEntry
	if err := json.Unmarshal(raw, &e); err != nil {
		if kind, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
			sep := "."
			if kind.Field == "" {
				sep = ": "
			}
			return h, "", errors.New(sep + wrongTypeText(kind))
		}
		return h, "", fmt.Errorf(": %w", err)
	}
	if e.Request == nil || e.Response == nil {
		return h, "", errors.New(": want a request and a response")
	}
	if h.started, err = time.Parse(time.RFC3339Nano, e.Started); err != nil {
		return h, "", fmt.Errorf(".startedDateTime: invalid time %q (e.g. 2026-01-31T12:00:00.000Z)", excerpt(e.Started))
	}
	var target string
	if h.origin, target, err = splitURL(e.Request.URL); err != nil {
		return h, "", fmt.Errorf(".request.url: %w", err)
	}
	if h.origin == "" {
		return h, fmt.Sprintf("%.40s is not HTTP", e.Request.URL), nil
	}
	if !isToken(e.Request.Method) {
		return h, "", fmt.Errorf(".request.method: invalid method %q (e.g. POST)", excerpt(e.Request.Method))
	}
	h.Request = spec.Request{Method: e.Request.Method, Target: target, Header: fieldsOf(e.Request.Headers)}
	if h.Request.Body, h.note, err = e.Request.body(); err != nil {
		return h, "", fmt.Errorf(".request.postData%w", err)
	}
	what := fmt.Sprintf("%s %s: ", h.Request.Method, target)
	if why := e.Response.missingReason(); why != "" {
		return h, what + why, nil
	}
	note, err := h.setResponse(*e.Response)
	if err != nil {
		return h, "", fmt.Errorf(".response%w", err)
	}
	if h.note != "" && note != "" {
		note = h.note + "; " + note
	}
	if h.note = cmp.Or(note, h.note); h.note != "" {
		h.note = what + h.note
	}
	return h, "", nil
}

// splitURL splits the URL s into its origin, which is the scheme and the host, and its target,
// which is the path and the query. It leaves out user, password and fragment. The scheme becomes
// lower case and an empty path becomes "/"; everything else is unchanged. Both results are "" if s
// is not an http or https URL. splitURL returns an error if s has no scheme.
func splitURL(s string) (origin, target string, err error) {
	scheme, rest, ok := strings.Cut(s, ":")
	if !ok || scheme == "" {
		return "", "", fmt.Errorf("invalid URL %q (e.g. https://host/path)", excerpt(s))
	}
	scheme = strings.ToLower(scheme)
	rest, ok = strings.CutPrefix(rest, "//")
	if !ok || scheme != "http" && scheme != "https" {
		return "", "", nil
	}
	rest, _, _ = strings.Cut(rest, "#")
	n := strings.IndexAny(rest, "/?")
	if n < 0 {
		n = len(rest)
	}
	if target = rest[n:]; !strings.HasPrefix(target, "/") {
		target = "/" + target
	}
	host := rest[:n]
	return scheme + "://" + host[strings.LastIndexByte(host, '@')+1:], target, nil
}

// fieldsOf converts fields, the header fields in an HTTP archive, to a header. It leaves out HTTP/2
// pseudo-header fields, which browsers include.
func fieldsOf(fields []harField) (h spec.Header) {
	for _, f := range fields {
		if !strings.HasPrefix(f.Name, ":") {
			h = append(h, spec.HeaderField(f))
		}
	}
	return h
}

// body returns the body of the request r. If the body is unknown or was reconstructed from form
// parameters, note is a sentence about that; otherwise it is "". If the body is malformed, the error begins with the
// JSON path of the mistake within postData.
func (r harRequest) body() (body []byte, note string, err error) {
	p := r.PostData
	switch {
	case p == nil:
		return nil, "", nil
	case p.Text != nil && (*p.Text != "" || len(p.Params) == 0):
		body, err = decodeText(*p.Text, p.Encoding)
		return body, "", err
	case len(p.Params) == 0:
		return nil, "", nil
	case strings.HasPrefix(p.MimeType, "application/x-www-form-urlencoded"):
		var pairs []string
		for _, f := range p.Params {
			pairs = append(pairs, url.QueryEscape(f.Name)+"="+url.QueryEscape(f.Value))
		}
		return []byte(strings.Join(pairs, "&")), "the request body was reconstructed from its params", nil
	}
	return nil, "the request body is unknown: the archive has its params, but not its text", nil
}

// decodeText decodes text, a body in an HTTP archive. The encoding is "base64", in upper or lower
// case, or "" for text that is not encoded. If the encoding or the text is invalid, the error
// begins with the JSON path of the invalid member.
func decodeText(text, encoding string) ([]byte, error) {
	switch strings.ToLower(encoding) {
	case "":
		return []byte(text), nil
	case "base64":
		body, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			return nil, fmt.Errorf(".text: not base64: %w", err)
		}
		return body, nil
	}
	return nil, fmt.Errorf(".encoding: unknown encoding %q: want base64, or none", excerpt(encoding))
}

// missingReason returns the reason why the response r cannot be judged, such as a body that the
// archive lacks. It returns "" if r can be judged.
func (r harResponse) missingReason() string {
	media, _, _ := strings.Cut(cmp.Or(fieldsOf(r.Headers).Get("Content-Type"), r.Content.MimeType), ";")
	switch {
	case r.Status == 0 && r.Error != "":
		return "no response: " + oneLine(r.Error)
	case r.Status == 0:
		return "no response"
	case r.Content.Text == nil && r.Content.Size > 0:
		return fmt.Sprintf("the archive lacks the body of %.0f bytes: save it with content", r.Content.Size)
	case r.Content.Text == nil && strings.EqualFold(strings.TrimSpace(media), eventStream) && r.Status != 204:
		return "the archive lacks the event stream: browsers leave out what an EventSource reads"
	}
	return ""
}

// setResponse converts r, a response in an HTTP archive, and stores it in h.Response. It leaves out
// the header field Content-Encoding if the response has a body, because archives contain decoded
// bodies. The result note is a sentence about the omitted field, or "". If r is malformed, the text
// of the error begins with the JSON path of the mistake within the response, such as ".status".
func (h *harExchange) setResponse(r harResponse) (note string, err error) {
	if r.Status < 100 || r.Status > 999 {
		return "", fmt.Errorf(".status: invalid status %d: want three digits, or 0", r.Status)
	}
	h.Response = spec.Response{Proto: harProto(r.Version), Status: r.Status, Header: fieldsOf(r.Headers)}
	if strings.HasPrefix(h.Response.Proto, "HTTP/1.") {
		h.Response.Reason = r.Reason
	}
	if r.Content.Text != nil {
		if h.Response.Body, err = decodeText(*r.Content.Text, r.Content.Encoding); err != nil {
			return "", fmt.Errorf(".content%w", err)
		}
	}
	h.Response.Framing = framingOf(h.Request.Method, h.Response)
	if coding := h.Response.Header.Get("Content-Encoding"); coding != "" && len(h.Response.Body) > 0 {
		h.Response.Header = h.Response.Header.Without("Content-Encoding")
		note = fmt.Sprintf("Content-Encoding: %s is ignored: archives contain decoded bodies", coding)
	}
	return note, nil
}

// harProto converts s, a protocol in an HTTP archive such as "h2", to the form that [spec.Response]
// uses, such as "HTTP/2.0". It returns "" if the protocol is unknown.
func harProto(s string) string {
	switch s = strings.ToUpper(s); s {
	case "H2", "H2C":
		return "HTTP/2.0"
	case "H3":
		return "HTTP/3.0"
	}
	if httpVersion.MatchString(s) && s != "HTTP/?" {
		return canonicalProto(s)
	}
	return ""
}
