package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"

	"github.com/streamassay/streamassay/internal/middleware"
	"github.com/streamassay/streamassay/internal/replay"
	"github.com/streamassay/streamassay/spec/dialect"
)

// record forwards requests to the server of --record, and saves each conversation as a recording
// that a mock can replay. It returns when the client command has ended or, if command is empty,
// when ctx is done. It returns nil if the exit code is 0, and an error otherwise.
func (m *mockOptions) record(ctx context.Context, sh stdio, command []string) error {
	if _, err := parseBase("--record", m.upstream); err != nil {
		return err
	}
	if len(m.dialects) != 1 {
		return usageError("--record needs exactly one --dialect: that of the server at %s", withoutSecrets(m.upstream))
	}
	d := m.dialects[0]
	upstream, err := baseURL("--record", m.upstream, d)
	if err != nil {
		return err
	}
	if err := m.endpoint.checkUpstream("--record", upstream); err != nil {
		return err
	}
	header, err := parseHeaders("--header", m.headers)
	if err != nil {
		return err
	}
	folder, err := replay.OpenRecordingDir(m.save)
	if err != nil {
		return usageError("--save %s: %v", m.save, withoutPath(err))
	}
	defer folder.Close()
	log := m.log.logger(sh.err)
	cfg := replay.RecorderConfig{
		Dialect: d, Upstream: upstream, Header: header, Log: log,
		Save: func(c replay.RecordedConversation) error {
			err := folder.Save(c)
			if err == nil {
				log.Info("recorded", "file", folder.FileName(c))
			}
			return err
		},
		OnExchange: func(o replay.RecordedExchange) {
			if o.SkipReason != "" {
				fmt.Fprintf(sh.err, "%s %s not recorded: %s\n", o.Exchange.Request.Method, o.Exchange.Request.Target, o.SkipReason)
			}
		},
	}
	recorder, err := replay.NewRecorder(cfg)
	if err != nil {
		return usageError("--record %s: %v", withoutSecrets(m.upstream), err)
	}
	served := forwardingService(recorder, cfg)
	served.endpoint, served.limits, served.command = &m.endpoint, &m.limits, command
	return served.run(ctx, sh)
}

// forwardingService returns a service that passes requests to forward. The handler forward is a
// [replay.Recorder] with the configuration cfg, or calls such a Recorder. The caller must set the
// endpoint and the limits of the service.
func forwardingService(forward http.Handler, cfg replay.RecorderConfig) service {
	return service{
		log: cfg.Log,
		handler: middleware.New(forward, middleware.Config{
			AllowedOrigins: []string{"*"}, Log: slog.New(slog.DiscardHandler),
			PassThrough: ownPaths([]*dialect.Dialect{cfg.Dialect}, true, ""),
		}),
		basePaths: map[string]string{cfg.Dialect.Name: cfg.Dialect.Base},
		shutdown:  func(context.Context) error { return nil },
	}
}
