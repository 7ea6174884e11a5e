package main

import (
	"net"
	"time"

	"github.com/spf13/pflag"

	"github.com/streamassay/streamassay/mockserver"
	"github.com/streamassay/streamassay/mockserver/fault"
	"github.com/streamassay/streamassay/mockserver/journal"
	"github.com/streamassay/streamassay/mockserver/vary"
	"github.com/streamassay/streamassay/spec/dialect"
)

// Manners are how a mock plays where no script says otherwise.
type mockDefaultFlags struct {
	seed, vary, pace, clock string
	faults                  []string
	strict                  bool
	flush                   enumValue
}

func newMockDefaultFlags() mockDefaultFlags {
	return mockDefaultFlags{flush: enumValue{"coalesce", []string{"coalesce", "each"}}}
}

func (m *mockDefaultFlags) addFlags(f *pflag.FlagSet) {
	f.StringVar(&m.seed, "seed", "", "`NUMBER` from which all ids and all chance come; the clock stands still then (default: a new one, and the time)")
	f.StringVar(&m.clock, "clock", "", "`TIME` at which the clock stands (RFC 3339), or now")
	f.StringVar(&m.pace, "pace", "", "`PACE` of what is said, as in scripts: '{first: 300ms, rate: 40, jitter: {lognormal: 0.3}}'")
	f.StringArrayVar(&m.faults, "fault", nil, "`FAULT` that every request suffers that can: 'abort; event=3' (list faults)")
	f.StringVar(&m.vary, "vary", "", "`SEED` by which everything is spelled in another legal way")
	f.BoolVar(&m.strict, "strict", false, "refuse a run that no rule matches")
	f.Var(&m.flush, "flush", "coalesce sends what is due at once in one piece, each every event by itself")
}

// mockConfig is what the mock is told of that.
func (m *mockDefaultFlags) mockConfig(dialects []*dialect.Dialect) (cfg mockserver.Config, err error) {
	cfg = mockserver.Config{Dialects: dialects, Defaults: mockserver.Defaults{Strict: m.strict, FlushEach: m.flush.value == "each"}}
	if cfg.Seed, err = parseSeedFlag("--seed", m.seed); err != nil {
		return cfg, err
	}
	if cfg.Defaults.Vary, err = parseSeedFlag("--vary", m.vary); err != nil {
		return cfg, err
	}
	if m.pace != "" {
		if cfg.Defaults.Pace, err = mockserver.ParsePace(m.pace); err != nil {
			return cfg, usageError("--pace %.100s: %v", m.pace, err)
		}
	}
	for _, text := range m.faults {
		uses, err := fault.Parse(text)
		if err != nil {
			return cfg, usageError("--fault %.200s: %v: streamassay list faults", text, err)
		}
		cfg.Defaults.Faults = append(cfg.Defaults.Faults, uses...)
	}
	switch {
	case m.clock == "now":
		cfg.Clock = &mockserver.Clock{}
	case m.clock != "":
		at, err := time.Parse(time.RFC3339Nano, m.clock)
		if err != nil {
			return cfg, usageError("--clock %.60s: it is a time such as 2026-01-01T00:00:00Z, or now", m.clock)
		}
		cfg.Clock = &mockserver.Clock{}
		cfg.Clock.FreezeAt(at)
	}
	return cfg, nil
}

func parseSeedFlag(flag, text string) (*uint64, error) {
	if text == "" {
		return nil, nil
	}
	n, err := mockserver.ParseSeed(text)
	if err != nil {
		return nil, usageError("%s: %v", flag, err)
	}
	return &n, nil
}

// Notes are how much of the journal is kept.
type journalFlags struct {
	entries positiveInt
	bytes   byteSize
	body    byteSize
}

func newJournalFlags() journalFlags {
	return journalFlags{entries: 1000, bytes: 64 << 20, body: 64 << 10}
}

func (n *journalFlags) addFlags(f *pflag.FlagSet) {
	f.Var(&n.entries, "journal", "exchanges that the journal keeps")
	f.Var(&n.bytes, "journal-bytes", "bytes that it keeps of them")
	f.Var(&n.body, "journal-body", "bytes that it keeps of a request, and of a reply")
}

func (n *journalFlags) newJournal() *journal.Journal {
	return journal.New(journal.Config{Entries: int(n.entries), Bytes: int64(n.bytes), Body: int(n.body), Cursor: vary.DecodeCursor})
}

// checkControl says what is wrong with the address of the control port: who reaches it can
// read what clients sent, so it stays on this machine.
func checkControl(at string) error {
	if at == "off" {
		return nil
	}
	host, _, err := net.SplitHostPort(at)
	if err != nil {
		return usageError("--control %q: it is HOST:PORT, such as 127.0.0.1:4011, or off", at)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return usageError("--control %s: only loopback addresses are served (127.0.0.1, ::1, localhost)", at)
	}
	return nil
}
