package suites

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
)

// word fills in what a reader is told of the cause.
func (c *Cause) word(t Target, parts []Part) {
	if c.Exchange < 0 {
		c.Message, c.Advice = unplayedWords(*c, t, parts)
		return
	}
	c.Message = c.message(t)
	c.Advice = c.advice(t)
	if n := c.count(parts); n > 1 && !c.Fatal {
		c.Message += fmt.Sprintf(" (%d exchanges)", n)
	}
}

// count is how many exchanges show the symptom.
func (c Cause) count(parts []Part) (n int) {
	for _, p := range parts {
		for _, o := range p.outlines {
			if c.Kind != SymptomNotScripted && c.shows(o) {
				n++
			}
		}
	}
	return n
}

func unplayedWords(c Cause, t Target, parts []Part) (message, advice string) {
	message = c.why
	var without []string
	for _, p := range parts {
		if p.Err == nil {
			continue
		}
		if kind, why := kindOf(p.Err); kind == c.Kind && why == c.why {
			without = append(without, p.Scenario.Name)
		}
	}
	if !c.Fatal {
		message += fmt.Sprintf(" (in %d of %d scenarios: %s)", len(without), len(parts), few(without, 4))
	}
	switch {
	case c.Kind == SymptomInterrupted:
		return message, "what was heard until then is judged"
	case c.Kind == SymptomHarness:
		return message, "this is a fault of streamassay or of its configuration, not of the target"
	case !c.Fatal:
		return message, "the target answered before: did it crash, or was it stopped? Its log says more"
	case strings.Contains(c.why, "no host of this name"):
		return message, "is the host of the URL spelled right?"
	case strings.Contains(c.why, "connection refused"):
		return message, "start the server first, and check host and port of the URL"
	}
	return message, ""
}

// few names the first of a list.
func few(names []string, most int) string {
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s, … and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

// answered says how a request was answered: "was answered 404 Not Found {…}".
func (o outline) answered() string {
	if o.status == 0 {
		switch o.symptom {
		case SymptomClosed:
			return "got no answer: the server closed the connection"
		case SymptomNotHTTP, SymptomNoAnswer:
			return "got no answer: " + o.ending()
		}
		return "got no answer"
	}
	s := fmt.Sprintf("was answered %s", statusLine(o.status, o.reason))
	media := o.header.MediaType()
	switch body := brief(o.look); {
	case o.symptom == "" || body == "":
	case o.status/100 == 2 || media == "text/html":
		s += fmt.Sprintf(" with content type %s", cmp.Or(media, "none"))
	default:
		s += " " + body
	}
	return s
}

// ending says how an answer ended: the detail, where there is one.
func (o outline) ending() string {
	why := fmt.Sprint(o.end)
	if _, detail, ok := strings.Cut(why, ": "); ok && o.symptom != SymptomNotHTTP {
		return detail
	}
	return why
}

func statusLine(status int, reason string) string {
	return strings.TrimSpace(fmt.Sprintf("%d %s", status, cmp.Or(reason, http.StatusText(status))))
}

func (c Cause) message(t Target) string {
	o := c.like
	switch c.Kind {
	case SymptomPath:
		return fmt.Sprintf("%s %s: is the base URL right?", o.op, o.answered())
	case SymptomCredentials:
		if t.knowsUser() {
			return fmt.Sprintf("%s %s: the credentials of --header are not accepted", o.op, o.answered())
		}
		return fmt.Sprintf("%s %s: the target wants credentials, and --header gives none", o.op, o.answered())
	case SymptomRedirect:
		return fmt.Sprintf("%s %s to %s: redirects are not followed", o.op, o.answered(), cmp.Or(brief([]byte(o.header.Get("Location"))), "nowhere"))
	case SymptomRefused:
		return fmt.Sprintf("%s %s, though the request is valid in %s", o.op, o.answered(), t.Dialect.Name)
	case SymptomServerError, SymptomNotHTTP, SymptomNoAnswer:
		return fmt.Sprintf("%s %s", o.op, o.answered())
	case SymptomClosed:
		if t.Base != nil && t.Base.Scheme == "http" && c.Fatal {
			return fmt.Sprintf("%s %s: does it speak TLS on this port, or did it crash?", o.op, o.answered())
		}
		return fmt.Sprintf("%s %s: did it crash?", o.op, o.answered())
	case SymptomNotAStream:
		return fmt.Sprintf("%s was answered %s with content type %s, not text/event-stream: %s", o.op,
			statusLine(o.status, o.reason), cmp.Or(o.header.MediaType(), "none"), brief(o.look))
	case SymptomCoding:
		s := fmt.Sprintf("the answer to %s is encoded as %s, which was not asked for", o.op, brief([]byte(o.header.Get("Content-Encoding"))))
		if c.Fatal {
			s += " and cannot be read"
		}
		return s
	case SymptomNotAccepted:
		return fmt.Sprintf("%s was answered %s, and not as %s says that a run is accepted: %s", o.op,
			statusLine(o.status, o.reason), t.Dialect.Name, cmp.Or(brief(o.look), "no body"))
	}
	return c.streamMessage(t)
}

// streamMessage is of a stream that began.
func (c Cause) streamMessage(t Target) string {
	o := c.like
	switch c.Kind {
	case SymptomEmpty:
		if o.done {
			return fmt.Sprintf("the stream that answers %s ends without any event", o.op)
		}
		return fmt.Sprintf("the stream that answers %s is empty", o.op)
	case SymptomNoData:
		return fmt.Sprintf("the stream that answers %s has no line that begins with \"data:\": %s", o.op, brief(o.look))
	case SymptomNoBlankLine:
		return fmt.Sprintf("no event of the stream that answers %s is followed by a blank line: %s", o.op, brief(o.look))
	case SymptomNotJSON:
		return fmt.Sprintf("the events of the stream that answers %s are not JSON: %s", o.op, brief(o.look))
	case SymptomOtherDialect:
		s := fmt.Sprintf("the events of the stream that answers %s are not those of %s", o.op, t.Dialect.Name)
		if like := resembling(t.Dialect, o); like != "" {
			s += ": this looks like " + like
		}
		return s + ": " + brief(o.look)
	case SymptomNotEnded:
		return fmt.Sprintf("the stream of scenario %s (%s) had not ended when it was given up: %v", c.Scenario, o.op, o.end)
	case SymptomRunFailed:
		return fmt.Sprintf("every run failed, that of scenario %s with %q", c.Scenario, o.failure)
	case SymptomNoText:
		return fmt.Sprintf("the stream that answers %s has no readable text: it begins with %s", o.op, brief(o.first))
	case SymptomNotScripted:
		return fmt.Sprintf("the target does not follow the test prompts: asked %q, it said %q", brief([]byte(o.asked)), brief([]byte(o.said)))
	}
	return c.Kind
}

func (c Cause) advice(t Target) string {
	o := c.like
	switch c.Kind {
	case SymptomPath:
		s := fmt.Sprintf("%s asks %s below the base URL", t.Dialect.Name, o.op)
		if t.Base != nil {
			s += " " + plain(t.Base)
		}
		if others := elsewhere(t.Dialect); others != "" {
			s += "; if the server speaks another dialect, name it with --dialect: " + others
		}
		return s
	case SymptomCredentials:
		if t.knowsUser() {
			return "check the value of --header; it may have expired"
		}
		return "add them: --header 'Authorization: Bearer …' (or the header that the target wants)"
	case SymptomRedirect:
		if to := ledTo(o); to != "" {
			return "run it against " + to
		}
		return "run it against the URL that it leads to"
	case SymptomRefused:
		if o.status == http.StatusTooManyRequests {
			return "ask for less at once: --parallel 1"
		}
		return "the body of the answer says what the target objects to; is it the right dialect?"
	case SymptomClosed:
		if t.Base != nil && t.Base.Scheme == "http" {
			return "if it speaks TLS, the URL begins with https://; if not, the log of the server says more"
		}
		return "the log of the server says more"
	case SymptomServerError:
		return "the log of the server says more"
	case SymptomNotAccepted:
		if like := resembling(t.Dialect, o); like != "" && o.header.MediaType() == spec.EventStream {
			return "the answer is itself a stream, and looks like " + like + ": try --dialect " + like
		}
		return "is it the right dialect?"
	case SymptomNotHTTP:
		return "is this the port of the HTTP server?"
	case SymptomNoAnswer:
		return "is the server busy or blocked? --timeout says how long it is waited for"
	case SymptomNotAStream:
		return notAStreamAdvice(o)
	}
	return c.streamAdvice(t)
}

func notAStreamAdvice(o outline) string {
	switch media := o.header.MediaType(); {
	case media == "text/html":
		return "that is a web page: is the base URL right?"
	case media == "application/json":
		return "it was asked for with Accept: text/event-stream; does the server stream on another path, or only if it is told to?"
	}
	return "the answer has to say Content-Type: text/event-stream"
}

func (c Cause) streamAdvice(t Target) string {
	switch c.Kind {
	case SymptomNoData:
		if look := strings.TrimSpace(string(c.like.look)); strings.HasPrefix(look, "{") {
			return "these are lines of JSON; in an event stream each is \"data: {…}\" with a blank line after it"
		}
		return "in an event stream each event is \"data: {…}\" with a blank line after it"
	case SymptomNoBlankLine:
		return "a client sees an event only when the blank line after it has come"
	case SymptomCoding:
		return "the request says Accept-Encoding: identity; does a proxy compress?"
	case SymptomNotJSON:
		return fmt.Sprintf("in %s the data of each event is one JSON object", t.Dialect.Name)
	case SymptomOtherDialect:
		if like := resembling(t.Dialect, c.like); like != "" {
			return "try --dialect " + like
		}
		return "no dialect that streamassay knows looks like this: " + strings.Join(dialect.Names(), ", ")
	case SymptomNotEnded:
		return "a stream ends when its run has ended; --timeout says how long it is waited for"
	case SymptomRunFailed:
		return "can the agent behind the server work (model, keys)? Its log says more"
	case SymptomNoText:
		return fmt.Sprintf("it can be read as %s, but no event in it is one of the answer's text: are type and members spelled as the document has them? streamassay spec %s", t.Dialect.Name, t.Dialect.Name)
	case SymptomNotScripted:
		return "what only these prompts provoke (tools, failures, pauses: docs/prompts.md) is not judged; teach the target to follow them, or say --lacks scripted; if it does follow them: --claim scripted"
	}
	return ""
}

// resembling names the dialect that understands a stream best, "" if none does.
func resembling(own *dialect.Dialect, o outline) string {
	all, err := dialect.All()
	if err != nil {
		return ""
	}
	best, share := "", 0.79
	for _, d := range all {
		if d.Name == own.Name {
			continue
		}
		like := outline{}
		x := spec.Exchange{Response: spec.Response{Status: 200, Header: spec.Header{{Name: "Content-Type", Value: spec.EventStream}}, Body: o.look, End: spec.ErrClientLeft}}
		for e := range d.Events(spec.Trace{Exchanges: []spec.Exchange{x}}) {
			like.note(e)
		}
		if s := float64(like.good) / float64(max(1, like.frames)); s > share || s == share && dialect.IsDefault(d.Name) {
			best, share = d.Name, s
		}
	}
	return best
}

// elsewhere says what the other dialects ask for, each family once.
func elsewhere(own *dialect.Dialect) string {
	all, err := dialect.All()
	if err != nil {
		return ""
	}
	mine, _ := own.Phrase("prompt")
	var families, others []string
	for _, d := range all {
		o, ok := d.Phrase("prompt")
		if !ok || mine != nil && o.Name == mine.Name || slices.Contains(families, d.Family) {
			continue
		}
		families = append(families, d.Family)
		method, path, _ := strings.Cut(o.Name, " ")
		others = append(others, fmt.Sprintf("%s asks %s %s", d.Family, method, d.Base+path))
	}
	return strings.Join(others, ", ")
}

// ledTo is the base URL that a redirect leads to, where that can be told.
func ledTo(o outline) string {
	u, err := url.Parse(o.header.Get("Location"))
	_, path, _ := strings.Cut(o.op, " ")
	if err != nil || u.Host == "" || !strings.HasSuffix(u.Path, path) {
		return ""
	}
	u.Path = strings.TrimSuffix(u.Path, path)
	return plain(u)
}

// plain is a URL without the credentials in it.
func plain(u *url.URL) string {
	without := *u
	without.User = nil
	return without.String()
}
