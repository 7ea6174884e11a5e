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

// maxUploadRequest is the maximum size, in bytes, of the body of a request that contains a
// file. The file itself must be smaller, which leaves room for the multipart encoding.
const maxUploadRequest = 12 << 20

// filesPath is the path of uploaded files, relative to the base path of the dialect.
const filesPath = "/files/"

// fileBaseURL returns the base URL of uploaded files, without a slash at the end, as the client of
// the request must use it. The scheme and host are those of Config.PublicURL or, if that is empty,
// of the request. The path includes any prefix that an outer handler (such as http.StripPrefix) has
// removed from the request's path.
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

// uploadedFile returns the uploaded file to which an image in a message links. The argument part is
// a part of the message. ok is false if part is not an image or does not link to an upload, or if
// the server accepts no uploads. uploadedFile does not check whether the file exists.
func (s *Server) uploadedFile(part spec.Event) (f files.File, ok bool) {
	if !s.acceptsUploads || part.Kind != spec.InputImage {
		return f, false
	}
	return s.cfg.Files.ParseLink(part.Text)
}

var errForeignImage = errors.New("the image was not uploaded here")

// checkImages checks that each image in the messages of a request is a file that the user has
// uploaded to this server. If not, the error is errForeignImage. checkImages also returns any error
// from the file store. If the server accepts no uploads, checkImages accepts all images.
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

// serveAttach stores the file in the request and responds with a signed link to it. The request
// names the conversation to which the file belongs. The conversation need not exist yet, because
// the upload precedes the first run that uses the file. serveAttach refuses the request if the
// conversation belongs to another user, or if the file cannot be stored (see refuseFile).
func (s *Server) serveAttach(c *requestContext) {
	if _, ok := s.authorizeThread(c, true); !ok {
		return
	}
	file, _ := c.event.Last(spec.InputFile)
	f, err := s.cfg.Files.Put(c.r.Context(), files.NewFile{
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

// serveTranscribe responds with the text of the speech recording in the request. If the recording
// is not a WAV file, it refuses the request with status 422. For other errors, see refuseFile.
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

// refuseFile refuses a request because a file store or a transcription returned err. The status is
// 404 if the file does not exist, 413 if it is too large, and 422 if it has the wrong type or is an
// image that the user did not upload. An empty file is refused as a violation of the dialect's
// document. For any other error the status is 503, and the error is logged.
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
