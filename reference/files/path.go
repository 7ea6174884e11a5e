package files

import (
	"crypto/rand"
	"fmt"
	"mime"
	"net/http"
	"regexp"
	"strings"
)

// maxTypeLength bounds a media type, and maxNameLength what is taken over of a client's name.
const (
	maxTypeLength = 127
	maxNameLength = 40
)

// extensions are the image types that are known by how a path ends.
var extensions = map[string]string{
	"image/png": "png", "image/jpeg": "jpg", "image/gif": "gif", "image/webp": "webp", "image/bmp": "bmp",
	"image/avif": "avif", "image/heic": "heic", "image/heif": "heif", "image/tiff": "tiff",
	"image/x-icon": "ico", "image/vnd.microsoft.icon": "icon", svgType: "svg",
}

// svgType is the image type that can carry scripts.
const svgType = "image/svg+xml"

// checkImage is the media type of an upload, if that is an image. The bytes are never
// decoded; they only must not be, as far as anybody can see, something else.
func checkImage(kind string, data []byte) (string, error) {
	media, _, err := mime.ParseMediaType(kind)
	sub, ok := strings.CutPrefix(media, "image/")
	if err != nil || !ok || sub == "" || strings.Contains(sub, "*") || len(media) > maxTypeLength {
		return "", fmt.Errorf("%w: its type is said to be %.40q", ErrNotImage, kind)
	}
	is := http.DetectContentType(data)
	is, _, _ = strings.Cut(is, ";")
	family, _, _ := strings.Cut(is, "/")
	switch {
	case media == svgType && (is == "text/xml" || is == "text/plain"):
	case media == svgType && strings.HasPrefix(strings.TrimSpace(string(data[:min(len(data), 64)])), "<!--"): // sniffed as HTML
	case family == "text" || family == "audio" || family == "video" || rejectedTypes[is]:
		return "", fmt.Errorf("%w: it is %s", ErrNotImage, is)
	}
	return media, nil
}

// rejectedTypes are other types that can be told from the bytes. Fonts are told from too few.
var rejectedTypes = map[string]bool{
	"application/pdf": true, "application/postscript": true, "application/zip": true, "application/x-gzip": true,
	"application/x-rar-compressed": true, "application/wasm": true, "application/ogg": true,
}

// newPath makes the path of a new file: a random id, then what of the client's name
// does no harm, so that people can tell files apart. The type says how it ends.
func newPath(name, kind string) string {
	path := strings.ToLower(rand.Text())
	if name = cleanName(name); name != "" {
		path += "-" + name
	}
	if end := extensions[kind]; end != "" {
		path += "." + end
	}
	return path
}

// cleanName is what a name keeps: letters and digits of ASCII, of its last part, without
// its ending.
func cleanName(name string) string {
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
		if b.Len() >= maxNameLength {
			break
		}
	}
	return b.String()
}

var pathPattern = regexp.MustCompile(`^[a-z2-7]{26}(-[A-Za-z0-9_][A-Za-z0-9_-]{0,40})?(\.[a-z]{2,5})?$`)

// isValidPath says whether newPath could have made a path.
func isValidPath(path string) bool { return len(path) < 80 && pathPattern.MatchString(path) }

// typeOfPath is the type that a path tells, "" if it tells none.
func typeOfPath(path string) string {
	_, end, _ := strings.Cut(path, ".")
	for kind, e := range extensions {
		if e == end {
			return kind
		}
	}
	return ""
}
