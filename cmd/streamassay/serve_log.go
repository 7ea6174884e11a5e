package main

import (
	"io"
	"log/slog"

	"github.com/spf13/pflag"
)

// A notebook is what is logged, and how.
type notebook struct{ form, level choice }

func newNotebook() notebook {
	return notebook{choice{"text", []string{"text", "json", "off"}}, choice{"warn", []string{"debug", "info", "warn", "error"}}}
}

func (n *notebook) addFlags(flags *pflag.FlagSet) {
	flags.Var(&n.form, "log", "`FORM` of the log on stderr: text, json or off")
	flags.Var(&n.level, "log-level", "`LEVEL` from which on it is logged: debug, info (each request), warn or error")
}

// logger writes to out what was chosen to be written.
func (n *notebook) logger(out io.Writer) *slog.Logger {
	var level slog.Level
	_ = level.UnmarshalText([]byte(n.level.value)) // it is one of the choice
	opts := &slog.HandlerOptions{Level: level}
	switch n.form.value {
	case "json":
		return slog.New(slog.NewJSONHandler(out, opts))
	case "text":
		return slog.New(slog.NewTextHandler(out, opts))
	}
	return slog.New(slog.DiscardHandler)
}
