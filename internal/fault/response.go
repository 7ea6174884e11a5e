package fault

import "strings"

// responseFaults lists the faults that refuse a request, or change the status and header of its
// response.
var responseFaults = []*Fault{
	{Name: "http-error", Doc: "the request is refused with a status and an error body as the protocol defines it",
		Params: []Param{
			{Name: "status", Doc: "status code", Type: "int", Default: "500", Min: "400", Max: "599"},
			{Name: "code", Doc: "error code, if the dialect has any", Type: "text"},
			{Name: "text", Doc: "error text", Type: "text"},
		},
		Checks: []string{"wire.opens-stream", "reply.as-promised"},
		NewEffect: func(a Args) Effect {
			return Effect{Response: CannedResponse{
				Status: a.Ints["status"], Code: a.Strings["code"], Message: a.Strings["text"],
			}}
		}},
	{Name: "too-many", Doc: "the request is refused with 429 and Retry-After",
		Params: []Param{
			{
				Name: "retry-after", Doc: "value of Retry-After, rounded up to whole seconds", Type: "duration",
				Default: "1s", Min: "1s", Max: "24h",
			},
			{Name: "text", Doc: "error text", Type: "text"},
		},
		NewEffect: func(a Args) Effect {
			return Effect{Response: CannedResponse{
				Status: 429, Message: a.Strings["text"], RetryAfter: a.Durations["retry-after"],
			}}
		}},
	{Name: "html", Doc: "the response is an HTML error page, as sent by proxies",
		Params: []Param{{Name: "status", Doc: "status code", Type: "int", Default: "502", Min: "200", Max: "599"}},
		Checks: []string{"wire.opens-stream", "reply.as-promised"},
		NewEffect: func(a Args) Effect {
			return Effect{Response: CannedResponse{
				Status: a.Ints["status"], ContentType: "text/html; charset=utf-8", Body: htmlPage,
			}}
		}},
	{Name: "empty", Doc: "the response is an event stream with status 200 and an empty body",
		Checks: []string{"run.ends", "reply.as-promised", "script.text"},
		NewEffect: func(Args) Effect {
			return Effect{Response: CannedResponse{Status: 200, ContentType: "text/event-stream"}}
		}},
	{Name: "redirect", Doc: "the response is a redirect to the same URL",
		Params: []Param{{
			Name: "status", Doc: "status code", Type: "text", Default: "307",
			Enum: []string{"301", "302", "303", "307", "308"},
		}},
		Checks: []string{"wire.opens-stream"},
		NewEffect: func(a Args) Effect {
			status := map[string]int{"301": 301, "302": 302, "303": 303, "307": 307, "308": 308}[a.Strings["status"]]
			return Effect{OnHead: func(h *ResponseHead) {
				a.Applied()
				h.Status = status
				h.Header.Set("Location", "?") // a client that follows it is redirected again
				h.Header.Del("Content-Type")
			}, WrapBody: func(w StreamSink) FrameWriter {
				return frameWriterFuncs{frame: func(int, []byte) error { return w.Finish(Clean) }}
			}}
		}},
	{Name: "wrong-status", Doc: "the status code of the response is wrong; header and body are unchanged",
		Params: []Param{{Name: "status", Doc: "status code", Type: "int", Default: "201", Min: "200", Max: "599"}},
		Checks: []string{"wire.opens-stream"},
		NewEffect: func(a Args) Effect {
			return Effect{OnHead: func(h *ResponseHead) {
				if h.Status != a.Ints["status"] {
					a.Applied()
					h.Status = a.Ints["status"]
				}
			}}
		}},
	{Name: "content-type", Doc: "the content type of the response is wrong or missing",
		Params: []Param{{
			Name: "type", Doc: "content type, or \"none\" to omit the header field", Type: "text",
			Default: "text/plain; charset=utf-8",
		}},
		Checks: []string{"wire.opens-stream"},
		NewEffect: func(a Args) Effect {
			return Effect{OnHead: func(h *ResponseHead) {
				contentType := strings.TrimSpace(a.Strings["type"])
				switch {
				case contentType == h.Header.Get("Content-Type"):
					return
				case a.Strings["type"] == "none":
					h.Header["Content-Type"] = nil // an absent key would make net/http detect the type
				default:
					h.Header.Set("Content-Type", contentType)
				}
				a.Applied()
			}}
		}},
	{Name: "slow-head", Doc: "the response is delayed, including its status",
		Params: []Param{{Name: "for", Doc: "length of the delay", Type: "duration", Default: "3s", Min: "0s", Max: "1h"}},
		NewEffect: func(a Args) Effect {
			return Effect{OnHead: func(h *ResponseHead) {
				if a.Durations["for"] > 0 {
					a.Applied()
					h.Delay += a.Durations["for"]
				}
			}}
		}},
}

// htmlPage is the body that the html fault sends: the page that nginx sends with status 502.
const htmlPage = "<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n" +
	"<body>\r\n<center><h1>502 Bad Gateway</h1></center>\r\n</body>\r\n</html>\r\n"
