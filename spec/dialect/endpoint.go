package dialect

import (
	"net/http"
	"strings"

	"github.com/streamassay/streamassay/spec"
)

// UseEndpoint gives the requests of the recordings in list the path "/" if they were sent to the
// endpoint. It does nothing unless d.IsEndpoint. The recordings must be of one server. Its endpoint
// is where a valid request succeeded or a run started.
func (d *Dialect) UseEndpoint(list ...*spec.Trace) {
	if !d.IsEndpoint {
		return
	}
	paths := map[string]bool{"/": true, d.Base: true}
	for _, t := range list {
		for _, x := range t.Exchanges {
			if x.Request.Method != http.MethodPost || x.Response.Status/100 != 2 {
				continue
			}
			path, query, _ := strings.Cut(x.Request.Target, "?")
			x.Request.Target = strings.TrimSuffix("/?"+query, "?")
			paths[path] = paths[path] || len(d.ValidateRequest(x.Request)) == 0 || d.startsRun(x)
		}
	}
	for _, t := range list {
		for i := range t.Exchanges {
			r := &t.Exchanges[i].Request
			if path, query, _ := strings.Cut(r.Target, "?"); paths[path] {
				r.Target = strings.TrimSuffix("/?"+query, "?")
			}
		}
	}
}

// startsRun reports whether the response of x has an event that starts a run.
func (d *Dialect) startsRun(x spec.Exchange) bool {
	for e := range d.Events(spec.Trace{Exchanges: []spec.Exchange{x}}) {
		if e.Kind == spec.RunStart {
			return true
		}
	}
	return false
}

// AtEndpoint returns the request r with the target that is appended to the base URL: none if
// d.IsEndpoint and r is for the endpoint, otherwise its own.
func (d *Dialect) AtEndpoint(r spec.Request) spec.Request {
	if d.IsEndpoint && (r.Target == "/" || strings.HasPrefix(r.Target, "/?")) {
		r.Target = r.Target[1:]
	}
	return r
}
