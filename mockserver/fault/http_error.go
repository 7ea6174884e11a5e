package fault

// HTTPError is the fault that refuses a request with a configurable status and an error body in
// the format of the dialect.
var HTTPError = &Fault{
	Name: "http-error", Doc: "the request is refused with a status and an error body as the protocol defines it", Category: CategoryResponse,
	Params: []Param{
		{Name: "status", Doc: "status code", Type: "int", Default: "500", Min: "400", Max: "599"},
		{Name: "code", Doc: "error code, if the dialect has any", Type: "text"},
		{Name: "text", Doc: "error text", Type: "text"},
	},
	Checks: []string{"wire.opens-stream", "reply.as-promised"},
	NewEffect: func(a Args) Effect {
		return Effect{Refusal: Refusal{Status: a.Ints["status"], Code: a.Strings["code"], Message: a.Strings["text"]}}
	},
}

// TooMany is the fault that refuses a request with status 429 and a Retry-After header, as a
// server with a rate limit does.
var TooMany = &Fault{
	Name: "too-many", Doc: "the request is refused with 429 and Retry-After", Category: CategoryResponse,
	Params: []Param{
		{Name: "retry-after", Doc: "value of Retry-After, rounded up to whole seconds", Type: "duration", Default: "1s", Min: "1s", Max: "24h"},
		{Name: "text", Doc: "error text", Type: "text"},
	},
	NewEffect: func(a Args) Effect {
		return Effect{Refusal: Refusal{Status: 429, Message: a.Strings["text"], RetryAfter: a.Durations["retry-after"]}}
	},
}
