package main

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/streamassay/streamassay/mockserver/replay"
	"github.com/streamassay/streamassay/reference/middleware"
)

// record passes what is asked on to a real server, and writes it down.
func (m *mockOptions) record(ctx context.Context, sh stdio, command []string) error {
	if len(m.dialects) != 1 {
		return usageError("--record %s: which dialect does it speak? --dialect names one", withoutSecrets(m.upstream))
	}
	if len(m.sources.paths) > 0 || m.expect != "" || m.expectReport != "" {
		return usageError("--record %s: it passes requests on: no FILE is played, and no client is judged", withoutSecrets(m.upstream))
	}
	d := m.dialects[0]
	upstream, err := baseURL("--record", m.upstream, d)
	if err != nil {
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
	recorder, err := replay.NewRecorder(replay.RecorderConfig{
		Dialect: d, Upstream: upstream, Header: header, Log: log,
		Save: func(c replay.RecordedConversation) error {
			err := folder.Save(c)
			if err == nil {
				log.Info("written down", "file", folder.FileName(c))
			}
			return err
		},
		OnExchange: func(o replay.RecordedExchange) {
			if o.SkipReason != "" {
				fmt.Fprintf(sh.err, "%s %s is not saved: %s\n", o.Exchange.Request.Method, o.Exchange.Request.Target, o.SkipReason)
			}
		},
	})
	if err != nil {
		return usageError("--record %s: %v", withoutSecrets(m.upstream), err)
	}
	scene := servedHandlers{
		handler:   middleware.New(recorder, middleware.Config{AllowedOrigins: []string{"*"}, Log: slog.New(slog.DiscardHandler)}),
		basePaths: map[string]string{d.Name: d.Base},
		shutdown:  func(context.Context) error { return nil },
	}
	return m.listenAndServe(ctx, sh, scene, log, command)
}
