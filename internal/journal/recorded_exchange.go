package journal

import (
	"bytes"
	"slices"
	"sync"
	"time"

	"github.com/streamassay/streamassay/internal/printable"
	"github.com/streamassay/streamassay/internal/redact"
	"github.com/streamassay/streamassay/spec"
)

// Limits on what is kept of one exchange, in addition to Config.Body. They bound the memory of an
// exchange, whatever the client or the server sends.
const (
	maxPieces     = 4096             // writes that are kept; further ones are only counted
	maxMisses     = 64               // reasons why rules did not match
	maxFaults     = 64               // faults that changed the response
	maxViolations = spec.MaxFindings // violations in the request
	maxCalls      = 64               // references to tool calls and interrupts
	maxText       = 1024             // bytes of the text of a violation or mismatch
)

// A recordedExchange holds the data of one exchange. After the exchange is dropped, its memory is
// reused for another exchange with another id.
type recordedExchange struct {
	mu sync.Mutex
	exchangeData
}

// An exchangeData holds the fields of a recordedExchange that its lock protects.
type exchangeData struct {
	id           uint64 // 0: not in use
	countedBytes int64  // the memory of the exchange that Journal.heldBytes includes

	dialect, op, test string
	seed              uint64
	method, target    string
	path              string // complete path of the URL that the client requested
	requestHeader     spec.Header
	body              []byte           // the beginning of the request body
	bodySize          int              // size of the complete request body
	mockTime          time.Time        // start by the mock's clock
	startTime         time.Time        // start by Config.Now
	secrets           []string         // secret values to redact, until the exchange ends
	redactor          *redact.Redactor // redactor of secrets, or nil

	operation   string // name in the dialect's document
	thread, run string
	cursor      string // cursor from which the client wanted to resume the stream
	violations  []spec.Violation
	references  []inputRef // references to what the server sent in earlier responses

	matched   bool           // [ExchangeRecorder.Matched] was called
	rule      string         // name of the rule or recording that matched; "": none
	misses    []RuleMismatch // why other rules did not match
	missCount int            // number of misses, including those that are not kept

	status        int
	header        spec.Header
	headTime      time.Time       // when the head was sent, by Config.Now
	pieces        []recordedWrite // the writes that were kept
	droppedPieces int             // number of writes that were not kept
	sentBytes     []byte          // the beginning of the response body
	sentSize      int64           // size of the response body
	faults        []appliedFault

	endReason  EndReason
	endedAfter time.Duration // time from the head, or from the request if there was no head, to the end

	evaluation *exchangeEvaluation // of the exchange after its end; nil: not judged yet
	otherBytes int64               // memory of everything but sentBytes, pieces and header
}

// An inputRef identifies the tool call or the interrupt that a part of a request answers.
// Its kind is spec.InputToolResult or spec.InputResume, and its id is the id of the call or
// interrupt.
type inputRef struct {
	kind spec.Kind
	id   string
}

// A recordedWrite records the time and the size of one write to the response body. The bytes
// themselves are in exchangeData.sentBytes, which holds the bytes of successive writes without
// separators.
type recordedWrite struct {
	at   time.Duration // time since the head was sent
	size int           // number of bytes, including those that are not kept
}

// An appliedFault is a fault that changed the response, with the position of the change.
type appliedFault struct {
	name  string        // fault with its parameters, such as "abort; event=3"
	piece int           // number of preceding writes
	byte  int64         // number of preceding bytes
	at    time.Duration // time since the head was sent or, before that, since the request was received
}

// Open adds an exchange to the journal and returns its recorder. If the journal then exceeds a
// limit, Open drops the oldest exchanges.
func (j *Journal) Open(o ExchangeStart) *ExchangeRecorder {
	now := j.cfg.Now()
	if o.At.IsZero() {
		o.At = now
	}
	j.mu.Lock()
	j.lastID++
	e := &ExchangeRecorder{journal: j, id: j.lastID}
	if last := len(j.freeExchanges) - 1; last >= 0 {
		e.exchange, j.freeExchanges = j.freeExchanges[last], j.freeExchanges[:last]
	} else {
		e.exchange = &recordedExchange{}
	}
	s := e.exchange
	s.mu.Lock()
	s.id = e.id
	s.startTime = now
	s.begin(&j.secrets, o, j.cfg.Body)
	s.countedBytes = s.memorySize()
	event := FeedEvent{Kind: EventOpened, ID: e.id, Test: s.test}
	if j.feed.subscriberCount.Load() > 0 {
		event.Dialect, event.Op, event.Text = s.dialect, s.op, s.method+" "+s.target
	}
	s.mu.Unlock()
	j.entries = append(j.entries, s)
	j.heldBytes.Add(s.countedBytes)
	j.enforceLimits()
	j.mu.Unlock()
	j.publish(event)
	j.waiters.wake()
	return e
}

// begin stores the data of o. It keeps at most maxBody bytes of the request body, and redacts
// secrets, including the values of the headers and query parameters that names contains.
func (s *recordedExchange) begin(names *secretNames, o ExchangeStart, maxBody int) {
	s.dialect, s.op, s.test, s.seed, s.mockTime = o.Dialect, o.Op, o.Test, o.Seed, o.At
	s.secrets = names.appendSecrets(s.secrets[:0], o.Request)
	s.redactor = names.redactorFor(s.secrets)
	s.method, s.target = o.Request.Method, s.redact(redact.RedactTarget(o.Request.Target, names.Contains))
	s.path = s.redact(redact.RedactTarget(o.Path, names.Contains))
	s.requestHeader = slices.Clone(o.Request.Header)
	for i, f := range s.requestHeader {
		value := s.redact(names.redactValue(f.Name, f.Value))
		s.requestHeader[i].Value = value
		s.otherBytes += int64(32 + len(f.Name) + len(value))
	}
	s.body, s.bodySize = s.redactor.Bytes(o.Request.Body), len(o.Request.Body)
	if len(s.body) > maxBody {
		s.body = bytes.Clone(s.body[:maxBody])
	}
	s.otherBytes += int64(cap(s.body) + len(s.target) + len(s.path))
}

// reset clears the data, so that s can hold another exchange. It keeps slices for reuse, unless
// they have grown to more than maxIdleBytes.
func (s *recordedExchange) reset() {
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
	s.exchangeData = exchangeData{sentBytes: buf, pieces: pieces, header: head, secrets: secrets}
}

// exchangeOverhead is the approximate size in bytes of a recordedExchange and its ExchangeRecorder,
// not including the data to which they point.
const exchangeOverhead = 768

// memorySize returns the approximate memory of the exchange in bytes.
func (s *recordedExchange) memorySize() int64 {
	return exchangeOverhead + int64(cap(s.sentBytes)+cap(s.pieces)*16+cap(s.header)*32) + s.otherBytes
}

// setParsed implements [ExchangeRecorder.Parsed]. It copies what the journal needs of event, and
// does not retain event, which may hold much more memory.
func (s *recordedExchange) setParsed(op string, event *spec.Event) {
	s.operation = op
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
		id := p.ID
		if p.Kind == spec.InputToolResult {
			id = p.Call
		} else if p.Kind != spec.InputResume {
			continue
		}
		if id != "" && len(s.references) < maxCalls {
			s.references = append(s.references, inputRef{p.Kind, s.redact(id)})
			s.otherBytes += int64(32 + len(id))
		}
	}
}

// missesSize returns the approximate memory of misses in bytes.
func missesSize(misses []RuleMismatch) (n int64) {
	for _, m := range misses {
		n += int64(32 + len(m.Rule) + len(m.Why))
	}
	return n
}

// addPiece implements [ExchangeRecorder.BytesSent]. It keeps at most maxBody bytes of the response
// body and the times and sizes of at most maxPieces writes. It only counts further bytes and
// writes.
func (s *recordedExchange) addPiece(at time.Duration, data []byte, maxBody int) {
	s.sentSize += int64(len(data))
	if len(s.pieces) >= maxPieces {
		s.droppedPieces++
		return
	}
	s.pieces = append(s.pieces, recordedWrite{at, len(data)})
	if room := maxBody - len(s.sentBytes); room > 0 {
		s.sentBytes = append(s.sentBytes, data[:min(len(data), room)]...)
	}
}

// close records that the exchange ended at the time now for the given reason, and redacts the
// response body.
func (s *recordedExchange) close(reason EndReason, now time.Time) {
	s.endReason, s.endedAfter = reason, s.elapsed(now)
	s.redactor.Mask(s.sentBytes) // only now, because a secret may be spread over several writes
	clear(s.secrets)
	s.secrets, s.redactor = s.secrets[:0], nil
}

// elapsed returns the time from the sending of the head until now. If the head has not been sent,
// it returns the time from the receipt of the request until now.
func (s *recordedExchange) elapsed(now time.Time) time.Duration {
	if !s.headTime.IsZero() {
		return now.Sub(s.headTime)
	}
	return now.Sub(s.startTime)
}

// redact returns text with the secrets of the exchange replaced by a placeholder.
func (s *recordedExchange) redact(text string) string { return s.redactor.Shortened(text) }

// truncate returns text unchanged if it has at most maxText bytes. Otherwise it returns the
// characters within the first maxText bytes, followed by an ellipsis.
func truncate(text string) string {
	if kept := printable.Prefix(text, maxText); len(kept) < len(text) {
		return kept + "…"
	}
	return text
}
