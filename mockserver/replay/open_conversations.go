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

// A RecordedConversation is what a recorder heard of one conversation so far.
type RecordedConversation struct {
	Number    int    // which of the recorder, from 1: what is saved again replaces what was saved
	Thread    string // "": what belongs to none
	Dialect   string
	Target    string // the real server
	StartedAt time.Time
	Trace     spec.Trace
	Secrets   []string // values that stand in it and are nobody's business
}

// Transcript is the conversation as it is written down: what is secret in it is left out
// when it is formatted.
func (c RecordedConversation) Transcript() *transcript.Transcript {
	return &transcript.Transcript{
		Comment: "Recorded by streamassay.", Dialect: c.Dialect, Target: c.Target,
		Recorded: c.StartedAt.UTC().Truncate(time.Second), Trace: c.Trace,
		Secrets: c.Secrets,
	}
}

// What a recorder remembers, to be able to write more of the same conversation.
const (
	maxConversations = 256
	maxExchanges     = 1_000
	maxHeldBytes     = 256 << 20
)

// A openConversations is the conversations of a recorder. When there are too many, the one that was
// heard last longest ago is forgotten; what is heard of it then is a new one.
type openConversations struct {
	mu            sync.Mutex
	conversations []*openConversation // the one heard last comes last
	lastNumber    int
	totalBytes    int // bytes of all bodies
}

// A openConversation is a conversation, and how much of it is held.
type openConversation struct {
	RecordedConversation
	bytes int
}

// addExchange notes an exchange and saves its conversation.
func (l *openConversations) addExchange(r *Recorder, o RecordedExchange, began time.Time) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := l.conversationOf(r, o.Thread, began)
	x := o.Exchange
	x.At = began.Sub(t.StartedAt)
	if x.At < 0 { // it was asked first, and was over later
		for i := range t.Trace.Exchanges {
			t.Trace.Exchanges[i].At -= x.At
		}
		t.StartedAt, x.At = began, 0
	}
	i, _ := slices.BinarySearchFunc(t.Trace.Exchanges, x, func(a, b spec.Exchange) int {
		return cmp.Or(cmp.Compare(a.At, b.At), -1)
	})
	t.Trace.Exchanges = slices.Insert(t.Trace.Exchanges, i, x)
	for _, s := range slices.Concat(exchangeSecrets(x, o.Request), configSecrets(r.cfg)) {
		if !slices.Contains(t.Secrets, s) {
			t.Secrets = append(t.Secrets, s)
		}
	}
	n := len(x.Request.Body) + len(x.Response.Body)
	t.bytes, l.totalBytes = t.bytes+n, l.totalBytes+n
	now := t.RecordedConversation
	now.Trace.Exchanges, now.Secrets = slices.Clone(now.Trace.Exchanges), slices.Clone(now.Secrets)
	err := r.cfg.Save(now)
	if len(t.Trace.Exchanges) >= maxExchanges {
		l.evict(len(l.conversations) - 1)
	}
	for len(l.conversations) > maxConversations || l.totalBytes > maxHeldBytes && len(l.conversations) > 0 {
		l.evict(0)
	}
	return err
}

// conversationOf is the conversation of a thread, which comes last now.
func (l *openConversations) conversationOf(r *Recorder, thread string, began time.Time) *openConversation {
	i := slices.IndexFunc(l.conversations, func(t *openConversation) bool { return t.Thread == thread })
	if i < 0 {
		l.lastNumber++
		l.conversations = append(l.conversations, &openConversation{RecordedConversation: RecordedConversation{
			Number: l.lastNumber, Thread: thread, Dialect: r.cfg.Dialect.Name, Target: r.upstream, StartedAt: began,
		}})
		return l.conversations[len(l.conversations)-1]
	}
	t := l.conversations[i]
	l.conversations = append(slices.Delete(l.conversations, i, i+1), t)
	return t
}

func (l *openConversations) evict(i int) {
	l.totalBytes -= l.conversations[i].bytes
	l.conversations = slices.Delete(l.conversations, i, i+1)
}

// exchangeSecrets are the values of an exchange that say who asks: they are looked for
// everywhere, for servers repeat them.
func exchangeSecrets(x spec.Exchange, ask spec.Event) (all []string) {
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

// configSecrets are the secrets that a recorder was given.
func configSecrets(cfg RecorderConfig) (all []string) {
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
