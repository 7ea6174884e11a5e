package mockserver

import (
	"context"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/streamassay/streamassay/mockserver/fault"
	"github.com/streamassay/streamassay/mockserver/journal"
	"github.com/streamassay/streamassay/mockserver/vary"
	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
)

// An exchange is the state of one request to the mock and of its response.
type exchange struct {
	interceptor
	server    *Server
	overrides overrides
	scope     *scope
	seed      uint64
	idRand    *rand.Rand

	dialect        *dialect.Dialect
	run            runKey     // the run that the request starts or refers to
	ownPlan        *faultPlan // the faults that this request specifies itself
	isListen       bool       // the response streams a run that another request started
	effects        []fault.Effect
	effectsStarted bool // whether effects is set
	varyStream     *vary.StreamEncoder
	mediaType      string // of the response
	entry          *journal.Entry
	openStream     *Stream
}

// seedHeader is the header in which a request sets the seed of its random choices. Each response
// reports the seed in the same header.
const seedHeader = "X-Mock-Seed"

// serve handles one request. It applies the request's X-Mock headers and passes the request to the
// reference server, which writes its response to an interceptor.
func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	x := &exchange{server: s}
	ctx, end := context.WithCancelCause(r.Context())
	defer end(nil)
	x.interceptor = interceptor{w: w, ctx: context.WithValue(ctx, exchangeKey{}, x), cancel: end, exchange: x, r: r}
	x.gate.firstHeld = noFrame
	x.scope = s.scopes.get(r.Header.Get(testHeader))
	var err error
	if x.overrides, err = parseOverrides(r.Header); err != nil {
		http.Error(&x.interceptor, err.Error(), http.StatusBadRequest) // via the interceptor, so that the journal records it
		x.interceptor.close()
		return
	}
	base := s.seed
	if x.overrides.seed != nil {
		base = *x.overrides.seed
	} else if own := setting(x.scope, func(s *Settings) *uint64 { return s.Seed }); own != nil {
		base = *own
	}
	x.seed = base
	w.Header()[seedHeader] = []string{strconv.FormatUint(base, 10)}
	r = r.WithContext(x.ctx)
	if cursor := r.Header.Get("Last-Event-Id"); cursor != "" && x.varySeed() != nil {
		r.Header = r.Header.Clone()
		r.Header.Set("Last-Event-Id", vary.DecodeCursor(cursor))
	}
	defer x.removeStream()
	s.backend.ServeHTTP(&x.interceptor, r)
	x.interceptor.close()
}

// currentPlan returns the fault plan for the run that the response streams, or nil if there is no
// plan. The result ok is false if the request listens to a run that has not been started yet,
// because its plan is then still unknown.
func (x *exchange) currentPlan() (p *faultPlan, ok bool) {
	if !x.isListen {
		return x.ownPlan, true
	}
	if p = x.server.plans.find(x.run); p == nil {
		return x.ownPlan, x.ownPlan != nil
	}
	if x.ownPlan != nil && len(x.ownPlan.faults) > 0 {
		p = x.ownPlan
	}
	return p, true
}

// startEffects returns the effects of the faults on this stream. The effects are created by the
// first call that returns true for ok, and later calls return the same ones. The result ok is false
// as long as the run is not known; see currentPlan.
func (x *exchange) startEffects() (all []fault.Effect, ok bool) {
	if x.effectsStarted {
		return x.effects, true
	}
	p, ok := x.currentPlan()
	if !ok {
		return nil, false
	}
	x.effectsStarted = true
	if p != nil {
		n := int(p.streamCount.Add(1))
		if len(p.faults) > 0 {
			x.effects = p.begin(n, x.newRand(randStream), x.entry.FaultApplied)
		}
		if x.isListen && p.firstHeld != noFrame && n == 1 {
			x.gate.holdFrom(p.firstHeld)
		}
		if p.test != "" {
			x.entry.SetTest(p.test)
		}
	}
	return x.effects, true
}

// varySeed returns the seed of the variations of the response's encoding, or nil if the encoding
// is not varied.
func (x *exchange) varySeed() *uint64 {
	if x.overrides.vary.set {
		return x.overrides.vary.seed
	}
	return setting(x.scope, func(s *Settings) *uint64 { return s.Vary })
}

// changeHead applies faults and variations to head, the status and the header of the response. It
// must be called before the head is sent.
func (x *exchange) changeHead(head *fault.ResponseHead) {
	if x.isStream {
		effects, _ := x.startEffects()
		for _, effect := range effects {
			if effect.OnHead != nil {
				effect.OnHead(head)
			}
		}
	}
	contentType := head.Header.Get("Content-Type") // before a variation changes it
	x.mediaType = spec.Header{{Name: "Content-Type", Value: contentType}}.MediaType()
	if seed := x.varySeed(); seed != nil && x.dialect != nil {
		if strings.HasSuffix(x.mediaType, "json") {
			head.Header.Del("Content-Length") // the varied body has another length
		}
		v := x.server.variations.get(*seed, x.dialect)
		v.EncodeHeader(head.Header)
		if x.isStream {
			x.varyStream = v.NewStream(x.seed)
		}
	}
}

// recordHead writes the status and the header of the response to the journal. If the response is an
// event stream, recordHead also adds it to the open streams.
func (x *exchange) recordHead(status int) {
	if x.entry == nil { // the reference refused the request before it called intercept
		x.entry = x.server.journal.Open(journal.ExchangeStart{
			Test: x.scope.id, Seed: x.seed, At: x.server.clock.Now(),
			Request: spec.Request{Method: x.r.Method, Target: x.r.URL.RequestURI(), Header: fields(x.r.Header)},
		})
	}
	x.entry.HeadSent(status, x.w.Header())
	if x.isStream {
		x.openStream = x.server.streams.open(x)
	}
}

// fields returns a header as a list of fields, one for each value.
func fields(h http.Header) (out spec.Header) {
	for name, values := range h {
		for _, v := range values {
			out = append(out, spec.Field{Name: name, Value: v})
		}
	}
	return out
}

// varyBody returns body in another legal encoding if variations are enabled and the response is
// JSON, and unchanged otherwise. The parameter body is a part of a response that is not an event
// stream.
func (x *exchange) varyBody(body []byte) []byte {
	seed := x.varySeed()
	if seed == nil || x.dialect == nil || !strings.HasSuffix(x.mediaType, "json") {
		return body
	}
	return x.server.variations.get(*seed, x.dialect).EncodeReply(x.seed, body)
}

// recordSent records in the journal that p, a part of the body, was sent.
func (x *exchange) recordSent(p []byte) {
	if x.entry != nil {
		x.entry.BytesSent(time.Since(x.headTime), p)
	}
}

// recordEnd records in the journal how the response ended. The parameter how is the way in which a
// fault or a request to the control port ended it, or "" if neither did. For "", recordEnd finds
// out whether the client left, the mock was shut down or the response is complete.
func (x *exchange) recordEnd(how fault.StreamEnd) {
	if x.entry == nil {
		return
	}
	if p, ok := x.currentPlan(); ok && p != nil && x.isListen {
		for _, name := range p.appliedFaults() {
			x.entry.FaultApplied(name)
		}
	}
	end := journal.EndReason(how)
	switch {
	case how != "":
	case x.r.Context().Err() != nil:
		end = journal.ClientLeft
	case x.server.ctx.Err() != nil:
		end = journal.Shutdown
	default:
		end = journal.Complete
	}
	x.entry.Close(end)
}

// removeStream removes the stream of the exchange from the open streams. It does nothing if the
// response is not an event stream.
func (x *exchange) removeStream() {
	if x.openStream != nil {
		x.server.streams.close(x.openStream)
	}
}

// variations is a cache of variations, which are expensive to create. It is safe for concurrent
// use.
type variations struct {
	mu  sync.Mutex
	all map[variationKey]*vary.Variation
}

type variationKey struct {
	seed    uint64
	dialect *dialect.Dialect
}

// maxVariations is the maximum number of variations in the cache. When the cache is full, it is
// emptied.
const maxVariations = 256

// get returns the variation of the dialect d for the given seed. It creates the variation if the
// cache does not contain it.
func (v *variations) get(seed uint64, d *dialect.Dialect) *vary.Variation {
	v.mu.Lock()
	defer v.mu.Unlock()
	key := variationKey{seed, d}
	found := v.all[key]
	if found == nil {
		if v.all == nil || len(v.all) >= maxVariations {
			v.all = map[variationKey]*vary.Variation{}
		}
		found = vary.New(seed, d)
		v.all[key] = found
	}
	return found
}
