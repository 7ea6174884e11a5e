package main

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/streamassay/streamassay/internal/middleware"
	"github.com/streamassay/streamassay/internal/replay"
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
				log.Info("recorded", "file", folder.FileName(c))
			}
			return err
		},
		OnExchange: func(o replay.RecordedExchange) {
			if o.SkipReason != "" {
				fmt.Fprintf(sh.err, "%s %s not recorded: %s\n", o.Exchange.Request.Method, o.Exchange.Request.Target, o.SkipReason)
			}
		},
	})
	if err != nil {
		return usageError("--record %s: %v", withoutSecrets(m.upstream), err)
	}
	served := service{
		endpoint: &m.endpoint, limits: &m.limits, log: log, command: command,
		handler:   middleware.New(recorder, middleware.Config{AllowedOrigins: []string{"*"}, Log: slog.New(slog.DiscardHandler)}),
		basePaths: map[string]string{d.Name: d.Base},
		shutdown:  func(context.Context) error { return nil },
	}
	return served.run(ctx, sh)
}
