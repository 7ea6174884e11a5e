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

// An exchange is one request and what comes of it.
type exchange struct {
	interceptor
	server    *Server
	overrides overrides
	scope     *scope
	seed      uint64
	idRand    *rand.Rand

	dialect        *dialect.Dialect
	run            runKey     // the run that is asked about
	ownPlan        *faultPlan // what was planned by this request
	isListen       bool       // it tells of a run that another request opened
	effects        []fault.Effect
	effectsStarted bool // effects are there
	varyStream     *vary.StreamEncoder
	mediaType      string // of the reply
	entry          *journal.Entry
	openStream     *Stream
}

// seedHeader says in every response where its chance came from, and sets it in a request.
const seedHeader = "X-Mock-Seed"

// serve answers one request.
func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	x := &exchange{server: s}
	ctx, end := context.WithCancelCause(r.Context())
	defer end(nil)
	x.interceptor = interceptor{w: w, ctx: context.WithValue(ctx, exchangeKey{}, x), cancel: end, exchange: x, r: r}
	x.gate.firstHeld = noFrame
	x.scope = s.scopes.get(r.Header.Get(testHeader))
	var err error
	if x.overrides, err = parseOverrides(r.Header); err != nil {
		http.Error(&x.interceptor, err.Error(), http.StatusBadRequest) // the journal shows it
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

// currentPlan is what was planned for what is told; ok is false where the run is not there yet.
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

// startEffects begins what the stream has to suffer, once it is known.
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

// varySeed is the seed by which streams are varied, or nil.
func (x *exchange) varySeed() *uint64 {
	if x.overrides.vary.set {
		return x.overrides.vary.seed
	}
	return setting(x.scope, func(s *Settings) *uint64 { return s.Vary })
}

// changeHead changes the head of a response.
func (x *exchange) changeHead(head *fault.ResponseHead) {
	if x.isStream {
		effects, _ := x.startEffects()
		for _, effect := range effects {
			if effect.OnHead != nil {
				effect.OnHead(head)
			}
		}
	}
	x.mediaType = spec.Header{{Name: "Content-Type", Value: head.Header.Get("Content-Type")}}.MediaType() // before it is varied
	if seed := x.varySeed(); seed != nil && x.dialect != nil {
		if strings.HasSuffix(x.mediaType, "json") {
			head.Header.Del("Content-Length") // it will be another
		}
		v := x.server.variations.get(*seed, x.dialect)
		v.EncodeHeader(head.Header)
		if x.isStream {
			x.varyStream = v.NewStream(x.seed)
		}
	}
}

// recordHead notes that the head was sent.
func (x *exchange) recordHead(status int) {
	if x.entry == nil { // it was not understood, so direct never heard of it
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

func fields(h http.Header) (out spec.Header) {
	for name, values := range h {
		for _, v := range values {
			out = append(out, spec.Field{Name: name, Value: v})
		}
	}
	return out
}

// varyBody is a body that is no stream, as it is sent.
func (x *exchange) varyBody(body []byte) []byte {
	seed := x.varySeed()
	if seed == nil || x.dialect == nil || !strings.HasSuffix(x.mediaType, "json") {
		return body
	}
	return x.server.variations.get(*seed, x.dialect).EncodeReply(x.seed, body)
}

// recordSent notes what was sent.
func (x *exchange) recordSent(p []byte) {
	if x.entry != nil {
		x.entry.BytesSent(time.Since(x.headTime), p)
	}
}

// recordEnd notes how it ended.
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

// removeStream forgets a stream that is over.
func (x *exchange) removeStream() {
	if x.openStream != nil {
		x.server.streams.close(x.openStream)
	}
}

// variations are those that were used lately: it takes a while to read a document.
type variations struct {
	mu  sync.Mutex
	all map[variationKey]*vary.Variation
}

type variationKey struct {
	seed    uint64
	dialect *dialect.Dialect
}

// maxVariations are kept.
const maxVariations = 256

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
