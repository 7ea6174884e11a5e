package mutant

import (
	"bytes"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/streamassay/streamassay/spec"
)

// accepting makes a server that does not see faults for which these requirements want a
// refusal: it answers as if it had been asked what it was asked without fault before.
func accepting(laws ...string) twist {
	return func(next http.Handler) http.Handler {
		kept := twins{}
		return seeing(func(w http.ResponseWriter, v view, next http.Handler) {
			r := v.http
			if len(v.heard().Violations) == 0 {
				kept.note(v)
			} else if len(v.demanded(laws)) > 0 {
				if twin, ok := kept.of(v); ok {
					r = v.as(twin)
				}
			}
			next.ServeHTTP(w, r)
		})(next)
	}
}

// twins are the last requests without fault, by operation and who asks, and among them by
// conversation.
type twins struct {
	mu   sync.Mutex
	last map[string]spec.Request
}

func twinKeys(v view) []string {
	who := v.heard().Operation + "\x00" + v.http.Header.Get("Authorization") + "\x00"
	return []string{who + v.heard().Thread, who}
}

func (t *twins) note(v view) {
	if v.heard().Text != "" && !strings.HasPrefix(v.heard().Text, "conformance:text ") { // that may take its time
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.last == nil {
		t.last = map[string]spec.Request{}
	}
	for _, key := range twinKeys(v) {
		t.last[key] = v.request
	}
}

func (t *twins) of(v view) (r spec.Request, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, key := range twinKeys(v) {
		if r, ok = t.last[key]; ok {
			return r, true
		}
	}
	return r, false
}

// otherStatus makes a server that refuses with another status where these requirements
// are behind the refusal.
func otherStatus(status int, laws ...string) twist {
	return replying(func(v view, a *reply) {
		if a.status >= 400 && len(v.demanded(laws)) > 0 {
			a.status = status
		}
	})
}

// miscoded makes a server that refuses without the words which these requirements want: a
// code, or a text.
func miscoded(laws ...string) twist {
	return replying(func(v view, a *reply) {
		if a.status < 400 {
			return
		}
		for _, d := range v.demanded(laws) {
			for _, code := range d.Code {
				a.body = bytes.ReplaceAll(a.body, []byte(`"`+code+`"`), []byte(`"SOMETHING_ELSE"`))
			}
			if d.Text != "" {
				a.body = bytes.ReplaceAll(a.body, []byte(d.Text), []byte("something is wrong"))
			}
		}
	})
}

// refusing makes a server that refuses requests without fault: those of which it is said.
// It does so in its own words: it is asked for something that has a fault.
func refusing(which func(v view) bool) twist {
	return seeing(func(w http.ResponseWriter, v view, next http.Handler) {
		r := v.http
		if v.heard().Valid() && which(v) {
			if bad, ok := v.spoiled(); ok {
				r = v.as(bad)
			}
		}
		next.ServeHTTP(w, r)
	})
}

// carrying are requests that exercise a requirement.
func carrying(law string) func(v view) bool {
	return func(v view) bool {
		return slices.ContainsFunc(v.heard().Exercised, func(id string) bool { return matches([]string{law}, id) })
	}
}

// spoiled is the request with a fault for which it is refused: JSON that ends too early, or
// else what the document says is refused with 400 or 422.
func (v view) spoiled() (spec.Request, bool) {
	if n := len(v.request.Body); n > 0 && v.request.Body[n-1] == '}' {
		cut := v.request
		cut.Body = cut.Body[:n-1]
		return cut, true
	}
	for _, m := range v.dialect.InvalidRequests(v.request) {
		for _, d := range v.dialect.ValidateRequest(m.Request)[0].Refusals {
			if slices.Contains(d.Status, "422") || slices.Contains(d.Status, "400") {
				return m.Request, true
			}
		}
	}
	return spec.Request{}, false
}

// accepts is a server that accepts what breaks these requirements. What they demand
// besides, codes and texts of the refusal, is broken with them.
func accepts(name, doc, besides string, laws ...string) *Mutant {
	return &Mutant{
		Name: name, Doc: doc, Breaks: append(strings.Fields(besides), laws...),
		Kills: map[string]string{"refuse.as-documented": "http.request"},
		Twist: accepting(laws...),
	}
}

// answers is a server that refuses what breaks these requirements with another status than
// they want.
func answers(status int, name, doc string, laws ...string) *Mutant {
	return &Mutant{
		Name: name, Doc: doc, Breaks: laws,
		Kills: map[string]string{"refuse.as-documented": "http.request"},
		Twist: otherStatus(status, laws...),
	}
}

// and is the mutant with other requirements that it breaks: a refusal with a status that the
// document does not have has no code that anybody could read.
func (m *Mutant) and(laws ...string) *Mutant {
	m.Breaks = append(m.Breaks, laws...)
	return m
}

// also is the mutant with other checks that rightly turn red.
func (m *Mutant) also(checks ...string) *Mutant {
	m.Also = append(m.Also, checks...)
	return m
}

// not is the mutant without dialects in which its fault is none.
func (m *Mutant) not(dialects ...string) *Mutant {
	m.Not = append(m.Not, dialects...)
	return m
}

// mutters is a server that refuses rightly, but without the words that these requirements
// want.
func mutters(name, doc string, laws ...string) *Mutant {
	return &Mutant{
		Name: name, Doc: doc, Breaks: laws,
		Kills: map[string]string{"refuse.as-documented": "http.request"},
		Twist: miscoded(laws...),
	}
}

// What comes with most refusals of runs.
const (
	inputCode    = "runs.errors.code-run-input"
	messagesCode = "runs.errors.code-run-messages"
)

// Each of these is one place where a server can be careless with what it is sent. It is
// named by the requirements behind the refusal, so the dialects that have them are found.
var refuseMutants = slices.Concat(refuseBodies, refuseMessages, refuseStreams, refuseUploads, refuseOthers)

// What stands in a request for a run.
var refuseBodies = []*Mutant{
	accepts("takes-no-thread", "a run of no conversation is accepted", inputCode, "runs.create.thread-required"),
	accepts("takes-any-thread", "a thread that is no UUID is accepted", inputCode+" runs.errors.text-thread", "runs.create.thread-uuid"),
	answers(400, "thread-type-400", "a thread of the wrong type is refused with 400", "runs.create.thread-type"),
	mutters("thread-without-text", "what is wrong with a thread is not said in the documented words", "runs.errors.text-thread"),
	accepts("takes-no-run", "a run without an id is accepted", inputCode, "runs.create.run-required"),
	answers(400, "run-type-400", "a run id of the wrong type is refused with 400", "runs.create.run-type"),
	accepts("takes-long-run-ids", "a run id of 129 characters is accepted", inputCode+" runs.errors.text-run", "runs.create.run-128"),
	mutters("run-without-text", "that a run id is too long is not said in the documented words", "runs.errors.text-run"),
	accepts("takes-large-payloads", "a request of more than 256 KiB is accepted",
		inputCode+" runs.errors.text-payload runs.create.payload-422", "runs.create.payload-256k"),
	answers(413, "payload-413", "a request that is too large is refused with 413", "runs.create.payload-422"),
	answers(500, "payload-500", "a request that is too large is the server's fault", "runs.create.payload-256k", "runs.create.payload-422").and(inputCode),
	mutters("payload-without-text", "that a request is too large is not said in the documented words", "runs.errors.text-payload"),
	accepts("takes-no-object", "a body that is no object is accepted", inputCode+" runs.create.other-types", "runs.create.structure"),
	answers(400, "structure-400", "a body that is no object is refused with 400", "runs.create.structure", "runs.create.other-types"),
	accepts("takes-wrong-types", "members of the wrong type are accepted", inputCode+" "+messagesCode+" runs.create.structure", "runs.create.other-types"),
	// The older version knows no mode.
	accepts("takes-no-mode", "a run without a mode is accepted", inputCode, "runs.create.mode-required").not("runs@2026-03"),
	accepts("takes-any-mode", "a mode that nobody knows is accepted", inputCode, "runs.create.mode-enum").not("runs@2026-03"),
	answers(400, "mode-400", "a mode that nobody knows is refused with 400", "runs.create.mode-enum"),
	accepts("takes-any-parent", "a parent that is no text is accepted", inputCode, "runs.create.parent-run"),
	accepts("takes-any-tool", "a tool without a name, description or parameters is accepted", inputCode,
		"runs.create.tool-def-name", "runs.create.tool-def-description", "runs.create.tool-def-parameters"),
	answers(400, "tool-400", "a tool that is not whole is refused with 400",
		"runs.create.tool-def-name", "runs.create.tool-def-description", "runs.create.tool-def-parameters"),
	accepts("takes-any-context", "context without a description or a value is accepted", inputCode,
		"runs.create.context-description", "runs.create.context-value"),
	mutters("input-without-code", "a request that is wrong is refused with a code that nobody knows", inputCode),
}

// What stands in the messages of a run.
var refuseMessages = []*Mutant{
	accepts("takes-no-messages", "a run without messages is accepted", messagesCode, "runs.create.messages-required"),
	answers(400, "messages-type-400", "messages that are no list are refused with 400", "runs.create.messages-type"),
	accepts("takes-many-messages", "201 messages are accepted", messagesCode+" runs.errors.text-messages", "runs.create.messages-200"),
	mutters("messages-without-text", "that there are too many messages is not said in the documented words", "runs.errors.text-messages"),
	accepts("takes-no-user", "messages without one of the user are accepted", messagesCode+" runs.errors.text-one-user", "runs.create.no-user"),
	accepts("takes-two-users", "two messages of the user are accepted", messagesCode+" runs.errors.text-one-user", "runs.create.two-users"),
	mutters("users-without-text", "that there is one message of the user is not said in the documented words", "runs.errors.text-one-user"),
	accepts("takes-any-order", "messages that do not begin with the user's are accepted", messagesCode+" runs.errors.text-first", "runs.create.user-first"),
	mutters("first-without-text", "that the user's message comes first is not said in the documented words", "runs.errors.text-first"),
	accepts("takes-long-texts", "10,001 characters are accepted", messagesCode+" runs.errors.text-text", "runs.create.text-10000"),
	answers(413, "text-413", "a text that is too long is refused with 413", "runs.create.text-10000"),
	mutters("text-without-text", "that a text is too long is not said in the documented words", "runs.errors.text-text"),
	accepts("takes-any-user", "a message of the user without an id or a content is accepted", messagesCode,
		"runs.create.user-id", "runs.create.user-content-type"),
	accepts("takes-any-role", "a role that nobody knows is accepted", messagesCode, "runs.create.role-known"),
	accepts("takes-any-block", "a block of no known type, or without its text, is accepted", messagesCode,
		"runs.create.block-type", "runs.create.text-block"),
	accepts("takes-any-image", "an image without a type, or that is none, is accepted", messagesCode+" runs.errors.text-image",
		"runs.create.binary-mime", "runs.create.binary-image"),
	mutters("image-without-text", "that an image is none is not said in the documented words", "runs.errors.text-image"),
	accepts("takes-images-without-url", "an image without a link is accepted", messagesCode+" runs.errors.text-url", "runs.create.binary-url"),
	accepts("takes-image-data", "an image with its data is accepted", messagesCode+" runs.errors.text-data", "runs.create.binary-no-data"),
	mutters("binary-without-text", "what is wrong with an image is not said in the documented words", "runs.errors.text-url", "runs.errors.text-data"),
	accepts("takes-any-call", "calls of tools that are not whole are accepted", messagesCode,
		"runs.create.toolcall-id", "runs.create.toolcall-type", "runs.create.toolcall-name", "runs.create.toolcall-args"),
	answers(400, "call-400", "calls of tools that are not whole are refused with 400",
		"runs.create.toolcall-id", "runs.create.toolcall-type", "runs.create.toolcall-name", "runs.create.toolcall-args"),
	accepts("takes-any-history", "messages of others than the user that are not whole are accepted", messagesCode,
		"runs.create.system-content", "runs.create.tool-content", "runs.create.tool-call-id", "runs.create.message-ids"),
	mutters("messages-without-code", "messages that are wrong are refused with a code that nobody knows", messagesCode),
}

// What stands in a request for a stream, or for a run to be canceled.
var refuseStreams = []*Mutant{
	accepts("tells-no-run", "a stream of no run is opened", "", "runs.stream.run-required"),
	accepts("tells-any-run", "a stream of a run with an id of 129 characters is opened", "runs.errors.code-run-id", "runs.stream.run-invalid"),
	answers(400, "stream-400", "a stream of no run, or of one with a wrong id, is refused with 400", "runs.stream.run-required", "runs.stream.run-invalid").and("runs.errors.code-run-id"),
	mutters("run-id-without-code", "a run id that is too long is refused with a code that nobody knows", "runs.errors.code-run-id"),
	accepts("takes-any-patience", "limits of silence below 1 and above 3600 are accepted", "", "runs.stream.idle-range"),
	answers(400, "patience-400", "limits of silence out of range are refused with 400", "runs.stream.idle-range"),
	accepts("takes-any-cursor", "a stream that is taken up where nobody knows begins anew", "runs.errors.code-last-event-id", "runs.resume.invalid-422"),
	answers(400, "cursor-400", "a cursor that is none is refused with 400", "runs.resume.invalid-422").and("runs.errors.code-last-event-id"),
	mutters("cursor-without-code", "a cursor that is none is refused with a code that nobody knows", "runs.errors.code-last-event-id"),
	accepts("cancels-no-run", "a cancel of no run is accepted", "", "runs.cancel.run-required"),
	accepts("cancels-any-run", "a cancel of a run with an id of 129 characters is accepted", "", "runs.cancel.run-invalid"),
	answers(400, "cancel-400", "a cancel of no run, or of one with a wrong id, is refused with 400", "runs.cancel.run-required", "runs.cancel.run-invalid"),
}

// What is uploaded.
var refuseUploads = []*Mutant{
	// What is no image is stored as one.
	accepts("stores-anything", "a file that is no image is stored", "", "runs.attachments.type-422").also("attachment.type-as-sent"),
	answers(415, "type-415", "a file that is no image is refused with 415", "runs.attachments.type-422"),
	accepts("stores-nothing", "an empty file is stored", "runs.errors.code-att-empty", "runs.attachments.empty-422"),
	mutters("empty-without-code", "an empty file is refused with a code that nobody knows", "runs.errors.code-att-empty"),
	accepts("stores-for-nobody", "a file for no conversation is stored", "", "runs.attachments.thread-field"),
	accepts("stores-no-file", "a form without a file is accepted", "", "runs.attachments.file-field"),
	accepts("stores-json", "an upload that is no form is accepted", "", "runs.attachments.multipart"),
	answers(500, "upload-500", "an upload that is no form, or not whole, is the server's fault",
		"runs.attachments.multipart", "runs.attachments.thread-field", "runs.attachments.file-field"),
	accepts("signs-for-no-bucket", "a link is signed without a bucket", "", "runs.attachments.signed-bucket"),
	accepts("signs-for-no-path", "a link is signed without a path", "", "runs.attachments.signed-path"),
	answers(500, "sign-500", "that a bucket or a path is missing is the server's fault", "runs.attachments.signed-bucket", "runs.attachments.signed-path"),
	accepts("hears-anything", "a recording of another type is transcribed", "runs.errors.code-audio-format", "runs.transcribe.type"),
	accepts("hears-large-files", "a recording of more than 10 MiB is transcribed", "runs.errors.code-audio-large", "runs.transcribe.size"),
	accepts("hears-nothing", "an empty recording is transcribed", "runs.errors.code-audio-empty", "runs.transcribe.empty"),
	accepts("hears-no-file", "a form without a recording is transcribed", "", "runs.transcribe.field"),
	accepts("hears-json", "a recording that comes in no form is transcribed", "", "runs.transcribe.multipart"),
	mutters("audio-without-code", "recordings are refused with codes that nobody knows",
		"runs.errors.code-audio-format", "runs.errors.code-audio-large", "runs.errors.code-audio-empty"),
}

// What the other documents want refused: they say less of it.
var refuseOthers = []*Mutant{
	accepts("takes-any-method", "another method is served like the one there is", "", "agkit.http.method"),
	answers(400, "method-400", "another method is refused with 400", "agkit.http.method"),
	accepts("takes-broken-json", "a body that is no JSON is answered", "", "agkit.error.malformed"),
	answers(500, "malformed-500", "a body that is no JSON is the server's fault", "agkit.error.malformed"),
	accepts("takes-any-schema", "a body that does not fit the schema is answered", "", "agkit.error.schema"),
	answers(415, "schema-415", "a body that does not fit the schema is refused with 415", "agkit.error.schema"),
	// A request that is answered is refused with no status either.
	accepts("takes-no-input", "a request without input is answered", "agentscope.refusal-status", "agentscope.input-required"),
	accepts("takes-any-n", "a number of answers out of range is accepted", "agentscope.refusal-status", "agentscope.n-range"),
	accepts("takes-other-types", "members of the wrong type are accepted", "agentscope.refusal-status", "agentscope.request-types"),
	answers(500, "refusal-500", "a request that is wrong is the server's fault", "agentscope.refusal-status"),
	accepts("takes-any-request", "whatever is wrong with a request, it is answered", "", "agentscope-java.err.http"),
	answers(200, "refusal-200", "a request is refused with 200", "agentscope-java.err.http"),
}
