package dialect

import (
	"testing"

	"github.com/streamassay/streamassay/internal/sse"
	"github.com/streamassay/streamassay/spec"
)

// TestLabels checks that frames are named by the constants by which they are recognized.
func TestLabels(t *testing.T) {
	for _, c := range []struct{ dialect, data, want string }{
		{"agentscope@1.1", `{"object":"response","status":"completed","id":"r"}`, "response (status completed)"},
		{"agentscope@1.1", `{"object":"response","status":"queued","id":"r"}`, "response (status queued)"},
		{"agentscope@1.1", `{"object":"message","status":"in_progress","id":"m","type":"message"}`, "message (status in_progress)"},
		{"agentscope@1.1", `{"object":"content","status":"in_progress","type":"text","index":0,"delta":true,"text":"x"}`, "content (status in_progress, type text)"},
		{"agentscope-java@0.1", `{"object":"response","status":"failed","id":"r"}`, "response (status failed)"},
		{"runs@2026-04", `{"type":"RUN_FINISHED","runId":"r"}`, "RUN_FINISHED"},
		{"runs@2026-04", `{"type":"CUSTOM"}`, "CUSTOM"},
		{"runs@2026-04", `{"type":"a\u202eb"}`, `"a\u202eb"`},
		{"agkit@0.0.10", `{"type":"tool-call-end","toolCallId":"a"}`, "tool-call-end"},
	} {
		d := dialects(t, c.dialect)
		for _, o := range d.operations {
			if len(o.frameVariants) == 0 {
				continue
			}
			e := spec.Event{}
			if d.decodeFrameData(o, &e, sse.Item{Data: []byte(c.data)}, nil, withViolations); e.DisplayName() != c.want {
				t.Errorf("%s: %s is called %s, want %s", c.dialect, c.data, e.DisplayName(), c.want)
			}
		}
	}
}

// TestSpelled checks the names of the frames that begin and end a run, and the name of a kind
// without one.
func TestSpelled(t *testing.T) {
	for name, want := range map[string][2]string{
		"agentscope@1.1":      {"response (status created)", "response (status completed)"},
		"agentscope-java@1.0": {"response (status in_progress)", "response (status completed)"},
		"runs@2026-04":        {"RUN_STARTED", "RUN_FINISHED"},
	} {
		d := dialects(t, name)
		for _, o := range d.operations {
			if len(o.frameVariants) > 0 && (o.wireNames[spec.RunStart] != want[0] || o.wireNames[spec.RunEnd] != want[1]) {
				t.Errorf("%s: the run starts with %q and ends with %q, want %q", name, o.wireNames[spec.RunStart], o.wireNames[spec.RunEnd], want)
			}
		}
	}
	if text := (spec.Event{Request: &spec.RequestFacts{WireNames: map[spec.Kind]string{spec.ToolEnd: "x"}}}).KindName(spec.RunEnd, "the end"); text != "the end" {
		t.Errorf("what has no name is called %q", text)
	}
}
