package fault

// HTTPError refuses the request in the dialect's own words.
var HTTPError = &Fault{
	Name: "http-error", Doc: "the request is refused with a status, and the body that the protocol has for problems", Category: CategoryResponse,
	Params: []Param{
		{Name: "status", Doc: "the status", Type: "int", Default: "500", Min: "400", Max: "599"},
		{Name: "code", Doc: "the code of the problem, where the dialect has any", Type: "text"},
		{Name: "text", Doc: "why", Type: "text"},
	},
	Checks: []string{"wire.opens-stream", "reply.as-promised"},
	NewEffect: func(a Args) Effect {
		return Effect{Refusal: Refusal{Status: a.Ints["status"], Code: a.Strings["code"], Message: a.Strings["text"]}}
	},
}

// TooMany says that the client asks too often.
var TooMany = &Fault{
	Name: "too-many", Doc: "the request is refused with 429 and Retry-After", Category: CategoryResponse,
	Params: []Param{
		{Name: "retry-after", Doc: "when to come back; in whole seconds on the wire", Type: "duration", Default: "1s", Min: "1s", Max: "24h"},
		{Name: "text", Doc: "why", Type: "text"},
	},
	NewEffect: func(a Args) Effect {
		return Effect{Refusal: Refusal{Status: 429, Message: a.Strings["text"], RetryAfter: a.Durations["retry-after"]}}
	},
}
