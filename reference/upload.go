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

// mostUpload is how many bytes a request may have that carries a file. What a file
// may have is less; the rest is for what stands around it.
const mostUpload = 12 << 20

// linked is where what was uploaded is served, below the dialect's base.
const linked = "/files/"

// links is what links to uploads begin with, as the client reaches this server.
func (s *Server) links(c *call) string {
	root := s.cfg.Public
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
	return strings.TrimSuffix(root, "/") + strings.TrimSuffix(path, target) + strings.TrimSuffix(linked, "/")
}

// heard are the messages that a request adds to its conversation, with the images
// that they carry.
func (s *Server) heard(c *call) []state.Message {
	said := asked(c.ask, s.cfg.Now())
	i := slices.IndexFunc(said, func(m state.Message) bool { return m.Role == roleUser })
	if i < 0 {
		return said
	}
	user, _ := c.ask.Last(spec.InputUser)
	for _, part := range user.Parts {
		if f, ok := s.issued(part); ok {
			said[i].Files = append(said[i].Files, state.File{Bucket: f.Bucket, Path: f.Path, Type: cmp.Or(f.Type, part.Type)})
		}
	}
	return said
}

// issued is the upload that an image of a request links to.
func (s *Server) issued(part spec.Event) (f files.File, ok bool) {
	if !s.uploads || part.Kind != spec.InputImage {
		return f, false
	}
	return s.cfg.Files.Owns(part.Text)
}

// foreign says whether a request carries an image that was not uploaded here by its
// user. Where nothing can be uploaded any image will do.
func (s *Server) foreign(c *call) bool {
	if !s.uploads {
		return false
	}
	for _, message := range c.ask.Parts {
		for _, part := range message.Parts {
			if part.Kind != spec.InputImage {
				continue
			}
			f, ok := s.issued(part)
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

// attach stores what is uploaded for a conversation, which need not be there yet:
// the first image comes before the first run.
func (s *Server) attach(c *call) {
	if _, ok := s.thread(c, true); !ok {
		return
	}
	file, _ := c.ask.Last(spec.InputFile)
	f, err := s.cfg.Files.Put(c.r.Context(), files.Upload{
		Owner: c.user, Thread: c.ask.Thread, Name: file.Name, Type: file.Type, Data: []byte(file.Text),
	})
	if err != nil {
		s.unfit(c, err)
		return
	}
	s.answer(c, spec.Event{Kind: spec.AttachmentStored, Name: f.Bucket, ID: f.Path, Type: f.Type, Text: s.cfg.Files.Link(s.links(c), f)})
}

// sign makes a new link to what was uploaded.
func (s *Server) sign(c *call) {
	f, owner, err := s.cfg.Files.Find(c.r.Context(), c.ask.Name, c.ask.ID)
	switch {
	case err != nil:
		s.unfit(c, err)
	case owner != c.user:
		s.refuse(c, http.StatusForbidden, "", "the file is another user's")
	default:
		s.answer(c, spec.Event{Kind: spec.AttachmentSigned, Name: f.Bucket, ID: f.Path, Type: f.Type, Text: s.cfg.Files.Link(s.links(c), f)})
	}
}

// transcribe turns a recording into text.
func (s *Server) transcribe(c *call) {
	file, _ := c.ask.Last(spec.InputFile)
	_, err := speech.Check([]byte(file.Text))
	text := ""
	if err == nil {
		text, err = s.cfg.Speech(c.r.Context(), []byte(file.Text))
	}
	if err != nil {
		s.unfit(c, err)
		return
	}
	s.answer(c, spec.Event{Kind: spec.Transcription, Text: text})
}

// unfit refuses a file. What it is called in the dialect stands in the document.
func (s *Server) unfit(c *call, err error) {
	is := func(these ...error) bool {
		return slices.ContainsFunc(these, func(e error) bool { return errors.Is(err, e) })
	}
	switch {
	case is(files.ErrUnknown):
		s.refuse(c, http.StatusNotFound, "", "there is no such file")
	case is(files.ErrTooLarge, speech.ErrTooLarge):
		s.refuse(c, http.StatusRequestEntityTooLarge, "", err.Error())
	case is(files.ErrEmpty, speech.ErrEmpty):
		s.refuseAs(c, s.dialect.PartViolation(c.o, spec.InputFile, "minLength"))
	case is(files.ErrType, speech.ErrFormat):
		s.refuse(c, http.StatusUnprocessableEntity, "", err.Error())
	default:
		s.cfg.Log.Error("a file cannot be dealt with", "dialect", s.dialect.Name, "op", c.o.Name, "err", err)
		s.refuse(c, http.StatusServiceUnavailable, "", "what this needs cannot be reached")
	}
}
