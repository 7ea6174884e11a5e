package rules

import (
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/streamassay/streamassay/spec"
)

var attachmentChecks = []*spec.Check{UploadTypeMatches, SignedLinkMatches, UploadLinkReturnsFile, SignedLinkReturnsFile, RefusesUnknownFile, RefusesForeignLink, ReturnsTranscript}

// UploadTypeMatches judges what the answer to an upload says of it.
var UploadTypeMatches = &spec.Check{
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

// SignedLinkMatches judges what a new link is said to be of.
var SignedLinkMatches = &spec.Check{
	ID:    "attachment.signs-what-was-asked",
	Doc:   "a new link is of the object that was asked for: bucket and path are those of the request",
	Needs: []spec.Kind{spec.AttachmentSigned},
	Watch: func(p *spec.Pass) func(spec.Event) {
		request := spec.Event{}
		return func(e spec.Event) {
			switch e.Kind {
			case spec.HTTPRequest:
				request = e
			case spec.AttachmentSigned:
				if !request.Valid() {
					return
				}
				p.Judge(e, e.Name == request.Name && e.ID == request.ID, "asked for %q in %q, the link is said to be of %q in %q", request.ID, request.Name, e.ID, e.Name)
			}
		}
	},
}

// A knownUploads is what a server has said of the files that were uploaded to it.
type knownUploads struct {
	files map[string]string     // bucket and path → what was sent
	links map[string]spec.Event // link → the answer that handed it out
}

func newKnownUploads() *knownUploads {
	return &knownUploads{files: map[string]string{}, links: map[string]spec.Event{}}
}

func objectKey(e spec.Event) string { return e.Name + "\x00" + e.ID }

// record notes what an answer says of a file.
func (s *knownUploads) record(request, e spec.Event) {
	switch file, ok := request.Last(spec.InputFile); {
	case e.Kind == spec.AttachmentStored && ok:
		s.files[objectKey(e)] = file.Text
		s.links[e.Text] = e
	case e.Kind == spec.AttachmentSigned:
		s.links[e.Text] = e
	}
}

// hasUnknownLink says that a request carries a link that nobody was seen to hand out.
func (s *knownUploads) hasUnknownLink(request spec.Event) (found bool) {
	walkParts(request, func(part spec.Event) {
		if _, handed := s.links[part.Text]; part.Kind == spec.InputImage && !handed {
			found = true
		}
	})
	return found
}

// isUnverifiable says that only the server knows whether what a request names is there: a
// link that nobody was seen to hand out, a file that nobody was seen to upload.
func (s *knownUploads) isUnverifiable(request spec.Event) bool {
	_, sent := s.files[objectKey(request)]
	names := request.Name != "" && request.ID != "" && request.Thread == "" && request.Run == "" && len(request.Parts) == 0
	return s.hasUnknownLink(request) || names && !sent
}

// missingObjectName stands in the path of a file that is not there: nobody uploads one of this
// name.
const missingObjectName = "conformance-nothing"

// maxLinkAge is how soon after it was handed out a link is asked for, at the latest, for its
// end to be a fault. How long one lives no document says.
const maxLinkAge = 30 * time.Second

// linkCheck judges what the links lead to that an answer of a kind hands out.
func linkCheck(id, doc string, kind spec.Kind) *spec.Check {
	return &spec.Check{
		ID: id, Doc: doc + `

Judged where the link was asked for by itself, without credentials. That it has ended
is judged in the first half minute; that it leads elsewhere, or that somebody is busy,
is not.`,
		Needs: []spec.Kind{kind, spec.InputFile}, AllPrincipals: true,
		Watch: func(p *spec.Pass) func(spec.Event) {
			uploads := newKnownUploads()
			var request, response, body spec.Event
			return func(e spec.Event) {
				switch e.Kind {
				case spec.HTTPRequest:
					request, response, body = e, spec.Event{}, spec.Event{}
				case spec.HTTPResponse:
					response = e
				case spec.AttachmentContent:
					body = e
				case spec.BodyEnd:
					link, handed := uploads.links[request.ID]
					file, sent := uploads.files[objectKey(link)]
					late := response.StatusCode/100 == 4 && request.At-link.At > maxLinkAge
					if !handed || !sent || link.Kind != kind || e.Err != nil || response.StatusCode/100 == 3 || isRequestIndependentStatus(response.StatusCode) && response.StatusCode != 401 || late {
						return
					}
					p.Judge(response, response.StatusCode == 200 && body.Text == file, "the link is answered %d with %s; the file has %d bytes", response.StatusCode, describeSize(body.Text, file), len(file))
				default:
					uploads.record(request, e)
				}
			}
		},
	}
}

// describeSize says in words how many bytes there are, beside a file.
func describeSize(got, file string) string {
	switch {
	case got == file:
		return "just these"
	case len(got) == len(file):
		return "as many others"
	}
	return fmt.Sprint(len(got), " bytes")
}

// UploadLinkReturnsFile and SignedLinkReturnsFile judge what links lead to.
var (
	UploadLinkReturnsFile = linkCheck("attachment.link-gives-the-file", "the link that an upload is answered with leads to what was uploaded", spec.AttachmentStored)
	SignedLinkReturnsFile = linkCheck("attachment.new-link-gives-the-file", "a new link leads to what was uploaded", spec.AttachmentSigned)
)

// RefusesUnknownFile judges a new link for what is not there.
var RefusesUnknownFile = &spec.Check{
	ID: "attachment.refuses-unknown-file",
	Doc: `a new link is refused for what was never uploaded

Judged for paths that the harness makes up. A server that signs nothing refuses rightly
by accident: until a new link was given for something, no refusal counts.`,
	Needs: []spec.Kind{spec.AttachmentSigned},
	Watch: eachExchange(func(p *spec.Pass) (func(exchange), func()) {
		hasSigned := map[string]bool{}
		var attempts []exchange
		onExchange := func(x exchange) {
			switch madeUp := strings.Contains(x.request.ID, missingObjectName); {
			case !x.request.Valid():
			case madeUp && x.request.Name != "" && (x.isAccepted() || x.status/100 == 4 && !isRequestIndependentStatus(x.status)):
				attempts = append(attempts, x)
			case x.reply.Kind == spec.AttachmentSigned:
				hasSigned[x.request.Operation] = true
			}
		}
		onEnd := func() {
			for _, x := range attempts {
				if x.request.Requirement = ""; hasSigned[x.request.Operation] { // this is about another requirement than the operation's
					p.Judge(x.request, !x.isAccepted(), "nothing was ever uploaded to %q, and %v; expected a refusal", x.request.ID, x)
				}
			}
		}
		return onExchange, onEnd
	}),
}

// RefusesForeignLink judges a run with an image from somewhere else.
var RefusesForeignLink = &spec.Check{
	ID: "attachment.refuses-foreign-link",
	Doc: `a run with an image that was not uploaded to the server is refused

Judged for links to another host than those that the server handed out lead to, and
where a run with one of these was accepted.`,
	Needs: []spec.Kind{spec.AttachmentStored, spec.InputImage},
	Watch: eachExchange(func(p *spec.Pass) (func(exchange), func()) {
		uploads := newKnownUploads()
		hosts := map[string]bool{}
		ownAccepted := false
		var attempts []exchange
		onExchange := func(x exchange) {
			uploads.record(x.request, x.reply)
			if x.reply.Kind == spec.AttachmentStored || x.reply.Kind == spec.AttachmentSigned {
				hosts[hostOf(x.reply.Text)] = true
			}
			switch links := imageLinks(x.request); {
			case len(links) != 1 || !x.request.Valid():
			case !uploads.hasUnknownLink(x.request):
				ownAccepted = ownAccepted || x.isAccepted()
			case x.isAccepted() || x.status/100 == 4 && !isRequestIndependentStatus(x.status):
				attempts = append(attempts, x)
			}
		}
		onEnd := func() {
			for _, x := range attempts {
				x.request.Requirement = "" // likewise
				if from := hostOf(imageLinks(x.request)[0]); ownAccepted && from != "" && !hosts[from] {
					p.Judge(x.request, !x.isAccepted(), "the image comes from %s, where nothing can be uploaded, and %v; expected a refusal", from, x)
				}
			}
		}
		return onExchange, onEnd
	}),
}

// ReturnsTranscript judges the answer to a recording.
var ReturnsTranscript = &spec.Check{
	ID:    "transcript.is-told",
	Doc:   "a recording that is accepted is answered with what was said",
	Needs: []spec.Kind{spec.InputFile, spec.Transcription},
	Watch: eachExchange(func(p *spec.Pass) (func(exchange), func()) {
		return func(x exchange) {
			if x.request.Name == "transcribe" && x.request.Valid() && x.isAccepted() {
				x.request.Requirement = "" // as above
				p.Judge(x.request, x.reply.Kind == spec.Transcription, "%v and has no transcript", x)
			}
		}, func() {}
	}),
}

// imageLinks are the links in a request.
func imageLinks(request spec.Event) (links []string) {
	walkParts(request, func(part spec.Event) {
		if part.Kind == spec.InputImage {
			links = append(links, part.Text)
		}
	})
	return links
}

func hostOf(link string) string {
	u, err := url.Parse(link)
	if err != nil {
		return ""
	}
	return strings.ToLower(u.Host)
}
