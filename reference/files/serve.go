package files

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"gocloud.dev/blob"
)

// How long a browser may keep a file, and how long one may take to be sent.
const (
	maxCacheAge = time.Hour
	sendTimeout = 5 * time.Minute
)

// ServeHTTP answers a link. Whatever stands before the bucket in its path is not
// looked at, so a prefix may be stripped or not. The link is the permission: there
// is no user here.
func (s *Store) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		writeError(w, http.StatusMethodNotAllowed, "links are read with GET")
		return
	}
	f, until, ok := s.verifyLink(r.URL.EscapedPath() + "?" + r.URL.RawQuery)
	left := until.Sub(s.cfg.Now())
	switch {
	case !ok:
		writeError(w, http.StatusForbidden, "the link was not made here")
		return
	case left <= 0:
		writeError(w, http.StatusGone, "the link has ended; have it signed again")
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), sendTimeout)
	defer cancel()
	content, err := s.openFile(ctx, cancel, f.Path)
	if errors.Is(err, ErrNotFound) {
		writeError(w, http.StatusNotFound, ErrNotFound.Error())
		return
	}
	if err != nil {
		writeError(w, http.StatusServiceUnavailable, ErrUnavailable.Error())
		return
	}
	defer func() { _ = content.Close() }()
	setHeaders(w.Header(), content.ContentType())
	w.Header().Set("Cache-Control", "private, max-age="+strconv.Itoa(int(min(left, maxCacheAge).Seconds())))
	w.Header().Set("ETag", `"`+f.Path+`"`) // what is at a path never changes
	if strings.Contains(r.Header.Get("Range"), ",") {
		r.Header.Del("Range") // each range is a request of its own to the storage
	}
	http.ServeContent(w, r, "", time.Time{}, content)
}

// setHeaders says what a file is, and has browsers take it for nothing more. Images
// that are not known to be harmless are to be saved, not shown.
func setHeaders(h http.Header, kind string) {
	if !strings.HasPrefix(kind, "image/") {
		kind = "application/octet-stream"
	}
	h.Set("Content-Type", kind)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", "sandbox; default-src 'none'")
	if kind == svgType || extensions[kind] == "" {
		h.Set("Content-Disposition", "attachment")
	}
}

// openFile opens a file. The storage has less time for that than to send it.
func (s *Store) openFile(ctx context.Context, cancel context.CancelFunc, path string) (*blob.Reader, error) {
	if err := s.checkDir(); err != nil {
		return nil, err
	}
	late := time.AfterFunc(storageTimeout, cancel)
	defer late.Stop()
	content, err := s.bucket.NewReader(ctx, path, nil)
	if err != nil {
		return nil, lookupError(err)
	}
	return content, nil
}

// writeError answers that there is nothing, in a few words.
func writeError(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Cache-Control", "no-store")
	http.Error(w, text, status)
}
