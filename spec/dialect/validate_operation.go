package dialect

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/streamassay/streamassay/internal/near"
)

// checkOperations returns an error about the first mistake in the operations of the document, and
// in what the document says about the server, that neither OpenAPI validation nor checkExtensions
// detects. It does not use d.operations.
func (d *Dialect) checkOperations() error {
	for name, n := range d.document.keywords() {
		var err error
		switch name {
		case "servers":
			err = d.checkServers(n)
		case "security":
			err = d.checkSecurity(n)
		}
		if err != nil {
			return err
		}
	}
	for _, item := range d.document.lookup("/paths").members() {
		for _, method := range httpMethods {
			op := item.get(method)
			if err := d.checkMediaTypes(op.get("requestBody").get("content")); err != nil {
				return err
			}
			if err := d.checkStatuses(op.get("responses")); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkServers returns an error if a URL in list, the value of a keyword servers, has a character
// that no URL may have.
func (d *Dialect) checkServers(list node) error {
	for _, server := range list.items() {
		at := server.get("url")
		isForbidden := func(r rune) bool { return r <= ' ' || r == 0x7f || strings.ContainsRune("\"<>\\^`|", r) }
		if i := strings.IndexFunc(at.text(), isForbidden); i >= 0 {
			return d.errorAt(at.pointer, "not valid OpenAPI: url is %s: expected a URL without %s, such as /v1",
				displayValue(at.text()), strconv.QuoteRune(rune(at.text()[i])))
		}
	}
	return nil
}

// checkSecurity returns an error if list, the value of a keyword security, names a security scheme
// that the document does not define. It does not check names with a slash or colon. According to
// OpenAPI, these are URIs of security schemes, which may be in other files.
func (d *Dialect) checkSecurity(list node) error {
	var known []string
	for name := range d.document.lookup("/components/securitySchemes").members() {
		known = append(known, name)
	}
	for _, requirement := range list.items() {
		for name, at := range requirement.members() {
			if slices.Contains(known, name) || strings.ContainsAny(name, "/:") {
				continue
			}
			suggestion := ": define it in components/securitySchemes"
			if len(known) > 0 {
				suggestion = near.Suggest(name, known)
			}
			return d.errorAt(at.pointer, "not valid OpenAPI: components has no security scheme %q%s", name, suggestion)
		}
	}
	return nil
}

// checkMediaTypes returns an error if content, the member content of a request body, has examples
// for a media type other than JSON and multipart forms. Examples are templates of requests, which
// the package makes in these media types only.
func (d *Dialect) checkMediaTypes(content node) error {
	for media, n := range content.members() {
		if media != jsonMediaType && media != formMediaType && n.get("examples").exists() {
			return d.errorAt(n.pointer, "a request body with examples has the media type %q: expected %s or %s",
				media, jsonMediaType, formMediaType)
		}
	}
	return nil
}

// documentedStatus matches the names of the members of responses that OpenAPI allows: a status
// code, a class of status codes, "default", or the name of an extension.
var documentedStatus = regexp.MustCompile(`^([1-5]([0-9]{2}|XX)|default|x-.*)$`)

// checkStatuses returns an error if a name in responses is not a status for which OpenAPI allows a
// response.
func (d *Dialect) checkStatuses(responses node) error {
	for status, n := range responses.members() {
		if !documentedStatus.MatchString(status) {
			return d.errorAt(n.pointer, "not valid OpenAPI: %q is not a status: "+
				"expected a status code (200), a class (2XX) or default", status)
		}
	}
	return nil
}

// checkWritten returns an error about the first value of x-write that is not valid against the
// schema that has it. All schemas must be valid.
func (d *Dialect) checkWritten() error {
	for name, n := range d.document.keywords() {
		if name != "x-write" {
			continue
		}
		pointer := strings.TrimSuffix(n.pointer, "/"+name)
		schema, err := d.document.compile(pointer)
		if err != nil {
			return d.schemaCompileError(pointer, err)
		}
		if found := d.document.schemaErrors(n.value, schema.Validate(n.value), nil); len(found) > 0 {
			return d.errorAt(n.pointer, "x-write: %s", found[0].text("the value"))
		}
	}
	return nil
}
