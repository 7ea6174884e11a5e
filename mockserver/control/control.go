// Package control is the hand on a mock while it serves: an HTTP API and a page, on a
// port of their own, so that they never pollute the protocol. It shows what the journal
// keeps, and holds, steps and changes what is told. It does not know what the frames of
// any dialect mean, does not judge, and remembers nothing that matters but what the
// mock does.
package control

import (
	"net/http"
	"sync"
	"time"

	"github.com/streamassay/streamassay/mockserver"
	"github.com/streamassay/streamassay/mockserver/journal"
	"github.com/streamassay/streamassay/mockserver/script"
)

// A Config is what the control port is told. The zero value is right for a port of the
// loopback.
type Config struct {
	AllowedHosts []string                // names by which it may be asked, besides those of the loopback
	Done         <-chan struct{}         // closed when the port is shut: whoever listens or waits is let go
	Judge        script.ConformanceCheck // of scripts that are loaded; nil: they are not judged
}

// A server answers what is asked of the control port.
type server struct {
	mock         *mockserver.Server
	cfg          Config
	longRequests semaphore // of requests that stay

	mu            sync.Mutex              // of what is set: it is read, changed and set again
	scriptSources map[string]scriptSource // by test: the scripts that were put here
}

// A scriptSource is the text of scripts, and what they became.
type scriptSource struct {
	set  *script.RuleSet
	text []byte
}

// Bounds.
const (
	maxBody         = 1 << 20 // of a request, in bytes
	maxScript       = 4 << 20 // of a script, likewise
	maxLongRequests = 256     // requests that wait or listen at the same time
	maxPageSize     = 1000    // exchanges in one answer
	defaultPageSize = 100
	maxWait         = 60 * time.Second
	defaultWait     = 10 * time.Second
	writeTimeout    = 30 * time.Second // for one piece of an answer
)

// New makes the handler of the control port of a mock.
func New(m *mockserver.Server, cfg Config) http.Handler {
	s := &server{mock: m, cfg: cfg, longRequests: make(semaphore, maxLongRequests), scriptSources: map[string]scriptSource{}}
	return s.guard(s.newMux())
}

func (s *server) journal() *journal.Journal { return s.mock.Journal() }

// semaphore are for requests that stay long.
type semaphore chan struct{}

// tryAcquire is false where none is left.
func (s semaphore) tryAcquire() bool {
	select {
	case s <- struct{}{}:
		return true
	default:
		return false
	}
}

func (s semaphore) release() { <-s }
