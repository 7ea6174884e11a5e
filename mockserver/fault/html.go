package fault

// HTML answers with a page, as what stands before a server does when the server is gone.
var HTML = &Fault{
	Name: "html", Doc: "the answer is a page of HTML, as proxies send it", Category: CategoryResponse,
	Params: []Param{{Name: "status", Doc: "the status", Type: "int", Default: "502", Min: "200", Max: "599"}},
	Checks: []string{"wire.opens-stream", "reply.as-promised"},
	NewEffect: func(a Args) Effect {
		return Effect{Refusal: Refusal{Status: a.Ints["status"], ContentType: "text/html; charset=utf-8", Body: htmlPage}}
	},
}

const htmlPage = "<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body>\r\n<center><h1>502 Bad Gateway</h1></center>\r\n</body>\r\n</html>\r\n"

// Empty answers with a stream of nothing.
var Empty = &Fault{
	Name: "empty", Doc: "the answer is 200 with the content type of a stream, and has no body", Category: CategoryResponse,
	Checks: []string{"run.ends", "reply.as-promised", "script.text"},
	NewEffect: func(Args) Effect {
		return Effect{Refusal: Refusal{Status: 200, ContentType: "text/event-stream"}}
	},
}
