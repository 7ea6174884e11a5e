package replay

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/streamassay/streamassay/internal/redact"
	"github.com/streamassay/streamassay/internal/transcript"
	"github.com/streamassay/streamassay/spec"
)

// A Conversation is what a recorder heard of one conversation so far.
type Conversation struct {
	Number  int    // which of the recorder, from 1: what is saved again replaces what was saved
	Thread  string // "": what belongs to none
	Dialect string
	Target  string // the real server
	Began   time.Time
	Trace   spec.Trace
	Secrets []string // values that stand in it and are nobody's business
}

// Transcript is the conversation as it is written down: what is secret in it is left out
// when it is formatted.
func (c Conversation) Transcript() *transcript.Transcript {
	return &transcript.Transcript{
		Comment: "Recorded by streamassay.", Dialect: c.Dialect, Target: c.Target,
		Recorded: c.Began.UTC().Truncate(time.Second), Trace: c.Trace,
		Secrets: c.Secrets,
	}
}

// What a recorder remembers, to be able to write more of the same conversation.
const (
	mostTalks     = 256
	mostExchanges = 1_000
	mostHeld      = 256 << 20
)

// A ledger is the conversations of a recorder. When there are too many, the one that was
// heard last longest ago is forgotten; what is heard of it then is a new one.
type ledger struct {
	mu      sync.Mutex
	talks   []*heard // the one heard last comes last
	numbers int
	held    int // bytes of all bodies
}

// A heard is a conversation, and how much of it is held.
type heard struct {
	Conversation
	held int
}

// add notes an exchange and saves its conversation.
func (l *ledger) add(r *Recorder, o Overheard, began time.Time) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := l.talk(r, o.Thread, began)
	x := o.Exchange
	x.At = began.Sub(t.Began)
	if x.At < 0 { // it was asked first, and was over later
		for i := range t.Trace.Exchanges {
			t.Trace.Exchanges[i].At -= x.At
		}
		t.Began, x.At = began, 0
	}
	i, _ := slices.BinarySearchFunc(t.Trace.Exchanges, x, func(a, b spec.Exchange) int {
		return cmp.Or(cmp.Compare(a.At, b.At), -1)
	})
	t.Trace.Exchanges = slices.Insert(t.Trace.Exchanges, i, x)
	for _, s := range slices.Concat(secretsOf(x, o.Ask), configured(r.cfg)) {
		if !slices.Contains(t.Secrets, s) {
			t.Secrets = append(t.Secrets, s)
		}
	}
	n := len(x.Request.Body) + len(x.Response.Body)
	t.held, l.held = t.held+n, l.held+n
	now := t.Conversation
	now.Trace.Exchanges, now.Secrets = slices.Clone(now.Trace.Exchanges), slices.Clone(now.Secrets)
	err := r.cfg.Save(now)
	if len(t.Trace.Exchanges) >= mostExchanges {
		l.forget(len(l.talks) - 1)
	}
	for len(l.talks) > mostTalks || l.held > mostHeld && len(l.talks) > 0 {
		l.forget(0)
	}
	return err
}

// talk is the conversation of a thread, which comes last now.
func (l *ledger) talk(r *Recorder, thread string, began time.Time) *heard {
	i := slices.IndexFunc(l.talks, func(t *heard) bool { return t.Thread == thread })
	if i < 0 {
		l.numbers++
		l.talks = append(l.talks, &heard{Conversation: Conversation{
			Number: l.numbers, Thread: thread, Dialect: r.cfg.Dialect.Name, Target: r.name, Began: began,
		}})
		return l.talks[len(l.talks)-1]
	}
	t := l.talks[i]
	l.talks = append(slices.Delete(l.talks, i, i+1), t)
	return t
}

func (l *ledger) forget(i int) {
	l.held -= l.talks[i].held
	l.talks = slices.Delete(l.talks, i, i+1)
}

// secretsOf are the values of an exchange that say who asks: they are looked for
// everywhere, for servers repeat them.
func secretsOf(x spec.Exchange, ask spec.Event) (all []string) {
	for _, h := range []spec.Header{x.Request.Header, x.Response.Header} {
		for _, f := range h {
			if redact.IsCredential(f.Name) {
				all = append(all, redact.SecretValues(f.Name, f.Value)...)
			}
		}
	}
	all = append(all, redact.SecretParameters(x.Request.Target, redact.IsCredential)...)
	return slices.DeleteFunc(all, func(s string) bool {
		return len(s) < redact.MinDetectedSecret || s == ask.Thread || s == ask.Run // what tells conversations apart is no secret
	})
}

// configured are the secrets that a recorder was given.
func configured(cfg RecorderConfig) (all []string) {
	for _, f := range cfg.Header {
		all = append(all, redact.SecretValues(f.Name, f.Value)...)
	}
	if password, ok := cfg.Upstream.User.Password(); ok {
		all = append(all, password)
	}
	for _, values := range cfg.Upstream.Query() {
		all = append(all, values...)
	}
	return slices.DeleteFunc(all, func(s string) bool { return len(s) < redact.MinDetectedSecret })
}
