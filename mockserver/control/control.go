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
	Hosts []string                // names by which it may be asked, besides those of the loopback
	Done  <-chan struct{}         // closed when the port is shut: whoever listens or waits is let go
	Judge script.ConformanceCheck // of scripts that are loaded; nil: they are not judged
}

// A server answers what is asked of the control port.
type server struct {
	mock *mockserver.Server
	cfg  Config
	long seats // of requests that stay

	mu      sync.Mutex        // of what is set: it is read, changed and set again
	written map[string]source // by test: the scripts that were put here
}

// A source is the text of scripts, and what they became.
type source struct {
	set  *script.RuleSet
	text []byte
}

// Bounds.
const (
	mostBody   = 1 << 20 // of a request, in bytes
	mostScript = 4 << 20 // of a script, likewise
	mostLong   = 256     // requests that wait or listen at the same time
	mostPage   = 1000    // exchanges in one answer
	usualPage  = 100
	mostWait   = 60 * time.Second
	usualWait  = 10 * time.Second
	writeWait  = 30 * time.Second // for one piece of an answer
)

// New makes the handler of the control port of a mock.
func New(m *mockserver.Server, cfg Config) http.Handler {
	s := &server{mock: m, cfg: cfg, long: make(seats, mostLong), written: map[string]source{}}
	return s.guard(s.routes())
}

func (s *server) journal() *journal.Journal { return s.mock.Journal() }

// seats are for requests that stay long.
type seats chan struct{}

// take is false where none is left.
func (s seats) take() bool {
	select {
	case s <- struct{}{}:
		return true
	default:
		return false
	}
}

func (s seats) leave() { <-s }
