package files

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Time limits of serving a file.
const (
	maxCacheAge = time.Hour       // how long a browser may cache a file; less if its link expires earlier
	sendTimeout = 5 * time.Minute // how long a file may be read from the storage while it is sent
)

// ServeHTTP serves the file of a link. The URL of the request must be a URL that Link returned, but
// its base may differ, for example after http.StripPrefix. A valid link is the only credential
// required. The status is 405 if the method is neither GET nor HEAD, 403 if the link is not valid,
// 410 if it has expired, 404 if the file no longer exists, and 503 if the storage fails.
func (s *Store) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		writeError(w, http.StatusMethodNotAllowed, "want GET or HEAD")
		return
	}
	f, until, ok := s.verifyLink(r.URL.EscapedPath() + "?" + r.URL.RawQuery)
	left := until.Sub(s.cfg.Now())
	switch {
	case !ok:
		writeError(w, http.StatusForbidden, "invalid link signature")
		return
	case left <= 0:
		writeError(w, http.StatusGone, "the link has expired; request a new one")
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), sendTimeout)
	defer cancel()
	late := time.AfterFunc(storageTimeout, cancel)
	content, attributes, err := s.storage.Open(ctx, f.Path)
	late.Stop()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		writeError(w, http.StatusNotFound, ErrNotFound.Error())
		return
	case err != nil:
		writeError(w, http.StatusServiceUnavailable, ErrUnavailable.Error())
		return
	}
	defer func() { _ = content.Close() }()
	setHeaders(w.Header(), attributes.Type)
	w.Header().Set("Cache-Control", "private, max-age="+strconv.Itoa(int(min(left, maxCacheAge).Seconds())))
	w.Header().Set("ETag", `"`+f.Path+`"`) // the file at a path never changes
	if strings.Contains(r.Header.Get("Range"), ",") {
		r.Header.Del("Range") // each range would cost a request to the storage
	}
	http.ServeContent(w, r, "", time.Time{}, content)
}

// setHeaders sets in h the header fields that depend on kind, the media type of the file that is
// served. The Content-Type is kind for an image, and application/octet-stream for any other file.
// Other fields instruct browsers not to guess another type, not to run scripts, and to download
// rather than show a file that is an SVG image or whose type is not in extensions.
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

// writeError sends a response with the given status, the given text as its body, and a header that
// forbids caching.
func writeError(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Cache-Control", "no-store")
	http.Error(w, text, status)
}
