package state

import (
	"context"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// How the connection that listens is looked after. It is never silent for long, or
// it is another one from then on: what was published meanwhile is not sent again, so
// everybody is woken once whenever a connection is new.
const (
	pingEvery  = time.Second
	deafAfter  = 3 * time.Second
	leastPause = 10 * time.Millisecond // between connections
	mostPause  = time.Second
	mostAsked  = 10_000 // runs to be stopped that nobody has received yet
)

// A hub listens to what all replicas publish, on one connection, and wakes those who
// wait here.
type hub struct {
	s *redisStore

	mu      sync.Mutex
	rooms   map[string]map[chan struct{}]struct{} // channel to those who watch
	changed map[string]struct{}                   // channels whose rooms came or went
	change  chan struct{}                         // there are some
	asked   []Ref

	more     chan struct{} // there are some asked
	canceled chan Ref

	ready    chan error // how the first connection does
	listened bool       // there was one; only who listens may look
}

func newHub(s *redisStore) *hub {
	return &hub{
		s:        s,
		rooms:    map[string]map[chan struct{}]struct{}{},
		changed:  map[string]struct{}{},
		change:   make(chan struct{}, 1),
		more:     make(chan struct{}, 1),
		canceled: make(chan Ref),
		ready:    make(chan error, 1),
	}
}

// poke leaves word in a channel that has room for one.
func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

func (s *redisStore) Canceled() <-chan Ref { return s.hub.canceled }

// Watch may wake once for nothing, when the server has heard that somebody listens:
// what happened before that was not heard.
func (s *redisStore) Watch(thread string) (changed <-chan struct{}, stop func()) {
	channel := s.key("w:", thread)
	c := make(chan struct{}, 1)
	s.hub.enter(channel, c)
	return c, sync.OnceFunc(func() { s.hub.leave(channel, c) })
}

func (h *hub) enter(channel string, c chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	room := h.rooms[channel]
	if room == nil {
		room = map[chan struct{}]struct{}{}
		h.rooms[channel] = room
		h.changed[channel] = struct{}{}
		poke(h.change)
	}
	room[c] = struct{}{}
}

func (h *hub) leave(channel string, c chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	room := h.rooms[channel]
	if delete(room, c); len(room) == 0 {
		delete(h.rooms, channel)
		h.changed[channel] = struct{}{}
		poke(h.change)
	}
}

func (h *hub) wake(channel string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for c := range h.rooms[channel] {
		poke(c)
	}
}

// run listens until the store is closed, on one connection after the other.
func (h *hub) run(ctx context.Context) {
	for pause := leastPause; ctx.Err() == nil; pause = min(2*pause, mostPause) {
		heard, err := h.session(ctx)
		if heard {
			pause = leastPause
		} else {
			h.report(err)
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
	}
}

// report says how the first connection does, to whoever opens the store.
func (h *hub) report(err error) {
	select {
	case h.ready <- err:
	default:
	}
}

// session listens on one connection until it fails, and says whether it heard anything.
func (h *hub) session(ctx context.Context) (heard bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	link := h.s.db.Subscribe(ctx)
	var tuning sync.WaitGroup
	defer tuning.Wait()
	defer cancel()
	defer func() { _ = link.Close() }() // nothing is pending
	if err := link.Subscribe(ctx, h.all()...); err != nil {
		return false, err
	}
	tuning.Go(func() {
		h.tune(ctx, link)
		_ = link.Close() // the receiver hears of it
	})
	for {
		reply, err := link.ReceiveTimeout(ctx, deafAfter)
		if err != nil {
			return heard, err
		}
		heard = true
		switch m := reply.(type) {
		case *redis.Message:
			h.hear(m)
		case *redis.Subscription:
			if m.Kind == "subscribe" {
				h.wake(m.Channel)
			}
			if m.Channel != h.s.key("cancel", "") {
				continue
			}
			if h.listened {
				tuning.Go(func() { h.catchUp(ctx) })
			}
			h.listened = true
			h.report(nil)
		}
	}
}

// all is what a new connection subscribes to.
func (h *hub) all() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	clear(h.changed)
	channels := []string{h.s.key("cancel", "")}
	for channel := range h.rooms {
		channels = append(channels, channel)
	}
	return channels
}

// tune tells the server what is listened to now, and asks whether it is there. It
// ends when the connection fails.
func (h *hub) tune(ctx context.Context, link *redis.PubSub) {
	ping := time.NewTicker(pingEvery)
	defer ping.Stop()
	var err error
	for err == nil {
		select {
		case <-h.change:
			on, off := h.changes()
			if len(off) > 0 {
				err = link.Unsubscribe(ctx, off...)
			}
			if len(on) > 0 && err == nil {
				err = link.Subscribe(ctx, on...)
			}
		case <-ping.C:
			err = link.Ping(ctx)
		case <-ctx.Done():
			return
		}
	}
}

func (h *hub) changes() (on, off []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for channel := range h.changed {
		if h.rooms[channel] != nil {
			on = append(on, channel)
		} else {
			off = append(off, channel)
		}
	}
	clear(h.changed)
	return on, off
}

func (h *hub) hear(m *redis.Message) {
	if m.Channel != h.s.key("cancel", "") {
		h.wake(m.Channel)
		return
	}
	if run, ok := refOf(m.Payload); ok {
		h.ask(run)
	}
}

// catchUp asks for what was asked while nobody listened.
func (h *hub) catchUp(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, redisWait)
	defer cancel()
	ids := h.s.db.SScan(ctx, h.s.key("asked", ""), 0, "", mostRead).Iterator()
	for ids.Next(ctx) {
		if run, ok := refOf(ids.Val()); ok {
			h.ask(run)
		}
	}
}

// ask hands a run on to whoever receives those. What nobody receives is left out in
// the end: Tell says so, too.
func (h *hub) ask(run Ref) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.asked) < mostAsked {
		h.asked = append(h.asked, run)
	}
	poke(h.more)
}

func (h *hub) deliver(ctx context.Context) {
	for {
		select {
		case <-h.more:
		case <-ctx.Done():
			return
		}
		h.mu.Lock()
		asked := h.asked
		h.asked = nil
		h.mu.Unlock()
		for _, run := range asked {
			select {
			case h.canceled <- run:
			case <-ctx.Done():
				return
			}
		}
	}
}
