package rules

import (
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/streamassay/streamassay/spec"
)

var attachmentChecks = []*spec.Check{
	UploadTypeMatches, SignedLinkMatches, UploadLinkReturnsFile, SignedLinkReturnsFile, RefusesUnknownFile,
	RefusesForeignLink, ReturnsTranscript,
}

// UploadTypeMatches judges whether the reply to an upload names the media type of the uploaded
// file.
var UploadTypeMatches = &spec.Check{
	ID:    "attachment.type-as-sent",
	Doc:   "the reply to an upload has the media type of the uploaded file",
	Needs: []spec.Kind{spec.AttachmentStored, spec.InputFile},
	Watch: eachResponseEvent(func(p *spec.Pass, x *exchange, e spec.Event) {
		if sent, _ := x.request.Last(spec.InputFile); e.Kind == spec.AttachmentStored && sent.Type != "" {
			media, _, _ := strings.Cut(e.Type, ";")
			same := strings.EqualFold(strings.TrimSpace(media), sent.Type)
			p.Judge(e, same, "the reply has the media type %q; expected %q, as uploaded", e.Type, sent.Type)
		}
	}),
}

// SignedLinkMatches judges whether a newly issued link is for the bucket and the path that were
// requested. It also records a finding if a server refuses to issue a link to a file that was
// uploaded in the conversation.
var SignedLinkMatches = &spec.Check{
	ID:    "attachment.signs-what-was-asked",
	Doc:   "a new link is for the requested bucket and path",
	Needs: []spec.Kind{spec.AttachmentSigned},
	Watch: eachExchange(func(p *spec.Pass) func(exchange) {
		uploaded := map[string]bool{} // by user and object
		return func(x exchange) {
			request, reply := x.request, x.reply
			switch user := credentialKey(request) + "\x00"; {
			case reply.Kind == spec.AttachmentStored:
				uploaded[user+objectKey(reply)] = true
			case !request.Valid():
			case reply.Kind == spec.AttachmentSigned:
				p.Judge(reply, reply.Name == request.Name && reply.ID == request.ID,
					"got a link for %s and %s; expected bucket %q and path %q, as requested",
					describeMember("bucket", reply.Name), describeMember("path", reply.ID), request.Name, request.ID)
			case request.Name != "" && uploaded[user+objectKey(request)] && isRefusal(x.status()):
				request.Requirement = "" // this is not the requirement on the operation
				p.Judge(request, false, "%v for a link to path %q in bucket %q, which was uploaded before; expected a link",
					x, request.ID, request.Name)
			}
		}
	}),
}

// A knownUploads holds the files that were uploaded in a conversation, and the links that replies
// issued. The links may also lead to files that were not uploaded in the conversation.
type knownUploads struct {
	files map[string]string     // by object key: the bytes of the file
	links map[string]issuedLink // by URL without the fragment, which clients do not send
}

// An issuedLink is a link that a reply issued, with the file to which it leads.
type issuedLink struct {
	reply   spec.Event // the reply that issued the link
	file    string     // the bytes of the file that the link must return
	hasFile bool       // whether file is known, because it was uploaded in the conversation
}

// objectKey returns a map key for the object in the bucket e.Name with the path e.ID.
func objectKey(e spec.Event) string { return e.Name + "\x00" + e.ID }

// record adds the file that request uploaded, if any, and the link that its reply e issued.
//
// A link that is already known to lead to an uploaded file keeps that file, with one exception: it
// gets a different file if e is the reply to a request for a link ([spec.AttachmentSigned]) and the
// different file was uploaded, too.
func (s *knownUploads) record(request, e spec.Event) {
	switch file, ok := request.Last(spec.InputFile); {
	case e.Kind == spec.AttachmentStored && ok:
		s.files[objectKey(e)] = file.Text
		if old := s.links[withoutFragment(e.Text)]; !old.hasFile || old.file == file.Text {
			s.links[withoutFragment(e.Text)] = issuedLink{e, file.Text, true}
		}
	case e.Kind == spec.AttachmentSigned:
		if file, ok := s.files[objectKey(e)]; ok || !s.links[withoutFragment(e.Text)].hasFile {
			s.links[withoutFragment(e.Text)] = issuedLink{e, file, ok}
		}
	}
}

// hasFile reports whether a file with exactly the given bytes was uploaded in the conversation so
// far.
func (s *knownUploads) hasFile(file string) bool {
	return slices.Contains(slices.Collect(maps.Values(s.files)), file)
}

// hasUnknownLink reports whether a request contains a link to an image, on any host, that no reply
// of the conversation has issued so far.
func (s *knownUploads) hasUnknownLink(request spec.Event) bool {
	return slices.ContainsFunc(imageLinks(request), func(link string) bool {
		_, issued := s.links[withoutFragment(link)]
		return !issued
	})
}

// isUnverifiable reports whether only the server can know whether a request is valid. That is so if
// the request has an image link that no reply issued so far, or if it names a file that was not
// uploaded in the conversation.
func (s *knownUploads) isUnverifiable(request spec.Event) bool {
	_, sent := s.files[objectKey(request)]
	names := request.Name != "" && request.ID != "" &&
		request.Thread == "" && request.Run == "" && len(request.Parts) == 0
	return s.hasUnknownLink(request) || names && !sent
}

// missingObjectName occurs in the bucket name or the path of each request of the suite for a file
// that does not exist. No file is ever uploaded to such a bucket or path.
const missingObjectName = "conformance-nothing"

// maxLinkAge is the age up to which a link must work. It is short because no document states how
// long links are valid.
const maxLinkAge = 30 * time.Second

// linkCheck returns a check with the given id that judges whether links return the file that was
// uploaded. It applies to the links in replies of the given kind: [spec.AttachmentStored] or
// [spec.AttachmentSigned]. The Doc of the check is doc, followed by a paragraph about what is
// judged.
func linkCheck(id, doc string, kind spec.Kind) *spec.Check {
	return &spec.Check{
		ID: id, Doc: doc + `

The link must work without credentials; the suite sends none. It must still work after a new link to
the file was issued. Not judged: a 4xx status for a link that is more than 30 seconds old, redirects,
and responses with status 429 or 503.`,
		Needs: []spec.Kind{kind, spec.InputFile}, AllPrincipals: true,
		Watch: eachExchange(func(p *spec.Pass) func(exchange) {
			uploads := exchangesOf(p).uploads
			return func(x exchange) {
				link := uploads.links[x.request.ID]
				status, body := x.status(), ""
				if x.reply.Kind == spec.AttachmentContent {
					body = x.reply.Text
				}
				late := status/100 == 4 && x.request.At-link.reply.At > maxLinkAge
				unrelated := status/100 == 3 || isRequestIndependentStatus(status) && status != 401
				if !link.hasFile || link.reply.Kind != kind || x.bodyEnd.Err != nil || unrelated || late {
					return
				}
				evidence := x.response
				if status == 200 && x.reply.Raw != nil {
					evidence = x.reply
				}
				p.Judge(evidence, status == 200 && body == link.file,
					"link returned status %d with %s; expected status 200 with the %d bytes of the file",
					status, describeSize(body, link.file), len(link.file))
			}
		}),
	}
}

// describeSize describes the size of got, the body of a response, for the message of a finding.
// The expected body is file. The result is "these bytes" if the two are equal, "as many
// bytes, but different ones" if only their lengths are equal, and otherwise the length of got, such
// as "12 bytes".
func describeSize(got, file string) string {
	switch {
	case got == file:
		return "these bytes"
	case len(got) == len(file):
		return "as many bytes, but different ones"
	}
	return pluralize(len(got), "byte")
}

// UploadLinkReturnsFile judges whether the link in the reply to an upload returns the uploaded
// file. SignedLinkReturnsFile judges the same for a link that was requested after the upload.
var (
	UploadLinkReturnsFile = linkCheck("attachment.link-gives-the-file",
		"the link in the reply to an upload returns the file", spec.AttachmentStored)
	SignedLinkReturnsFile = linkCheck("attachment.new-link-gives-the-file",
		"a newly issued link returns the file", spec.AttachmentSigned)
)

// RefusesUnknownFile judges whether a server refuses to issue a link to a file that does not exist.
var RefusesUnknownFile = &spec.Check{
	ID: "attachment.refuses-unknown-file",
	Doc: `a request for a link to a file that does not exist is refused

This is judged for buckets and paths that the suite makes up. It is judged only if the same operation
issued another link in the conversation, because a server that never issues links would pass by
accident.`,
	Needs: []spec.Kind{spec.AttachmentSigned},
	Watch: eachExchange(func(p *spec.Pass) func(exchange) {
		hasSigned := map[string]bool{}
		var attempts []exchange
		p.AtEnd(func() {
			for _, x := range attempts {
				x.request.Requirement = "" // this is not the requirement on the operation
				if hasSigned[x.request.Operation] {
					p.Judge(x.request, !x.isAccepted(),
						"%v for a link to path %q in bucket %q, which was never uploaded; expected a refusal",
						x, x.request.ID, x.request.Name)
				}
			}
		})
		return func(x exchange) {
			switch madeUp := strings.Contains(x.request.Name+x.request.ID, missingObjectName); {
			case !x.request.Valid():
			case madeUp && x.request.Name != "" && (x.isAccepted() || isRefusal(x.status())):
				attempts = append(attempts, x)
			case x.reply.Kind == spec.AttachmentSigned:
				hasSigned[x.request.Operation] = true
			}
		}
	}),
}

// RefusesForeignLink judges whether a server refuses to start a run whose request links to an image
// on a foreign host, that is, a host other than those of the links that the server has issued.
var RefusesForeignLink = &spec.Check{
	ID: "attachment.refuses-foreign-link",
	Doc: `a run with an image that was not uploaded to the server is refused

This is judged for links to hosts other than those of the links that the server issued. The server
must have accepted a run with one of its own links in the same conversation.`,
	Needs: []spec.Kind{spec.AttachmentStored, spec.InputImage},
	Watch: eachExchange(func(p *spec.Pass) func(exchange) {
		uploads := exchangesOf(p).uploads
		hosts := map[string]bool{}
		ownAccepted := false
		var attempts []exchange
		p.AtEnd(func() {
			for _, x := range attempts {
				x.request.Requirement = "" // this is not the requirement on the operation
				if from := hostOf(imageLinks(x.request)[0]); ownAccepted && from != "" && !hosts[from] {
					p.Judge(x.request, !x.isAccepted(),
						"%v for an image from %s, which is not one of the server's hosts; expected a refusal", x, from)
				}
			}
		})
		return func(x exchange) {
			if x.reply.Kind == spec.AttachmentStored || x.reply.Kind == spec.AttachmentSigned {
				hosts[hostOf(x.reply.Text)] = true
			}
			switch links := imageLinks(x.request); {
			case len(links) != 1 || !x.request.Valid():
			case !uploads.hasUnknownLink(x.request):
				ownAccepted = ownAccepted || x.isAccepted()
			case x.isAccepted() || isRefusal(x.status()):
				attempts = append(attempts, x)
			}
		}
	}),
}

// isRefusal reports whether a response with the given status refuses the request because of its
// content. The result is true for all 4xx statuses except 401 and 429, which a server may return
// before it has read the request.
func isRefusal(status int) bool { return status/100 == 4 && !isRequestIndependentStatus(status) }

// ReturnsTranscript judges whether the reply to an accepted recording of speech contains its
// transcription.
var ReturnsTranscript = &spec.Check{
	ID:    "transcript.is-told",
	Doc:   "the reply to an accepted recording contains its transcript",
	Needs: []spec.Kind{spec.InputFile, spec.Transcription},
	Watch: eachExchange(func(p *spec.Pass) func(exchange) {
		return func(x exchange) {
			if x.request.Name == "transcribe" && x.request.Valid() && x.isAccepted() {
				x.request.Requirement = "" // this is not the requirement on the operation
				p.Judge(x.request, x.reply.Kind == spec.Transcription,
					"%v without a transcript; expected the text of the recording", x)
			}
		}
	}),
}

// imageLinks returns the links to all images in a request. It finds images at any depth of the
// parts of the request.
func imageLinks(request spec.Event) (links []string) {
	walkParts(request, func(part spec.Event) {
		if part.Kind == spec.InputImage {
			links = append(links, part.Text)
		}
	})
	return links
}

// withoutFragment returns a link without its fragment, if it has one.
func withoutFragment(link string) string {
	link, _, _ = strings.Cut(link, "#")
	return link
}

// hostOf returns the host of a link, with the port if there is one, in lower case. It returns "" if
// the link is not a valid URL or has no host.
func hostOf(link string) string {
	u, err := url.Parse(link)
	if err != nil {
		return ""
	}
	return strings.ToLower(u.Host)
}

// describeMember returns a description of a member, such as `path "a.png"`, for the message of a
// finding. The arguments are the name and the text of the member. If text is empty, the description
// states that the member has no text.
func describeMember(name, text string) string {
	if text == "" {
		return "a " + name + " that is missing, empty or not a text"
	}
	return name + " " + strconv.Quote(text)
}
