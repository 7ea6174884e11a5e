package suites_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"sync"
)

// An uploadServer is a small server that accepts uploads. It shares no code with the reference. The
// field how names the one way in which it is unusual or faulty; "" means that it is an ordinary
// correct server.
type uploadServer struct {
	*accessServer
	how string

	elsewhere string // what links begin with, if not with the host that was asked

	lock    sync.Mutex
	files   map[string]storedUpload // path
	fetched []http.Header
}

type storedUpload struct {
	thread, media string
	data          []byte
}

func newUploadServer(how string) *uploadServer {
	d := &uploadServer{accessServer: newAccessServer(""), how: how, files: map[string]storedUpload{}}
	d.tokens, d.maxStreams = nil, 0
	return d
}

func (d *uploadServer) is(how ...string) bool { return slices.Contains(how, d.how) }

func (d *uploadServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	below, _ := strings.CutPrefix(r.URL.Path, "/api/v1/agent")
	switch {
	case r.Method == "POST" && below == "/attachments":
		d.attach(w, r)
	case r.Method == "GET" && below == "/attachments/signed-url":
		d.sign(w, r)
	case r.Method == "POST" && below == "/transcribe":
		d.transcribe(w, r)
	case strings.HasPrefix(r.URL.Path, "/cdn/"):
		d.fetch(w, r)
	case r.Method == "POST" && below == "/runs":
		body, _ := io.ReadAll(r.Body)
		if !d.blocks(w, body) {
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		d.accessServer.ServeHTTP(w, r)
	default:
		d.accessServer.ServeHTTP(w, r)
	}
}

// file returns the name, media type and bytes of the file in the given form field. If there is no
// such file, it refuses the request, and ok is false.
func (d *uploadServer) file(w http.ResponseWriter, r *http.Request, field string) (name, media string, data []byte, ok bool) {
	media, _, _ = mime.ParseMediaType(r.Header.Get("Content-Type"))
	if media != "multipart/form-data" && d.is("takes JSON") {
		media = map[string]string{"file": "image/png", "audio": "audio/wav"}[field]
		return "x", media, []byte("x"), true
	}
	if media != "multipart/form-data" {
		d.refuse(w, 415, "MEDIA")
		return "", "", nil, false
	}
	f, head, err := r.FormFile(field)
	switch {
	case err != nil && d.is("takes nothing") && r.MultipartForm != nil:
		return "", "image/png", nil, true
	case err != nil:
		d.refuse(w, 400, "FORM")
		return "", "", nil, false
	}
	data, _ = io.ReadAll(f)
	return head.Filename, head.Header.Get("Content-Type"), data, true
}

// fits reports whether a file belongs to the given family of media types, judged by its media type,
// name or first bytes (magic), depending on d.how.
func (d *uploadServer) fits(name, media string, data []byte, family string, magic ...string) bool {
	switch {
	case d.is("takes every type"):
		return true
	case d.is("goes by the name"):
		return slices.Contains([]string{".png", ".jpg", ".wav"}, path.Ext(name))
	case d.is("goes by the bytes"):
		return slices.ContainsFunc(magic, func(m string) bool { return bytes.HasPrefix(data, []byte(m)) })
	}
	return strings.HasPrefix(media, family)
}

func (d *uploadServer) attach(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	name, media, data, ok := d.file(w, r, "file")
	if !ok {
		return
	}
	if d.is("wants the thread first") && bytes.Index(body, []byte(`name="file"`)) < bytes.Index(body, []byte(`name="threadId"`)) {
		d.refuse(w, 422, "FORM")
		return
	}
	thread := r.FormValue("threadId")
	switch {
	case d.is("takes JSON") && r.MultipartForm == nil:
	case thread == "" && !d.is("asks for no thread"):
		d.refuse(w, 400, "THREAD")
		return
	case len(data) == 0 && !d.is("takes empty files", "takes nothing"):
		code := "AGENT_ATTACHMENT_EMPTY"
		if d.is("calls empty files something else") {
			code = "EMPTY"
		}
		d.refuse(w, 422, code)
		return
	case len(data) > 0 && !d.fits(name, media, data, "image/", "\x89PNG", "\xff\xd8\xff"):
		status := 422
		if d.is("says 415") {
			status = 415
		}
		d.refuse(w, status, "TYPE")
		return
	case d.is("is full"):
		d.refuse(w, 422, "FULL")
		return
	}
	sum := sha256.Sum256([]byte(thread + string(data)))
	at := "up/" + hex.EncodeToString(sum[:6]) + "/" + name
	d.lock.Lock()
	d.files[at] = storedUpload{thread, media, data}
	d.lock.Unlock()
	if d.is("says that all is JPEG") {
		media = "image/jpeg"
	}
	if d.is("shouts") {
		media = strings.ToUpper(media) + "; charset=binary"
	}
	link := d.link(r, at, "1")
	told := map[string]any{"bucket": "up", "path": at, "mimeType": media, "url": link, "size": len(data)}
	switch {
	case d.is("forgets the path"):
		delete(told, "path")
	case d.is("tells in HTML"):
		w.Header().Set("Content-Type", "text/html")
		io.WriteString(w, link)
		return
	case d.is("tells nothing"):
		w.WriteHeader(204)
		return
	}
	d.say(w, map[string]any{"attachment": told})
}

func (d *uploadServer) say(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	switch {
	case d.is("says 201"):
		w.WriteHeader(201)
	case d.is("says 302"):
		w.WriteHeader(302)
	}
	_ = json.NewEncoder(w).Encode(v)
}

func (d *uploadServer) link(r *http.Request, at, n string) string {
	host := "http://" + r.Host
	switch {
	case d.is("keeps its files elsewhere"):
		host = "https://storage.example.com"
	case d.is("tells no host"):
		host = ""
	case d.elsewhere != "":
		host = d.elsewhere
	}
	if d.is("escapes no names") {
		return host + "/cdn/" + at + "?n=" + n
	}
	return host + (&url.URL{Path: "/cdn/" + at}).EscapedPath() + "?n=" + n
}

func (d *uploadServer) sign(w http.ResponseWriter, r *http.Request) {
	bucket, at := r.FormValue("bucket"), r.FormValue("path")
	d.lock.Lock()
	_, known := d.files[at]
	d.lock.Unlock()
	switch {
	case (bucket == "" || at == "") && !d.is("signs anything"):
		d.refuse(w, 400, "PARAMETER")
		return
	case (!known || bucket != "up") && !d.is("signs anything", "signs what is not there"):
		status := 404
		if d.is("says 422 for what is not there") {
			status = 422
		}
		d.refuse(w, status, "UNKNOWN")
		return
	}
	link := d.link(r, at, "2")
	if d.is("signs something else") {
		at = "else"
	}
	d.say(w, map[string]any{"bucket": bucket, "path": at, "url": link})
}

func (d *uploadServer) fetch(w http.ResponseWriter, r *http.Request) {
	d.lock.Lock()
	d.fetched = append(d.fetched, r.Header.Clone())
	f, ok := d.files[strings.TrimPrefix(r.URL.Path, "/cdn/")]
	d.lock.Unlock()
	renewed := r.FormValue("n") == "2"
	switch {
	case !ok || renewed && d.is("gives dead links again"):
		w.WriteHeader(404)
	case d.is("shows files to users only") && r.Header.Get("Authorization") == "":
		w.WriteHeader(401)
	case d.is("sends on"):
		http.Redirect(w, r, "https://storage.example.com/x", http.StatusFound)
	case d.is("shows other files"):
		w.Write(bytes.ToUpper(append([]byte("x"), f.data[1:]...)))
	default:
		w.Header().Set("Content-Type", f.media)
		w.Write(f.data)
	}
}

// wavTypes holds the media types that /transcribe accepts.
var wavTypes = []string{"audio/wav", "audio/x-wav", "audio/wave"}

func (d *uploadServer) transcribe(w http.ResponseWriter, r *http.Request) {
	const most = 10 << 20
	if d.is("hangs up without a word") && r.ContentLength > most {
		conn, _, _ := http.NewResponseController(w).Hijack()
		conn.Close()
		return
	}
	if d.is("hangs up on large requests") && r.ContentLength > most {
		d.refuse(w, 413, "AGENT_AUDIO_TOO_LARGE")
		return
	}
	name, media, data, ok := d.file(w, r, "audio")
	if !ok {
		return
	}
	switch {
	case len(data) == 0 && !d.is("takes empty files", "takes nothing"):
		d.refuse(w, 400, "AGENT_AUDIO_EMPTY")
	case len(data) > most && !d.is("takes large files"), len(data) > 1<<20 && d.is("takes a megabyte"):
		d.refuse(w, 413, "AGENT_AUDIO_TOO_LARGE")
	case len(data) > 40 && string(data[36:40]) != "data" && d.is("wants a short head"):
		d.refuse(w, 415, "AGENT_AUDIO_UNSUPPORTED_FORMAT")
	case media == "audio/wave" && d.is("knows two names"):
		d.refuse(w, 415, "AGENT_AUDIO_UNSUPPORTED_FORMAT")
	case len(data) > 0 && (!d.fits(name, media, data, "audio/", "RIFF") || !slices.Contains(wavTypes, media) && !d.is("takes every type")):
		d.refuse(w, 415, "AGENT_AUDIO_UNSUPPORTED_FORMAT")
	case d.is("tells nobody"):
		w.Header().Set("Content-Type", "text/plain")
		io.WriteString(w, "hello")
	case d.is("tells in numbers"):
		d.say(w, map[string]any{"transcript": 1})
	default:
		d.say(w, map[string]any{"transcript": ""})
	}
}

// blocks reports whether the content blocks in the body of a run request are valid. If they are
// not, it refuses the request.
func (d *uploadServer) blocks(w http.ResponseWriter, body []byte) bool {
	var in struct {
		ThreadID string
		Messages []struct{ Content json.RawMessage }
	}
	if json.Unmarshal(body, &in) != nil || len(in.Messages) == 0 {
		return true
	}
	var blocks []map[string]any
	_ = json.Unmarshal(in.Messages[0].Content, &blocks)
	why := ""
	for _, b := range blocks {
		if b["type"] != "binary" {
			continue
		}
		link, _ := b["url"].(string)
		at, _, _ := strings.Cut(link[max(0, strings.Index(link, "/cdn/")+len("/cdn/")*min(1, strings.Count(link, "/cdn/"))):], "?")
		at, _ = url.PathUnescape(at)
		d.lock.Lock()
		f, ok := d.files[at]
		d.lock.Unlock()
		mimeType, _ := b["mimeType"].(string)
		switch _, hasData := b["data"]; {
		case link == "":
			why = "binary content requires url"
		case hasData && !d.is("takes data"):
			why = "binary content data is not allowed"
		case !strings.HasPrefix(mimeType, "image/") || d.is("knows images by a word") && strings.ContainsAny(mimeType, "+.-"):
			why = "binary content requires image mimeType"
		case !ok && !d.is("takes links from anywhere"), f.thread != in.ThreadID && d.is("goes by the thread"), d.is("takes no images"):
			why = "binary content requires a signed url"
		}
	}
	if why == "" {
		return true
	}
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(422)
	fmt.Fprintf(w, `{"status":422,"detail":%q,"code":"AGENT_RUN_MESSAGES_INVALID"}`, why)
	return false
}
