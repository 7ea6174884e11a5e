package files

import (
	"crypto/rand"
	"fmt"
	"mime"
	"net/http"
	"regexp"
	"strings"
)

// mostType bounds a media type, and mostName what is taken over of a client's name.
const (
	mostType = 127
	mostName = 40
)

// endings are the image types that are known by how a path ends.
var endings = map[string]string{
	"image/png": "png", "image/jpeg": "jpg", "image/gif": "gif", "image/webp": "webp", "image/bmp": "bmp",
	"image/avif": "avif", "image/heic": "heic", "image/heif": "heif", "image/tiff": "tiff",
	"image/x-icon": "ico", "image/vnd.microsoft.icon": "icon", vector: "svg",
}

// vector is the image type that can carry scripts.
const vector = "image/svg+xml"

// image is the media type of an upload, if that is an image. The bytes are never
// decoded; they only must not be, as far as anybody can see, something else.
func image(kind string, data []byte) (string, error) {
	media, _, err := mime.ParseMediaType(kind)
	sub, ok := strings.CutPrefix(media, "image/")
	if err != nil || !ok || sub == "" || strings.Contains(sub, "*") || len(media) > mostType {
		return "", fmt.Errorf("%w: its type is said to be %.40q", ErrType, kind)
	}
	is := http.DetectContentType(data)
	is, _, _ = strings.Cut(is, ";")
	family, _, _ := strings.Cut(is, "/")
	switch {
	case media == vector && (is == "text/xml" || is == "text/plain"):
	case media == vector && strings.HasPrefix(strings.TrimSpace(string(data[:min(len(data), 64)])), "<!--"): // sniffed as HTML
	case family == "text" || family == "audio" || family == "video" || no[is]:
		return "", fmt.Errorf("%w: it is %s", ErrType, is)
	}
	return media, nil
}

// no are other types that can be told from the bytes. Fonts are told from too few.
var no = map[string]bool{
	"application/pdf": true, "application/postscript": true, "application/zip": true, "application/x-gzip": true,
	"application/x-rar-compressed": true, "application/wasm": true, "application/ogg": true,
}

// newPath makes the path of a new file: a random id, then what of the client's name
// does no harm, so that people can tell files apart. The type says how it ends.
func newPath(name, kind string) string {
	path := strings.ToLower(rand.Text())
	if name = clean(name); name != "" {
		path += "-" + name
	}
	if end := endings[kind]; end != "" {
		path += "." + end
	}
	return path
}

// clean is what a name keeps: letters and digits of ASCII, of its last part, without
// its ending.
func clean(name string) string {
	name = name[strings.LastIndexAny(name, `/\`)+1:]
	if dot := strings.LastIndexByte(name, '.'); dot > 0 {
		name = name[:dot]
	}
	var b strings.Builder
	gap := false
	for _, r := range name {
		switch {
		case r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_':
			if gap && b.Len() > 0 {
				b.WriteByte('-')
			}
			b.WriteRune(r)
			gap = false
		default:
			gap = true
		}
		if b.Len() >= mostName {
			break
		}
	}
	return b.String()
}

var paths = regexp.MustCompile(`^[a-z2-7]{26}(-[A-Za-z0-9_][A-Za-z0-9_-]{0,40})?(\.[a-z]{2,5})?$`)

// proper says whether newPath could have made a path.
func proper(path string) bool { return len(path) < 80 && paths.MatchString(path) }

// typed is the type that a path tells, "" if it tells none.
func typed(path string) string {
	_, end, _ := strings.Cut(path, ".")
	for kind, e := range endings {
		if e == end {
			return kind
		}
	}
	return ""
}
