// Package mutation proves that the checks can fail. A mutant is a correct server with one defect that
// violates one clause of a protocol document. The suite runs against it, and its results are
// compared with what the clause requires: the requirement must fail by a check that serves it, at
// the expected place, and nothing else may fail.
package mutation

import (
	"bytes"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/streamassay/streamassay/spec"
)

// acceptInvalid returns a middleware that accepts requests that the server should refuse because of
// the given requirements. Instead of such a request it serves the last valid request of the same
// user for the same operation. If there was none, the request is refused.
func acceptInvalid(requirements ...string) middleware {
	return func(next http.Handler) http.Handler {
		lastValid := lastValidRequests{}
		return interceptRequests(func(w http.ResponseWriter, v parsedRequest, next http.Handler) {
			r := v.httpRequest
			if len(v.parsed().Violations) == 0 {
				lastValid.remember(v)
			} else if len(v.expectedRefusals(requirements)) > 0 {
				if twin, ok := lastValid.find(v); ok {
					r = v.withRequest(twin)
				}
			}
			next.ServeHTTP(w, r)
		})(next)
	}
}

// A lastValidRequests holds the last valid request for each operation, user and thread, and also
// the last one for each operation and user in any thread.
type lastValidRequests struct {
	mu    sync.Mutex
	byKey map[string]spec.Request
}

func lastValidKeys(v parsedRequest) []string {
	who := v.parsed().Operation + "\x00" + v.httpRequest.Header.Get("Authorization") + "\x00"
	return []string{who + v.parsed().Thread, who}
}

func (t *lastValidRequests) remember(v parsedRequest) {
	if v.parsed().Text != "" && !strings.HasPrefix(v.parsed().Text, "conformance:text ") { // other prompts may take long
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.byKey == nil {
		t.byKey = map[string]spec.Request{}
	}
	for _, key := range lastValidKeys(v) {
		t.byKey[key] = v.raw
	}
}

func (t *lastValidRequests) find(v parsedRequest) (r spec.Request, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, key := range lastValidKeys(v) {
		if r, ok = t.byKey[key]; ok {
			return r, true
		}
	}
	return r, false
}

// refuseWithStatus returns a middleware that replaces the status of refusals by the given one. It
// affects only refusals that the given requirements prescribe.
func refuseWithStatus(status int, requirements ...string) middleware {
	return editResponses(func(v parsedRequest, a *plainResponse) {
		if a.status >= 400 && len(v.expectedRefusals(requirements)) > 0 {
			a.status = status
		}
	})
}

// hideRefusalText returns a middleware that replaces codes and texts in refusals by meaningless
// ones. It affects only codes and texts that the given requirements prescribe.
func hideRefusalText(requirements ...string) middleware {
	return editResponses(func(v parsedRequest, a *plainResponse) {
		if a.status < 400 {
			return
		}
		for _, d := range v.expectedRefusals(requirements) {
			for _, code := range d.Code {
				a.body = bytes.ReplaceAll(a.body, []byte(`"`+code+`"`), []byte(`"SOMETHING_ELSE"`))
			}
			if d.Text != "" {
				a.body = bytes.ReplaceAll(a.body, []byte(d.Text), []byte("something is wrong"))
			}
		}
	})
}

// refuseValid returns a middleware that makes the server refuse a valid request v if which(v) is
// true. It makes the request invalid before the server sees it, so that the refusal is the server's
// own.
func refuseValid(which func(v parsedRequest) bool) middleware {
	return interceptRequests(func(w http.ResponseWriter, v parsedRequest, next http.Handler) {
		r := v.httpRequest
		if v.parsed().Valid() && which(v) {
			if bad, ok := v.withDefect(); ok {
				r = v.withRequest(bad)
			}
		}
		next.ServeHTTP(w, r)
	})
}

// exercisesRequirement returns a function that reports whether a request exercises the given
// requirement. The argument is the id of a requirement, or a glob of ids of which the request must
// exercise at least one.
func exercisesRequirement(requirement string) func(v parsedRequest) bool {
	return func(v parsedRequest) bool {
		return slices.ContainsFunc(v.parsed().Exercised, func(id string) bool {
			return matchesAny([]string{requirement}, id)
		})
	}
}

// withDefect returns a variant of the request that the server refuses. If the body ends with a
// brace, the variant lacks that brace. Otherwise the variant is one that the document requires to
// be refused with status 400 or 422. If there is none, withDefect returns false.
func (v parsedRequest) withDefect() (spec.Request, bool) {
	if n := len(v.raw.Body); n > 0 && v.raw.Body[n-1] == '}' {
		cut := v.raw
		cut.Body = cut.Body[:n-1]
		return cut, true
	}
	for _, m := range v.dialect.InvalidRequests(v.raw) {
		for _, d := range v.dialect.ValidateRequest(m.Request)[0].Refusals {
			if slices.Contains(d.Status, "422") || slices.Contains(d.Status, "400") {
				return m.Request, true
			}
		}
	}
	return spec.Request{}, false
}

// acceptingMutant returns a mutant that accepts requests that violate the given requirements.
// others contains the ids, separated by spaces, of requirements on the refusal itself, such as its
// code and text, which the mutant thereby violates, too.
func acceptingMutant(name, doc, others string, requirements ...string) *Mutant {
	return &Mutant{
		Name: name, Doc: doc, Violates: append(strings.Fields(others), requirements...),
		KilledBy:   map[string]string{"refuse.as-documented": "http.request"},
		Middleware: acceptInvalid(requirements...),
	}
}

// wrongStatusMutant returns a mutant that refuses violations of the given requirements with the
// given status instead of the prescribed one.
func wrongStatusMutant(status int, name, doc string, requirements ...string) *Mutant {
	return &Mutant{
		Name: name, Doc: doc, Violates: requirements,
		KilledBy:   map[string]string{"refuse.as-documented": "http.request"},
		Middleware: refuseWithStatus(status, requirements...),
	}
}

// alsoViolating adds requirements to those that the mutant violates, and returns the mutant. The
// requirements are those on the code of a refusal: a refusal with an undocumented status has no
// code, so that the mutant violates them, too.
func (m *Mutant) alsoViolating(requirements ...string) *Mutant {
	m.Violates = append(m.Violates, requirements...)
	return m
}

// alsoFailing adds checks that rightly fail for the mutant as well, and returns the mutant.
func (m *Mutant) alsoFailing(checks ...string) *Mutant {
	m.AlsoFails = append(m.AlsoFails, checks...)
	return m
}

// exceptIn adds dialects that permit the behavior of the mutant, in which the mutant is therefore
// not run, and returns the mutant.
func (m *Mutant) exceptIn(dialects ...string) *Mutant {
	m.ExceptIn = append(m.ExceptIn, dialects...)
	return m
}

// wrongTextMutant returns a mutant whose refusals have another text or code than the given
// requirements prescribe.
func wrongTextMutant(name, doc string, requirements ...string) *Mutant {
	return &Mutant{
		Name: name, Doc: doc, Violates: requirements,
		KilledBy:   map[string]string{"refuse.as-documented": "http.request"},
		Middleware: hideRefusalText(requirements...),
	}
}

// The ids of the requirements on the codes in refusals of requests to start a run. Most mutants
// that accept an invalid request violate one of these requirements, too.
const (
	inputCode    = "runs.errors.code-run-input"
	messagesCode = "runs.errors.code-run-messages"
)

// refuseMutants are servers that each handle one kind of invalid request wrongly. Each mutant is
// defined by the requirements that prescribe the refusal, so it applies to every dialect that has
// one of these requirements.
var refuseMutants = slices.Concat(
	refuseBodyMutants, refuseMessageMutants, refuseStreamMutants, refuseUploadMutants, refuseOtherMutants,
)

// refuseBodyMutants are servers that wrongly accept requests to start a run with an invalid body,
// or refuse such requests with a wrong status, text or code. The list refuseMessageMutants is for
// bodies with invalid messages.
var refuseBodyMutants = []*Mutant{
	acceptingMutant("takes-no-thread", "a run of no conversation is accepted", inputCode, "runs.create.thread-required"),
	acceptingMutant("takes-any-thread", "a thread id that is not a UUID is accepted", inputCode+" runs.errors.text-thread", "runs.create.thread-uuid"),
	wrongStatusMutant(400, "thread-type-400", "a thread of the wrong type is refused with 400", "runs.create.thread-type"),
	wrongTextMutant("thread-without-text", "an invalid thread id is refused without the documented text", "runs.errors.text-thread"),
	acceptingMutant("takes-no-run", "a run without an id is accepted", inputCode, "runs.create.run-required"),
	wrongStatusMutant(400, "run-type-400", "a run id of the wrong type is refused with 400", "runs.create.run-type"),
	acceptingMutant("takes-long-run-ids", "a run id of 129 characters is accepted", inputCode+" runs.errors.text-run", "runs.create.run-128"),
	wrongTextMutant("run-without-text", "a run id that is too long is refused without the documented text", "runs.errors.text-run"),
	acceptingMutant("takes-large-payloads", "a request of more than 256 KiB is accepted",
		inputCode+" runs.errors.text-payload runs.create.payload-422", "runs.create.payload-256k"),
	wrongStatusMutant(413, "payload-413", "a request that is too large is refused with 413", "runs.create.payload-422"),
	wrongStatusMutant(500, "payload-500", "a request that is too large is the server's fault", "runs.create.payload-256k", "runs.create.payload-422").alsoViolating(inputCode),
	wrongTextMutant("payload-without-text", "a request that is too large is refused without the documented text", "runs.errors.text-payload"),
	acceptingMutant("takes-no-object", "a body that is not a JSON object is accepted", inputCode+" runs.create.other-types", "runs.create.structure"),
	wrongStatusMutant(400, "structure-400", "a body that is not a JSON object is refused with 400", "runs.create.structure", "runs.create.other-types"),
	acceptingMutant("takes-wrong-types", "members of the wrong type are accepted", inputCode+" "+messagesCode+" runs.create.structure", "runs.create.other-types"),
	// The older version knows no mode.
	acceptingMutant("takes-no-mode", "a run without a mode is accepted", inputCode, "runs.create.mode-required").exceptIn("runs@2026-03"),
	acceptingMutant("takes-any-mode", "an unknown mode is accepted", inputCode, "runs.create.mode-enum").exceptIn("runs@2026-03"),
	wrongStatusMutant(400, "mode-400", "an unknown mode is refused with 400", "runs.create.mode-enum"),
	acceptingMutant("takes-any-parent", "a parent run id that is not a string is accepted", inputCode, "runs.create.parent-run"),
	acceptingMutant("takes-any-tool", "a tool without a name, description or parameters is accepted", inputCode,
		"runs.create.tool-def-name", "runs.create.tool-def-description", "runs.create.tool-def-parameters"),
	wrongStatusMutant(400, "tool-400", "a tool that is not whole is refused with 400",
		"runs.create.tool-def-name", "runs.create.tool-def-description", "runs.create.tool-def-parameters"),
	acceptingMutant("takes-any-context", "context without a description or a value is accepted", inputCode,
		"runs.create.context-description", "runs.create.context-value"),
	wrongTextMutant("input-without-code", "an invalid request is refused with an unknown code", inputCode),
}

// refuseMessageMutants are servers that wrongly accept requests to start a run if only the messages
// in the body are invalid, or refuse such requests with a wrong status, text or code.
var refuseMessageMutants = []*Mutant{
	acceptingMutant("takes-no-messages", "a run without messages is accepted", messagesCode, "runs.create.messages-required"),
	wrongStatusMutant(400, "messages-type-400", "messages that are not a list are refused with 400", "runs.create.messages-type"),
	acceptingMutant("takes-many-messages", "201 messages are accepted", messagesCode+" runs.errors.text-messages", "runs.create.messages-200"),
	wrongTextMutant("messages-without-text", "too many messages are refused without the documented text", "runs.errors.text-messages"),
	acceptingMutant("takes-no-user", "messages without one of the user are accepted", messagesCode+" runs.errors.text-one-user", "runs.create.no-user"),
	acceptingMutant("takes-two-users", "two messages of the user are accepted", messagesCode+" runs.errors.text-one-user", "runs.create.two-users"),
	wrongTextMutant("users-without-text", "more than one user message is refused without the documented text", "runs.errors.text-one-user"),
	acceptingMutant("takes-any-order", "messages that do not begin with the user's are accepted", messagesCode+" runs.errors.text-first", "runs.create.user-first"),
	wrongTextMutant("first-without-text", "a first message of another role is refused without the documented text", "runs.errors.text-first"),
	acceptingMutant("takes-long-texts", "10,001 characters are accepted", messagesCode+" runs.errors.text-text", "runs.create.text-10000"),
	wrongStatusMutant(413, "text-413", "a text that is too long is refused with 413", "runs.create.text-10000"),
	wrongTextMutant("text-without-text", "a text that is too long is refused without the documented text", "runs.errors.text-text"),
	acceptingMutant("takes-any-user", "a message of the user without an id or a content is accepted", messagesCode,
		"runs.create.user-id", "runs.create.user-content-type"),
	acceptingMutant("takes-any-role", "an unknown role is accepted", messagesCode, "runs.create.role-known"),
	acceptingMutant("takes-any-block", "a block of no known type, or without its text, is accepted", messagesCode,
		"runs.create.block-type", "runs.create.text-block"),
	acceptingMutant("takes-any-image", "an image without a type, or that is none, is accepted", messagesCode+" runs.errors.text-image",
		"runs.create.binary-mime", "runs.create.binary-image"),
	wrongTextMutant("image-without-text", "an attachment that is not an image is refused without the documented text", "runs.errors.text-image"),
	acceptingMutant("takes-images-without-url", "an image without a link is accepted", messagesCode+" runs.errors.text-url", "runs.create.binary-url"),
	acceptingMutant("takes-image-data", "an image with its data is accepted", messagesCode+" runs.errors.text-data", "runs.create.binary-no-data"),
	wrongTextMutant("binary-without-text", "an invalid image is refused without the documented text", "runs.errors.text-url", "runs.errors.text-data"),
	acceptingMutant("takes-any-call", "calls of tools that are not whole are accepted", messagesCode,
		"runs.create.toolcall-id", "runs.create.toolcall-type", "runs.create.toolcall-name", "runs.create.toolcall-args"),
	wrongStatusMutant(400, "call-400", "calls of tools that are not whole are refused with 400",
		"runs.create.toolcall-id", "runs.create.toolcall-type", "runs.create.toolcall-name", "runs.create.toolcall-args"),
	acceptingMutant("takes-any-history", "messages of others than the user that are not whole are accepted", messagesCode,
		"runs.create.system-content", "runs.create.tool-content", "runs.create.tool-call-id", "runs.create.message-ids"),
	wrongTextMutant("messages-without-code", "invalid messages are refused with an unknown code", messagesCode),
}

// refuseStreamMutants are servers that wrongly accept invalid requests to open a stream or to
// cancel a run, or refuse them with a wrong status or code.
var refuseStreamMutants = []*Mutant{
	acceptingMutant("tells-no-run", "a stream of no run is opened", "", "runs.stream.run-required"),
	acceptingMutant("tells-any-run", "a stream of a run with an id of 129 characters is opened", "runs.errors.code-run-id", "runs.stream.run-invalid"),
	wrongStatusMutant(400, "stream-400", "a stream of no run, or of one with a wrong id, is refused with 400", "runs.stream.run-required", "runs.stream.run-invalid").alsoViolating("runs.errors.code-run-id"),
	wrongTextMutant("run-id-without-code", "a run id that is too long is refused with an unknown code", "runs.errors.code-run-id"),
	acceptingMutant("takes-any-patience", "limits of silence below 1 and above 3600 are accepted", "", "runs.stream.idle-range"),
	wrongStatusMutant(400, "patience-400", "limits of silence out of range are refused with 400", "runs.stream.idle-range"),
	acceptingMutant("takes-any-cursor", "a stream that is resumed from an unknown cursor starts from the beginning", "runs.errors.code-last-event-id", "runs.resume.invalid-422"),
	wrongStatusMutant(400, "cursor-400", "a cursor that is none is refused with 400", "runs.resume.invalid-422").alsoViolating("runs.errors.code-last-event-id"),
	wrongTextMutant("cursor-without-code", "an invalid cursor is refused with an unknown code", "runs.errors.code-last-event-id"),
	acceptingMutant("cancels-no-run", "a cancel of no run is accepted", "", "runs.cancel.run-required"),
	acceptingMutant("cancels-any-run", "a cancel of a run with an id of 129 characters is accepted", "", "runs.cancel.run-invalid"),
	wrongStatusMutant(400, "cancel-400", "a cancel of no run, or of one with a wrong id, is refused with 400", "runs.cancel.run-required", "runs.cancel.run-invalid"),
}

// refuseUploadMutants are servers that wrongly accept invalid uploads, recordings of speech or
// requests for a signed link, or refuse them with a wrong status or code.
var refuseUploadMutants = []*Mutant{
	// What is no image is stored as one.
	acceptingMutant("stores-anything", "a file that is not an image is stored", "", "runs.attachments.type-422").alsoFailing("attachment.type-as-sent"),
	wrongStatusMutant(415, "type-415", "a file that is not an image is refused with 415", "runs.attachments.type-422"),
	acceptingMutant("stores-nothing", "an empty file is stored", "runs.errors.code-att-empty", "runs.attachments.empty-422"),
	wrongTextMutant("empty-without-code", "an empty file is refused with an unknown code", "runs.errors.code-att-empty"),
	acceptingMutant("stores-for-nobody", "a file for no conversation is stored", "", "runs.attachments.thread-field"),
	acceptingMutant("stores-no-file", "a form without a file is accepted", "", "runs.attachments.file-field"),
	acceptingMutant("stores-json", "an upload that is not a form is accepted", "", "runs.attachments.multipart"),
	wrongStatusMutant(500, "upload-500", "an upload that is not a complete form is answered 500",
		"runs.attachments.multipart", "runs.attachments.thread-field", "runs.attachments.file-field"),
	acceptingMutant("signs-for-no-bucket", "a link is signed without a bucket", "", "runs.attachments.signed-bucket"),
	acceptingMutant("signs-for-no-path", "a link is signed without a path", "", "runs.attachments.signed-path"),
	wrongStatusMutant(500, "sign-500", "that a bucket or a path is missing is the server's fault", "runs.attachments.signed-bucket", "runs.attachments.signed-path"),
	acceptingMutant("hears-anything", "a recording of another type is transcribed", "runs.errors.code-audio-format", "runs.transcribe.type"),
	acceptingMutant("hears-large-files", "a recording of more than 10 MiB is transcribed", "runs.errors.code-audio-large", "runs.transcribe.size"),
	acceptingMutant("hears-nothing", "an empty recording is transcribed", "runs.errors.code-audio-empty", "runs.transcribe.empty"),
	acceptingMutant("hears-no-file", "a form without a recording is transcribed", "", "runs.transcribe.field"),
	acceptingMutant("hears-json", "a recording that comes in no form is transcribed", "", "runs.transcribe.multipart"),
	wrongTextMutant("audio-without-code", "recordings are refused with unknown codes",
		"runs.errors.code-audio-format", "runs.errors.code-audio-large", "runs.errors.code-audio-empty"),
}

// refuseOtherMutants are servers of the families other than runs that wrongly accept invalid
// requests or refuse them with a wrong status. The documents of these families specify fewer
// properties of refusals.
var refuseOtherMutants = []*Mutant{
	acceptingMutant("takes-any-method", "another method is served like the one there is", "", "agkit.http.method"),
	wrongStatusMutant(400, "method-400", "another method is refused with 400", "agkit.http.method"),
	acceptingMutant("takes-broken-json", "a body that is not JSON is accepted", "", "agkit.error.malformed"),
	wrongStatusMutant(500, "malformed-500", "a body that is not JSON is answered 500", "agkit.error.malformed"),
	acceptingMutant("takes-any-schema", "a body that does not fit the schema is answered", "", "agkit.error.schema"),
	wrongStatusMutant(415, "schema-415", "a body that does not fit the schema is refused with 415", "agkit.error.schema"),
	// A request that is answered is refused with no status either.
	acceptingMutant("takes-no-input", "a request without input is answered", "agentscope.refusal-status", "agentscope.input-required"),
	acceptingMutant("takes-any-n", "a number of answers out of range is accepted", "agentscope.refusal-status", "agentscope.n-range"),
	acceptingMutant("takes-other-types", "members of the wrong type are accepted", "agentscope.refusal-status", "agentscope.request-types"),
	wrongStatusMutant(500, "refusal-500", "a request that is wrong is the server's fault", "agentscope.refusal-status"),
	acceptingMutant("takes-any-request", "whatever is wrong with a request, it is answered", "", "agentscope-java.err.http"),
	wrongStatusMutant(200, "refusal-200", "a request is refused with 200", "agentscope-java.err.http"),
}
