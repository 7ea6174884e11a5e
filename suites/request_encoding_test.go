package suites

import (
	"strings"
	"testing"

	"github.com/streamassay/streamassay/spec"
)

// TestFormFields checks that the names of the header fields within a multipart body are changed,
// and nothing else in it, and that the order of its fields can be reversed.
func TestFormFields(t *testing.T) {
	first := "\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\nContent-Type: text\r\n\r\n: x\r\n"
	second := "\r\nContent-Disposition: form-data; name=\"b\"; filename=\"c:d\"\r\nContent-Type: image/png\r\n\r\n\r\n"
	body := func(fields ...string) string { return "--B" + strings.Join(fields, "--B") + "--B--\r\n" }
	r := spec.Request{
		Method: "POST", Target: "/", Body: []byte(body(first, second)),
		Header: spec.Header{{Name: "Content-Type", Value: "multipart/form-data; boundary=B"}},
	}
	lower := withFieldNames(r, strings.ToLower)
	want := strings.NewReplacer("Content-Disposition", "content-disposition", "Content-Type: image", "content-type: image").
		Replace(body(first, second))
	if string(lower.Body) != want || lower.Header[0].Name != "content-type" {
		t.Errorf("in lower case: got %v %q, want %q", lower.Header, lower.Body, want)
	}
	if got := withReversedFields(r); string(got.Body) != body(second, first) {
		t.Errorf("reversed: got %q", got.Body)
	}
	if string(r.Body) != body(first, second) {
		t.Errorf("the original was changed to %q", r.Body)
	}
	r.Header[0].Value = "application/json"
	if got := withFieldNames(r, strings.ToUpper); string(got.Body) != string(r.Body) {
		t.Errorf("a body that is not multipart was changed to %q", got.Body)
	}
}
