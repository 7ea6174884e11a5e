package fault_test

import (
	"slices"
	"strings"
	"testing"
)

const sentinel = "data: [DONE]\n\n"

func frames() []string {
	return []string{
		`data: {"id":"r1","type":"start"}` + "\n\n",
		"event: piece\n" + `data: {"messageId":"m1","text":"one","type":"piece"}` + "\n\n",
		`data: {"text":"two","type":"piece"}` + "\n\n",
		sentinel,
	}
}

// encodeMembers lists faults that change a frame of frames(). want replaces the frame with the
// index at. If at is -1, the fault changes no frame or, like unknown-event, has a test of its own.
var encodeMembers = []struct {
	use, want string
	at        int // index of the changed frame, or -1
}{
	{"malformed", "event: piece\n" + `data: {"messageId":"m1","text":"one","type":"piece"` + "\n\n", 1},
	{"malformed; event=0", `data: {"id":"r1","type":"start"` + "\n\n", 0},
	{"bad-utf8", "event: piece\n" + `data: {"messageId":"m1","text":"one","type":"piece` + "\xff\"}\n\n", 1},
	{"other-fields", "retry: 3000\nevent: piece\n" + `data: {"messageId":"m1","text":"one","type":"piece"}` + "\n\n", 1},
	{"other-fields; event=2", "event: message\n" + `data: {"text":"two","type":"piece"}` + "\n\n", 2},
	{"missing-member", "event: piece\n" + `data: {"text":"one","type":"piece"}` + "\n\n", 1},
	{"missing-member; event=2", `data: {"type":"piece"}` + "\n\n", 2},
	{"missing-member; member=type", "event: piece\n" + `data: {"messageId":"m1","text":"one"}` + "\n\n", 1},
	{"missing-member; member=id", "", -1}, // only the first frame has it
	{"wrong-type", "event: piece\n" + `data: {"messageId":[{"not":"this"}],"text":"one","type":"piece"}` + "\n\n", 1},
	{"wrong-value", "event: piece\n" + `data: {"messageId":"m1","text":"one","type":"nonsense"}` + "\n\n", 1},
	{"wrong-value; event=0; member=id", `data: {"id":"nonsense","type":"start"}` + "\n\n", 0},
	{"malformed; event=3", "", -1}, // the sentinel is not JSON
	{"unknown-event", "", -1},      // see TestUnknownEvent
}

func TestFrames(t *testing.T) {
	for _, h := range encodeMembers {
		if h.use == "unknown-event" {
			continue
		}
		want := frames()
		if h.at >= 0 {
			want[h.at] = h.want
		}
		if got := applyToFrames(t, h.use); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", h.use, got, want)
		}
	}
}

// TestCRLF checks that the fault crlf changes the line ends of one frame.
func TestCRLF(t *testing.T) {
	for use, at := range map[string]int{"crlf": 0, "crlf; event=2": 2} {
		want, got := frames(), []string(nil)
		want[at] = strings.ReplaceAll(want[at], "\n", "\r\n")
		effect := newEffect(t, use)
		for _, frame := range frames() {
			effect.OnFrame([]byte(frame), func(b []byte) { got = append(got, string(b)) })
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", use, got, want)
		}
	}
}

func TestUnknownEvent(t *testing.T) {
	for use, at := range map[string]int{"unknown-event": 1, "unknown-event; event=0": 0} {
		want := slices.Insert(frames(), at, `data: {"type":"x-unknown"}`+"\n\n")
		if got := applyToFrames(t, use); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", use, got, want)
		}
	}
	if got := applyToFrames(t, `unknown-event; data="{\"a\": [1, 2]}"`)[1]; got != `data: {"a": [1, 2]}`+"\n\n" {
		t.Errorf("%q", got)
	}
}

func applyToFrames(t *testing.T, use string) (out []string) {
	effect, hasApplied := newReportingEffect(t, use)
	for _, f := range frames() {
		effect.OnFrame([]byte(f), func(p []byte) { out = append(out, string(p)) })
	}
	if same := slices.Equal(out, frames()); hasApplied() == same {
		t.Errorf("%s: it reports a change: %v; the frames are the same: %v", use, !same, same)
	}
	if strings.Count(strings.Join(out, ""), "\n\n") != len(out) {
		t.Errorf("%s: not one frame at a time: %q", use, out)
	}
	return out
}
