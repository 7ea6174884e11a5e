package mutation

import (
	"fmt"
	"net/http"

	"github.com/streamassay/streamassay/spec/dialect"
)

// CorrectName is the name of the server without a defect in [NewHandlers].
const CorrectName = "correct"

// NewHandlers returns the servers of all mutants that apply to dialect d by the names of the mutants,
// and the correct server by [CorrectName], for clients other than the suite. The function shut shuts
// them down. NewHandlers returns an error if a server cannot be created.
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
