package files

import (
	"crypto/rand"
	"fmt"
	"mime"
	"net/http"
	"regexp"
	"strings"
)

// Limits, in bytes, of the media type of an upload and of the part of its name that is
// kept.
const (
	maxTypeLength = 127
	maxNameLength = 40
)

// extensions maps the media types of images to file name extensions, without the dot.
var extensions = map[string]string{
	"image/png": "png", "image/jpeg": "jpg", "image/gif": "gif", "image/webp": "webp", "image/bmp": "bmp",
	"image/avif": "avif", "image/heic": "heic", "image/heif": "heif", "image/tiff": "tiff",
	"image/x-icon": "ico", "image/vnd.microsoft.icon": "icon", svgType: "svg",
}

// svgType is the only image type that can contain scripts.
const svgType = "image/svg+xml"

// checkImage returns the media type declaredType without its parameters. It returns an error that
// wraps ErrNotImage if declaredType is not an image type, or if the first bytes of data show that
// data is not an image. checkImage does not decode the image.
func checkImage(declaredType string, data []byte) (string, error) {
	media, _, err := mime.ParseMediaType(declaredType)
	sub, ok := strings.CutPrefix(media, "image/")
	if err != nil || !ok || sub == "" || strings.Contains(sub, "*") || len(media) > maxTypeLength {
		return "", fmt.Errorf("%w: got media type %.40q", ErrNotImage, declaredType)
	}
	detected := http.DetectContentType(data)
	detected, _, _ = strings.Cut(detected, ";")
	family, _, _ := strings.Cut(detected, "/")
	start := strings.TrimSpace(string(data[:min(len(data), 64)]))
	switch {
	case media == svgType && (detected == "text/xml" || detected == "text/plain"):
	case media == svgType && strings.HasPrefix(start, "<!--"): // detected as HTML
	case family == "text" || family == "audio" || family == "video" || rejectedTypes[detected]:
		return "", fmt.Errorf("%w: the content is %s", ErrNotImage, detected)
	}
	return media, nil
}

// rejectedTypes lists the media types, other than text, audio and video types, for which checkImage
// rejects a file if http.DetectContentType returns them. It contains only types that are detected
// reliably. For example, it contains no fonts, because they are detected by too few bytes.
var rejectedTypes = map[string]bool{
	"application/pdf": true, "application/postscript": true, "application/zip": true, "application/x-gzip": true,
	"application/x-rar-compressed": true, "application/wasm": true, "application/ogg": true,
}

// newPath returns a random path for a new image (see [File.Path]), such as "ID-NAME.png". NAME is
// the result of cleanName for name, the file name that the client sent. The extension is that of
// mediaType in extensions. If NAME or the extension is "", it is omitted together with its hyphen
// or dot.
func newPath(name, mediaType string) string {
	path := strings.ToLower(rand.Text())
	if name = cleanName(name); name != "" {
		path += "-" + name
	}
	if end := extensions[mediaType]; end != "" {
		path += "." + end
	}
	return path
}

// cleanName returns the last element of name, a file path, without its extension, in a form that
// needs no escaping in a URL. It keeps ASCII letters, digits and underscores. It removes other
// characters at the ends, and replaces each sequence of them elsewhere with one hyphen. The result
// has at most maxNameLength bytes, and may be "".
func cleanName(name string) string {
	name = name[strings.LastIndexAny(name, `/\`)+1:]
	if dot := strings.LastIndexByte(name, '.'); dot > 0 {
		name = name[:dot]
	}
	name = strings.Trim(unsafeCharacters.ReplaceAllString(name, "-"), "-")
	return strings.TrimRight(name[:min(len(name), maxNameLength)], "-")
}

var (
	unsafeCharacters = regexp.MustCompile(`[^A-Za-z0-9_]+`)
	pathPattern      = regexp.MustCompile(`^[a-z2-7]{26}(-[A-Za-z0-9_][A-Za-z0-9_-]{0,40})?(\.[a-z]{2,5})?$`)
)

// isValidPath reports whether path can be a result of newPath.
func isValidPath(path string) bool { return pathPattern.MatchString(path) }

// typeOfPath returns the media type for the file name extension of a path. It returns "" if the
// path has no extension or an unknown one.
func typeOfPath(path string) string {
	_, end, _ := strings.Cut(path, ".")
	for kind, e := range extensions {
		if e == end {
			return kind
		}
	}
	return ""
}
