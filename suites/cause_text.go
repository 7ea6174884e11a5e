package suites

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/streamassay/streamassay/internal/redact"
	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
)

// setText sets the fields Message and Advice of the cause. The argument parts contains the results
// of all scenarios that were played against target t.
func (c *Cause) setText(t Target, parts []ScenarioResult) {
	if c.Exchange < 0 {
		c.Message, c.Advice = unplayedText(*c, parts)
		return
	}
	c.Message, c.Advice = c.text(t)
	answered := anyExchange(parts, func(o exchangeSummary) bool { return o.status > 0 })
	if c.Kind == symptomClosed && t.Base != nil && t.Base.Scheme == "http" && !answered {
		c.Advice = "try https://; else " + c.Advice
	}
	if n := c.countExchanges(parts); n > 1 && !c.Fatal {
		c.Message += fmt.Sprintf(" (%d exchanges)", n)
	}
}

// countExchanges returns the number of exchanges in parts that have the symptom of the cause; see
// [Cause.matchesSymptom]. It returns 0 for [symptomNotScripted], which is not a symptom of a single
// exchange.
func (c Cause) countExchanges(parts []ScenarioResult) (n int) {
	for _, p := range parts {
		for _, o := range p.summaries {
			if c.Kind != symptomNotScripted && c.matchesSymptom(o) {
				n++
			}
		}
	}
	return n
}

// unplayedText returns the message and the advice for c, a cause that prevented scenarios from
// being completed. The argument parts contains the results of all scenarios. Unless c is fatal, the
// message names up to four affected scenarios. The advice may be "".
func unplayedText(c Cause, parts []ScenarioResult) (message, advice string) {
	message = c.reason
	var without []string
	for _, p := range parts {
		if p.Err == nil {
			continue
		}
		if kind, why := classifyError(p.Err); kind == c.Kind && why == c.reason {
			without = append(without, p.Scenario.Name)
		}
	}
	if !c.Fatal {
		message += fmt.Sprintf(" (in %d of %d scenarios: %s)", len(without), len(parts), joinFirst(without, 4))
	}
	switch {
	case c.Kind == symptomInterrupted:
		return message, "the responses received until then were judged"
	case c.Kind == symptomNotSent:
		return message, "this is an error of streamassay or of its configuration, not of the server"
	case !c.Fatal:
		return message, "the server responded to other requests: did it crash, was it stopped, or did it start late? " +
			"Look in its log"
	case strings.Contains(c.reason, "unknown host"):
		return message, "check the spelling of the host in the URL"
	case strings.Contains(c.reason, "connection refused"):
		return message, "start the server first, and check host and port of the URL"
	}
	return message, ""
}

// joinFirst joins at most the first limit elements of names with commas. If there are more, it
// appends the number of the remaining ones, as in "a, b, … and 3 more".
func joinFirst(names []string, limit int) string {
	if len(names) <= limit {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s, … and %d more", strings.Join(names[:limit], ", "), len(names)-limit)
}

// describeResponse returns a description of the response for a message, such as `404 Not Found,
// body: '{"detail":"Not Found"}'`. It contains the status line. If o.symptom is set and the body is
// not empty, it also contains the content type or the beginning of the body. If there was no
// response, the description states this and the reason, if known.
func (o exchangeSummary) describeResponse() string {
	if o.status == 0 {
		switch o.symptom {
		case symptomClosed:
			return "the server closed the connection without a response"
		case symptomNotHTTP:
			return "the response is not HTTP: " + o.notHTTPDetail()
		case symptomNoResponse:
			return spec.DescribeNoResponse(o.end)
		}
		return "no response"
	}
	s := statusLine(o.status, o.reason)
	media := o.header.MediaType()
	switch body := bytes.TrimSpace(o.bodyPrefix); {
	case o.symptom == "" || len(body) == 0:
	case o.status/100 == 2 || media == "text/html":
		s += ", content type " + cmp.Or(media, "none")
	default:
		s += ", body: " + quote(body)
	}
	return s
}

// describeEnd returns the reason why the response ended early. This is the text of o.end, which
// must not be nil, without the prefix up to the first ": ".
func (o exchangeSummary) describeEnd() string {
	why := fmt.Sprint(o.end)
	if _, detail, ok := strings.Cut(why, ": "); ok {
		return detail
	}
	return why
}

// notHTTPDetail returns "it sent" and a quotation of the first bytes that the server sent instead
// of HTTP. If these bytes are unknown, it returns the result of describeEnd. o.end must not be nil.
func (o exchangeSummary) notHTTPDetail() string {
	detail := o.describeEnd()
	if quoted, ok := strings.CutPrefix(detail, "it begins with "); ok {
		return "it sent " + quoted
	}
	return detail
}

// statusLine returns the status code and the reason phrase of a response, such as "404 Not Found".
// If reason is "", it uses the standard phrase of the status, if any.
func statusLine(status int, reason string) string {
	return strings.TrimSpace(fmt.Sprintf("%d %s", status, cmp.Or(reason, http.StatusText(status))))
}

// url returns the absolute URL of the request in exchange o, without user name and password. If
// t.Base is nil, it returns only the path and the query.
func (t Target) url(o exchangeSummary) string {
	if t.Base == nil {
		return o.requestTarget
	}
	return withoutUserinfo(t.Base) + t.Dialect.AtEndpoint(spec.Request{Target: o.requestTarget}).Target
}

// text returns the message and the advice for c, a cause whose evidence is an exchange with target
// t. The message is one line that states the problem. The advice states what the user can do about
// it, and may be "".
func (c Cause) text(t Target) (message, advice string) {
	o := c.exchange
	switch c.Kind {
	case symptomNotFound, symptomCredentials, symptomRedirect, symptomRefused, symptomServerError:
		return c.statusText(t)
	case symptomNoResponse:
		return o.operation + ": " + o.describeResponse(),
			"is the server busy or blocked? --idle-timeout and --timeout set how long streamassay waits"
	case symptomClosed:
		return o.operation + ": " + o.describeResponse(), "look for a crash in the server's log"
	case symptomNotHTTP:
		if advice = "check the port"; strings.Contains(o.notHTTPDetail(), "TLS") {
			advice = "use https://"
		}
		if t.Base == nil {
			return o.operation + ": " + o.describeResponse(), advice
		}
		return fmt.Sprintf("what answers on %s is not an HTTP server: %s", hostPort(t.Base), o.notHTTPDetail()), advice
	case symptomNotEventStream:
		return o.notEventStreamText()
	case symptomContentCoding:
		coding, _ := shorten([]byte(o.header.Get("Content-Encoding")))
		message = fmt.Sprintf(
			"the response to %s is %s-compressed although the request said Accept-Encoding: identity", o.operation, coding)
		if c.Fatal {
			message += ", and cannot be decompressed"
		}
		return message, "turn off compression for this route in the server or the proxy before it"
	case symptomNotAccepted:
		message = fmt.Sprintf("%s: %s, which is not how a run is accepted in %s; ",
			o.operation, statusLine(o.status, o.reason), t.Dialect.Name) + o.quoteBody("body: ")
		if like := similarDialect(t.Dialect, o.bodyPrefix); like != "" && o.header.MediaType() == spec.EventStream {
			return message, fmt.Sprintf("the response is itself a stream and looks like %s: try --dialect %s", like, like)
		}
		return message, "is it the right dialect?"
	}
	return c.streamText(t)
}

// statusText returns the message and the advice for a cause that the status of a response shows,
// such as [symptomNotFound]. The argument t is the target that sent the response.
func (c Cause) statusText(t Target) (message, advice string) {
	o := c.exchange
	message = o.operation + ": " + o.describeResponse()
	switch {
	case c.Kind == symptomNotFound:
		method, path, _ := strings.Cut(o.operation, " ")
		advice = "either the base URL or the dialect is wrong"
		if t.Base != nil && !t.Dialect.IsEndpoint && strings.HasSuffix(t.Base.Path, path) {
			base := *t.Base
			base.Path, base.RawPath = strings.TrimSuffix(base.Path, path), ""
			advice = fmt.Sprintf("the base URL already ends in %s: use %s", path, withoutUserinfo(&base))
		} else if missing := t.Dialect.EndpointAdvice("TARGET", t.Base); missing != "" {
			advice = missing
		} else if others := otherPromptOperations(t.Dialect); others != "" {
			advice += ": other dialects (--dialect NAME) have other routes: " + others
		}
		return fmt.Sprintf("%s %s: %s", method, t.url(o), o.describeResponse()), advice
	case c.Kind == symptomCredentials && t.hasUserCredentials():
		return message + "; the server does not accept the credentials of --header",
			"check the value of --header; it may have expired"
	case c.Kind == symptomCredentials && t.sendsDefaultCredential():
		return message + "; the server does not accept 'Authorization: " + redact.DefaultCredential +
				"', which is sent if no credentials are given",
			"add --header 'Authorization: Bearer TOKEN', or the header that the server requires"
	case c.Kind == symptomCredentials:
		return message + "; the server requires credentials and the run sent none",
			"add --header 'Authorization: Bearer TOKEN', or the header that the server requires"
	case c.Kind == symptomRedirect:
		to := "an empty Location"
		if location := o.header.Get("Location"); location != "" {
			to, _ = shorten([]byte(location))
		}
		message = fmt.Sprintf(
			"%s: redirected to %s (%s); redirects are not followed", o.operation, to, statusLine(o.status, o.reason))
		if base := redirectBase(t.Dialect, o); base != "" {
			return message, fmt.Sprintf("use %s as the base URL", base)
		}
		return message, "if it leads to a login page, give credentials with --header; if not, use the new base URL"
	case c.Kind == symptomServerError:
		return message, "look in the server's log"
	}
	advice = "see in the body what the server objects to; is it the right dialect?"
	if o.status == http.StatusTooManyRequests {
		advice = "send fewer requests at once: --parallel 1"
	}
	return fmt.Sprintf("%s, although the request is valid in %s", message, t.Dialect.Name), advice
}

// quoteBody returns label and a quotation of the beginning of the body. If the body is empty or
// contains only white space, it returns "no body".
func (o exchangeSummary) quoteBody(label string) string {
	if text := bytes.TrimSpace(o.bodyPrefix); len(text) > 0 {
		return label + quote(text)
	}
	return "no body"
}

// notEventStreamText returns the message and the advice for a successful response (2xx) that is not
// an event stream, although the operation requires one.
func (o exchangeSummary) notEventStreamText() (message, advice string) {
	media := o.header.MediaType()
	message = fmt.Sprintf("%s: %s with ", o.operation, statusLine(o.status, o.reason))
	advice = map[string]string{
		"text/html":        "this is a web page, not the agent's API; check the base URL",
		"application/json": "is streaming switched on, and is this the streaming route?",
	}[media]
	switch {
	case media == "text/html":
		message += "a web page (text/html), not the agent's API: "
	case media == "application/json" && isOneJSONValue(o.bodyPrefix):
		message += "one JSON document (application/json) instead of an event stream: "
	default:
		message += fmt.Sprintf("content type %s, want %s: ", cmp.Or(media, "none"), spec.EventStream)
	}
	return message + o.quoteBody(""), cmp.Or(advice, "send Content-Type: text/event-stream")
}

// isOneJSONValue reports whether body consists of exactly one JSON value. If body has the length
// [maxBodyPrefix], it may be cut off, and isOneJSONValue reports whether it is the beginning of one
// JSON value.
func isOneJSONValue(body []byte) bool {
	decoder := json.NewDecoder(bytes.NewReader(body))
	var value json.RawMessage
	if err := decoder.Decode(&value); err != nil {
		return errors.Is(err, io.ErrUnexpectedEOF) && len(body) == maxBodyPrefix
	}
	return !decoder.More()
}

// streamText returns the message and the advice for a cause that the events of a stream show, such
// as [symptomEmpty] or [symptomNotScripted]. The argument t is the target that sent the stream. The
// advice may be "".
func (c Cause) streamText(t Target) (message, advice string) {
	o := c.exchange
	stream := "the stream of " + o.operation
	switch c.Kind {
	case symptomEmpty:
		if o.terminated {
			return stream + " has the terminator, but no event before it", ""
		}
		return stream + " is empty", ""
	case symptomNoData:
		return fmt.Sprintf("%s is not SSE: no line starts with \"data:\"; it begins %s", stream, quote(o.bodyPrefix)),
			"write each event as \"data: JSON\" and an empty line"
	case symptomNoBlankLine:
		return fmt.Sprintf("%s has no empty line after any event; it begins %s", stream, quote(o.bodyPrefix)),
			"write an empty line after each event: before it, clients do not see the event"
	case symptomNotJSON:
		return fmt.Sprintf("%s has no event whose data is JSON; first event: %s", stream, quote(o.firstFrame)),
			fmt.Sprintf("write one JSON object as the data of each event, as %s requires", t.Dialect.Name)
	case symptomEventTooLarge, symptomNotEnded:
		return c.overrunText(t)
	case symptomOtherDialect:
		message = fmt.Sprintf("the events of %s are not those of %s", o.operation, t.Dialect.Name)
		advice = "they look like no dialect that streamassay knows: " + strings.Join(dialect.Names(), ", ")
		if like := similarDialect(t.Dialect, o.bodyPrefix); like != "" {
			message, advice = message+" but look like "+like, "try --dialect "+like
		}
		return message + "; first event: " + quote(o.firstFrame), advice
	case symptomRunFailed:
		return fmt.Sprintf("every run failed, that of scenario %s with %s", c.Scenario, quote([]byte(o.failureText))),
			"check what the agent needs (model, API keys), and look in the server's log"
	case symptomNoText:
		message = fmt.Sprintf(
			"none of the events of %s is a text event of %s; first event: %s", o.operation, t.Dialect.Name, quote(o.firstFrame))
		if t.requirementLevel(t.Dialect.TextRequirement()).FailureVerdict() == spec.Silent {
			return message, "nothing, if its text events have other types, which the document allows: " +
				"the content of replies is not tested then"
		}
		return message, fmt.Sprintf(
			"fix the event's field names (streamassay spec %s shows them) or choose another --dialect", t.Dialect.Name)
	}
	return fmt.Sprintf("the agent does not do what the test prompts ask: prompt %s, reply %s",
			quote([]byte(o.prompt)), quote([]byte(o.responseText))),
		"make the agent follow the test prompts (docs/prompts.md): without them tool calls, failures and " +
			"pauses are not tested; if it never will, add --lacks scripted; if it already does, --claim scripted"
}

// hostPort returns the host and port of u, which is an http or https URL, as "host:port". If u has
// no port, the result contains the default port of the scheme.
func hostPort(u *url.URL) string {
	if u.Port() != "" {
		return u.Host
	}
	return net.JoinHostPort(u.Hostname(), map[string]string{"http": "80", "https": "443"}[u.Scheme])
}

// minSimilarShare is the share of events that must be valid in a dialect for the events to look
// like those of the dialect.
const minSimilarShare = 0.8

// similarDialect returns the name of the dialect, other than own, in which the largest share of the
// events in body is valid. It returns "" if that share is less than [minSimilarShare] in all
// dialects. The argument body is an event stream or the beginning of one. An event counts as valid
// only if the dialect has a schema for it. Of several dialects with the same share, similarDialect
// prefers the default version of a family.
func similarDialect(own *dialect.Dialect, body []byte) string {
	all, err := dialect.All()
	if err != nil {
		return ""
	}
	best, share := "", 0.0
	for _, d := range all {
		if d.Name == own.Name {
			continue
		}
		frames, valid := 0, 0
		x := spec.Exchange{Response: spec.Response{
			Status: 200, Header: spec.Header{{Name: "Content-Type", Value: spec.EventStream}}, Body: body, End: spec.ErrClientLeft,
		}}
		for e := range d.Events(spec.Trace{Exchanges: []spec.Exchange{x}}) {
			if !e.IsFrame() || e.Kind == spec.Done {
				continue
			}
			frames++
			if isKnownFrame(e) && e.Valid() && len(e.Flaws) == 0 {
				valid++
			}
		}
		s := float64(valid) / float64(max(1, frames))
		if s >= minSimilarShare && (s > share || s == share && dialect.IsDefault(d.Name)) {
			best, share = d.Name, s
		}
	}
	return best
}

// otherPromptOperations returns a list of the families of dialects in which runs are started with a
// different method or path than in own, each with that operation: "runs has POST
// /api/v1/agent/runs, …".
func otherPromptOperations(own *dialect.Dialect) string {
	all, err := dialect.All()
	if err != nil {
		return ""
	}
	mine, _ := own.TemplateOperation("prompt")
	var families, others []string
	for _, d := range all {
		o, ok := d.TemplateOperation("prompt")
		if !ok || mine != nil && o.Name == mine.Name || slices.Contains(families, d.Family) {
			continue
		}
		families = append(families, d.Family)
		method, path, _ := strings.Cut(o.Name, " ")
		path = d.Base + d.AtEndpoint(spec.Request{Target: path}).Target
		others = append(others, fmt.Sprintf("%s has %s %s", d.Family, method, path))
	}
	return strings.Join(others, ", ")
}

// redirectBase returns the base URL that avoids the redirect in exchange o. The argument d is the
// dialect of the exchange. The result is the URL in the header field Location, without user name,
// password and the path of the operation. It is "" if that URL is invalid, has no host or does not
// end with the path of the operation.
func redirectBase(d *dialect.Dialect, o exchangeSummary) string {
	u, err := url.Parse(o.header.Get("Location"))
	_, path, _ := strings.Cut(o.operation, " ")
	path = d.AtEndpoint(spec.Request{Target: path}).Target
	if err != nil || u.Host == "" || !strings.HasSuffix(u.Path, path) {
		return ""
	}
	u.Path = strings.TrimSuffix(u.Path, path)
	return withoutUserinfo(u)
}

// withoutUserinfo returns u as a string, without user name and password.
func withoutUserinfo(u *url.URL) string {
	without := *u
	without.User = nil
	return without.String()
}
