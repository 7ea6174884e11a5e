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
	tap
	server *Server
	over   overrides
	scope  *scope
	seed   uint64
	ids    *rand.Rand

	dialect *dialect.Dialect
	key     runKey // the run that is asked about
	own     *plan  // what was planned by this request
	listens bool   // it tells of a run that another request opened
	effects []fault.Effect
	settled bool // effects are there
	varied  *vary.StreamEncoder
	media   string // of the reply
	entry   *journal.Entry
	live    *Stream
}

// seedHeader says in every response where its chance came from, and sets it in a request.
const seedHeader = "X-Mock-Seed"

// serve answers one request.
func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	x := &exchange{server: s}
	ctx, end := context.WithCancelCause(r.Context())
	defer end(nil)
	x.tap = tap{w: w, ctx: context.WithValue(ctx, exchangeKey{}, x), end: end, x: x, r: r}
	x.gate.from = never
	x.scope = s.scopes.of(r.Header.Get(testHeader))
	var err error
	if x.over, err = overridesOf(r.Header); err != nil {
		http.Error(&x.tap, err.Error(), http.StatusBadRequest) // the journal shows it
		x.tap.close()
		return
	}
	base := s.seed
	if x.over.seed != nil {
		base = *x.over.seed
	} else if own := setting(x.scope, func(s *Settings) *uint64 { return s.Seed }); own != nil {
		base = *own
	}
	x.seed = base
	w.Header()[seedHeader] = []string{strconv.FormatUint(base, 10)}
	r = r.WithContext(x.ctx)
	if cursor := r.Header.Get("Last-Event-Id"); cursor != "" && x.variation() != nil {
		r.Header = r.Header.Clone()
		r.Header.Set("Last-Event-Id", vary.DecodeCursor(cursor))
	}
	defer x.left()
	s.house.ServeHTTP(&x.tap, r)
	x.tap.close()
}

// plan is what was planned for what is told; ok is false where the run is not there yet.
func (x *exchange) plan() (p *plan, ok bool) {
	if !x.listens {
		return x.own, true
	}
	if p = x.server.plans.find(x.key); p == nil {
		return x.own, x.own != nil
	}
	if x.own != nil && len(x.own.uses) > 0 {
		p = x.own
	}
	return p, true
}

// struck begins what the stream has to suffer, once it is known.
func (x *exchange) struck() (all []fault.Effect, ok bool) {
	if x.settled {
		return x.effects, true
	}
	p, ok := x.plan()
	if !ok {
		return nil, false
	}
	x.settled = true
	if p != nil {
		n := int(p.streams.Add(1))
		if len(p.uses) > 0 {
			x.effects = p.strikes(n, x.rand(forStream), x.entry.Fault)
		}
		if x.listens && p.hold != never && n == 1 {
			x.gate.hold(p.hold)
		}
		if p.test != "" {
			x.entry.Test(p.test)
		}
	}
	return x.effects, true
}

// variation is the seed by which streams are varied, or nil.
func (x *exchange) variation() *uint64 {
	if x.over.vary.set {
		return x.over.vary.seed
	}
	return setting(x.scope, func(s *Settings) *uint64 { return s.Vary })
}

// begin changes the head of a response.
func (x *exchange) begin(head *fault.ResponseHead) {
	if x.stream {
		effects, _ := x.struck()
		for _, effect := range effects {
			if effect.OnHead != nil {
				effect.OnHead(head)
			}
		}
	}
	x.media = spec.Header{{Name: "Content-Type", Value: head.Header.Get("Content-Type")}}.MediaType() // before it is varied
	if seed := x.variation(); seed != nil && x.dialect != nil {
		if strings.HasSuffix(x.media, "json") {
			head.Header.Del("Content-Length") // it will be another
		}
		v := x.server.variations.of(*seed, x.dialect)
		v.EncodeHeader(head.Header)
		if x.stream {
			x.varied = v.NewStream(x.seed)
		}
	}
}

// headed notes that the head was sent.
func (x *exchange) headed(status int) {
	if x.entry == nil { // it was not understood, so direct never heard of it
		x.entry = x.server.journal.Open(journal.Opened{
			Test: x.scope.id, Seed: x.seed, At: x.server.clock.Now(),
			Request: spec.Request{Method: x.r.Method, Target: x.r.URL.RequestURI(), Header: fields(x.r.Header)},
		})
	}
	x.entry.Head(status, x.w.Header())
	if x.stream {
		x.live = x.server.streams.open(x)
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

// reply is a body that is no stream, as it is sent.
func (x *exchange) reply(body []byte) []byte {
	seed := x.variation()
	if seed == nil || x.dialect == nil || !strings.HasSuffix(x.media, "json") {
		return body
	}
	return x.server.variations.of(*seed, x.dialect).EncodeReply(x.seed, body)
}

// delivered notes what was sent.
func (x *exchange) delivered(p []byte) {
	if x.entry != nil {
		x.entry.Sent(time.Since(x.begun), p)
	}
}

// closed notes how it ended.
func (x *exchange) closed(how fault.StreamEnd) {
	if x.entry == nil {
		return
	}
	if p, ok := x.plan(); ok && p != nil && x.listens {
		for _, name := range p.noted() {
			x.entry.Fault(name)
		}
	}
	end := journal.End(how)
	switch {
	case how != "":
	case x.r.Context().Err() != nil:
		end = journal.Left
	case x.server.ctx.Err() != nil:
		end = journal.Shutdown
	default:
		end = journal.Whole
	}
	x.entry.Close(end)
}

// left forgets a stream that is over.
func (x *exchange) left() {
	if x.live != nil {
		x.server.streams.close(x.live)
	}
}

// variations are those that were used lately: it takes a while to read a document.
type variations struct {
	mu  sync.Mutex
	all map[varied]*vary.Variation
}

type varied struct {
	seed    uint64
	dialect *dialect.Dialect
}

// mostVariations are kept.
const mostVariations = 256

func (v *variations) of(seed uint64, d *dialect.Dialect) *vary.Variation {
	v.mu.Lock()
	defer v.mu.Unlock()
	key := varied{seed, d}
	found := v.all[key]
	if found == nil {
		if v.all == nil || len(v.all) >= mostVariations {
			v.all = map[varied]*vary.Variation{}
		}
		found = vary.New(seed, d)
		v.all[key] = found
	}
	return found
}
