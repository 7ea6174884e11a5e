package durable

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/gomodule/redigo/redis"
)

// Times and limits of the connection of a redisSubscriber. If it receives nothing for
// receiveTimeout, not even the reply to a ping, it is replaced. The server does not repeat what was
// published meanwhile, so all watchers are woken once after a reconnection.
const (
	pingInterval     = time.Second
	receiveTimeout   = 3 * time.Second
	minReconnectWait = 10 * time.Millisecond // doubles with each failure
	maxReconnectWait = time.Second
	maxQueuedCancels = 10_000 // capacity of the channel that redisStore.Canceled returns
)

// A redisSubscriber receives, on one connection, the notifications that all replicas publish, and
// wakes the watchers in this process. It also wakes the watchers of a thread when the server
// confirms the subscription to that thread, because this replica did not receive earlier
// notifications.
type redisSubscriber struct {
	store *redisStore

	mu          sync.Mutex
	watched     map[string]bool // Redis channels of the threads that have watchers
	dirty       map[string]bool // channels that were added to watched or removed from it
	dirtySignal chan struct{}   // receives a value when a channel was added to dirty

	ready        chan error // receives the result of the first attempt to subscribe
	wasConnected bool       // a connection has been subscribed; used only by the goroutine of run
}

func newSubscriber(s *redisStore) *redisSubscriber {
	return &redisSubscriber{
		store:       s,
		watched:     map[string]bool{},
		dirty:       map[string]bool{},
		dirtySignal: make(chan struct{}, 1),
		ready:       make(chan error, 1),
	}
}

// setWatched records whether a thread has watchers, and makes syncSubscriptions change the
// subscription.
func (h *redisSubscriber) setWatched(thread string, watched bool) {
	channel := h.store.key("w:", thread)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.dirty[channel] = true
	if watched {
		h.watched[channel] = true
	} else {
		delete(h.watched, channel)
	}
	select {
	case h.dirtySignal <- struct{}{}:
	default: // it was not received yet
	}
}

// notify wakes the watchers of the thread whose notifications the server publishes on the given
// channel.
func (h *redisSubscriber) notify(channel string) {
	h.store.Notify(strings.TrimPrefix(channel, h.store.key("w:", "")))
}

// run keeps a connection with the subscriptions open until ctx is done. After a failure it waits
// and opens a new one.
func (h *redisSubscriber) run(ctx context.Context) {
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

// reportReady sends err, the result of an attempt to subscribe, to startBackground. Only the first
// call has an effect.
func (h *redisSubscriber) reportReady(err error) {
	select {
	case h.ready <- err:
	default:
	}
}

// session opens a connection, subscribes to the channels and handles the messages that it receives.
// It returns when the connection fails or ctx is done; err is never nil. The result received
// reports whether the connection received anything.
func (h *redisSubscriber) session(ctx context.Context) (received bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	conn, err := h.store.dial(ctx)
	if err != nil {
		return false, err
	}
	link := redis.PubSubConn{Conn: conn}
	var background sync.WaitGroup
	defer background.Wait()
	defer cancel()
	defer func() { _ = link.Close() }() // nothing is pending
	if err := link.Subscribe(h.channels()...); err != nil {
		return false, err
	}
	background.Go(func() {
		h.syncSubscriptions(ctx, link)
		_ = link.Close() // makes ReceiveWithTimeout return
	})
	for {
		reply := link.ReceiveWithTimeout(receiveTimeout)
		if err, failed := reply.(error); failed {
			return received, err
		}
		received = true
		switch m := reply.(type) {
		case redis.Message:
			h.handleMessage(m)
		case redis.Subscription:
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

// channels returns the names of the Redis channels to which a new connection must subscribe. It
// also clears h.dirty, because a new connection does not need the changes.
func (h *redisSubscriber) channels() []any {
	h.mu.Lock()
	defer h.mu.Unlock()
	clear(h.dirty)
	channels := []any{h.store.key("cancel", "")}
	for channel := range h.watched {
		channels = append(channels, channel)
	}
	return channels
}

// syncSubscriptions changes the subscriptions of the connection link whenever a thread gets its
// first watcher or loses its last one. It also sends a ping at every pingInterval. It returns when
// the connection fails or ctx is done.
func (h *redisSubscriber) syncSubscriptions(ctx context.Context, link redis.PubSubConn) {
	ping := time.NewTicker(pingInterval)
	defer ping.Stop()
	var err error
	for err == nil {
		select {
		case <-h.dirtySignal:
			on, off := h.takeChanges()
			if len(off) > 0 {
				err = link.Unsubscribe(off...)
			}
			if len(on) > 0 && err == nil {
				err = link.Subscribe(on...)
			}
		case <-ping.C:
			err = link.Ping("")
		case <-ctx.Done():
			return
		}
	}
}

// takeChanges returns the channels to which the connection must now subscribe (on) and those from
// which it must unsubscribe (off), because their watchers have changed since the last call.
func (h *redisSubscriber) takeChanges() (on, off []any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for channel := range h.dirty {
		if h.watched[channel] {
			on = append(on, channel)
		} else {
			off = append(off, channel)
		}
	}
	clear(h.dirty)
	return on, off
}

func (h *redisSubscriber) handleMessage(m redis.Message) {
	if m.Channel != h.store.key("cancel", "") {
		h.notify(m.Channel)
		return
	}
	if run, ok := parseRunRef(string(m.Data)); ok {
		h.store.NotifyCanceled(run)
	}
}

// loadPendingCancels reads from the Redis server the runs that have not ended and for which Cancel
// was called, and sends each of them to the channel that Canceled returns. It is called after a
// reconnection, because this replica missed what was published while it was not connected.
//
// If reading fails, it returns early. The remaining runs are still canceled, because the processes
// that execute them learn of the cancellation from Append.
func (h *redisSubscriber) loadPendingCancels(ctx context.Context) {
	for cursor := "0"; ; {
		reply, err := redis.Values(h.store.do(ctx, "SSCAN", h.store.key("asked", ""), cursor, "COUNT", maxReadItems))
		var page any
		if err == nil {
			_, err = redis.Scan(reply, &cursor, &page)
		}
		ids, err := redis.Strings(page, err)
		for _, id := range ids {
			if run, ok := parseRunRef(id); ok {
				h.store.NotifyCanceled(run)
			}
		}
		if err != nil || cursor == "0" {
			return
		}
	}
}
