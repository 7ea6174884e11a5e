package fault

import "bytes"

// Malformed sends data that does not parse.
var Malformed = &Fault{
	Name: "malformed", Doc: "the data of an event is JSON that breaks off", Category: CategoryProtocol,
	Triggers: []string{"event"},
	Checks:   []string{"wire.frames-are-json"},
	NewEffect: editFrame(func(_ Args, frame, data []byte) ([]byte, bool) {
		return replaceData(frame, data, data[:len(data)-1]), true
	}),
}

// BadUTF8 sends bytes that are no text.
var BadUTF8 = &Fault{
	Name: "bad-utf8", Doc: "a text in an event's data has a byte that is no UTF-8", Category: CategoryProtocol,
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

// OtherFields sends fields of SSE besides the data.
var OtherFields = &Fault{
	Name: "other-fields", Doc: "an event has a field that is not data; some protocols have that", Category: CategoryProtocol,
	Triggers: []string{"event"},
	Checks:   []string{"wire.frames-are-plain"},
	NewEffect: editFrame(func(_ Args, frame, _ []byte) ([]byte, bool) {
		if bytes.HasPrefix(frame, []byte("event:")) {
			return append([]byte("retry: 3000\n"), frame...), true
		}
		return append([]byte("event: message\n"), frame...), true
	}),
}
