package mutation

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/streamassay/streamassay/spec"
)

// formDefects lists the groups of forms (see [spec.RequestFeature]) because of which a mutant
// wrongly refuses valid requests. A group consists of the forms whose names begin with prefix. The
// field defect is the last part of the names of the mutants for the group. In the Doc of a mutant,
// prefix and noun together describe the refused requests, as in "with null for members".
var formDefects = []struct{ defect, prefix, noun string }{
	{"null-refused", "with null ", "for members"}, {"absence-refused", "without ", "members"},
	{"unknown-refused", "with the unknown ", "members"}, {"field-refused", "with the field ", "values"},
	{"long-text-refused", "with a long text ", "in members"},
}

// addFormRejections adds the mutants that refuse valid requests to start a run because of their
// form (see [spec.RequestFeature]), such as null for an optional member, a missing optional member,
// an unknown member, or a header field. The forms of an ordinary prompt, which
// [dialect.Dialect.BuildRequest] builds from the template "prompt", are left out: a server that
// refused them would refuse nearly every prompt.
func (g *generator) addFormRejections() {
	plain := map[string]bool{} // set of the names of the forms that are left out
	if r, err := g.dialect.BuildRequest("prompt", sampleEvent); err == nil {
		for _, form := range formsOf(g.dialect.ParseRequest(r)) {
			plain[form.Name] = true
		}
	}
	for _, o := range g.dialect.Operations() {
		if !o.StartsRun {
			continue
		}
		for _, template := range o.Templates() {
			r, err := g.dialect.BuildRequest(template, sampleEvent)
			if err != nil {
				continue
			}
			base := g.dialect.ParseRequest(r)
			asks := func(p spec.Event) bool { return p.Kind == spec.InputUser && p.Text == sampleEvent.Text }
			if !slices.ContainsFunc(base.Parts, asks) || base.Facts().Features == nil {
				continue // a reply, which needs something to reply to
			}
			own, known := base.Requirement, maps.Clone(plain)
			for _, form := range formsOf(base) {
				known[form.Name] = true
			}
			for _, variant := range g.dialect.ValidVariants(r) {
				for _, form := range formsOf(g.dialect.ParseRequest(variant.Request)) {
					if !known[form.Name] {
						g.addFormRejection(form, own, plain)
					}
				}
			}
		}
	}
}

// sampleEvent provides the values, such as the text of the prompt and the ids, for the requests
// that are built to generate mutants.
var sampleEvent = spec.Event{
	Text: "conformance:text one", Thread: "550e8400-e29b-41d4-a716-446655440000", Run: "r", Name: "paint", Call: "c", ID: "i", Type: "image/png",
}

// formsOf returns the forms of the request that was decoded as e. It returns nil if they are
// unknown, that is, if the field Features of e.Facts() is nil.
func formsOf(e spec.Event) []spec.RequestFeature {
	if forms := e.Facts().Features; forms != nil {
		return forms()
	}
	return nil
}

// addFormRejection adds the mutant that refuses valid requests with the given form or a similar
// one. A form is similar if it belongs to the same requirement and its name begins with the same
// prefix in formDefects. If the name of the given form begins with none of the prefixes, no mutant
// is added. The keys of plain are the names of the forms that the mutant accepts nevertheless.
//
// The mutant violates the requirement of the form or, if form.Requirement is "", the requirement
// with the id defaultID.
func (g *generator) addFormRejection(form spec.RequestFeature, defaultID string, plain map[string]bool) {
	requirement, about := form.Requirement, cmp.Or(form.Requirement, defaultID)
	for _, kind := range formDefects {
		if !strings.HasPrefix(form.Name, kind.prefix) {
			continue
		}
		g.add(about, kind.defect, Mutant{
			Doc:       "refuses valid requests " + kind.prefix + kind.noun + " that " + about + " allows",
			KilledBy:  map[string]string{acceptsAsDocumented: string(spec.HTTPRequest)},
			AlsoFails: alsoIfRefused,
			defect: func(occurred func()) middleware {
				return refuseForms(occurred, func(v parsedRequest) bool {
					return slices.ContainsFunc(formsOf(*v.parsed()), func(f spec.RequestFeature) bool {
						return f.Requirement == requirement && strings.HasPrefix(f.Name, kind.prefix) && !plain[f.Name]
					})
				})
			},
		})
	}
}

// refuseForms is like refuseRequests, but makes the server refuse only requests to start a run
// whose forms are known, that is, requests for which Facts().Features is not nil. For each of them
// that is valid, refuses reports whether the server refuses it. The function occurred is called for
// each refusal.
func refuseForms(occurred func(), refuses func(parsedRequest) bool) middleware {
	return refuseRequests(occurred, func(v parsedRequest) bool {
		return v.startsRun() && v.parsed().Facts().Features != nil && refuses(v)
	})
}

// requestFormMutants are servers that refuse valid prompts. Most of them do so because of the form
// of the prompt, such as white space before the JSON, a list in the Accept field, or two tools. The
// others do so because an invalid request or a failed run preceded the prompt.
var requestFormMutants = []*Mutant{
	formMutant("refuses-media-type-parameters", "with a parameter in its Content-Type", func(v parsedRequest) bool {
		return strings.Contains(v.httpRequest.Header.Get("Content-Type"), "charset=utf-8")
	}),
	formMutant("refuses-uppercase-media-type", "with its media type in upper case", func(v parsedRequest) bool {
		return strings.Contains(v.httpRequest.Header.Get("Content-Type"), "/JSON")
	}),
	formMutant("refuses-accept-lists", "with a list in its Accept header", func(v parsedRequest) bool {
		return strings.Contains(v.httpRequest.Header.Get("Accept"), ",")
	}),
	formMutant("refuses-accept-any-media-type", "with an Accept header that allows any media type", func(v parsedRequest) bool {
		return v.httpRequest.Header.Get("Accept") == "*/*"
	}),
	formMutant("refuses-expect", "with an Expect header", func(v parsedRequest) bool {
		return v.httpRequest.Header.Get("Expect") != ""
	}),
	formMutant("refuses-json-escapes", "with escaped characters in its JSON", func(v parsedRequest) bool {
		return bytes.Contains(v.raw.Body, []byte(`\u0063`))
	}),
	formMutant("refuses-leading-white-space", "with white space before its JSON", func(v parsedRequest) bool {
		return bytes.HasPrefix(v.raw.Body, []byte("\r\n\t"))
	}),
	formMutant("refuses-two-tools", "with two tools", func(v parsedRequest) bool {
		isTool := func(p spec.Event) bool { return p.Kind == spec.InputTool }
		return slices.ContainsFunc(v.parsed().Parts, isTool) && bytes.Contains(v.raw.Body, []byte(`_2"`))
	}, spec.InputTool),
	formMutant("refuses-empty-texts", "with an empty text", func(v parsedRequest) bool {
		return hasMember(v, func(value any, _ bool) bool { return value == "" })
	}),
	rareFormMutant("refuses-empty-arrays-in-messages", "with an empty list in a message or an answer", func(v parsedRequest) bool {
		return hasMember(v, func(value any, inItem bool) bool {
			list, ok := value.([]any)
			return inItem && ok && len(list) == 0
		})
	}),
	rareFormMutant("refuses-empty-objects-in-items", "with an empty object in a tool or an answer", func(v parsedRequest) bool {
		return hasMember(v, func(value any, inItem bool) bool {
			object, ok := value.(map[string]any)
			return inItem && ok && len(object) == 0
		})
	}).exceptWith(spec.ContentPart), // there, none is sent
	rareFormMutant("refuses-empty-message-array", "with an empty list of messages", func(v parsedRequest) bool {
		return !slices.ContainsFunc(v.event.Parts, func(p spec.Event) bool {
			kinds := []spec.Kind{spec.InputUser, spec.InputAssistant, spec.InputSystem, spec.InputToolResult}
			return slices.Contains(kinds, p.Kind)
		})
	}).exceptWith(spec.RunAccepted), // there, a message is required
	{
		Name: "refuses-long-ids", Doc: "refuses a valid prompt with an id of more than 128 characters",
		KilledBy:  map[string]string{acceptsAsDocumented: string(spec.HTTPRequest)},
		AlsoFails: alsoIfRefused,
		Without:   []spec.Kind{spec.RunAccepted}, // dialects with this event limit the length of ids
		Middleware: refuseForms(func() {}, func(v parsedRequest) bool {
			return max(len(v.parsed().Thread), len(v.parsed().Run)) > 128
		}),
	}, {
		Name: "refuses-corrected-prompt", Doc: "refuses a valid prompt with the same ids as an earlier invalid prompt",
		KilledBy:   map[string]string{acceptsAsDocumented: string(spec.HTTPRequest)},
		AlsoFails:  alsoIfRefused,
		Middleware: refuseCorrected,
	}, {
		Name: "thread-locked-after-failure", Doc: "refuses all later runs of a thread with status 409 after a failed run",
		KilledBy:   map[string]string{acceptsAsDocumented: string(spec.HTTPRequest)},
		AlsoFails:  alsoIfRefused,
		Middleware: lockFailedThreads,
	},
}

// hasMember reports whether the JSON body of the request has, at any depth, a member for whose
// value fits returns true. The argument inItem reports whether the object that has the member is an
// item of an array, such as a message. If the body is not JSON, the result is false.
func hasMember(v parsedRequest, fits func(value any, inItem bool) bool) bool {
	var has func(value any, isItem bool) bool
	has = func(value any, isItem bool) bool {
		switch value := value.(type) {
		case []any:
			return slices.ContainsFunc(value, func(item any) bool { return has(item, true) })
		case map[string]any:
			return slices.ContainsFunc(slices.Collect(maps.Values(value)), func(member any) bool {
				return fits(member, isItem) || has(member, false)
			})
		}
		return false
	}
	var body any
	return json.Unmarshal(v.raw.Body, &body) == nil && has(body, false)
}

// failingPromptMutants are servers that fail to process some valid prompts, with status 500,
// because of their texts.
var failingPromptMutants = []*Mutant{
	failingMutant("nul-prompt-status-500", "that contains the character U+0000", func(text string) bool {
		return strings.ContainsRune(text, 0)
	}),
	failingMutant("blank-prompt-status-500", "that contains only white space", func(text string) bool {
		return text != "" && strings.TrimSpace(text) == ""
	}),
	failingMutant("long-prompt-status-500", "of more than 65,536 bytes", func(text string) bool {
		return len(text) > 1<<16
	}).exceptWith(spec.RunAccepted), // dialects with this event limit the length of texts
}

// failingMutant returns a mutant with the given name that responds with status 500 to the valid
// prompts for whose text fails returns true. The argument form describes these prompts in the Doc
// of the mutant, as in "that contains the character U+0000".
func failingMutant(name, form string, fails func(text string) bool) *Mutant {
	return &Mutant{
		Name: name, Doc: "responds with status 500 to a prompt " + form,
		KilledBy: map[string]string{opensStream: string(spec.HTTPResponse), repliesAsPromised: string(spec.HTTPResponse)},
		Middleware: interceptRequests(func(w http.ResponseWriter, v parsedRequest, next http.Handler) {
			if text, ok := v.event.Prompt(); ok && v.startsRun() && v.event.Valid() && fails(text) {
				http.Error(w, "internal error", http.StatusInternalServerError)
				return
			}
			next.ServeHTTP(w, v.httpRequest)
		}),
	}
}

// lockFailedThreads is a middleware that locks a thread after a test prompt that asks for a
// failure, such as conformance:error. It refuses all later valid requests to start a run in the
// thread, with status 409 (Conflict).
func lockFailedThreads(next dialectHandler) dialectHandler {
	var failed sync.Map // ids of these threads
	return interceptRequests(func(w http.ResponseWriter, v parsedRequest, next http.Handler) {
		if v.startsRun() && v.parsed().Valid() {
			if _, ok := failed.Load(v.event.Thread); ok {
				http.Error(w, "the thread is busy", http.StatusConflict)
				return
			}
			if prompt, _ := v.parsed().Prompt(); strings.HasPrefix(prompt, "conformance:error") {
				failed.Store(v.event.Thread, true)
			}
		}
		next.ServeHTTP(w, v.httpRequest)
	})(next)
}

// refuseCorrected is a middleware that makes the server refuse a valid request to start a run if an
// earlier invalid request had the same thread and run ids.
func refuseCorrected(next dialectHandler) dialectHandler {
	var invalid sync.Map // keys of the runs that invalid requests named
	remember := editRequests(func(v parsedRequest) *http.Request {
		if v.startsRun() && !v.parsed().Valid() {
			invalid.Store(v.event.Thread+"\n"+v.event.Run, true)
		}
		return v.httpRequest
	})
	refuse := refuseForms(func() {}, func(v parsedRequest) bool {
		_, ok := invalid.Load(v.event.Thread + "\n" + v.event.Run)
		return ok
	})
	return refuse(remember(next))
}

// formMutant returns a mutant with the given name that refuses the valid prompts for which refuses
// returns true. The argument form describes these prompts in the Doc of the mutant, as in "with a
// list in its Accept field". The mutant applies only to dialects that have all the kinds in needs.
func formMutant(name, form string, refuses func(parsedRequest) bool, needs ...spec.Kind) *Mutant {
	return &Mutant{
		Name: name, Doc: "refuses a valid prompt " + form,
		KilledBy:   map[string]string{acceptsAsDocumented: string(spec.HTTPRequest)},
		AlsoFails:  alsoIfRefused,
		Needs:      needs,
		Middleware: refuseForms(func() {}, refuses),
	}
}

// rareFormMutant is like formMutant, but for a form that no prompt of the suite has in some
// dialects. In these dialects, the mutant counts as equivalent to the correct server.
func rareFormMutant(name, form string, refuses func(parsedRequest) bool, needs ...spec.Kind) *Mutant {
	m := formMutant(name, form, refuses, needs...)
	m.Middleware = nil
	m.defect = func(occurred func()) middleware { return refuseForms(occurred, refuses) }
	return m
}

// exceptWith sets m.Without, the kinds that a dialect of the mutant must not have, to kinds, and
// returns m.
func (m *Mutant) exceptWith(kinds ...spec.Kind) *Mutant {
	m.Without = kinds
	return m
}
