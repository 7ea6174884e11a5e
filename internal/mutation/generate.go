package mutation

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
)

// The checks that compare a server with what its document says, and so find the mutants that are
// generated from the document.
const (
	refusesAsDocumented = "refuse.as-documented"
	acceptsAsDocumented = "accept.as-documented"
	repliesAsPromised   = "reply.as-promised"
	healthResponds      = "health.answers"
	matchesSchema       = "wire.matches-schema"
)

// A generator collects the mutants that follow from documents.
type generator struct {
	mutants map[string]*Mutant // by name
	dialect *dialect.Dialect   // whose document is read
}

// generatedMutants returns the mutants that follow from the documents of the dialects, in the order
// of their names. For each requirement on a refusal (x-error) there is a server that accepts the
// invalid request, one that refuses it with another status, and others with another code and text.
// For each requirement on requests (x-requirement) there is one that refuses them. For each
// requirement on replies and frames there are servers that reply with another status and media
// type, and whose replies and frames lack a member or have a member of another type or value.
func generatedMutants(dialects []*dialect.Dialect) []*Mutant {
	g := generator{mutants: map[string]*Mutant{}}
	for _, d := range dialects {
		g.dialect = d
		g.addRefusals()
		g.addRejections()
		g.addReplies()
		g.addDefects()
	}
	byName := func(a, b *Mutant) int { return cmp.Compare(a.Name, b.Name) }
	return slices.SortedFunc(maps.Values(g.mutants), byName)
}

// add adds the mutant m with the given defect, or adds the dialect and the locations of its findings
// to the mutant if another dialect has it too. It does nothing if none of the checks that must find
// the mutant serves the requirement.
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

// addRefusals adds the servers that accept invalid requests, or refuse them in another way than the
// document says.
func (g *generator) addRefusals() {
	for _, r := range g.dialect.Refusals() {
		add := func(defect, doc string, defective func(occurred func(), requirement string) middleware, also ...string) {
			g.add(r.Requirement, defect, Mutant{
				Doc:       "invalid requests whose refusal " + r.Requirement + " is about are " + doc,
				KilledBy:  map[string]string{refusesAsDocumented: string(spec.HTTPRequest)},
				AlsoFails: also,
				defect:    func(occurred func()) middleware { return defective(occurred, r.Requirement) },
			})
		}
		add("accepted", "accepted", acceptInvalid, contentChecks...) // the response is that to another request
		if len(r.Status) > 0 || len(r.Code) == 0 && r.Text == "" {
			// With a successful status, the body is not the documented one.
			add("status", "refused with another status", refuseWithOtherStatus, matchesSchema)
		}
		if len(r.Code) > 0 {
			add("code", "refused with another code", hideRefusalText)
		}
		if r.Text != "" {
			add("text", "refused with another text", hideRefusalText)
		}
	}
}

// addRejections adds the servers that refuse valid requests.
func (g *generator) addRejections() {
	for _, r := range g.dialect.Requirements {
		g.add(r.ID, "refused", Mutant{
			Doc:      "valid requests that exercise " + r.ID + " are refused",
			KilledBy: map[string]string{acceptsAsDocumented: string(spec.HTTPRequest)},
			// An invalid request is compared with its valid counterpart, which this server refuses, and
			// what the response would have said is missing.
			AlsoFails: append([]string{refusesAsDocumented}, contentChecks...),
			defect:    func(occurred func()) middleware { return refuseValid(occurred, r.ID) },
		})
	}
}

// addReplies adds the servers that reply with another status or media type than the document says.
func (g *generator) addReplies() {
	for _, o := range g.dialect.Operations() {
		for _, template := range o.Templates() {
			r, err := g.dialect.BuildRequest(template, spec.Event{})
			e := g.dialect.ParseRequest(r)
			if err != nil || e.IsStream() || e.Requirement == "" {
				continue
			}
			add := func(defect, doc string, edit func(e *spec.Event, a *plainResponse)) {
				place := string(spec.HTTPResponse)
				g.add(e.Requirement, defect, Mutant{
					Doc:       "requests that " + e.Requirement + " is about are answered with another " + doc,
					KilledBy:  map[string]string{repliesAsPromised: place, healthResponds: place},
					AlsoFails: contentChecks, // a reply that is not as documented is not decoded
					defect:    func(occurred func()) middleware { return editPromisedReply(occurred, e.Requirement, edit) },
				})
			}
			add("reply-status", "status", changeReplyStatus)
			if e.MediaType != "" {
				add("reply-media-type", "media type", changeReplyMediaType)
			}
		}
	}
}

// contentChecks are the checks of what the decoded events of a run or of replies say.
var contentChecks = []string{
	"accepted.*", "attachment.*", "cancel.*", "content.*", "cursor.*", "delta.*", "done.*", "echo.*", "error.*",
	"history.*", "interrupt.*", "message.*", "resume.*", "run.*", "script.*", "sequence.*", "tool.*", "transcript.*",
}

// defectDocs says, by kind, what is wrong with a reply or frame.
var defectDocs = map[dialect.DefectKind]string{
	dialect.MissingMember: "lack the member that %s is about",
	dialect.WrongType:     "have a value of another type for the member that %s is about",
	dialect.WrongValue:    "have a value for the member that %s is about that is not one of those documented",
}

// addDefects adds the servers whose replies and frames violate their schema.
func (g *generator) addDefects() {
	for _, x := range g.dialect.ResponseDefects() {
		g.add(x.Requirement, string(x.Kind), Mutant{
			Doc:      "replies or events " + strings.ReplaceAll(defectDocs[x.Kind], "%s", x.Requirement),
			KilledBy: map[string]string{matchesSchema: strings.Join(x.Locations, " ")},
			// An event that violates the schema is not decoded. Its content is missing, and a later request
			// that needs it, such as a link, may be refused.
			AlsoFails: append([]string{acceptsAsDocumented}, contentChecks...),
			defect:    func(occurred func()) middleware { return injectDefect(occurred, x) },
		})
	}
}
