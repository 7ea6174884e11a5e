// Package control provides the HTTP API and the HTML pages by which a running mock server is
// inspected and controlled: its journal, open streams, scripts, settings and clock. They are served
// on a port of their own, the control port. The package is independent of dialects and does not
// judge clients.
package control

import (
	"net/http"
	"sync"
	"time"

	"github.com/streamassay/streamassay/internal/journal"
	"github.com/streamassay/streamassay/internal/script"
	"github.com/streamassay/streamassay/mockserver"
)

// A Config configures the control port, the port on which the API and the pages of this package are
// served. The zero value is suitable for a port on the loopback interface.
type Config struct {
	AllowedHosts []string                    // host names allowed in the Host header, in addition to the loopback names
	Done         <-chan struct{}             // closed on shutdown, to end waits and event streams; may be nil
	Judge        script.ConformanceCheckFunc // checks the replies in uploaded scripts; nil: replies are not checked
}

// A server holds the state of the control port.
type server struct {
	mock *mockserver.Server
	cfg  Config
	// longRequests limits the number of long requests (see acquireLong) and of streams that endAt
	// will end. It holds one value for each of them.
	longRequests chan struct{}

	mu            sync.Mutex               // serializes changes of scripts, settings and state
	scriptSources map[string]currentScript // scripts that requests have set, by the id of the test; "": for all tests
}

// A currentScript is a script that a request to the control API has set.
type currentScript struct {
	set  *script.RuleSet // rules that were parsed from text
	text []byte          // the script as it was received
}

// Limits and default values of requests to the control port. Sizes are in bytes.
const (
	maxBody         = 1 << 20          // body of a request
	maxScript       = 4 << 20          // body of a request with a script
	maxLongRequests = 256              // values in server.longRequests
	maxPageSize     = 1000             // exchanges in one response
	defaultPageSize = 100              // exchanges in one response if the request sets no limit
	maxWait         = 60 * time.Second // maximum timeout of a request that waits for exchanges
	defaultWait     = 10 * time.Second // timeout of a request that waits for exchanges but sets no timeout
	writeTimeout    = 30 * time.Second // for one write of a response, and for reading the body of a request
)

// New returns a handler that serves the control API and the HTML pages of the mock m, as configured
// by cfg.
func New(m *mockserver.Server, cfg Config) http.Handler {
	s := &server{
		mock: m, cfg: cfg,
		longRequests: make(chan struct{}, maxLongRequests), scriptSources: map[string]currentScript{},
	}
	return s.guard(s.newMux())
}

// journal returns the journal of the mock.
func (s *server) journal() *journal.Journal { return s.mock.Journal() }
