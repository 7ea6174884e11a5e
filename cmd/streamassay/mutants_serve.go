package main

import (
	"context"
	"log/slog"
	"net/http"

	"github.com/streamassay/streamassay/internal/mutation"
	"github.com/streamassay/streamassay/spec/dialect"
)

// serveMutants serves all mutants of a dialect at the address in endpoint, until ctx is done, for
// clients other than the suite. Each mutant is served below a path that begins with its name. In
// the ready file and the output, the names of the mutants take the place of the names of dialects.
// The slice dialects must have exactly one element; otherwise serveMutants returns a usage error.
func serveMutants(ctx context.Context, sh stdio, endpoint *listenFlags, dialects []*dialect.Dialect) error {
	if len(dialects) != 1 {
		return usageError("--serve needs one --dialect")
	}
	if err := endpoint.check(false); err != nil {
		return err
	}
	handlers, shut, err := mutation.NewHandlers(dialects[0])
	if err != nil {
		return exitError{exitInternal, err.Error()}
	}
	mux, paths := http.NewServeMux(), map[string]string{}
	for name, h := range handlers {
		mux.Handle("/"+name+"/", http.StripPrefix("/"+name, h))
		paths[name] = "/" + name + dialects[0].Base
	}
	return service{
		endpoint: endpoint, limits: &limitFlags{}, log: slog.New(slog.DiscardHandler), handler: mux, basePaths: paths,
		shutdown: func(context.Context) error { shut(); return nil },
	}.run(ctx, sh)
}
