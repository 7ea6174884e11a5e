package mutation

import (
	"fmt"
	"net/http"

	"github.com/streamassay/streamassay/spec/dialect"
)

// CorrectName is the key of the correct server in the map that [NewHandlers] returns.
const CorrectName = "correct"

// NewHandlers returns servers with which clients other than the suite can be tested. The keys of
// the map are the names of the mutants that apply to dialect d, and [CorrectName] for the correct
// server. The caller must call shut to shut the servers down. If a server cannot be created,
// NewHandlers returns nil, nil and an error.
func NewHandlers(d *dialect.Dialect) (handlers map[string]http.Handler, shut func(), err error) {
	handlers = map[string]http.Handler{}
	var shuts []func()
	shut = func() {
		for _, s := range shuts {
			s()
		}
	}
	for _, m := range append([]*Mutant{nil}, All([]*dialect.Dialect{d})...) {
		name := CorrectName
		if m != nil {
			name = m.Name
		}
		h, shutOne, err := newServer(d, m, func() {})
		if err != nil {
			shut()
			return nil, nil, fmt.Errorf("%s in %s: %w", name, d.Name, err)
		}
		handlers[name] = h
		shuts = append(shuts, shutOne)
	}
	return handlers, shut, nil
}
