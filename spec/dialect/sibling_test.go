package dialect

import (
	"fmt"
	"testing"

	"github.com/streamassay/streamassay/internal/sse"
	"github.com/streamassay/streamassay/spec"
)

// TestSiblingConstants checks that the violation of a member by which the variants of a frame
// differ lists the values of all variants that the frame could have been.
func TestSiblingConstants(t *testing.T) {
	for _, c := range []struct{ dialect, frame, want string }{
		{
			"agentscope-java@1.0", `{"sequence_number":1,"object":"message","status":null,"id":"m","type":"message","role":"tool"}`,
			`["status" is null: expected completed, created, in_progress, failed, canceled, rejected, unknown, queued or incomplete]`,
		},
		{
			"agui@1.0", `{"type":"REASONING_MESSAGE_START","messageId":"m","role":"user"}`,
			`["role" is "user": expected reasoning]`, // not the roles of other messages
		},
	} {
		d, err := Open(c.dialect)
		if err != nil {
			t.Fatal(err)
		}
		o, _ := d.TemplateOperation("prompt")
		var e spec.Event
		d.decodeFrameData(o, &e, sse.Item{Data: []byte(c.frame)}, nil, withViolations)
		if got := fmt.Sprint(e.Violations); got != c.want {
			t.Errorf("%s: %s has the violations\n%s, want\n%s", c.dialect, c.frame, got, c.want)
		}
	}
}
