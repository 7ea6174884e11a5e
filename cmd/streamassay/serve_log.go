package main

import (
	"io"
	"log/slog"

	"github.com/spf13/pflag"
)

// A logFlags holds the flags of a server for the format and the level of its log.
type logFlags struct {
	format string // "text", "json" or "off"
	level  string // minimum level: "debug", "info", "warn" or "error"
}

// addFlags adds --log and --log-level to the flag set, and sets n to their default values.
func (n *logFlags) addFlags(flags *pflag.FlagSet) {
	n.format, n.level = "text", "warn"
	flags.Var(wordValue(&n.format, "text", "json", "off"), "log", "`FORMAT` format of the log on stderr: text, json or off")
	flags.Var(wordValue(&n.level, "debug", "info", "warn", "error"), "log-level",
		"`LEVEL` minimum level of log lines: debug, info (each request), warn or error")
}

// logger returns a logger that writes to out, in the format and with the minimum level that the
// flags select. If the format is "off", the logger discards everything.
func (n *logFlags) logger(out io.Writer) *slog.Logger {
	var level slog.Level
	_ = level.UnmarshalText([]byte(n.level)) // --log-level accepts only valid levels
	opts := &slog.HandlerOptions{Level: level}
	switch n.format {
	case "json":
		return slog.New(slog.NewJSONHandler(out, opts))
	case "text":
		return slog.New(slog.NewTextHandler(out, opts))
	}
	return slog.New(slog.DiscardHandler)
}
