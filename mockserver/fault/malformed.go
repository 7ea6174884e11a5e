package fault

import "bytes"

// Malformed is the fault that removes the last byte of an event's data, so that the data is not
// valid JSON.
var Malformed = &Fault{
	Name: "malformed", Doc: "the data of an event is truncated JSON", Category: CategoryProtocol,
	Triggers: []string{"event"},
	Checks:   []string{"wire.frames-are-json"},
	NewEffect: editFrame(func(_ Args, frame, data []byte) ([]byte, bool) {
		return replaceData(frame, data, data[:len(data)-1]), true
	}),
}

// BadUTF8 is the fault that inserts a byte that is not valid UTF-8 into a string of an event's
// data.
var BadUTF8 = &Fault{
	Name: "bad-utf8", Doc: "a text in the data of an event contains invalid UTF-8", Category: CategoryProtocol,
	Triggers: []string{"event"},
	Checks:   []string{"wire.utf-8"},
	NewEffect: editFrame(func(_ Args, frame, data []byte) ([]byte, bool) {
		i := bytes.LastIndexByte(data, '"')
		if i < 0 {
			return nil, false
		}
		bad := append(append(bytes.Clone(data[:i]), 0xff), data[i:]...)
		return replaceData(frame, data, bad), true
	}),
}

// OtherFields is the fault that adds a field other than data to a frame: "event", or "retry" if
// the frame has an event field already.
var OtherFields = &Fault{
	Name: "other-fields", Doc: "an event has an additional SSE field (event or retry), which some protocols allow", Category: CategoryProtocol,
	Triggers: []string{"event"},
	Checks:   []string{"wire.frames-are-plain"},
	NewEffect: editFrame(func(_ Args, frame, _ []byte) ([]byte, bool) {
		if bytes.HasPrefix(frame, []byte("event:")) {
			return append([]byte("retry: 3000\n"), frame...), true
		}
		return append([]byte("event: message\n"), frame...), true
	}),
}
