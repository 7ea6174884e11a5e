package journal

import (
	"bytes"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/streamassay/streamassay/internal/redact"
	"github.com/streamassay/streamassay/spec"
)

// Bounds of one exchange, besides those of its bodies.
const (
	maxPieces     = 4096 // what is sent in more is counted, not kept
	maxMisses     = 64
	maxFaults     = 64
	maxViolations = spec.MaxFindings
	maxCalls      = 64
	maxText       = 1024 // of one message
)

// A entryBuffer is what is kept of one exchange. Its memory is used again for another when it
// is forgotten; n tells which exchange it is.
type entryBuffer struct {
	mu           sync.Mutex
	id           uint64 // 0: nobody's
	countedBytes int64  // what it was last said to weigh

	dialect, op, test string
	seed              uint64
	method, target    string
	requestHeader     spec.Header
	body              []byte
	bodySize          int
	mockTime          time.Time // by the clock of the mock
	startTime         time.Time // by ours
	secrets           []string  // what may not be read, as long as more may come
	redactor          *redact.Redactor

	parsed       bool
	operation    string
	thread, run  string
	cursor       string
	violations   []spec.Violation
	resultCalls  []string // calls of tools that it has results of, and no history that they are from
	interruptIDs []string // interrupts that it answers

	matched   bool
	rule      string
	misses    []Miss
	missCount int // how many there were

	status        int
	header        spec.Header
	headTime      time.Time
	pieces        []piece
	droppedPieces int    // pieces that were not kept
	sentBytes     []byte // what was sent, from the beginning
	sentSize      int64
	faults        []faultRecord

	endReason  EndReason
	endedAfter time.Duration

	historyFindings []Finding // what was found by comparing with others
	historyChecked  bool      // that was done
	otherBytes      int64     // what the rest weighs, besides buf and pieces
}

// A piece is one write. Its bytes follow those of the piece before.
type piece struct {
	at   time.Duration
	size int
}

// A faultRecord is a fault that did its harm.
type faultRecord struct {
	name  string
	piece int
	byte  int64
	at    time.Duration
}

// Open begins an exchange.
func (j *Journal) Open(o ExchangeStart) *Entry {
	now := j.cfg.Now()
	if o.At.IsZero() {
		o.At = now
	}
	j.mu.Lock()
	j.lastID++
	e := &Entry{journal: j, id: j.lastID}
	if last := len(j.freeBuffers) - 1; last >= 0 {
		e.buffer, j.freeBuffers = j.freeBuffers[last], j.freeBuffers[:last]
	} else {
		e.buffer = &entryBuffer{}
	}
	s := e.buffer
	s.mu.Lock()
	s.id = e.id
	s.startTime = now
	s.begin(&j.secrets, o, j.cfg.Body)
	s.countedBytes = s.memorySize()
	note := Note{Kind: NoteOpened, ID: e.id, Test: s.test}
	if j.feed.subscriberCount.Load() > 0 {
		note.Dialect, note.Op, note.Text = s.dialect, s.op, s.method+" "+s.target
	}
	s.mu.Unlock()
	j.entries = append(j.entries, s)
	j.heldBytes.Add(s.countedBytes)
	j.enforceLimits()
	j.mu.Unlock()
	j.publish(note)
	j.waiters.wake()
	return e
}

func (s *entryBuffer) begin(names *secretNames, o ExchangeStart, most int) {
	s.dialect, s.op, s.test, s.seed, s.mockTime = o.Dialect, o.Op, o.Test, o.Seed, o.At
	s.secrets = names.appendSecrets(s.secrets[:0], o.Request)
	s.redactor = names.redactorFor(s.secrets)
	s.method, s.target = o.Request.Method, redact.RedactTarget(o.Request.Target, names.isSecret)
	s.requestHeader = names.redactHeader(o.Request.Header)
	s.body, s.bodySize = o.Request.Body, len(o.Request.Body)
	if s.redactor != nil {
		s.body = s.redactor.Bytes(s.body)
		s.target = s.redact(s.target)
		for i, f := range s.requestHeader {
			s.requestHeader[i].Value = s.redact(f.Value)
		}
	}
	if len(s.body) > most {
		s.body = bytes.Clone(s.body[:most])
	}
	s.otherBytes = int64(cap(s.body)+len(s.target)) + headerSize(s.requestHeader)
}

// reset forgets everything but the memory.
func (s *entryBuffer) reset() {
	buf, pieces, head, secrets := s.sentBytes[:0], s.pieces[:0], s.header[:0], s.secrets[:0]
	clear(head[:cap(head)])
	clear(secrets[:cap(secrets)])
	if cap(buf) > maxIdleBytes {
		buf = nil
	}
	if cap(pieces) > maxIdleBytes/16 {
		pieces = nil
	}
	if cap(head) > maxIdleBytes/32 {
		head = nil
	}
	s.id, s.countedBytes, s.seed, s.bodySize, s.missCount, s.status, s.droppedPieces, s.sentSize, s.endedAfter, s.otherBytes = 0, 0, 0, 0, 0, 0, 0, 0, 0, 0
	s.dialect, s.op, s.test, s.method, s.target, s.operation, s.thread, s.run, s.cursor, s.rule = "", "", "", "", "", "", "", "", "", ""
	s.mockTime, s.startTime, s.headTime, s.endReason = time.Time{}, time.Time{}, time.Time{}, InProgress
	s.requestHeader, s.body, s.violations, s.resultCalls, s.interruptIDs, s.misses, s.faults, s.historyFindings = nil, nil, nil, nil, nil, nil, nil, nil
	s.parsed, s.matched, s.historyChecked, s.redactor = false, false, false, nil
	s.sentBytes, s.pieces, s.header, s.secrets = buf, pieces, head, secrets
}

// bufferOverhead is about what a slot itself takes, with its handle.
const bufferOverhead = 768

// memorySize is how much memory the slot takes, about.
func (s *entryBuffer) memorySize() int64 {
	return bufferOverhead + int64(cap(s.sentBytes)+cap(s.pieces)*16+cap(s.header)*32) + s.otherBytes
}

func headerSize(h spec.Header) (n int64) {
	for _, f := range h {
		n += int64(32 + len(f.Name) + len(f.Value))
	}
	return n
}

// setParsed takes what matters out of a request. The request itself is not kept: it may hang
// on more.
func (s *entryBuffer) setParsed(op string, event *spec.Event) {
	s.parsed, s.operation = true, op
	if event == nil {
		return
	}
	s.thread, s.run, s.cursor = s.redact(event.Thread), s.redact(event.Run), s.redact(event.Cursor)
	for _, b := range event.Violations[:min(len(event.Violations), maxViolations)] {
		b.Location, b.Message = s.redact(truncate(b.Location)), s.redact(truncate(b.Message))
		s.violations = append(s.violations, b)
		s.otherBytes += int64(256 + len(b.Location) + len(b.Message))
	}
	for i := range event.Parts {
		p := &event.Parts[i]
		switch {
		case len(s.resultCalls)+len(s.interruptIDs) >= maxCalls:
		case p.Kind == spec.InputToolResult && p.Call != "" && bytes.Count(event.Raw, jsonString(p.Call)) < 2:
			s.resultCalls = append(s.resultCalls, s.redact(p.Call)) // else it is in the history that the client brings
			s.otherBytes += int64(16 + len(p.Call))
		case p.Kind == spec.InputResume && p.ID != "":
			s.interruptIDs = append(s.interruptIDs, s.redact(p.ID))
			s.otherBytes += int64(16 + len(p.ID))
		}
	}
}

func (s *entryBuffer) setMatch(rule string, misses []Miss) {
	s.matched, s.rule, s.missCount = true, rule, len(misses)
	s.misses = slices.Clone(misses[:min(len(misses), maxMisses)])
	for i, m := range s.misses {
		s.misses[i].Why = s.redact(truncate(m.Why))
		s.otherBytes += int64(32 + len(m.Rule) + len(s.misses[i].Why))
	}
}

func (s *entryBuffer) setHead(names *secretNames, status int, header http.Header, now time.Time) {
	s.status, s.headTime = status, now
	s.header = s.header[:0]
	for name, values := range header {
		for _, value := range values {
			if names.isSecret(name) {
				s.secrets = appendMaskable(s.secrets, redact.SecretValues(name, value))
				value = redact.Placeholder
			}
			s.header = append(s.header, spec.Field{Name: name, Value: value})
			s.otherBytes += int64(len(value))
		}
	}
	if s.redactor = names.redactorFor(s.secrets); s.redactor == nil {
		return
	}
	for i, f := range s.header {
		s.header[i].Value = s.redact(f.Value)
	}
}

func (s *entryBuffer) addPiece(at time.Duration, data []byte, most int) {
	s.sentSize += int64(len(data))
	if len(s.pieces) >= maxPieces {
		s.droppedPieces++
		return
	}
	s.pieces = append(s.pieces, piece{at, len(data)})
	if room := most - len(s.sentBytes); room > 0 {
		s.sentBytes = append(s.sentBytes, data[:min(len(data), room)]...)
	}
}

func (s *entryBuffer) close(how EndReason, now time.Time) {
	s.endReason, s.endedAfter = how, s.elapsed(now)
	s.redactor.Mask(s.sentBytes) // nothing comes any more that could complete a secret
	clear(s.secrets)
	s.secrets, s.redactor = s.secrets[:0], nil
}

// elapsed is the time since the head was sent, or else since the request came.
func (s *entryBuffer) elapsed(now time.Time) time.Duration {
	if !s.headTime.IsZero() {
		return now.Sub(s.headTime)
	}
	return now.Sub(s.startTime)
}

// redact is a text without secrets.
func (s *entryBuffer) redact(text string) string { return s.redactor.Shortened(text) }

func truncate(text string) string {
	if len(text) > maxText {
		return text[:maxText] + "…"
	}
	return text
}
