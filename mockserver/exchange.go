package mockserver

import (
	"cmp"
	"context"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"

	"github.com/streamassay/streamassay/internal/journal"
	"github.com/streamassay/streamassay/internal/vary"
	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
)

// A requestState holds the data of one request to the mock, such as the settings that apply to it
// and the faults that intercept selected for it.
type requestState struct {
	server    *Server
	request   *http.Request // as received
	overrides overrides     // settings in the X-Mock headers
	scope     *testScope
	settings  RuntimeSettings // effective settings of the scope when the request arrived
	seed      uint64          // the base seed; intercept replaces it with the result of requestSeed
	idRand    *rand.Rand      // source of new ids; nil before the first call of newID

	dialect  *dialect.Dialect          // nil until intercept is called
	run      runKey                    // the run that the request starts or refers to
	ownPlan  *faultPlan                // the plan that intercept made for this request; nil if it made none
	isListen bool                      // the response streams a run that another request started
	entry    *journal.ExchangeRecorder // the journal entry of the exchange; nil until it is opened
}

// seedHeader is the header in which a request sets the seed of the random choices that the server
// makes for it. The response reports the seed in the same header, except if the request is refused
// because an X-Mock header is invalid.
const seedHeader = "X-Mock-Seed"

// serve handles one request. It applies the request's X-Mock headers and passes the request to the
// reference server, which writes its response to a responseWriter. If an X-Mock header is invalid,
// it responds with status 400 instead.
func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	scope := s.scope(r.Header.Get(testHeader))
	x := &requestState{server: s, request: r, scope: scope, settings: scope.effectiveSettings()}
	ctx, end := context.WithCancelCause(r.Context())
	defer end(nil)
	ctx = context.WithValue(ctx, requestStateKey{}, x)
	client := &clientWriter{ResponseWriter: w, exchange: x, ctx: ctx, cancel: end}
	out := &responseWriter{exchange: x, client: client, gate: frameGate{client: client, firstHeld: noFrame}}
	var err error
	if x.overrides, err = parseOverrides(r.Header); err != nil {
		http.Error(out, err.Error(), http.StatusBadRequest) // via out, so that the journal records it
		out.close()
		return
	}
	x.seed = *cmp.Or(x.overrides.Seed, x.settings.Seed, &s.seed)
	w.Header()[seedHeader] = []string{strconv.FormatUint(x.seed, 10)}
	r = r.WithContext(ctx)
	if cursor := r.Header.Get("Last-Event-Id"); cursor != "" && x.varySeed() != nil {
		r.Header = r.Header.Clone()
		r.Header.Set("Last-Event-Id", vary.DecodeCursor(cursor))
	}
	defer func() {
		if out.stream != nil {
			s.streams.close(out.stream)
		}
	}()
	s.backend.ServeHTTP(out, r)
	out.close()
}

// currentPlan returns the fault plan for the response, or nil if no plan applies to it. This is
// x.ownPlan if the request specifies faults (by X-Mock-Fault or a script rule) or an event to hold
// (by X-Mock-Hold), or if the response does not stream a run that another request started.
// Otherwise it is the plan of that run. If the mock does not have the plan of that run, for example
// because the run has not started yet, currentPlan returns nil and false.
func (x *requestState) currentPlan() (p *faultPlan, ok bool) {
	if !x.isListen || x.ownPlan != nil && (len(x.ownPlan.faults) > 0 || x.overrides.Hold != nil) {
		return x.ownPlan, true
	}
	p = x.server.plans.find(x.run)
	return p, p != nil
}

// varySeed returns the seed that selects the encoding of the response, or nil if the response is to
// have the encoding of the reference server.
func (x *requestState) varySeed() *uint64 {
	if x.overrides.varyOff {
		return nil
	}
	return cmp.Or(x.overrides.Vary, x.settings.Vary)
}

// variation returns the variation that changes the encoding of the response, or nil if the response
// is to have the encoding of the reference server.
func (x *requestState) variation() *vary.Variation {
	seed := x.varySeed()
	if seed == nil || x.dialect == nil {
		return nil
	}
	return x.server.variations.get(variationKey{*seed, x.dialect}, func() *vary.Variation {
		return vary.New(*seed, x.dialect)
	})
}

// A variationKey identifies a variation by the seed and the dialect for which it was created.
type variationKey struct {
	seed    uint64
	dialect *dialect.Dialect
}

// maxVariations is the maximum number of variations that a mock caches. When the cache is full, a
// new variation replaces the oldest one.
const maxVariations = 256

// recordHead records in the journal the status and the header of the response. If the exchange has
// no journal entry yet, it adds one.
func (x *requestState) recordHead(status int, header http.Header) {
	if x.entry == nil { // the reference refused the request before it called intercept
		x.entry = x.server.journal.Open(journal.ExchangeStart{
			Test: x.scope.id, Seed: x.seed, At: x.server.clock.Now(), Path: requestedPath(x.request),
			Request: spec.Request{
				Method: x.request.Method, Target: x.request.URL.RequestURI(), Header: fields(x.request.Header),
			},
		})
	}
	x.entry.HeadSent(status, header)
}

// requestedPath returns the path of the URL that the client requested, with the base path of the
// dialect and in the form in which the client sent it.
func requestedPath(r *http.Request) string {
	path, _, _ := strings.Cut(r.RequestURI, "?")
	return path
}

// fields returns the header h as a list with one field for each value. Values of the same name keep
// their order; the order of the names is random.
func fields(h http.Header) (out spec.Header) {
	for name, values := range h {
		for _, v := range values {
			out = append(out, spec.HeaderField{Name: name, Value: v})
		}
	}
	return out
}
