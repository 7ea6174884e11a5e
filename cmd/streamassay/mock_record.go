package main

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/streamassay/streamassay/mockserver/replay"
	"github.com/streamassay/streamassay/reference/front"
)

// record passes what is asked on to a real server, and writes it down.
func (m *mock) record(ctx context.Context, sh shell, command []string) error {
	if len(m.dialects) != 1 {
		return usage("--record %s: which dialect does it speak? --dialect names one", bare(m.upstream))
	}
	if len(m.playbook.paths) > 0 || m.expect != "" || m.report != "" {
		return usage("--record %s: it passes requests on: no FILE is played, and no client is judged", bare(m.upstream))
	}
	d := m.dialects[0]
	upstream, err := baseURL("--record", m.upstream, d)
	if err != nil {
		return err
	}
	header, err := headers("--header", m.headers)
	if err != nil {
		return err
	}
	folder, err := replay.OpenFolder(m.save)
	if err != nil {
		return usage("--save %s: %v", m.save, plainError(err))
	}
	defer folder.Close()
	log := m.log.logger(sh.err)
	recorder, err := replay.NewRecorder(replay.RecorderConfig{
		Dialect: d, Upstream: upstream, Header: header, Log: log,
		Save: func(c replay.Conversation) error {
			err := folder.Save(c)
			if err == nil {
				log.Info("written down", "file", folder.Name(c))
			}
			return err
		},
		Heard: func(o replay.Overheard) {
			if o.Broken != "" {
				fmt.Fprintf(sh.err, "%s %s is not saved: %s\n", o.Exchange.Request.Method, o.Exchange.Request.Target, o.Broken)
			}
		},
	})
	if err != nil {
		return usage("--record %s: %v", bare(m.upstream), err)
	}
	scene := stage{
		front:    front.New(recorder, front.Config{Origins: []string{"*"}, Log: slog.New(slog.DiscardHandler)}),
		prefix:   map[string]string{d.Name: d.Base},
		shutdown: func(context.Context) error { return nil },
	}
	return m.serve(ctx, sh, scene, log, command)
}
