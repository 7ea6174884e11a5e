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

// setText fills in what a reader is told of the cause.
func (c *Cause) setText(t Target, parts []ScenarioResult) {
	if c.Exchange < 0 {
		c.Message, c.Advice = unplayedText(*c, t, parts)
		return
	}
	c.Message = c.message(t)
	c.Advice = c.advice(t)
	if n := c.countExchanges(parts); n > 1 && !c.Fatal {
		c.Message += fmt.Sprintf(" (%d exchanges)", n)
	}
}

// countExchanges is how many exchanges show the symptom.
func (c Cause) countExchanges(parts []ScenarioResult) (n int) {
	for _, p := range parts {
		for _, o := range p.summaries {
			if c.Kind != SymptomNotScripted && c.matchesSymptom(o) {
				n++
			}
		}
	}
	return n
}

func unplayedText(c Cause, t Target, parts []ScenarioResult) (message, advice string) {
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
	case c.Kind == SymptomInterrupted:
		return message, "what was heard until then is judged"
	case c.Kind == SymptomNotSent:
		return message, "this is a fault of streamassay or of its configuration, not of the target"
	case !c.Fatal:
		return message, "the target answered before: did it crash, or was it stopped? Its log says more"
	case strings.Contains(c.reason, "no host of this name"):
		return message, "is the host of the URL spelled right?"
	case strings.Contains(c.reason, "connection refused"):
		return message, "start the server first, and check host and port of the URL"
	}
	return message, ""
}

// joinFirst names the first of a list.
func joinFirst(names []string, most int) string {
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s, … and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

// describeResponse says how a request was answered: "was answered 404 Not Found {…}".
func (o exchangeSummary) describeResponse() string {
	if o.status == 0 {
		switch o.symptom {
		case SymptomClosed:
			return "got no answer: the server closed the connection"
		case SymptomNotHTTP, SymptomNoResponse:
			return "got no answer: " + o.describeEnd()
		}
		return "got no answer"
	}
	s := fmt.Sprintf("was answered %s", statusLine(o.status, o.reason))
	media := o.header.MediaType()
	switch body := excerpt(o.bodyPrefix); {
	case o.symptom == "" || body == "":
	case o.status/100 == 2 || media == "text/html":
		s += fmt.Sprintf(" with content type %s", cmp.Or(media, "none"))
	default:
		s += " " + body
	}
	return s
}

// describeEnd says how an answer ended: the detail, where there is one.
func (o exchangeSummary) describeEnd() string {
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
	o := c.exchange
	switch c.Kind {
	case SymptomNotFound:
		return fmt.Sprintf("%s %s: is the base URL right?", o.operation, o.describeResponse())
	case SymptomCredentials:
		if t.hasUserCredentials() {
			return fmt.Sprintf("%s %s: the credentials of --header are not accepted", o.operation, o.describeResponse())
		}
		return fmt.Sprintf("%s %s: the target wants credentials, and --header gives none", o.operation, o.describeResponse())
	case SymptomRedirect:
		return fmt.Sprintf("%s %s to %s: redirects are not followed", o.operation, o.describeResponse(), cmp.Or(excerpt([]byte(o.header.Get("Location"))), "nowhere"))
	case SymptomRefused:
		return fmt.Sprintf("%s %s, though the request is valid in %s", o.operation, o.describeResponse(), t.Dialect.Name)
	case SymptomServerError, SymptomNotHTTP, SymptomNoResponse:
		return fmt.Sprintf("%s %s", o.operation, o.describeResponse())
	case SymptomClosed:
		if t.Base != nil && t.Base.Scheme == "http" && c.Fatal {
			return fmt.Sprintf("%s %s: does it speak TLS on this port, or did it crash?", o.operation, o.describeResponse())
		}
		return fmt.Sprintf("%s %s: did it crash?", o.operation, o.describeResponse())
	case SymptomNotEventStream:
		return fmt.Sprintf("%s was answered %s with content type %s, not text/event-stream: %s", o.operation,
			statusLine(o.status, o.reason), cmp.Or(o.header.MediaType(), "none"), excerpt(o.bodyPrefix))
	case SymptomContentCoding:
		s := fmt.Sprintf("the answer to %s is encoded as %s, which was not asked for", o.operation, excerpt([]byte(o.header.Get("Content-Encoding"))))
		if c.Fatal {
			s += " and cannot be read"
		}
		return s
	case SymptomNotAccepted:
		return fmt.Sprintf("%s was answered %s, and not as %s says that a run is accepted: %s", o.operation,
			statusLine(o.status, o.reason), t.Dialect.Name, cmp.Or(excerpt(o.bodyPrefix), "no body"))
	}
	return c.streamMessage(t)
}

// streamMessage is of a stream that began.
func (c Cause) streamMessage(t Target) string {
	o := c.exchange
	switch c.Kind {
	case SymptomEmpty:
		if o.terminated {
			return fmt.Sprintf("the stream that answers %s ends without any event", o.operation)
		}
		return fmt.Sprintf("the stream that answers %s is empty", o.operation)
	case SymptomNoData:
		return fmt.Sprintf("the stream that answers %s has no line that begins with \"data:\": %s", o.operation, excerpt(o.bodyPrefix))
	case SymptomNoBlankLine:
		return fmt.Sprintf("no event of the stream that answers %s is followed by a blank line: %s", o.operation, excerpt(o.bodyPrefix))
	case SymptomNotJSON:
		return fmt.Sprintf("the events of the stream that answers %s are not JSON: %s", o.operation, excerpt(o.bodyPrefix))
	case SymptomOtherDialect:
		s := fmt.Sprintf("the events of the stream that answers %s are not those of %s", o.operation, t.Dialect.Name)
		if like := similarDialect(t.Dialect, o); like != "" {
			s += ": this looks like " + like
		}
		return s + ": " + excerpt(o.bodyPrefix)
	case SymptomNotEnded:
		return fmt.Sprintf("the stream of scenario %s (%s) had not ended when it was given up: %v", c.Scenario, o.operation, o.end)
	case SymptomRunFailed:
		return fmt.Sprintf("every run failed, that of scenario %s with %q", c.Scenario, o.failureText)
	case SymptomNoText:
		return fmt.Sprintf("the stream that answers %s has no readable text: it begins with %s", o.operation, excerpt(o.firstFrame))
	case SymptomNotScripted:
		return fmt.Sprintf("the target does not follow the test prompts: asked %q, it said %q", excerpt([]byte(o.prompt)), excerpt([]byte(o.responseText)))
	}
	return c.Kind
}

func (c Cause) advice(t Target) string {
	o := c.exchange
	switch c.Kind {
	case SymptomNotFound:
		s := fmt.Sprintf("%s asks %s below the base URL", t.Dialect.Name, o.operation)
		if t.Base != nil {
			s += " " + withoutUserinfo(t.Base)
		}
		if others := otherPromptOperations(t.Dialect); others != "" {
			s += "; if the server speaks another dialect, name it with --dialect: " + others
		}
		return s
	case SymptomCredentials:
		if t.hasUserCredentials() {
			return "check the value of --header; it may have expired"
		}
		return "add them: --header 'Authorization: Bearer …' (or the header that the target wants)"
	case SymptomRedirect:
		if to := redirectBase(o); to != "" {
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
		if like := similarDialect(t.Dialect, o); like != "" && o.header.MediaType() == spec.EventStream {
			return "the answer is itself a stream, and looks like " + like + ": try --dialect " + like
		}
		return "is it the right dialect?"
	case SymptomNotHTTP:
		return "is this the port of the HTTP server?"
	case SymptomNoResponse:
		return "is the server busy or blocked? --timeout says how long it is waited for"
	case SymptomNotEventStream:
		return notAStreamAdvice(o)
	}
	return c.streamAdvice(t)
}

func notAStreamAdvice(o exchangeSummary) string {
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
		if look := strings.TrimSpace(string(c.exchange.bodyPrefix)); strings.HasPrefix(look, "{") {
			return "these are lines of JSON; in an event stream each is \"data: {…}\" with a blank line after it"
		}
		return "in an event stream each event is \"data: {…}\" with a blank line after it"
	case SymptomNoBlankLine:
		return "a client sees an event only when the blank line after it has come"
	case SymptomContentCoding:
		return "the request says Accept-Encoding: identity; does a proxy compress?"
	case SymptomNotJSON:
		return fmt.Sprintf("in %s the data of each event is one JSON object", t.Dialect.Name)
	case SymptomOtherDialect:
		if like := similarDialect(t.Dialect, c.exchange); like != "" {
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

// similarDialect names the dialect that understands a stream best, "" if none does.
func similarDialect(own *dialect.Dialect, o exchangeSummary) string {
	all, err := dialect.All()
	if err != nil {
		return ""
	}
	best, share := "", 0.79
	for _, d := range all {
		if d.Name == own.Name {
			continue
		}
		like := exchangeSummary{}
		x := spec.Exchange{Response: spec.Response{Status: 200, Header: spec.Header{{Name: "Content-Type", Value: spec.EventStream}}, Body: o.bodyPrefix, End: spec.ErrClientLeft}}
		for e := range d.Events(spec.Trace{Exchanges: []spec.Exchange{x}}) {
			like.addEvent(e)
		}
		if s := float64(like.validFrames) / float64(max(1, like.frames)); s > share || s == share && dialect.IsDefault(d.Name) {
			best, share = d.Name, s
		}
	}
	return best
}

// otherPromptOperations says what the other dialects ask for, each family once.
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
		others = append(others, fmt.Sprintf("%s asks %s %s", d.Family, method, d.Base+path))
	}
	return strings.Join(others, ", ")
}

// redirectBase is the base URL that a redirect leads to, where that can be told.
func redirectBase(o exchangeSummary) string {
	u, err := url.Parse(o.header.Get("Location"))
	_, path, _ := strings.Cut(o.operation, " ")
	if err != nil || u.Host == "" || !strings.HasSuffix(u.Path, path) {
		return ""
	}
	u.Path = strings.TrimSuffix(u.Path, path)
	return withoutUserinfo(u)
}

// withoutUserinfo is a URL without the credentials in it.
func withoutUserinfo(u *url.URL) string {
	without := *u
	without.User = nil
	return without.String()
}
