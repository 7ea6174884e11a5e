package fault

import "strings"

// Redirect is the fault that answers a request with a redirect to the same URL, so that a client
// that follows it is redirected again.
var Redirect = &Fault{
	Name: "redirect", Doc: "the response is a redirect to the same URL", Category: CategoryResponse,
	Params: []Param{{Name: "status", Doc: "status code", Type: "text", Default: "307", Enum: []string{"301", "302", "303", "307", "308"}}},
	Checks: []string{"wire.opens-stream"},
	NewEffect: func(a Args) Effect {
		status := map[string]int{"301": 301, "302": 302, "303": 303, "307": 307, "308": 308}[a.Strings["status"]]
		return Effect{OnHead: func(h *ResponseHead) {
			h.Status = status
			h.Header.Set("Location", "?")
			h.Header.Del("Content-Type")
		}, WrapBody: emptyBody}
	},
}

// WrongStatus is the fault that changes the status code of a response and leaves its header and
// body unchanged.
var WrongStatus = &Fault{
	Name: "wrong-status", Doc: "the status code of the response is wrong; header and body are unchanged", Category: CategoryResponse,
	Params: []Param{{Name: "status", Doc: "status code", Type: "int", Default: "201", Min: "200", Max: "599"}},
	Checks: []string{"wire.opens-stream"},
	NewEffect: func(a Args) Effect {
		return Effect{OnHead: func(h *ResponseHead) { h.Status = a.Ints["status"] }}
	},
}

// WrongContentType is the fault that changes or removes the Content-Type of a response.
var WrongContentType = &Fault{
	Name: "content-type", Doc: "the content type of the response is wrong or missing", Category: CategoryResponse,
	Params: []Param{{Name: "type", Doc: "content type, or \"none\" to omit the header field", Type: "text", Default: "text/plain; charset=utf-8"}},
	Checks: []string{"wire.opens-stream"},
	NewEffect: func(a Args) Effect {
		return Effect{OnHead: func(h *ResponseHead) {
			if a.Strings["type"] == "none" {
				h.Header["Content-Type"] = nil // an absent key would make net/http detect the type
				return
			}
			h.Header.Set("Content-Type", strings.TrimSpace(a.Strings["type"]))
		}}
	},
}

// SlowHead is the fault that delays the status and the header of a response.
var SlowHead = &Fault{
	Name: "slow-head", Doc: "the response is delayed, including its status", Category: CategoryResponse,
	Params: []Param{{Name: "for", Doc: "length of the delay", Type: "duration", Default: "3s", Min: "0s", Max: "1h"}},
	NewEffect: func(a Args) Effect {
		wait := a.Durations["for"]
		return Effect{OnHead: func(h *ResponseHead) { h.Delay += wait }}
	},
}
