package main

import (
	"io"
	"log/slog"

	"github.com/spf13/pflag"
)

// A logFlags is what is logged, and how.
type logFlags struct{ format, level enumValue }

func newLogFlags() logFlags {
	return logFlags{enumValue{"text", []string{"text", "json", "off"}}, enumValue{"warn", []string{"debug", "info", "warn", "error"}}}
}

func (n *logFlags) addFlags(flags *pflag.FlagSet) {
	flags.Var(&n.format, "log", "`FORM` of the log on stderr: text, json or off")
	flags.Var(&n.level, "log-level", "`LEVEL` from which on it is logged: debug, info (each request), warn or error")
}

// logger writes to out what was chosen to be written.
func (n *logFlags) logger(out io.Writer) *slog.Logger {
	var level slog.Level
	_ = level.UnmarshalText([]byte(n.level.value)) // it is one of the choice
	opts := &slog.HandlerOptions{Level: level}
	switch n.format.value {
	case "json":
		return slog.New(slog.NewJSONHandler(out, opts))
	case "text":
		return slog.New(slog.NewTextHandler(out, opts))
	}
	return slog.New(slog.DiscardHandler)
}
