package dialect

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/streamassay/streamassay/spec"
)

// UseEndpoint replaces the path of each request to the endpoint of the server with "/". It modifies
// the given recordings, all of which must be of the same server. It does nothing if d.IsEndpoint is
// false.
//
// The paths of the endpoint are "/", d.Base and, in the recordings, the path of each successful
// POST request that started a run or is valid as a request to the endpoint.
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

// AtEndpoint returns r with a target that a client can append to the base URL of the server. If
// d.IsEndpoint is true and the path of r is "/", the result has an empty path. Otherwise, the
// result is r.
func (d *Dialect) AtEndpoint(r spec.Request) spec.Request {
	if d.IsEndpoint && (r.Target == "/" || strings.HasPrefix(r.Target, "/?")) {
		r.Target = r.Target[1:]
	}
	return r
}

// EndpointAdvice returns the advice that base, the base URL of a server, must be the URL of the
// endpoint itself, with an example. The argument name is the name of the argument or flag that
// holds base, such as "TARGET". The result is "" if base is nil or has a path, or if d.IsEndpoint is
// false.
func (d *Dialect) EndpointAdvice(name string, base *url.URL) string {
	if !d.IsEndpoint || base == nil || strings.Trim(base.Path, "/") != "" {
		return ""
	}
	example := url.URL{Scheme: base.Scheme, Host: base.Host, Path: d.Base}
	return fmt.Sprintf("for %s, %s is the URL of the endpoint itself, e.g. %s", d.Family, name, &example)
}
