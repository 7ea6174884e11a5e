package fault

import "strings"

// Redirect sends the client elsewhere, where nothing is.
var Redirect = &Fault{
	Name: "redirect", Doc: "the answer is a redirect of the same request to the same place", Category: CategoryResponse,
	Params: []Param{{Name: "status", Doc: "the status", Type: "text", Default: "307", Enum: []string{"301", "302", "303", "307", "308"}}},
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

// WrongStatus answers with another status than promised, and all the rest as it should
// be.
var WrongStatus = &Fault{
	Name: "wrong-status", Doc: "the status of the answer is not the promised one; its body is", Category: CategoryResponse,
	Params: []Param{{Name: "status", Doc: "the status", Type: "int", Default: "201", Min: "200", Max: "599"}},
	Checks: []string{"wire.opens-stream"},
	NewEffect: func(a Args) Effect {
		return Effect{OnHead: func(h *ResponseHead) { h.Status = a.Ints["status"] }}
	},
}

// WrongContentType answers with another content type than promised.
var WrongContentType = &Fault{
	Name: "content-type", Doc: "the content type of the answer is not the promised one", Category: CategoryResponse,
	Params: []Param{{Name: "type", Doc: "the content type; none: the field is left out", Type: "text", Default: "text/plain; charset=utf-8"}},
	Checks: []string{"wire.opens-stream"},
	NewEffect: func(a Args) Effect {
		return Effect{OnHead: func(h *ResponseHead) {
			if a.Strings["type"] == "none" {
				h.Header["Content-Type"] = nil // or the body is guessed at
				return
			}
			h.Header.Set("Content-Type", strings.TrimSpace(a.Strings["type"]))
		}}
	},
}

// SlowHead lets a client wait for the answer to begin.
var SlowHead = &Fault{
	Name: "slow-head", Doc: "nothing is sent for a while, not even the status", Category: CategoryResponse,
	Params: []Param{{Name: "for", Doc: "how long", Type: "duration", Default: "3s", Min: "0s", Max: "1h"}},
	NewEffect: func(a Args) Effect {
		wait := a.Durations["for"]
		return Effect{OnHead: func(h *ResponseHead) { h.Delay += wait }}
	},
}
