package dialect

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"iter"
	"mime"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/streamassay/streamassay/internal/sse"
	"github.com/streamassay/streamassay/spec"
)

// MaxEventBytes is the default limit for the size of one event of a stream, in bytes. A larger
// event ends the decoding of its stream. The same limit applies to a response that is not a stream.
const MaxEventBytes = sse.DefaultMaxEvent

// Events returns an iterator over the events of the recorded conversation t, in order. For each
// exchange, these are the request, the head of the response, the events of its frames or its body,
// and the end of the body. If a frame implies or carries further events, the iterator yields those
// too.
func (d *Dialect) Events(t spec.Trace) iter.Seq[spec.Event] {
	return d.DecodeExchanges(t.All(), t.TargetFacts, MaxEventBytes)
}

// Contents is like [Dialect.Events], but does not validate responses, so their events have neither
// Violations nor Exercised. It is for callers that only read what a server sent.
func (d *Dialect) Contents(t spec.Trace) iter.Seq[spec.Event] {
	return d.decodeExchanges(t.All(), t.TargetFacts, MaxEventBytes, contentsOnly)
}

// DecodeExchanges is like [Dialect.Events], but takes the exchanges from an iterator and decodes
// each as it arrives. The fields of target are copied to the events of requests. maxEventBytes is
// the maximum size, in bytes, of one event of a stream and of a response that is not a stream; see
// [MaxEventBytes].
func (d *Dialect) DecodeExchanges(
	exchanges iter.Seq[spec.Exchange], target spec.TargetFacts, maxEventBytes int,
) iter.Seq[spec.Event] {
	return d.decodeExchanges(exchanges, target, maxEventBytes, withViolations)
}

// decodeExchanges is like [Dialect.DecodeExchanges], but decodes the responses in the given mode.
func (d *Dialect) decodeExchanges(
	exchanges iter.Seq[spec.Exchange], target spec.TargetFacts, maxEventBytes int, mode decodeMode,
) iter.Seq[spec.Event] {
	return func(yield func(spec.Event) bool) {
		n := 0
		for x := range exchanges {
			if !d.decodeExchange(x, n, target, maxEventBytes, mode, yield) {
				return
			}
			n++
		}
	}
}

// lacksPrompt reports whether the prompt of the request is a test prompt that the target does not
// follow.
func lacksPrompt(target spec.TargetFacts, request spec.Event) bool {
	prompt, _ := request.Prompt()
	words, isTestPrompt := strings.CutPrefix(prompt, "conformance:")
	name, _, _ := strings.Cut(words, " ")
	return isTestPrompt && slices.Contains(target.LackedCapabilities, name)
}

// decodeExchange calls yield with the events of x, the exchange with the index n of the
// conversation, until yield returns false. It reports whether yield always returned true. The other
// arguments are those of [Dialect.decodeExchanges]. It is a function of its own, because the
// compiler copies the iterators that consist of one function to each place where they are used.
func (d *Dialect) decodeExchange(
	x spec.Exchange, n int, target spec.TargetFacts, maxEventBytes int, mode decodeMode, yield func(spec.Event) bool,
) bool {
	x.Response = DecodeContent(x.Response)
	request := d.ParseRequest(x.Request)
	if target.NoReplay && d.beginsLate(x, request) {
		x.Response.Body, x.Response.Arrivals = nil, nil
		x.Response.End = fmt.Errorf("%w: the stream began after the start of its run", spec.ErrClientLeft)
	}
	request.Request.Scripted, request.Request.StreamLimit = target.Scripted, target.StreamLimit
	request.Request.Lacked = lacksPrompt(target, request)
	request.Request.HasTimes = len(x.Response.Arrivals) > 0
	decoder := eventDecoder{
		dialect: d, exchange: &x, request: request, operation: d.probableOperation(x.Request),
		limit: maxEventBytes, mode: mode, messageSubjects: map[string]string{},
		reasoningDeltas: slices.Contains(d.kinds(), spec.ReasoningDelta),
	}
	for e := range decoder.events() {
		e.Exchange, e.Operation, e.Principal = n, request.Operation, request.Principal
		e.At = x.At + decoder.arrivalTime(e)
		if !yield(e) {
			return false
		}
	}
	return true
}

// probableOperation returns the operation that r requests, or nil if the document has no such
// operation. If the method of r is "", the request was not recorded, and the result is the first
// operation that streams.
func (d *Dialect) probableOperation(r spec.Request) *Operation {
	if r.Method != "" {
		return d.Operation(r)
	}
	return d.firstStream()
}

// firstStream returns the first operation whose successful response is an event stream, or nil if
// there is none.
func (d *Dialect) firstStream() *Operation {
	for _, o := range d.operations {
		if o.IsStream {
			return o
		}
	}
	return nil
}

// An eventDecoder decodes the events of one exchange.
type eventDecoder struct {
	dialect         *Dialect
	exchange        *spec.Exchange
	request         spec.Event
	operation       *Operation        // nil if the request is not for an operation of the dialect
	limit           int               // maximum size of one event or body, in bytes
	mode            decodeMode        // what is set in events besides their kinds, slots and parts
	messageSubjects map[string]string // id → "reasoning", for each message that started as reasoning
	messageTypes    map[string]string // id → type, for each message that started with a type; nil if no variant needs it
	reasoningDeltas bool              // the dialect has events that are deltas of reasoning
	openChunks      openSpans         // messages and tool calls that chunks have started and that have not ended
	surrogates      surrogateJoiner   // joins characters that are split between two deltas
	frameIndex      int               // index of the next frame, from 0
	arrivalIndex    int               // index of the arrival that completed the last event
	buffer          []spec.Event      // the last result of decodeFrame
}

// events returns an iterator over the events of the exchange: the request, the head of the
// response, the events of its frames or its body, and the end of the body.
func (t *eventDecoder) events() iter.Seq[spec.Event] {
	return func(yield func(spec.Event) bool) {
		r := t.exchange.Response
		head := spec.Event{
			Kind: spec.HTTPResponse, Frame: -1, StatusCode: r.Status,
			MediaType: r.Header.MediaType(), Header: r.Header,
		}
		if r.Status == 0 {
			head.Err = r.End
		}
		head.JSONLines = t.operation != nil && slices.Contains(t.operation.promised.JSONLines, head.MediaType)
		if !yield(t.request) || !yield(head) {
			return
		}
		end := spec.Event{Kind: spec.BodyEnd, Frame: -1, Offset: len(r.Body), Err: r.End}
		switch {
		case isAbsoluteLink(t.exchange.Request) && r.Status/100 == 2:
			fetched := spec.Event{
				Kind: spec.AttachmentContent, Frame: -1, Line: 1, Raw: r.Body, StatusCode: r.Status,
				MediaType: head.MediaType, Type: head.MediaType, Text: string(r.Body),
			}
			if !yield(fetched) {
				return
			}
		case t.operation == nil: // not a request of the dialect
		case head.IsStream() && r.Status/100 == 2:
			for e := range t.decodeFrames(head.JSONLines) {
				end.Line = e.Line
				if !yield(e) {
					return
				}
			}
		case len(r.Body) > 0:
			if !yield(t.decodeBody()) {
				return
			}
		}
		yield(end)
	}
}

// decodeFrames returns an iterator over the events of the frames and comments in the body, which is
// an event stream or, if jsonLines is true, a stream of JSON lines. Frames without data are left
// out, because clients ignore them. If a frame exceeds the size limit, the last event has kind
// Undecodable. If bytes follow the last complete frame, the last event has kind Incomplete, unless
// the client stopped reading; but the last of several JSON lines needs no line end.
func (t *eventDecoder) decodeFrames(jsonLines bool) iter.Seq[spec.Event] {
	return func(yield func(spec.Event) bool) {
		dec := sse.NewDecoder(t.limit)
		if jsonLines {
			dec = sse.NewLineDecoder(t.limit)
		}
		for item := range dec.Feed(t.exchange.Response.Body) {
			if item.Kind == sse.Block { // has no data, so clients do not dispatch it
				continue
			}
			for _, e := range t.decodeFrame(item) {
				if !yield(e) {
					return
				}
			}
		}
		if err := dec.Err(); err != nil {
			yield(spec.Event{
				Kind: spec.Undecodable, Frame: t.frameIndex, Err: err,
				Flaws: []spec.EncodingFlaw{{Kind: spec.FlawTooLarge, Detail: err.Error()}},
			})
			return
		}
		if rest, ok := dec.Close(); ok {
			end := t.exchange.Response.End
			switch { // if the client left, the unfinished frame is its own doing
			case errors.Is(end, spec.ErrClientLeft) || errors.Is(end, spec.ErrStillOpen):
				return
			case jsonLines && end == nil:
				for _, e := range t.decodeFrame(rest) {
					if !yield(e) {
						return
					}
				}
				return
			}
			yield(spec.Event{
				Kind: spec.Incomplete, Frame: t.frameIndex, Line: rest.Line, Offset: rest.Offset, Raw: rest.Raw, Fields: rest.Fields,
				Flaws: []spec.EncodingFlaw{{Kind: spec.FlawUnterminated, Detail: "no blank line follows"}},
			})
		}
	}
}

// decodeFrame returns the events of item, a frame or comment of the stream, in order. The result is
// valid until the next call.
func (t *eventDecoder) decodeFrame(item sse.Item) []spec.Event {
	e := spec.Event{
		Frame: t.frameIndex, Line: item.Line, Offset: item.Offset, Raw: item.Raw, EndsWithCR: item.EndsWithCR, Fields: item.Fields,
	}
	if item.InvalidUTF8 {
		e.Flaws = append(e.Flaws, spec.EncodingFlaw{Kind: spec.FlawUTF8, Detail: "not valid UTF-8"})
	}
	t.buffer = t.buffer[:0]
	if item.Kind == sse.Comment {
		e.Kind, e.Text = spec.Comment, item.Text
		return append(t.buffer, e)
	}
	t.frameIndex++
	e.Cursor = item.ID
	if t.operation.isSentinel(item.Data) || t.operation.isForeignSentinel(item.Data) {
		e.Kind, e.WireName = spec.Done, string(bytes.TrimSpace(item.Data))
		return append(t.buffer, e)
	}
	item.Data, t.surrogates.block = markSurrogates(item.Data)
	w := t.dialect.decodeFrameData(t.operation, &e, item, t.messageType, t.mode)
	t.inheritType(&e)
	t.inheritSubject(&e)
	carried := takeSeparate(&e)
	if w == nil || e.Kind == spec.Unrecognized && len(carried) == 0 { // may belong to anything
		return append(t.buffer, e)
	}
	if w.isEnvelope() && len(carried) > 0 { // what is wrong with the frame is wrong with its first event
		first := &carried[0]
		first.Violations, first.Exercised = e.Violations, slices.Concat(e.Exercised, first.Exercised)
	}
	for i := range carried {
		t.inheritSubject(&carried[i])
		t.appendEvent(w.chunkOf(carried[i].Kind), &carried[i])
	}
	if !w.isEnvelope() || len(carried) == 0 {
		t.appendEvent(w.chunk, &e)
	}
	return t.buffer
}

// isSentinel reports whether data, the data of a frame, is the in-band terminator of the stream.
func (o *Operation) isSentinel(data []byte) bool {
	return o.sentinel != "" && string(bytes.TrimSpace(data)) == o.sentinel
}

// isForeignSentinel reports whether data, the data of a frame, is an in-band terminator that other
// protocols have, and that the document forbids.
func (o *Operation) isForeignSentinel(data []byte) bool {
	return o.foreignSentinel != "" && string(bytes.TrimSpace(data)) == o.foreignSentinel
}

// appendEvent appends to t.buffer the starts and ends that e implies, followed by e. It also sets
// e.IsChunk. The argument chunk is the rule for e if e is a chunk, and nil otherwise.
func (t *eventDecoder) appendEvent(chunk *chunkRule, e *spec.Event) {
	e.IsChunk = chunk != nil
	t.surrogates.join(e)
	t.buffer = t.openChunks.appendEvents(t.buffer, chunk, e)
	t.buffer = append(t.buffer, *e)
}

// takeSeparate removes from e.Parts the parts that are events of their own (see separateFrame), and
// returns them. It sets their position, bytes, wire name and SSE fields to those of e. If such a
// part has no thread or no run, it gets that of e.
func takeSeparate(e *spec.Event) (events []spec.Event) {
	if !slices.ContainsFunc(e.Parts, isSeparate) {
		return nil
	}
	var parts []spec.Event
	for _, part := range e.Parts {
		if !isSeparate(part) {
			parts = append(parts, part)
			continue
		}
		part.Frame, part.Line, part.Offset, part.Raw = e.Frame, e.Line, e.Offset, e.Raw
		part.WireName, part.Fields, part.EndsWithCR = e.WireName, e.Fields, e.EndsWithCR
		part.Thread, part.Run = cmp.Or(part.Thread, e.Thread), cmp.Or(part.Run, e.Run)
		events = append(events, part)
	}
	e.Parts = parts
	return events
}

// separateFrame is the [spec.Event].Frame of a part that is to become an event of its own. It is
// set only while the frame that carries the part is being decoded.
const separateFrame = -2

func isSeparate(part spec.Event) bool { return part.Frame == separateFrame }

// decodeFrameData decodes item, a frame of the stream of o, into e and returns the variant of the
// frame. If the data of item cannot be decoded or is not a frame of the dialect, the kind of e is
// Undecodable, e.Err is the reason, and the result is nil. The argument typeOf returns the type of
// the message with the given id, or "" if it is unknown. The mode is as in [variant.decode].
func (d *Dialect) decodeFrameData(
	o *Operation, e *spec.Event, item sse.Item, typeOf func(id string) string, mode decodeMode,
) *variant {
	e.Kind = spec.Undecodable
	if len(o.frameVariants) == 0 {
		e.Err = fmt.Errorf("%s was answered with an event stream: expected %s", o.Name, cmp.Or(o.successMediaType, "none"))
		return nil
	}
	if len(e.Flaws) > 0 { // not UTF-8, and therefore not JSON
		e.Err = errors.New(eventName + " is " + e.Flaws[0].Detail)
		return nil
	}
	v, err := o.decodeFrameValue(item)
	if err != nil {
		e.Err = fmt.Errorf("%s is %w", eventName, err)
		e.Flaws = append(e.Flaws, spec.EncodingFlaw{Kind: spec.FlawJSON, Detail: err.Error()})
		return nil
	}
	if jsonType(v) != "object" {
		e.Err = errors.New(schemaError{got: v, expected: "expected an object"}.text(eventName))
		e.Flaws = append(e.Flaws, spec.EncodingFlaw{Kind: spec.FlawJSON, Detail: e.Err.Error()})
		return nil
	}
	w := matchVariantIn(o.frameVariants, v, typeOf)
	if w == nil {
		e.Err = errors.New(unrecognizedFrame(o.frameVariants, v).text(eventName))
		return nil
	}
	cursor := e.Cursor
	e.WireName = o.wireName(w, v)
	w.decode(e, v, mode)
	e.Cursor = cmp.Or(cursor, e.Cursor)
	return w
}

// decodeBody returns the event for the body of a response that is not an event stream. Its kind is
// that of the schema that the body matches, or Unrecognized if there is none. The kind is also
// Unrecognized if the body is not of a JSON media type, or if the document describes no JSON body
// for the status. It is Undecodable if the body has more than t.limit bytes or is not valid JSON.
func (t *eventDecoder) decodeBody() spec.Event {
	r := t.exchange.Response
	e := spec.Event{
		Kind: spec.Undecodable, Frame: -1, Line: 1, Raw: r.Body,
		StatusCode: r.Status, MediaType: r.Header.MediaType(),
	}
	if !utf8.Valid(r.Body) && isUTF8(r.Header) {
		e.Flaws = append(e.Flaws, spec.EncodingFlaw{Kind: spec.FlawUTF8, Detail: "not valid UTF-8"})
	}
	if len(r.Body) > t.limit {
		e.Err = fmt.Errorf("the body has more than %d bytes", t.limit)
		e.Flaws = append(e.Flaws, spec.EncodingFlaw{Kind: spec.FlawTooLarge, Detail: e.Err.Error()})
		return e
	}
	content, documented := t.operation.responseFor(r.Status)
	if !documented || !isJSON(e.MediaType) || !isJSON(content.mediaType) {
		e.Kind = spec.Unrecognized
		return e
	}
	v, err := decode(r.Body)
	if err != nil {
		e.Err = err
		e.Flaws = append(e.Flaws, spec.EncodingFlaw{Kind: spec.FlawJSON, Detail: err.Error()})
		return e
	}
	if w := matchVariant(content.variants, v); w != nil {
		w.decode(&e, v, t.mode)
	} else {
		e.Kind = spec.Unrecognized
	}
	return e
}

// isJSON reports whether a media type is application/json or a type based on JSON, with the suffix
// +json (RFC 6839). The argument must be in lower case and without parameters.
func isJSON(media string) bool { return media == jsonMediaType || strings.HasSuffix(media, "+json") }

// isUTF8 reports whether a body with the header h must be UTF-8. This is required of JSON, and of a
// body with "charset=utf-8" in its Content-Type. Other text may have any charset (RFC 9110 section
// 8.3.2).
func isUTF8(h spec.Header) bool {
	_, params, _ := mime.ParseMediaType(h.Get("Content-Type"))
	return isJSON(h.MediaType()) || strings.EqualFold(params["charset"], "utf-8")
}

// arrivalTime returns the time at which the last byte of e arrived, measured from the sending of
// the request. For a BodyEnd, this is the last byte of the body. The result is 0 if the time is
// unknown, and for the request and the head of the response. arrivalTime must be called for the
// events of an exchange in their order.
func (t *eventDecoder) arrivalTime(e spec.Event) time.Duration {
	arrivals := t.exchange.Response.Arrivals
	if len(arrivals) == 0 || e.Kind == spec.HTTPRequest || e.Kind == spec.HTTPResponse {
		return 0
	}
	end := e.Offset + len(e.Raw)
	if e.Kind == spec.BodyEnd {
		return arrivals[len(arrivals)-1].At
	}
	for t.arrivalIndex < len(arrivals)-1 && arrivals[t.arrivalIndex].End < end {
		t.arrivalIndex++
	}
	return arrivals[t.arrivalIndex].At
}
