package fault

// HTML is the fault that sends an HTML error page, as a reverse proxy does when the server behind
// it is down.
var HTML = &Fault{
	Name: "html", Doc: "the response is an HTML error page, as sent by proxies", Category: CategoryResponse,
	Params: []Param{{Name: "status", Doc: "status code", Type: "int", Default: "502", Min: "200", Max: "599"}},
	Checks: []string{"wire.opens-stream", "reply.as-promised"},
	NewEffect: func(a Args) Effect {
		return Effect{Refusal: Refusal{Status: a.Ints["status"], ContentType: "text/html; charset=utf-8", Body: htmlPage}}
	},
}

// htmlPage is the body of the fault HTML: the page that nginx sends with status 502.
const htmlPage = "<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n" +
	"<body>\r\n<center><h1>502 Bad Gateway</h1></center>\r\n</body>\r\n</html>\r\n"

// Empty is the fault that sends a successful response whose event stream has no events.
var Empty = &Fault{
	Name: "empty", Doc: "the response is an event stream with status 200 and an empty body", Category: CategoryResponse,
	Checks: []string{"run.ends", "reply.as-promised", "script.text"},
	NewEffect: func(Args) Effect {
		return Effect{Refusal: Refusal{Status: 200, ContentType: "text/event-stream"}}
	},
}
