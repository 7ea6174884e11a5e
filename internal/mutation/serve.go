package mutation

import (
	"fmt"
	"net/http"

	"github.com/streamassay/streamassay/spec/dialect"
)

// CorrectName is the key of the correct server, which has no defect, in the result of
// [NewHandlers].
const CorrectName = "correct"

// NewHandlers returns servers with which clients other than the suite can be tested: for each
// mutant that applies to dialect d, a handler by the name of the mutant, and the correct server by
// [CorrectName]. The caller must call shut to shut the servers down. If a server cannot be created,
// NewHandlers returns an error and nil for the other results.
func NewHandlers(d *dialect.Dialect) (handlers map[string]http.Handler, shut func(), err error) {
	handlers = map[string]http.Handler{}
	var shuts []func()
	shut = func() {
		for _, s := range shuts {
			s()
		}
	}
	add := func(name string, m *Mutant) error {
		h, shutOne, err := newServer(d, m, func() {})
		if err != nil {
			return fmt.Errorf("%s in %s: %w", name, d.Name, err)
		}
		handlers[name] = h
		shuts = append(shuts, shutOne)
		return nil
	}
	err = add(CorrectName, nil)
	for _, m := range All([]*dialect.Dialect{d}) {
		if err == nil && m.AppliesTo(d) {
			err = add(m.Name, m)
		}
	}
	if err != nil {
		shut()
		return nil, nil, err
	}
	return handlers, shut, nil
}
