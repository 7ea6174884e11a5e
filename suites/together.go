package suites

import (
	"sync"

	"github.com/streamassay/streamassay/internal/wire"
	"github.com/streamassay/streamassay/spec"
)

// sendTogether sends the requests, at most n of them at the same time, and returns when all
// responses have been read. It reads each response to its end, or until one of the conditions is
// met that limit returns for the request. The function limit is called concurrently. If limit is
// nil, all responses are read to their ends.
func (t *Conversation) sendTogether(requests []spec.Request, n int, limit func(spec.Request) wire.StopWhen) {
	slots := make(chan struct{}, max(1, n))
	var wait sync.WaitGroup
	for _, r := range requests {
		slots <- struct{}{}
		wait.Go(func() {
			defer func() { <-slots }()
			var until wire.StopWhen
			if limit != nil {
				until = limit(r)
			}
			t.send(r, until)
		})
	}
	wait.Wait()
}
