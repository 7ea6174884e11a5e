package mutation

import (
	"bytes"
	"strings"
	"sync/atomic"
	"unicode/utf8"

	"github.com/streamassay/streamassay/spec"
)

// uploadFormMutants are servers that refuse some valid uploads because of the form of the request
// or because of the file in it.
var uploadFormMutants = []*Mutant{
	uploadMutant("refuses-jpeg", "an upload of a JPEG image", func(_ parsedRequest, file spec.Event) bool {
		return file.Type == "image/jpeg"
	}),
	uploadMutant("refuses-field-after-file", "an upload whose form has another field after the file", func(v parsedRequest, _ spec.Event) bool {
		_, after, _ := bytes.Cut(v.raw.Body, []byte(`; filename=`))
		return bytes.Contains(after, []byte(`; name=`))
	}),
	uploadMutant("refuses-quoted-boundaries", "an upload whose form has a quoted boundary", func(v parsedRequest, _ spec.Event) bool {
		return strings.Contains(v.raw.Header.Get("Content-Type"), `boundary="`)
	}),
	refusesOtherBoundaries,
	uploadMutant("refuses-non-ascii-file-names", "an upload whose file name contains non-ASCII characters", func(_ parsedRequest, file spec.Event) bool {
		return strings.ContainsFunc(file.Name, func(r rune) bool { return r >= utf8.RuneSelf })
	}),
	uploadMutant("refuses-url-unsafe-file-names", "an upload whose file name contains characters that must be escaped in URLs", func(_ parsedRequest, file spec.Event) bool {
		return strings.ContainsAny(file.Name, "%?#")
	}),
	uploadMutant("refuses-file-names-without-extension", "an upload whose file name has no extension", func(_ parsedRequest, file spec.Event) bool {
		return !strings.Contains(file.Name, ".")
	}),
	uploadMutant("refuses-large-images", "an upload of an image of more than 65,536 bytes", func(v parsedRequest, file spec.Event) bool {
		return v.isOperation("attach") && len(file.Text) > 1<<16
	}),
	uploadMutant("refuses-chunks-before-data", "a recording with a chunk before its data chunk", func(v parsedRequest, file spec.Event) bool {
		return v.isOperation("transcribe") && strings.Contains(file.Text, "LIST")
	}),
	uploadMutant("refuses-stereo", "a recording with two channels", func(v parsedRequest, file spec.Event) bool {
		const channels = 22 // offset of their number, if the chunk with the format comes first
		return v.isOperation("transcribe") && len(file.Text) > channels && file.Text[channels] == 2
	}),
}

// refusesOtherBoundaries is a mutant that refuses uploads whose form has another boundary than the
// first form that it received.
var refusesOtherBoundaries = uploadMutantWith("refuses-other-boundaries",
	"an upload whose form has another boundary than the first form",
	func(next dialectHandler) dialectHandler {
		var first atomic.Value // boundary of the first form, a string
		return refuseRequests(func() {}, func(v parsedRequest) bool {
			_, boundary, isForm := strings.Cut(v.raw.Header.Get("Content-Type"), "boundary=")
			boundary = strings.Trim(boundary, `"`)
			return isForm && !first.CompareAndSwap(nil, boundary) && first.Load() != boundary
		})(next)
	})

// uploadMutant returns a mutant with the given name that refuses valid requests v that upload a
// file, if refuses(v, file) returns true. The fields Name, Type and Text of file are the name, the
// media type and the content of the file. The argument files describes the refused files in the Doc
// of the mutant, as in "an upload of a JPEG image".
func uploadMutant(name, files string, refuses func(v parsedRequest, file spec.Event) bool) *Mutant {
	return uploadMutantWith(name, files, refuseRequests(func() {}, func(v parsedRequest) bool {
		file, ok := v.parsed().Last(spec.InputFile)
		return ok && refuses(v, file)
	}))
}

// uploadMutantWith is like uploadMutant, but refuse is the middleware that refuses the requests.
func uploadMutantWith(name, files string, refuse middleware) *Mutant {
	return &Mutant{
		Name: name, Doc: "refuses " + files,
		KilledBy:   map[string]string{acceptsAsDocumented: string(spec.HTTPRequest)},
		AlsoFails:  append([]string{repliesAsPromised}, alsoIfRefused...),
		Needs:      []spec.Kind{spec.InputFile},
		Middleware: refuse,
	}
}
