package reference

import (
	"cmp"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/streamassay/streamassay/reference/files"
	"github.com/streamassay/streamassay/reference/speech"
	"github.com/streamassay/streamassay/reference/state"
	"github.com/streamassay/streamassay/spec"
)

// maxUploadRequest is how many bytes a request may have that carries a file. What a file
// may have is less; the rest is for what stands around it.
const maxUploadRequest = 12 << 20

// filesPath is where what was uploaded is served, below the dialect's base.
const filesPath = "/files/"

// fileBaseURL is what links to uploads begin with, as the client reaches this server.
func (s *Server) fileBaseURL(c *requestContext) string {
	root := s.cfg.PublicURL
	if root == "" {
		root = "http://" + c.r.Host
		if c.r.TLS != nil {
			root = "https://" + c.r.Host
		}
	}
	path := c.r.RequestURI
	if u, err := url.ParseRequestURI(path); err == nil {
		path = u.EscapedPath()
	}
	target, _ := s.target(c.r)
	target, _, _ = strings.Cut(target, "?")
	return strings.TrimSuffix(root, "/") + strings.TrimSuffix(path, target) + strings.TrimSuffix(filesPath, "/")
}

// requestMessages are the messages that a request adds to its conversation, with the images
// that they carry.
func (s *Server) requestMessages(c *requestContext) []state.Message {
	messages := requestedMessages(c.event, s.cfg.Now())
	i := slices.IndexFunc(messages, func(m state.Message) bool { return m.Role == roleUser })
	if i < 0 {
		return messages
	}
	user, _ := c.event.Last(spec.InputUser)
	for _, part := range user.Parts {
		if f, ok := s.uploadedFile(part); ok {
			messages[i].Files = append(messages[i].Files, state.File{Bucket: f.Bucket, Path: f.Path, Type: cmp.Or(f.Type, part.Type)})
		}
	}
	return messages
}

// uploadedFile is the upload that an image of a request links to.
func (s *Server) uploadedFile(part spec.Event) (f files.File, ok bool) {
	if !s.acceptsUploads || part.Kind != spec.InputImage {
		return f, false
	}
	return s.cfg.Files.ParseLink(part.Text)
}

// referencesForeignFile says whether a request carries an image that was not uploaded here by its
// user. Where nothing can be uploaded any image will do.
func (s *Server) referencesForeignFile(c *requestContext) bool {
	if !s.acceptsUploads {
		return false
	}
	for _, message := range c.event.Parts {
		for _, part := range message.Parts {
			if part.Kind != spec.InputImage {
				continue
			}
			f, ok := s.uploadedFile(part)
			if !ok {
				return true
			}
			if _, owner, err := s.cfg.Files.Find(c.r.Context(), f.Bucket, f.Path); err != nil || owner != c.user {
				return true
			}
		}
	}
	return false
}

// serveAttach stores what is uploaded for a conversation, which need not be there yet:
// the first image comes before the first run.
func (s *Server) serveAttach(c *requestContext) {
	if _, ok := s.authorizeThread(c, true); !ok {
		return
	}
	file, _ := c.event.Last(spec.InputFile)
	f, err := s.cfg.Files.Put(c.r.Context(), files.Upload{
		Owner: c.user, Thread: c.event.Thread, Name: file.Name, Type: file.Type, Data: []byte(file.Text),
	})
	if err != nil {
		s.refuseFile(c, err)
		return
	}
	s.respond(c, spec.Event{Kind: spec.AttachmentStored, Name: f.Bucket, ID: f.Path, Type: f.Type, Text: s.cfg.Files.Link(s.fileBaseURL(c), f)})
}

// serveSign makes a new link to what was uploaded.
func (s *Server) serveSign(c *requestContext) {
	f, owner, err := s.cfg.Files.Find(c.r.Context(), c.event.Name, c.event.ID)
	switch {
	case err != nil:
		s.refuseFile(c, err)
	case owner != c.user:
		s.refuse(c, http.StatusForbidden, "", "the file is another user's")
	default:
		s.respond(c, spec.Event{Kind: spec.AttachmentSigned, Name: f.Bucket, ID: f.Path, Type: f.Type, Text: s.cfg.Files.Link(s.fileBaseURL(c), f)})
	}
}

// serveTranscribe turns a recording into text.
func (s *Server) serveTranscribe(c *requestContext) {
	file, _ := c.event.Last(spec.InputFile)
	_, err := speech.ParseWAV([]byte(file.Text))
	text := ""
	if err == nil {
		text, err = s.cfg.Transcriber(c.r.Context(), []byte(file.Text))
	}
	if err != nil {
		s.refuseFile(c, err)
		return
	}
	s.respond(c, spec.Event{Kind: spec.Transcription, Text: text})
}

// refuseFile refuses a file. What it is called in the dialect stands in the document.
func (s *Server) refuseFile(c *requestContext, err error) {
	is := func(these ...error) bool {
		return slices.ContainsFunc(these, func(e error) bool { return errors.Is(err, e) })
	}
	switch {
	case is(files.ErrNotFound):
		s.refuse(c, http.StatusNotFound, "", "there is no such file")
	case is(files.ErrTooLarge, speech.ErrTooLarge):
		s.refuse(c, http.StatusRequestEntityTooLarge, "", err.Error())
	case is(files.ErrEmpty, speech.ErrEmpty):
		s.refuseViolation(c, s.dialect.PartViolation(c.op, spec.InputFile, "minLength"))
	case is(files.ErrNotImage, speech.ErrNotWAV):
		s.refuse(c, http.StatusUnprocessableEntity, "", err.Error())
	default:
		s.cfg.Log.Error("a file cannot be dealt with", "dialect", s.dialect.Name, "op", c.op.Name, "err", err)
		s.refuse(c, http.StatusServiceUnavailable, "", "what this needs cannot be reached")
	}
}
