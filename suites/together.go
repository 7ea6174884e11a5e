package suites

import (
	"sync"

	"github.com/streamassay/streamassay/internal/wire"
	"github.com/streamassay/streamassay/spec"
)

// sendTogether sends the requests, at most n of them at the same time, and returns when all
// responses have been read. The exchanges are recorded in the order of the requests. For each
// request, limit returns conditions; the response is read until it ends or meets one of them. The
// function limit may be called concurrently. If limit is nil, all responses are read to their ends.
func (t *Conversation) sendTogether(requests []spec.Request, n int, limit func(spec.Request) wire.StopWhen) {
	slots := make(chan struct{}, max(1, n))
	var wait sync.WaitGroup
	for _, r := range requests {
		slots <- struct{}{}
		i, ok := t.beginExchange(r)
		if !ok {
			break
		}
		wait.Go(func() {
			defer func() { <-slots }()
			var until wire.StopWhen
			if limit != nil {
				until = limit(r)
			}
			t.completeExchange(i, t.clients[r.Principal], r, r.Target, until)
		})
	}
	wait.Wait()
}
