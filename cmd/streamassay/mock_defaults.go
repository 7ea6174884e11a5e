package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/streamassay/streamassay/internal/fault"
	"github.com/streamassay/streamassay/internal/journal"
	"github.com/streamassay/streamassay/mockserver"
	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
)

// A mockDefaultFlags holds the flags of the mock that set defaults. A script or a request can
// override these defaults.
type mockDefaultFlags struct {
	seed, vary, pace, clock string   // "" if the flag is not given
	flush                   string   // value of --flush, "coalesce" or "each"
	faults                  []string // values of --fault
	strict                  bool     // reply 501 to a request to start a run if no script or recording answers it
}

// addFlags sets m to the defaults, and adds to f the flags that change m, such as --seed, --fault
// and --pace.
func (m *mockDefaultFlags) addFlags(f *pflag.FlagSet) {
	f.StringVar(&m.seed, "seed", "",
		"`N` seed for ids and random choices; also freezes the clock at "+mockserver.Epoch.Format(time.RFC3339)+", unless "+
			"--clock is given (default: random seed, running clock)")
	f.StringVar(&m.clock, "clock", "",
		"`TIME` freeze the clock at TIME (RFC 3339); \"now\" keeps it running; it applies to the times in response "+
			"bodies and in the journal, and to the request quotas that rules of a script set, but not to the pace")
	f.StringVar(&m.pace, "pace", "",
		"`PACE` pace of deltas, e.g. '{first: 300ms, rate: 40}': the first 300ms after the start of the run, then 40 per "+
			"second; a delta is a piece of streamed text or tool arguments; the other fields, jitter, burst, chunk and speed, are in "+
			"docs/mock.md (default: no delay, recordings as recorded)")
	f.StringArrayVar(&m.faults, "fault", nil,
		"`FAULT` fault to inject into the response to every applicable request: NAME or 'NAME; PARAMETER=VALUE; …', e.g. "+
			"'abort; event=3' (repeatable; see streamassay list faults)")
	f.StringVar(&m.vary, "vary", "",
		"`SEED` vary the encoding of responses as far as the protocol allows (line ends, comments, JSON, headers, TCP "+
			"segments), with random choices from SEED (default: no variation)")
	f.BoolVar(&m.strict, "strict", false,
		"reply 501 to requests that start a run but match no rule of a script and no recording (default: reply as "+
			"without FILE)")
	m.flush = "coalesce"
	f.Var(wordValue(&m.flush, "coalesce", "each"), "flush",
		"how to flush: coalesce sends events that are due together in one write, each sends every event in its own write")
}

// mockConfig returns the configuration that the flags describe, for a mock of the given dialects.
// If a flag is invalid, it returns a usage error that names the flag.
func (m *mockDefaultFlags) mockConfig(dialects []*dialect.Dialect) (cfg mockserver.Config, err error) {
	cfg = mockserver.Config{Dialects: dialects}
	cfg.Defaults.Strict, cfg.Defaults.FlushEach = m.strict, m.flush == "each"
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
		if strings.TrimSpace(text) == "" {
			return cfg, usageError("--fault is empty: give it a value or leave it out")
		}
		uses, err := fault.Parse(text)
		if err != nil {
			message := strings.TrimPrefix(err.Error(), "fault ")
			if i := strings.Index(message, " (want one of "); i >= 0 && strings.HasSuffix(message, " more)") {
				message = message[:i] // too many to be of use
			}
			if strings.HasPrefix(message, "unknown fault ") {
				return cfg, usageError("--fault: %s (streamassay list faults lists them)", message)
			}
			return cfg, usageError("--fault %.200q: %s; see streamassay list faults", text, message)
		}
		cfg.Defaults.Faults = append(cfg.Defaults.Faults, uses...)
	}
	switch {
	case m.clock == "now":
		cfg.Clock = &mockserver.Clock{}
	case m.clock != "":
		at, err := time.Parse(time.RFC3339Nano, m.clock)
		if err != nil {
			return cfg, usageError("--clock %.60s: must be a time (e.g. 2026-01-01T00:00:00Z), or now", m.clock)
		}
		cfg.Clock = &mockserver.Clock{}
		cfg.Clock.FreezeAt(at)
	}
	return cfg, nil
}

// warnFaults prints a warning to out for each of the faults that applies to none of the dialects.
func warnFaults(out io.Writer, faults []fault.Spec, dialects []*dialect.Dialect) {
	for _, use := range faults {
		lacks := namesWhere(dialects, func(d *dialect.Dialect) bool { return !supportsFault(d, use.Fault) })
		if len(lacks) == len(dialects) {
			fmt.Fprintf(out, "warning: --fault %s has no effect in %s, %s\n", use.Fault.Name,
				strings.Join(lacks, ", "), describeMissing(use.Fault.MissingKind(dialects[0].Kinds())))
		}
	}
}

// describeMissing returns a relative clause about a dialect that lacks kind, such as "which lacks
// the event tool.start".
func describeMissing(kind spec.Kind) string {
	switch kind {
	case "slot.cursor":
		return "whose events have no id"
	case "slot.seq":
		return "whose events have no sequence number"
	case "slot.limit":
		return "whose streams have no idle limit"
	case "slot.created", "slot.completed":
		return "whose runs have no times"
	}
	return "which lacks the event " + string(kind)
}

// parseSeedFlag parses text, the value of the named flag, as a seed. It returns nil if text is
// empty, which means that the flag was not given. If text is not a valid seed, it returns a usage
// error that begins with flag.
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

// addJournalFlags adds to f the flags --journal, --journal-bytes and --journal-body, which set the
// limits in c on the size of the journal. The initial values in c are the defaults.
func addJournalFlags(f *pflag.FlagSet, c *journal.Config) {
	f.Var(countValue(&c.Entries), "journal",
		"maximum number of exchanges in the journal; the oldest are dropped: --expect does not count them (a call with exactly or "+
			"at-most then fails), but their violations of the protocol are still reported")
	f.Var(sizeValue(&c.Bytes), "journal-bytes", "maximum size of the journal; the oldest exchanges are dropped")
	f.Var(sizeValue(&c.Body), "journal-body",
		"maximum size kept of each request body and each response body; --expect searches only the part kept")
}

// checkControl returns a usage error unless address, the value of --control, is "off" or a
// HOST:PORT whose host is a loopback address or "localhost". Other hosts are refused because the
// control API shows what clients sent. The address must also differ from addr, the value of --addr,
// unless the port is 0.
func checkControl(address, addr string) error {
	if address == "off" {
		return nil
	}
	host, err := checkAddress("--control", address, "(e.g. 127.0.0.1:4011), or off")
	if err != nil {
		return err
	}
	if !isLoopback(host) {
		return usageError("--control %s: only loopback addresses are allowed (127.0.0.1, ::1, localhost)", address)
	}
	if same := strings.NewReplacer("localhost:", "127.0.0.1:"); !strings.HasSuffix(address, ":0") &&
		same.Replace(address) == same.Replace(addr) {
		return usageError("--addr %s and --control %s are the same address: give each a port of its own", addr, address)
	}
	return nil
}
