package reference

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/streamassay/streamassay/internal/files"
	"github.com/streamassay/streamassay/internal/speech"
	"github.com/streamassay/streamassay/spec"
)

// maxUploadRequest is the size limit, in bytes, of a request that carries a file. The
// limit of a file is lower, which leaves room for the multipart encoding.
const maxUploadRequest = 12 << 20

// filesPath is the path of uploaded files, below the dialect's base.
const filesPath = "/files/"

// fileBaseURL returns the URL below which the client of a request reaches uploaded files. Its
// scheme and host are those of Config.PublicURL or, if that is empty, of the request. Its path
// includes any prefix of the request's path that a handler in front of the server has stripped.
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

// uploadedFile returns the uploaded file to which part, a part of a message in a request, links. ok
// is false if the server has no uploads, or if part is not an image or does not link to an upload.
// The file may no longer exist.
func (s *Server) uploadedFile(part spec.Event) (f files.File, ok bool) {
	if !s.acceptsUploads || part.Kind != spec.InputImage {
		return f, false
	}
	return s.cfg.Files.ParseLink(part.Text)
}

var errForeignImage = errors.New("the image was not uploaded here")

// checkImages returns errForeignImage if a request has an image that its user did not upload to this
// server, or an error from the file store. A server without uploads accepts any image.
func (s *Server) checkImages(c *requestContext) error {
	if !s.acceptsUploads {
		return nil
	}
	for _, message := range c.event.Parts {
		for _, part := range message.Parts {
			if part.Kind != spec.InputImage {
				continue
			}
			f, ok := s.uploadedFile(part)
			if !ok {
				return errForeignImage
			}
			_, owner, err := s.cfg.Files.Find(c.r.Context(), f.Path)
			switch {
			case errors.Is(err, files.ErrNotFound), err == nil && owner != c.user:
				return errForeignImage
			case err != nil:
				return err
			}
		}
	}
	return nil
}

// serveAttach stores the file that the request contains and responds with a signed link to it. The
// request names the conversation to which the file belongs. The conversation need not exist yet,
// because an image is uploaded before the first run that uses it.
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
	s.respondFile(c, spec.AttachmentStored, f)
}

// serveSign responds with a new signed link to the uploaded file that the request names. It refuses
// the request if the file does not exist or belongs to another user.
func (s *Server) serveSign(c *requestContext) {
	f, owner, err := s.cfg.Files.Find(c.r.Context(), c.event.ID)
	if c.event.Name != c.op.FixedText(spec.AttachmentSigned, "name") { // all files are in one bucket
		err = files.ErrNotFound
	}
	switch {
	case err != nil:
		s.refuseFile(c, err)
	case owner != c.user:
		s.refuse(c, http.StatusForbidden, "", "the file belongs to another user")
	default:
		s.respondFile(c, spec.AttachmentSigned, f)
	}
}

func (s *Server) respondFile(c *requestContext, kind spec.Kind, f files.File) {
	link := s.cfg.Files.Link(s.fileBaseURL(c), f)
	s.respond(c, spec.Event{Kind: kind, ID: f.Path, Type: f.Type, Text: link})
}

// serveTranscribe responds with the text of the recording of speech that the request contains. If
// the recording is not a WAV file, serveTranscribe refuses the request with status 422.
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

// refuseFile refuses a request because of err, an error of a file store or of a transcription. The
// status is 404 if the file does not exist, 413 if it is too large, and 422 if it is of the wrong
// type or an image that the user did not upload. An empty file is refused as a violation of the
// dialect's document. For any other error the status is 503, and the error is logged.
func (s *Server) refuseFile(c *requestContext, err error) {
	is := func(these ...error) bool {
		return slices.ContainsFunc(these, func(e error) bool { return errors.Is(err, e) })
	}
	switch {
	case is(files.ErrNotFound):
		s.refuse(c, http.StatusNotFound, "", files.ErrNotFound.Error())
	case is(files.ErrTooLarge, speech.ErrTooLarge):
		s.refuse(c, http.StatusRequestEntityTooLarge, "", err.Error())
	case is(files.ErrEmpty, speech.ErrEmpty):
		s.refuseViolation(c, s.dialect.PartViolation(c.op, spec.InputFile, "minLength"))
	case is(files.ErrNotImage, errForeignImage, speech.ErrNotWAV):
		s.refuse(c, http.StatusUnprocessableEntity, "", err.Error())
	default:
		s.cfg.Log.Error("a file cannot be processed", "dialect", s.dialect.Name, "op", c.op.Name, "err", err)
		s.refuse(c, http.StatusServiceUnavailable, "", "the file or speech service is unavailable")
	}
}
