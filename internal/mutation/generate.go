package mutation

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
)

// The ids of the checks that compare a server with its document. Each mutant that is generated from
// the document must be found by one of them.
const (
	refusesAsDocumented = "refuse.as-documented"
	acceptsAsDocumented = "accept.as-documented"
	repliesAsPromised   = "reply.as-promised"
	healthResponds      = "health.answers"
	matchesSchema       = "wire.matches-schema"
	opensStream         = "wire.opens-stream"
	needsCredentials    = "auth.needs-credentials"
	allowsOwnerOnly     = "auth.owner-only"
	refusesStreams      = "limit.refuses-streams"
)

// A generator collects the mutants that are generated from the documents of the dialects. It reads
// the documents one after the other.
type generator struct {
	mutants map[string]*Mutant // by name
	dialect *dialect.Dialect   // the dialect whose document is being read
}

// generatedMutants returns the mutants that are generated from the documents of the given dialects,
// sorted by name:
//   - For each requirement on refusals (the OpenAPI extensions x-error and x-denied), one mutant
//     accepts the requests that must be refused, and some accept only those of a certain form.
//     Others refuse the requests, but with a wrong status, code or text, or with an event stream.
//   - For each requirement on requests (the OpenAPI extension x-requirement), one mutant refuses
//     the requests. Others refuse only requests with a null, without an optional member, or with an
//     unknown member.
//   - For each requirement on replies and frames, some mutants reply with a wrong status or media
//     type. Others send replies and frames that lack a member, or that have a member with a value
//     of a wrong type or with a wrong value.
//
// Since this takes seconds, the result is kept for the next call with the same dialects. It must
// not be modified.
func generatedMutants(dialects []*dialect.Dialect) []*Mutant {
	key := fmt.Sprint(dialects) // the addresses
	once := sync.OnceValue(func() []*Mutant { return generateMutants(dialects) })
	generate, _ := generatedMutantsCache.LoadOrStore(key, once)
	return generate.(func() []*Mutant)()
}

// generatedMutantsCache maps each list of dialects to a function, of type func() []*Mutant, that
// returns the mutants that are generated from their documents. The function generates them in its
// first call. The key is a string with the addresses of the dialects.
var generatedMutantsCache sync.Map

// generateMutants generates the mutants that generatedMutants returns.
func generateMutants(dialects []*dialect.Dialect) []*Mutant {
	g := generator{mutants: map[string]*Mutant{}}
	for _, d := range dialects {
		g.dialect = d
		g.addRefusals()
		g.addInvalidForms()
		g.addRejections()
		g.addFormRejections()
		g.addReplies()
		g.addDefects()
	}
	byName := func(a, b *Mutant) int { return cmp.Compare(a.Name, b.Name) }
	return slices.SortedFunc(maps.Values(g.mutants), byName)
}

// add adds the mutant m, which violates the requirement with the given id, for the dialect
// g.dialect. The name of the mutant becomes REQUIREMENT.DEFECT, where DEFECT is the argument
// defect. If g already contains a mutant with this name, add merges m into it.
//
// Checks that do not judge the requirement are removed from m.KilledBy. If no check remains, add
// does nothing. It also does nothing if the dialect lacks the requirement, or if the level of the
// requirement is MAY.
func (g *generator) add(requirement, defect string, m Mutant) {
	i := slices.IndexFunc(g.dialect.Requirements, func(r spec.Requirement) bool { return r.ID == requirement })
	if i < 0 || g.dialect.Requirements[i].Level == spec.May {
		return
	}
	maps.DeleteFunc(m.KilledBy, func(check, _ string) bool {
		return !slices.Contains(g.dialect.Requirements[i].Checks, check)
	})
	if len(m.KilledBy) == 0 {
		return
	}
	m.Name, m.requirement = requirement+"."+defect, requirement
	known := g.mutants[m.Name]
	if known == nil {
		known = &m
		g.mutants[m.Name] = known
	}
	if !slices.Contains(known.dialects, g.dialect.Name) {
		known.dialects = append(known.dialects, g.dialect.Name)
	}
	for check, places := range m.KilledBy {
		all := append(strings.Fields(known.KilledBy[check]), strings.Fields(places)...)
		slices.Sort(all)
		known.KilledBy[check] = strings.Join(slices.Compact(all), " ")
	}
}

// A refusedRequestKind is a kind of request that a server must refuse, with what is needed to
// generate mutants that wrongly accept such requests or refuse them incorrectly.
type refusedRequestKind struct {
	requests string // a noun phrase for such requests, for Mutant.Doc
	check    string // id of the check that judges the refusals of such requests
	// accept returns a middleware that makes the server accept the requests whose refusal the
	// requirement with the given id prescribes. The middleware calls occurred for each of them. The
	// field is nil if no mutant accepts such requests.
	accept func(occurred func(), requirement string) middleware
	// Globs that match the ids of further checks that may fail: acceptAlso if such requests are
	// accepted, and statusAlso if they are refused with a wrong status.
	acceptAlso, statusAlso []string
}

// invalidRequests is the kind of requests that violate the document. The OpenAPI extension x-error
// states how the server must refuse them. Checks of content may also fail if such a request is
// accepted, because the mutant then responds as to a valid request. The check of schemas may also
// fail if such a request is refused with a wrong status: that may be a 2xx status, for which the
// document specifies another body.
var invalidRequests = refusedRequestKind{
	"invalid requests", refusesAsDocumented, acceptInvalid, contentChecks, []string{matchesSchema},
}

// deniedRequests maps each reason for a denial to the kind of valid requests that the server must
// deny for this reason. The OpenAPI extension x-denied states for each operation how the server
// must deny such requests. Mutants that exceed the limit on streams are not generated; they are
// listed in limitMutants.
var deniedRequests = map[spec.DenialReason]refusedRequestKind{
	spec.DeniedAnonymous:   {"requests without permission", needsCredentials, acceptDenied, cancelChecks, nil},
	spec.DeniedUnknownUser: {"requests without permission", needsCredentials, acceptDenied, cancelChecks, nil},
	spec.DeniedOtherUser:   {"requests without permission", allowsOwnerOnly, acceptDenied, cancelChecks, nil},
	spec.DeniedStreamLimit: {"requests without permission", refusesStreams, nil, nil, []string{opensStream}},
}

// cancelChecks lists the ids of the checks that may fail if a server accepts a cancel request that
// it must deny, because the request then ends a run that [PrimaryUser] started.
var cancelChecks = []string{"script.slow"}

// addRefusals adds the mutants that violate the requirements on refusals. Such a mutant accepts
// requests that it must refuse, or refuses them in a way that the document does not allow.
func (g *generator) addRefusals() {
	for _, r := range g.dialect.Refusals() {
		g.addRefusal(invalidRequests, r)
	}
	denials := g.dialect.Denials()
	for _, why := range slices.Sorted(maps.Keys(denials)) {
		for _, r := range denials[why] {
			g.addRefusal(deniedRequests[why], r)
		}
	}
}

// addRefusal adds the mutants that violate r, which is a requirement on the refusal of requests of
// the given kind.
func (g *generator) addRefusal(kind refusedRequestKind, r spec.RefusalRequirement) {
	add := func(defect, doc string, defective func(occurred func(), requirement string) middleware, also ...string) {
		g.add(r.Requirement, defect, Mutant{
			Doc:       fmt.Sprintf(doc, kind.requests, r.Requirement),
			KilledBy:  map[string]string{kind.check: string(spec.HTTPRequest)},
			AlsoFails: also,
			defect:    func(occurred func()) middleware { return defective(occurred, r.Requirement) },
		})
	}
	if kind.accept != nil && !r.Accept {
		add("accepted", "accepts %s that %s requires it to refuse", kind.accept, kind.acceptAlso...)
	}
	if len(r.Status) > 0 || len(r.Code) == 0 && r.Text == "" && !r.Plain {
		add("status", "refuses %s with another status than %s specifies", refuseWithOtherStatus, kind.statusAlso...)
	}
	if len(r.Code) > 0 {
		add("code", "refuses %s with another error code than %s specifies", hideRefusalText)
	}
	if r.Text != "" {
		add("text", "refuses %s with another error text than %s specifies", hideRefusalText)
	}
	if r.Plain {
		add("stream", "refuses %s with an event stream, contrary to %s", refuseWithStream, "refuse.same-form")
	}
}

// addRejections adds one mutant for each requirement on requests. The mutant refuses the valid
// requests that exercise the requirement.
func (g *generator) addRejections() {
	for _, r := range g.dialect.Requirements {
		g.add(r.ID, "refused", Mutant{
			Doc:       "refuses valid requests that exercise " + r.ID,
			KilledBy:  map[string]string{acceptsAsDocumented: string(spec.HTTPRequest)},
			AlsoFails: alsoIfRefused,
			defect: func(occurred func()) middleware {
				return refuseRequests(occurred, func(v parsedRequest) bool {
					return v.parsed().Requirement == r.ID || slices.Contains(v.parsed().Exercised, r.ID)
				})
			},
		})
	}
}

// addReplies adds the mutants whose replies to valid requests have a status or a media type that
// the document does not specify. Operations that respond with an event stream are left out.
func (g *generator) addReplies() {
	for _, o := range g.dialect.Operations() {
		for _, template := range o.Templates() {
			r, err := g.dialect.BuildRequest(template, spec.Event{})
			e := g.dialect.ParseRequest(r)
			if err != nil || e.IsStream() || e.Requirement == "" {
				continue
			}
			add := func(defect, doc string, edit func(e *spec.Event, a *completeResponse)) {
				place := string(spec.HTTPResponse)
				g.add(e.Requirement, defect, Mutant{
					Doc:       "responds with another " + doc + " than " + e.Requirement + " specifies",
					KilledBy:  map[string]string{repliesAsPromised: place, healthResponds: place},
					AlsoFails: contentChecks, // a reply that is not as documented is not decoded
					defect:    func(occurred func()) middleware { return editPromisedReply(occurred, e.Requirement, edit) },
				})
			}
			add("reply-status", "status", changeReplyStatus)
			if e.MediaType != "" {
				add("reply-media-type", "media type", func(_ *spec.Event, a *completeResponse) {
					a.header.Set("Content-Type", "application/x-unknown") // which no document specifies
				})
			}
		}
	}
}

// contentChecks lists globs that match the ids of the checks that judge the content of decoded
// events and replies.
var contentChecks = []string{
	"accepted.*", "attachment.*", "cancel.*", "content.*", "cursor.*", "delta.*", "done.*", "echo.*", "error.*",
	"history.*", "interrupt.*", "message.*", "messages.*", "resume.*", "run.*", "script.*", "sequence.*", "state.*", "step.*",
	"tool.*", "transcript.*",
}

// alsoIfRefused lists globs, for [Mutant.AlsoFails], that match the ids of the checks that may fail
// if valid requests are refused: contentChecks, because a refusal lacks the content that they
// judge, and the check refuse.as-documented, which compares the responses to invalid requests with
// those to valid ones.
var alsoIfRefused = append([]string{refusesAsDocumented}, contentChecks...)

// defectDocs has a description of each kind of defect of replies and frames, for [Mutant.Doc]. In
// the descriptions, %s stands for the id of the violated requirement.
var defectDocs = map[dialect.SchemaDefectKind]string{
	dialect.MissingMember: "omits the member that %s specifies from replies or events",
	dialect.WrongType:     "sends a value of another type for the member that %s specifies",
	dialect.WrongValue:    "sends an undocumented value for the member that %s specifies",
}

// addDefects adds the mutants whose replies or frames violate the schema in the document. There is
// one mutant for each requirement and kind of defect.
func (g *generator) addDefects() {
	for _, x := range g.dialect.ResponseDefects() {
		g.add(x.Requirement, string(x.Kind), Mutant{
			Doc:      fmt.Sprintf(defectDocs[x.Kind], x.Requirement),
			KilledBy: map[string]string{matchesSchema: strings.Join(x.Locations, " ")},
			// An event that violates the schema is not decoded. Its content is missing, and a later
			// request that needs it, such as a link, may be refused.
			AlsoFails: append([]string{acceptsAsDocumented}, contentChecks...),
			defect:    func(occurred func()) middleware { return injectDefect(occurred, x) },
		})
	}
}
