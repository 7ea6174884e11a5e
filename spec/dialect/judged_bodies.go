package dialect

import (
	"slices"
	"sync"

	"github.com/streamassay/streamassay/spec"
)

// A bodyViolationCache caches the violations of request bodies for one operation, because each
// request is validated several times: before it is sent, by a server in the same process, and when
// the exchange is judged. It is safe for concurrent use. The zero value is empty.
type bodyViolationCache struct {
	mu         sync.Mutex
	violations map[string][]spec.Violation // by body; empty for a valid body
	bytes      int                         // total size of the bodies
}

// Limits of a bodyViolationCache, in bytes, so that it takes little memory. When a new body would
// make it exceed maxJudgedBytes, it first drops all others.
const (
	maxJudgedBytes     = 2 << 20  // of all bodies together
	maxJudgedBodyBytes = 64 << 10 // of one body; larger bodies are not remembered
)

// lookup returns the recorded violations of body. The list is empty if body is valid. ok is false
// if nothing is recorded about body.
func (b *bodyViolationCache) lookup(body []byte) (violations []spec.Violation, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	violations, ok = b.violations[string(body)]
	return slices.Clone(violations), ok
}

// store records the violations of body. It does nothing if body has more than maxJudgedBodyBytes.
func (b *bodyViolationCache) store(body []byte, violations []spec.Violation) {
	if len(body) > maxJudgedBodyBytes {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.bytes += len(body); b.violations == nil || b.bytes > maxJudgedBytes {
		b.violations, b.bytes = map[string][]spec.Violation{}, len(body)
	}
	b.violations[string(body)] = slices.Clone(violations)
}
