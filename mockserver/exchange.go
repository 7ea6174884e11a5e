package mockserver

import (
	"cmp"
	"context"
	"math/rand/v2"
	"net/http"
	"strconv"

	"github.com/streamassay/streamassay/internal/journal"
	"github.com/streamassay/streamassay/internal/vary"
	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
)

// A requestState holds what is known about one request to the mock: its settings, and what
// intercept decided about it. The writers through which the response passes are in a responseWriter
// instead.
type requestState struct {
	server    *Server
	request   *http.Request // as received
	overrides overrides
	scope     *testScope
	settings  RuntimeSettings // those of the scope when the request arrived
	seed      uint64          // seed of the random choices; intercept derives it from the base seed
	idRand    *rand.Rand      // source of new ids; nil until it is needed

	dialect  *dialect.Dialect          // nil until intercept is called
	run      runKey                    // the run that the request starts or refers to
	ownPlan  *faultPlan                // the plan made for this request; nil until intercept makes it
	isListen bool                      // the response streams a run that another request started
	entry    *journal.ExchangeRecorder // nil until the request is recorded
}

// seedHeader is the header in which a request sets the seed of its random choices. Each response
// reports the seed in the same header, except the refusal of a request with an invalid X-Mock
// header.
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
	out := &responseWriter{exchange: x, client: client, gate: holdStage{client: client, firstHeld: noFrame}}
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

// currentPlan returns the fault plan for the response. If the request listens to a run that another
// request started, this is the plan of that run, unless the request itself specifies faults or an
// event to hold. Otherwise it is the plan of the request, which is nil if intercept has made none;
// ok is then still true. If the mock has no plan of the run that the request listens to, for
// example because the run has not started yet, currentPlan returns nil and false.
func (x *requestState) currentPlan() (p *faultPlan, ok bool) {
	if !x.isListen || x.ownPlan != nil && (len(x.ownPlan.faults) > 0 || x.overrides.Hold != nil) {
		return x.ownPlan, true
	}
	p = x.server.plans.find(x.run)
	return p, p != nil
}

// varySeed returns the seed of the variations of the response's encoding, or nil if the encoding
// is not varied.
func (x *requestState) varySeed() *uint64 {
	if x.overrides.varyOff {
		return nil
	}
	return cmp.Or(x.overrides.Vary, x.settings.Vary)
}

// variation returns the variation of the response's encoding, or nil if the encoding is not varied.
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

// maxVariations is the maximum number of variations that a mock keeps. It keeps them for later
// requests, because creating a variation is expensive. When the maximum is reached, a new variation
// replaces the oldest one.
const maxVariations = 256

// recordHead records in the journal the status and the header of the response. If the exchange has
// no journal entry yet, it adds one.
func (x *requestState) recordHead(status int, header http.Header) {
	if x.entry == nil { // the reference refused the request before it called intercept
		x.entry = x.server.journal.Open(journal.ExchangeStart{
			Test: x.scope.id, Seed: x.seed, At: x.server.clock.Now(),
			Request: spec.Request{
				Method: x.request.Method, Target: x.request.URL.RequestURI(), Header: fields(x.request.Header),
			},
		})
	}
	x.entry.HeadSent(status, header)
}

// fields converts h to a header with one field for each value. The order of fields with different
// names is random.
func fields(h http.Header) (out spec.Header) {
	for name, values := range h {
		for _, v := range values {
			out = append(out, spec.HeaderField{Name: name, Value: v})
		}
	}
	return out
}
