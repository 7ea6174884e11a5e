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

// A RecordedConversation holds the exchanges of one thread that a recorder has recorded so far, in
// order of their start times.
type RecordedConversation struct {
	Number    int        // identifies the conversation within the recorder; counted from 1
	Thread    string     // id of the thread; "" for exchanges that belong to no thread
	Dialect   string     // name of the dialect
	Target    string     // the URL of the recorded server
	StartedAt time.Time  // start of the first exchange
	Trace     spec.Trace // the exchanges
	Bytes     int        // size of all bodies
	Secrets   []string   // values in the trace that must be redacted
}

// Transcript returns the conversation as a transcript, which shares the exchanges and the secrets
// with c. The exchanges still contain the secrets; formatting the transcript redacts them.
func (c RecordedConversation) Transcript() *transcript.Transcript {
	return &transcript.Transcript{
		Comment: "Recorded by streamassay.", Dialect: c.Dialect, Target: c.Target,
		Recorded: c.StartedAt.UTC().Truncate(time.Second), Trace: c.Trace,
		Secrets: c.Secrets,
	}
}

// The limits of the conversations that a recorder holds in memory.
const (
	maxConversations = 256       // conversations
	maxExchanges     = 1_000     // exchanges of one conversation
	maxHeldBytes     = 256 << 20 // bytes of all bodies
)

// An conversationCache holds the conversations to which a recorder may still add exchanges. It
// drops a conversation when it has maxExchanges exchanges. It drops the least recently used
// conversations while there are more than maxConversations, or while the bodies of all
// conversations exceed maxHeldBytes. A later exchange of the same thread begins a new conversation.
//
// An conversationCache is safe for concurrent use. The zero value is ready to use.
type conversationCache struct {
	mu            sync.Mutex
	conversations []*RecordedConversation // the most recently used is the last
	lastNumber    int                     // number of the conversation that was created last; 0 if there was none
	totalBytes    int                     // size of all bodies
}

// addExchange adds the exchange o to the conversation of its thread. It passes a copy of the
// conversation to r.cfg.Save, which must not be nil, and returns the error from Save.
func (l *conversationCache) addExchange(r *Recorder, o RecordedExchange) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	began := r.client.Started().Add(o.Exchange.At)
	t := l.conversationOf(r, o.Thread, began)
	x := o.Exchange
	x.At = began.Sub(t.StartedAt)
	if x.At < 0 { // it began before the first exchange that was added
		for i := range t.Trace.Exchanges {
			t.Trace.Exchanges[i].At -= x.At
		}
		t.StartedAt, x.At = began, 0
	}
	i, _ := slices.BinarySearchFunc(t.Trace.Exchanges, x, func(a, b spec.Exchange) int {
		return cmp.Or(cmp.Compare(a.At, b.At), -1)
	})
	t.Trace.Exchanges = slices.Insert(t.Trace.Exchanges, i, x)
	for _, s := range slices.Concat(ExchangeSecrets(x, o.Request), configSecrets(r.cfg)) {
		if !slices.Contains(t.Secrets, s) {
			t.Secrets = append(t.Secrets, s)
		}
	}
	n := len(x.Request.Body) + len(x.Response.Body)
	t.Bytes, l.totalBytes = t.Bytes+n, l.totalBytes+n
	now := *t
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

// conversationOf returns the conversation of the given thread and makes it the most recently used
// one. If there is none, it adds a conversation that began at the time began, with the dialect and
// the target of r. The caller must hold l.mu.
func (l *conversationCache) conversationOf(r *Recorder, thread string, began time.Time) *RecordedConversation {
	i := slices.IndexFunc(l.conversations, func(t *RecordedConversation) bool { return t.Thread == thread })
	if i < 0 {
		l.lastNumber++
		l.conversations = append(l.conversations, &RecordedConversation{
			Number: l.lastNumber, Thread: thread, Dialect: r.cfg.Dialect.Name, Target: r.upstream, StartedAt: began,
		})
		return l.conversations[len(l.conversations)-1]
	}
	t := l.conversations[i]
	l.conversations = append(slices.Delete(l.conversations, i, i+1), t)
	return t
}

// evict drops the conversation at index i of l.conversations. The caller must hold l.mu.
func (l *conversationCache) evict(i int) {
	l.totalBytes -= l.conversations[i].Bytes
	l.conversations = slices.Delete(l.conversations, i, i+1)
}

// ExchangeSecrets returns the credentials in the header fields of x and in the query of its request
// target. It leaves out values shorter than redact.MinDetectedSecret bytes. It also leaves out the
// ids of the thread and the run in request, the parsed request of x, because they are needed to
// replay the conversation.
func ExchangeSecrets(x spec.Exchange, request spec.Event) (all []string) {
	for _, h := range []spec.Header{x.Request.Header, x.Response.Header} {
		for _, f := range h {
			if redact.IsCredential(f.Name) {
				all = append(all, redact.SecretValues(f.Name, f.Value)...)
			}
		}
	}
	all = append(all, redact.SecretParameters(x.Request.Target, redact.IsCredential)...)
	return slices.DeleteFunc(all, func(s string) bool {
		return len(s) < redact.MinDetectedSecret || s == redact.Placeholder || s == request.Thread || s == request.Run
	})
}

// configSecrets returns the secrets in the configuration of a recorder: the values of cfg.Header,
// and the password and the query parameters in cfg.Upstream. It leaves out values shorter than
// redact.MinDetectedSecret bytes.
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
