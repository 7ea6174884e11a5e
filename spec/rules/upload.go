package rules

import (
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/streamassay/streamassay/spec"
)

var uploads = []*spec.Check{TypeAsSent, SignsWhatWasAsked, LinkGives, NewLinkGives, RefusesUnknownFile, RefusesForeignLink, TellsTranscript}

// TypeAsSent judges what the answer to an upload says of it.
var TypeAsSent = &spec.Check{
	ID:    "attachment.type-as-sent",
	Doc:   "the media type that the answer to an upload names is the one that was sent",
	Needs: []spec.Kind{spec.AttachmentStored, spec.InputFile},
	Watch: func(p *spec.Pass) func(spec.Event) {
		sent := spec.Event{}
		return func(e spec.Event) {
			switch e.Kind {
			case spec.HTTPRequest:
				sent, _ = e.Last(spec.InputFile)
			case spec.AttachmentStored:
				if sent.Type != "" {
					media, _, _ := strings.Cut(e.Type, ";")
					p.Judge(e, strings.EqualFold(strings.TrimSpace(media), sent.Type), "an upload of type %q is answered with the type %q", sent.Type, e.Type)
				}
			}
		}
	},
}

// SignsWhatWasAsked judges what a new link is said to be of.
var SignsWhatWasAsked = &spec.Check{
	ID:    "attachment.signs-what-was-asked",
	Doc:   "a new link is of the object that was asked for: bucket and path are those of the request",
	Needs: []spec.Kind{spec.AttachmentSigned},
	Watch: func(p *spec.Pass) func(spec.Event) {
		asked := spec.Event{}
		return func(e spec.Event) {
			switch e.Kind {
			case spec.HTTPRequest:
				asked = e
			case spec.AttachmentSigned:
				if !asked.Valid() {
					return
				}
				p.Judge(e, e.Name == asked.Name && e.ID == asked.ID, "asked for %q in %q, the link is said to be of %q in %q", asked.ID, asked.Name, e.ID, e.Name)
			}
		}
	},
}

// A shelf is what a server has said of the files that were uploaded to it.
type shelf struct {
	files map[string]string     // bucket and path → what was sent
	links map[string]spec.Event // link → the answer that handed it out
}

func newShelf() *shelf { return &shelf{files: map[string]string{}, links: map[string]spec.Event{}} }

func object(e spec.Event) string { return e.Name + "\x00" + e.ID }

// note notes what an answer says of a file.
func (s *shelf) note(ask, e spec.Event) {
	switch file, ok := ask.Last(spec.InputFile); {
	case e.Kind == spec.AttachmentStored && ok:
		s.files[object(e)] = file.Text
		s.links[e.Text] = e
	case e.Kind == spec.AttachmentSigned:
		s.links[e.Text] = e
	}
}

// unknown says that a request carries a link that nobody was seen to hand out.
func (s *shelf) unknown(ask spec.Event) (found bool) {
	inside(ask, func(part spec.Event) {
		if _, handed := s.links[part.Text]; part.Kind == spec.InputImage && !handed {
			found = true
		}
	})
	return found
}

// doubtful says that only the server knows whether what a request names is there: a
// link that nobody was seen to hand out, a file that nobody was seen to upload.
func (s *shelf) doubtful(ask spec.Event) bool {
	_, sent := s.files[object(ask)]
	names := ask.Name != "" && ask.ID != "" && ask.Thread == "" && ask.Run == "" && len(ask.Parts) == 0
	return s.unknown(ask) || names && !sent
}

// nothing stands in the path of a file that is not there: nobody uploads one of this
// name.
const nothing = "conformance-nothing"

// fresh is how soon after it was handed out a link is asked for, at the latest, for its
// end to be a fault. How long one lives no document says.
const fresh = 30 * time.Second

// gives judges what the links lead to that an answer of a kind hands out.
func gives(id, doc string, kind spec.Kind) *spec.Check {
	return &spec.Check{
		ID: id, Doc: doc + `

Judged where the link was asked for by itself, without credentials. That it has ended
is judged in the first half minute; that it leads elsewhere, or that somebody is busy,
is not.`,
		Needs: []spec.Kind{kind, spec.InputFile}, AllPrincipals: true,
		Watch: func(p *spec.Pass) func(spec.Event) {
			known := newShelf()
			var ask, answer, body spec.Event
			return func(e spec.Event) {
				switch e.Kind {
				case spec.HTTPRequest:
					ask, answer, body = e, spec.Event{}, spec.Event{}
				case spec.HTTPResponse:
					answer = e
				case spec.AttachmentContent:
					body = e
				case spec.BodyEnd:
					link, handed := known.links[ask.ID]
					file, sent := known.files[object(link)]
					late := answer.StatusCode/100 == 4 && ask.At-link.At > fresh
					if !handed || !sent || link.Kind != kind || e.Err != nil || answer.StatusCode/100 == 3 || unheard(answer.StatusCode) && answer.StatusCode != 401 || late {
						return
					}
					p.Judge(answer, answer.StatusCode == 200 && body.Text == file, "the link is answered %d with %s; the file has %d bytes", answer.StatusCode, size(body.Text, file), len(file))
				default:
					known.note(ask, e)
				}
			}
		},
	}
}

// size says in words how many bytes there are, beside a file.
func size(got, file string) string {
	switch {
	case got == file:
		return "just these"
	case len(got) == len(file):
		return "as many others"
	}
	return fmt.Sprint(len(got), " bytes")
}

// LinkGives and NewLinkGives judge what links lead to.
var (
	LinkGives    = gives("attachment.link-gives-the-file", "the link that an upload is answered with leads to what was uploaded", spec.AttachmentStored)
	NewLinkGives = gives("attachment.new-link-gives-the-file", "a new link leads to what was uploaded", spec.AttachmentSigned)
)

// RefusesUnknownFile judges a new link for what is not there.
var RefusesUnknownFile = &spec.Check{
	ID: "attachment.refuses-unknown-file",
	Doc: `a new link is refused for what was never uploaded

Judged for paths that the harness makes up. A server that signs nothing refuses rightly
by accident: until a new link was given for something, no refusal counts.`,
	Needs: []spec.Kind{spec.AttachmentSigned},
	Watch: dealings(func(p *spec.Pass) (func(dealing), func()) {
		signs := map[string]bool{}
		var tried []dealing
		deal := func(x dealing) {
			switch madeUp := strings.Contains(x.ask.ID, nothing); {
			case !x.ask.Valid():
			case madeUp && x.ask.Name != "" && (x.accepted() || x.status/100 == 4 && !unheard(x.status)):
				tried = append(tried, x)
			case x.reply.Kind == spec.AttachmentSigned:
				signs[x.ask.Operation] = true
			}
		}
		over := func() {
			for _, x := range tried {
				if x.ask.Requirement = ""; signs[x.ask.Operation] { // this is about another requirement than the operation's
					p.Judge(x.ask, !x.accepted(), "nothing was ever uploaded to %q, and %v; expected a refusal", x.ask.ID, x)
				}
			}
		}
		return deal, over
	}),
}

// RefusesForeignLink judges a run with an image from somewhere else.
var RefusesForeignLink = &spec.Check{
	ID: "attachment.refuses-foreign-link",
	Doc: `a run with an image that was not uploaded to the server is refused

Judged for links to another host than those that the server handed out lead to, and
where a run with one of these was accepted.`,
	Needs: []spec.Kind{spec.AttachmentStored, spec.InputImage},
	Watch: dealings(func(p *spec.Pass) (func(dealing), func()) {
		known := newShelf()
		hosts := map[string]bool{}
		own := false
		var tried []dealing
		deal := func(x dealing) {
			known.note(x.ask, x.reply)
			if x.reply.Kind == spec.AttachmentStored || x.reply.Kind == spec.AttachmentSigned {
				hosts[host(x.reply.Text)] = true
			}
			switch links := images(x.ask); {
			case len(links) != 1 || !x.ask.Valid():
			case !known.unknown(x.ask):
				own = own || x.accepted()
			case x.accepted() || x.status/100 == 4 && !unheard(x.status):
				tried = append(tried, x)
			}
		}
		over := func() {
			for _, x := range tried {
				x.ask.Requirement = "" // likewise
				if from := host(images(x.ask)[0]); own && from != "" && !hosts[from] {
					p.Judge(x.ask, !x.accepted(), "the image comes from %s, where nothing can be uploaded, and %v; expected a refusal", from, x)
				}
			}
		}
		return deal, over
	}),
}

// TellsTranscript judges the answer to a recording.
var TellsTranscript = &spec.Check{
	ID:    "transcript.is-told",
	Doc:   "a recording that is accepted is answered with what was said",
	Needs: []spec.Kind{spec.InputFile, spec.Transcription},
	Watch: dealings(func(p *spec.Pass) (func(dealing), func()) {
		return func(x dealing) {
			if x.ask.Name == "transcribe" && x.ask.Valid() && x.accepted() {
				x.ask.Requirement = "" // as above
				p.Judge(x.ask, x.reply.Kind == spec.Transcription, "%v and has no transcript", x)
			}
		}, func() {}
	}),
}

// images are the links in a request.
func images(ask spec.Event) (links []string) {
	inside(ask, func(part spec.Event) {
		if part.Kind == spec.InputImage {
			links = append(links, part.Text)
		}
	})
	return links
}

func host(link string) string {
	u, err := url.Parse(link)
	if err != nil {
		return ""
	}
	return strings.ToLower(u.Host)
}
