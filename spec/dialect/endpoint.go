package dialect

import (
	"net/http"
	"strings"

	"github.com/streamassay/streamassay/spec"
)

// UseEndpoint replaces the path with "/" in those requests of the given recordings that were sent
// to the endpoint of the server. It modifies the recordings, which must all be of the same server.
// It does nothing if d.IsEndpoint is false. A path is considered that of the endpoint if it is "/"
// or d.Base, or if at least one POST request to it succeeded and either started a run or is valid
// as a request to the endpoint.
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

// AtEndpoint returns r with the target that a client appends to the base URL of the server. If
// d.IsEndpoint and the path of r is "/", the slash is removed, so that only the query remains, if
// there is one. Otherwise r is returned unchanged.
func (d *Dialect) AtEndpoint(r spec.Request) spec.Request {
	if d.IsEndpoint && (r.Target == "/" || strings.HasPrefix(r.Target, "/?")) {
		r.Target = r.Target[1:]
	}
	return r
}
