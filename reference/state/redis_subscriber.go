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
	pingInterval     = time.Second
	receiveTimeout   = 3 * time.Second
	minReconnectWait = 10 * time.Millisecond // between connections
	maxReconnectWait = time.Second
	maxQueuedCancels = 10_000 // runs to be stopped that nobody has received yet
)

// A subscriber listens to what all replicas publish, on one connection, and wakes those who
// wait here.
type subscriber struct {
	store *redisStore

	mu          sync.Mutex
	watchers    map[string]map[chan struct{}]struct{} // channel to those who watch
	dirty       map[string]struct{}                   // channels whose rooms came or went
	dirtySignal chan struct{}                         // there are some
	cancelQueue []RunRef

	cancelSignal chan struct{} // there are some asked
	canceled     chan RunRef

	ready        chan error // how the first connection does
	wasConnected bool       // there was one; only who listens may look
}

func newSubscriber(s *redisStore) *subscriber {
	return &subscriber{
		store:        s,
		watchers:     map[string]map[chan struct{}]struct{}{},
		dirty:        map[string]struct{}{},
		dirtySignal:  make(chan struct{}, 1),
		cancelSignal: make(chan struct{}, 1),
		canceled:     make(chan RunRef),
		ready:        make(chan error, 1),
	}
}

// signal leaves word in a channel that has room for one.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

func (s *redisStore) Canceled() <-chan RunRef { return s.subscriber.canceled }

// Watch may wake once for nothing, when the server has heard that somebody listens:
// what happened before that was not heard.
func (s *redisStore) Watch(thread string) (changed <-chan struct{}, stop func()) {
	channel := s.key("w:", thread)
	c := make(chan struct{}, 1)
	s.subscriber.addWatcher(channel, c)
	return c, sync.OnceFunc(func() { s.subscriber.removeWatcher(channel, c) })
}

func (h *subscriber) addWatcher(channel string, c chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	room := h.watchers[channel]
	if room == nil {
		room = map[chan struct{}]struct{}{}
		h.watchers[channel] = room
		h.dirty[channel] = struct{}{}
		signal(h.dirtySignal)
	}
	room[c] = struct{}{}
}

func (h *subscriber) removeWatcher(channel string, c chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	room := h.watchers[channel]
	if delete(room, c); len(room) == 0 {
		delete(h.watchers, channel)
		h.dirty[channel] = struct{}{}
		signal(h.dirtySignal)
	}
}

func (h *subscriber) notify(channel string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for c := range h.watchers[channel] {
		signal(c)
	}
}

// run listens until the store is closed, on one connection after the other.
func (h *subscriber) run(ctx context.Context) {
	for pause := minReconnectWait; ctx.Err() == nil; pause = min(2*pause, maxReconnectWait) {
		received, err := h.session(ctx)
		if received {
			pause = minReconnectWait
		} else {
			h.reportReady(err)
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
	}
}

// reportReady says how the first connection does, to whoever opens the store.
func (h *subscriber) reportReady(err error) {
	select {
	case h.ready <- err:
	default:
	}
}

// session listens on one connection until it fails, and says whether it heard anything.
func (h *subscriber) session(ctx context.Context) (received bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	link := h.store.client.Subscribe(ctx)
	var background sync.WaitGroup
	defer background.Wait()
	defer cancel()
	defer func() { _ = link.Close() }() // nothing is pending
	if err := link.Subscribe(ctx, h.channels()...); err != nil {
		return false, err
	}
	background.Go(func() {
		h.syncSubscriptions(ctx, link)
		_ = link.Close() // the receiver hears of it
	})
	for {
		reply, err := link.ReceiveTimeout(ctx, receiveTimeout)
		if err != nil {
			return received, err
		}
		received = true
		switch m := reply.(type) {
		case *redis.Message:
			h.handleMessage(m)
		case *redis.Subscription:
			if m.Kind == "subscribe" {
				h.notify(m.Channel)
			}
			if m.Channel != h.store.key("cancel", "") {
				continue
			}
			if h.wasConnected {
				background.Go(func() { h.loadPendingCancels(ctx) })
			}
			h.wasConnected = true
			h.reportReady(nil)
		}
	}
}

// channels is what a new connection subscribes to.
func (h *subscriber) channels() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	clear(h.dirty)
	channels := []string{h.store.key("cancel", "")}
	for channel := range h.watchers {
		channels = append(channels, channel)
	}
	return channels
}

// syncSubscriptions tells the server what is listened to now, and asks whether it is there. It
// ends when the connection fails.
func (h *subscriber) syncSubscriptions(ctx context.Context, link *redis.PubSub) {
	ping := time.NewTicker(pingInterval)
	defer ping.Stop()
	var err error
	for err == nil {
		select {
		case <-h.dirtySignal:
			on, off := h.takeChanges()
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

func (h *subscriber) takeChanges() (on, off []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for channel := range h.dirty {
		if h.watchers[channel] != nil {
			on = append(on, channel)
		} else {
			off = append(off, channel)
		}
	}
	clear(h.dirty)
	return on, off
}

func (h *subscriber) handleMessage(m *redis.Message) {
	if m.Channel != h.store.key("cancel", "") {
		h.notify(m.Channel)
		return
	}
	if run, ok := parseRunRef(m.Payload); ok {
		h.queueCancel(run)
	}
}

// loadPendingCancels asks for what was asked while nobody listened.
func (h *subscriber) loadPendingCancels(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, redisTimeout)
	defer cancel()
	ids := h.store.client.SScan(ctx, h.store.key("asked", ""), 0, "", maxReadItems).Iterator()
	for ids.Next(ctx) {
		if run, ok := parseRunRef(ids.Val()); ok {
			h.queueCancel(run)
		}
	}
}

// queueCancel hands a run on to whoever receives those. What nobody receives is left out in
// the end: Tell says so, too.
func (h *subscriber) queueCancel(run RunRef) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.cancelQueue) < maxQueuedCancels {
		h.cancelQueue = append(h.cancelQueue, run)
	}
	signal(h.cancelSignal)
}

func (h *subscriber) deliverCancels(ctx context.Context) {
	for {
		select {
		case <-h.cancelSignal:
		case <-ctx.Done():
			return
		}
		h.mu.Lock()
		asked := h.cancelQueue
		h.cancelQueue = nil
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
